"""Builds the system message: no clock, no chance, no plan in it, so that its bytes never move."""

import os
from collections.abc import Collection
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from actors.files.regular import open_regular
from actors.files.text_encoding import UTF_8, marked_encoding

INSTRUCTIONS = "AGENTS.md"
INSTRUCTIONS_LIMIT = 32 * 1024
"""Bytes of all instruction files together."""


@dataclass(frozen=True, slots=True)
class SystemMessage:
    """The text, and what a person should be told about how it came to be."""

    text: str
    notices: tuple[str, ...]


def system_message(workspace: Path, private: Collection[Path] = ()) -> SystemMessage:
    """Put the product's text first and the workspace's part last. Reads the instruction files once.

    `private` are files and folders, links followed, in which none is read, unless they hold the workspace.
    """
    product = files("actors.prompts").joinpath("system.md").read_text(encoding="utf-8").strip()
    parts = [product, f"# Workspace\nPath: {_printable(workspace)}"]
    closed = [place for place in private if not workspace.resolve().is_relative_to(place)]
    instructions, notices = _instructions(workspace, closed)
    if instructions:
        parts.append(
            "# Instructions of this workspace\nThe nearer file wins; the safety rules stay.\n\n"
            + "\n\n".join(instructions)
        )
    return SystemMessage("\n\n".join(parts) + "\n", tuple(notices))


def _instructions(workspace: Path, closed: Collection[Path]) -> tuple[list[str], list[str]]:
    root = _repository(workspace)
    texts, notices, left = [], [], INSTRUCTIONS_LIMIT
    for folder in (root, *_between(root, workspace)):
        path = folder / INSTRUCTIONS
        name = _printable(path.relative_to(root))
        try:
            raw = _read(path, root, closed, left + 1)
        except FileNotFoundError:
            continue
        except OSError as error:
            notices.append(f"{name} was not read: {error.strerror or error}.")
            continue
        if len(raw) > left:
            notices.append(f"{name} was cut: instructions may have {INSTRUCTIONS_LIMIT // 1024} KiB in all.")
        text = _decoded(raw[:left], cut=len(raw) > left)
        left -= min(len(raw), left)
        if text:
            texts.append(f"## {name}\n{text}")
    return texts, notices


def _decoded(raw: bytes, *, cut: bool) -> str:
    """The text in the encoding that its mark names, else UTF-8; a character that was cut is left out."""
    encoding = marked_encoding(raw) or UTF_8
    return raw[len(encoding.bom) :].decode(encoding.codec, "ignore" if cut else "replace").strip()


def _read(path: Path, root: Path, closed: Collection[Path], size: int) -> bytes:
    """Read a regular file below `root`, links followed, that is neither Git's own nor in a `closed` place."""
    target, root = Path(os.path.realpath(path, strict=True)), root.resolve()
    if not target.is_relative_to(root):
        raise PermissionError(0, "it is a link that leads out of the workspace")
    if ".git" in target.relative_to(root).parts:  # it may hold an address with a password in it
        raise PermissionError(0, "it is a link into Git's own data")
    if any(target.is_relative_to(place) for place in closed):
        raise PermissionError(0, "it is a link into a private place")
    with open(open_regular(target, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        return file.read(size)


def _repository(workspace: Path) -> Path:
    """The repository around the workspace, or the workspace; folders of another owner are not entered."""
    owner = workspace.stat().st_uid
    for folder in (workspace, *workspace.parents):
        if folder.stat().st_uid != owner:
            break
        if (folder / ".git").exists():
            return folder
    return workspace


def _between(root: Path, workspace: Path) -> list[Path]:
    """Folders below `root` down to `workspace`, the nearest last."""
    steps = workspace.relative_to(root).parts
    return [root.joinpath(*steps[: count + 1]) for count in range(len(steps))]


def _printable(path: Path) -> str:
    return os.fsencode(path).decode("utf-8", "replace")
