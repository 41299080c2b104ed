"""Events of a session for tests."""

from actors.session_events import Notice, SessionStarted

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
