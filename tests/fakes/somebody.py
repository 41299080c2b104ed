"""Somebody who is not root, for what root is never refused."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from actors.files.rg import find_rg

NOBODY = 65534


@contextmanager
def somebodys_folder() -> Iterator[Path]:
    """A folder of a user who is not root, and that user's rights until the block ends."""
    with TemporaryDirectory() as name, TemporaryDirectory() as programs:
        if os.geteuid() != 0:
            yield Path(name)
            return
        shutil.copy(find_rg(), programs)  # Fido's own may lie where only root may go
        Path(programs).chmod(0o755)
        path = os.environ["PATH"]
        os.environ["PATH"] = f"{programs}:{path}"
        os.chown(name, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, 0)
        find_rg.cache_clear()
        try:
            yield Path(name)
        finally:
            os.setresuid(0, 0, 0)
            os.environ["PATH"] = path
            find_rg.cache_clear()
