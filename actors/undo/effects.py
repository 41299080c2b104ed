"""What a restore does to one path, through descriptors: no link is followed, nothing is ever half-written."""

import contextlib
import os
import stat
from collections.abc import Collection
from pathlib import Path
from typing import Final

from actors.session.events import FileState
from actors.undo.blobs import Blobs
from actors.undo.entries import FOLDER, Entries
from actors.undo.path_text import folder_of, to_name

USABLE: Final = stat.S_IRWXU
"""Mode bits with which a folder's entries can be changed."""
FEW: Final = 32
"""Files or folders that are made durable one by one, some 4 ms each; more of them all at once."""
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NAME_ONLY: Final = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


class Effects:
    """Changes entries below the root of `entries`; everything raises `OSError`."""

    def __init__(self, entries: Entries, blobs: Blobs) -> None:
        self._entries = entries
        self._blobs = blobs

    def nearest_folder(self, path: str) -> str:
        """The innermost folder on the way to a path that is there and no link."""
        folder = folder_of(path)
        while folder:
            with (
                contextlib.suppress(FileNotFoundError, NotADirectoryError),
                self._entries.open_folder(folder),
            ):
                return folder
            folder = folder_of(folder)
        return folder

    def write_aside(self, path: str, aside: str, state: FileState, *, sync: bool) -> None:
        """Make a file or link ready under another name, durable on demand. Raises `ContentLost`."""
        with self._entries.open_folder(folder_of(aside)) as folder:
            if state.kind == "link":
                os.symlink(to_name(state.content), _last(aside), dir_fd=folder)
                return
            data = self._blobs.get(state.content)
            opened = os.open(_last(aside), _NEW, 0o600, dir_fd=folder)
            with open(opened, "wb") as file:
                file.write(data)
                file.flush()  # a write behind it would take set-user-id away again
                self._keep_owner(path, opened)
                os.fchmod(opened, state.mode)
                if sync:
                    os.fsync(opened)

    def move(self, aside: str, path: str) -> None:
        """Put what was made ready in its place, in one step."""
        with (
            self._entries.open_folder(folder_of(aside)) as source,
            self._entries.open_folder(folder_of(path)) as target,
        ):
            os.rename(_last(aside), _last(path), src_dir_fd=source, dst_dir_fd=target)

    def make_folder(self, path: str) -> None:
        """Make a folder that its owner can fill; one that is there is fine."""
        with self._entries.open_folder(folder_of(path)) as folder:
            try:
                os.mkdir(_last(path), USABLE, dir_fd=folder)
            except FileExistsError:
                os.close(os.open(_last(path), os.O_DIRECTORY | _NAME_ONLY, dir_fd=folder))

    def set_mode(self, path: str, mode: int) -> None:
        """Give a file or folder its permission bits, also one that can not be read."""
        with self._entries.open_folder(folder_of(path)) as folder:
            opened = os.open(_last(path), _NAME_ONLY, dir_fd=folder)
            try:
                Path(f"/proc/self/fd/{opened}").chmod(mode)
            finally:
                os.close(opened)

    def remove(self, path: str, *, folder: bool) -> None:
        """Remove an entry, a folder only when it is empty; one that is gone is fine."""
        with contextlib.suppress(FileNotFoundError), self._entries.open_folder(folder_of(path)) as around:
            (os.rmdir if folder else os.unlink)(_last(path), dir_fd=around)

    def sync(self, folders: Collection[str]) -> None:
        """Make names outlast a power cut, as far as their folders can be opened; never fails."""
        if len(folders) > FEW:
            os.sync()
            return
        for path in folders:
            with contextlib.suppress(OSError), self._entries.open_folder(path) as folder:
                opened = os.open(".", FOLDER, dir_fd=folder)
                try:
                    os.fsync(opened)
                finally:
                    os.close(opened)

    def _keep_owner(self, path: str, opened: int) -> None:
        with contextlib.suppress(OSError), self._entries.open_folder(folder_of(path)) as folder:
            status = os.lstat(_last(path), dir_fd=folder)
            os.fchown(opened, status.st_uid, status.st_gid)


def _last(path: str) -> str:
    return path.rpartition("/")[2]
