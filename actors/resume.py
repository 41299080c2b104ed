"""Going on with an earlier session: which one is meant, whether it may be opened here, how it is called."""

from collections.abc import Mapping
from pathlib import Path

from actors.directories import state_directory
from ipc.endpoints import Run, live_runs, run_root

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


def check_session(session_id: str, workspace: Path, environ: Mapping[str, str]) -> None:
    """See whether a session can be gone on with in this workspace. Raises `ResumeRefused`."""
    from actors.session.events import SessionStarted
    from actors.session.log import LogFailed, read_log

    try:
        started = read_log(state_directory(environ) / "sessions" / f"{session_id}.jsonl").events[0]
    except LogFailed as failed:
        raise ResumeRefused(f"{failed.message} {failed.next_step}") from None
    if isinstance(started, SessionStarted) and started.workspace != str(workspace):
        raise ResumeRefused(
            f"session {session_id} belongs to {started.workspace}, not to {workspace}; "
            f"add --workspace {started.workspace}"
        )
    if any(run.session_id == session_id for run in live_runs(run_root(environ), str(workspace))):
        raise ResumeRefused(f"session {session_id} is running; draw it with: fido attach {session_id}")
