"""Names in a folder that outlast a power cut."""

import os
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Wait until the folder's entries are on the disk, new and renamed ones too. Raises `OSError`."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
