"""What a call would touch, as the rules judge it: a command, resolved paths, a host."""

from dataclasses import dataclass
from typing import Final

from actors.files.workspace import Workspace
from actors.tools.tool import Effect, ToolFailure, ToolInput
from actors.web.urls import host_of


@dataclass(frozen=True, slots=True)
class Subject:
    """The part of a call that rules are about; a field that does not fit the tool is empty."""

    command: str = ""
    """Command line of a `bash_exec`."""
    folder: str = ""
    """Where it is run, relative to the workspace; empty: in the workspace itself."""
    paths: tuple[str, ...] = ()
    """What is changed, relative to the workspace: the entry, and where it leads when it is a link."""
    with_content: bool = False
    """Whether all that lies below goes with it."""
    host: str = ""
    """The host of a URL, as it is asked for."""


NOTHING: Final = Subject()


def subject_of(effect: Effect, given: ToolInput, workspace: Workspace) -> Subject:
    """Look at a call that is well-formed. Raises `ToolFailure` for a path that leads out of the workspace."""
    match effect:
        case "execute":
            folder = workspace.relative(workspace.resolve_inside(getattr(given, "cwd", "")))
            return Subject(command=getattr(given, "command", ""), folder="" if folder == "." else folder)
        case "write":
            paths = _paths(getattr(given, "path", ""), workspace)
            return Subject(paths=paths, with_content=getattr(given, "recursive", False))
        case "web":
            return Subject(host=host_of(getattr(given, "url", "")))
        case _:
            return NOTHING


def _paths(path: str, workspace: Workspace) -> tuple[str, ...]:
    """The entry, and where it leads; a link out of the workspace is only ever itself."""
    entry = workspace.resolve_entry(path)
    try:
        target = workspace.resolve_inside(path)
    except ToolFailure:
        target = entry
    return tuple(dict.fromkeys(workspace.relative(each) for each in (entry, target)))
