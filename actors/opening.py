"""The session that a parent goes on with: its log, opened or begun, and the system message that it keeps."""

import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from actors.clock import timestamp
from actors.conversation import encode_system
from actors.prompts.system_message import system_message
from actors.session.events import MessageAppended, SessionStarted
from actors.session.log import LogFailed, Recovery, SessionLog
from actors.session.records import Fold, session_started
from ipc.messages import Mode


@dataclass(frozen=True, slots=True)
class Opened:
    """A session that is ours to go on with."""

    log: SessionLog
    recovery: Recovery
    """What could not be read of an earlier log."""
    notices: tuple[str, ...] = ()
    """What a person should be told of how its system message came to be."""


def digest(encoded: bytes) -> str:
    """Hex SHA-256, as facts and events name the bytes that must not move."""
    return hashlib.sha256(encoded).hexdigest()


def open_session(
    folder: Path,
    session_id: str,
    workspace: Path,
    *,
    model: str,
    mode: Mode,
    tools: bytes,
    folds: Sequence[Fold],
    redact: Callable[[str], str] = str,
    private: Collection[Path] = (),
) -> Opened:
    """Go on with the session's log in `folder`, or begin it; `folds` get its events. Raises `LogFailed`.

    `redact` takes out of the instructions what no model may read; none are read in `private` places.
    """
    path = folder / f"{session_id}.jsonl"
    if path.exists() and path.stat().st_size:
        _refuse_other_workspace(session_started(path), workspace)
        log, recovery = SessionLog.open(path, *folds)
        return Opened(log, recovery)
    system = system_message(workspace, private)
    encoded = encode_system(redact(system.text))
    started = SessionStarted(
        session_id=session_id,
        workspace=str(workspace),
        model=model,
        mode=mode,
        at=timestamp(),
        system_sha256=digest(encoded),
        tools_sha256=digest(tools),
    )
    beginning = (started, MessageAppended(turn=0, message=msgspec.Raw(encoded)))
    log = SessionLog.create(folder, session_id, *beginning)
    for event in beginning:
        for fold in folds:
            fold(event)
    return Opened(log, Recovery(), system.notices)


def _refuse_other_workspace(begun: SessionStarted | None, workspace: Path) -> None:
    """A session's system message and plan belong to its workspace."""
    if begun is not None and begun.workspace != str(workspace):
        raise LogFailed(
            "other_workspace",
            f"Session {begun.session_id} belongs to {begun.workspace}, not to {workspace}.",
            "Open it there, or begin another session here.",
        )
