"""Going on with an earlier session: which one is meant, whether it may be opened here, how it is called."""

from collections.abc import Collection
from pathlib import Path

from ipc.endpoints import SESSION_ID, Run, live_runs

REMEMBERED = ("model", "base_url", "mode", "log_level")
"""Flags that are part of the command which brings a session back."""


class ResumeRefused(Exception):
    """The session can not be opened here; one line that says what to do instead."""


def resume_command(run: Run) -> list[str]:
    """The words of the command that opens a run's session again from the folder this process is in."""
    words = ["fido", "resume", run.session_id]
    if not _is_here(run.workspace):
        words += ["--workspace", run.workspace]
    for name in REMEMBERED:
        if (value := run.flags.get(name)) is not None:
            words += [f"--{name.replace('_', '-')}", str(value)]
    return words


def _is_here(workspace: str) -> bool:
    try:
        return Path(workspace).samefile(".")
    except OSError:
        return False


def running_sessions(root: Path, workspace: Path) -> frozenset[str]:
    """Ids of the sessions that some run in this workspace has open; `root` holds all runs."""
    return frozenset(run.session_id for run in live_runs(root, str(workspace)))


def check_session(session_id: str, folder: Path, workspace: Path, running: Collection[str]) -> None:
    """See whether a session, whose log is in `folder`, can be gone on with here. Raises `ResumeRefused`."""
    from actors.session.log_failed import LogFailed
    from actors.session.records import session_started

    if not SESSION_ID.fullmatch(session_id):
        raise ResumeRefused(f"{session_id!r} is no session id")
    try:
        started = session_started(folder / f"{session_id}.jsonl")
    except LogFailed as failed:
        raise ResumeRefused(f"{failed.message} {failed.next_step}") from None
    if started is not None and started.workspace != str(workspace):
        raise ResumeRefused(
            f"session {session_id} belongs to {started.workspace}, not to {workspace}; "
            f"add --workspace {started.workspace}"
        )
    if session_id in running:
        raise ResumeRefused(f"session {session_id} is running; draw it with: fido attach {session_id}")
