"""Events of a session for tests, written and read back."""

from pathlib import Path

import pytest

from actors.session.events import AnyEvent, Notice, SessionStarted
from actors.session.log import LogFailed, Recovery, SessionLog

HEADER = SessionStarted(
    session_id="s-1",
    workspace="/w",
    model="m",
    mode="agent",
    at="2026-01-02T03:04:05.678Z",
    system_sha256="0" * 64,
    tools_sha256="1" * 64,
)


def said(text: str) -> Notice:
    return Notice(level="info", message=text)


def written(folder: Path, *events: AnyEvent) -> Path:
    log = SessionLog.create(folder, "s-1", HEADER)
    for event in events:
        log.append(event)
    log.close()
    return log.path


def opened(path: Path) -> Recovery:
    log, recovery = SessionLog.open(path)
    log.close()
    return recovery


def messages(recovery: Recovery) -> list[str]:
    return [event.message for event in recovery.events if isinstance(event, Notice)]


def refusal_to_open(code: str, path: Path) -> LogFailed:
    with pytest.raises(LogFailed) as caught:
        SessionLog.open(path)
    assert caught.value.code == code
    assert caught.value.next_step
    return caught.value
