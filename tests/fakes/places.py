"""A private run directory for tests, short enough for sockets."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ipc.endpoints import Run, RunPlace, create_run, new_id


@contextmanager
def short_directory() -> Iterator[Path]:
    """A fresh 0700 directory with a short path, removed afterwards."""
    path = Path(tempfile.mkdtemp(prefix="fido-t-", dir="/tmp"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def run_place(workspace: Path, **changes: Any) -> Iterator[RunPlace]:
    """A run of its own in a root of its own."""
    with short_directory() as root:
        run = Run(id=new_id(), session_id="s-test", workspace=str(workspace), pid=os.getpid(), front="none")
        place = create_run(root, run._replace(**changes))
        yield place
