"""What a subagent is doing, told to its parent as it changes."""

import asyncio
import contextlib
from typing import Final

from actors.calls import ToolResult
from ipc.errors import IpcError
from ipc.mailbox import Peer
from ipc.messages import ModelAnswer, ReportActivity, RetryScheduled, StreamEvent, TextDelta, ToolCall

DETAIL_LIMIT: Final = 200
"""Characters of a detail; the parent cleans and cuts again."""


class Activity:
    """Observer of turns and watcher of calls; a report that gets lost is no loss."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self.finish_reason = ""
        """Of the last answer."""
        self._last = ("", "")
        self._reports: set[asyncio.Task[None]] = set()

    def report(self, phase: str, detail: str = "") -> None:
        if (phase, detail) == self._last:
            return
        self._last = (phase, detail)
        report = asyncio.ensure_future(self._send(phase, detail[:DETAIL_LIMIT]))
        self._reports.add(report)
        report.add_done_callback(self._reports.discard)

    def on_request(self) -> None:
        self.report("reasoning")

    def on_stream(self, event: StreamEvent) -> None:
        match event:
            case TextDelta():
                self.report("reviewing")
            case RetryScheduled(delay_s=delay, reason=reason):
                self.report("reasoning", f"{reason}; again in {delay:.1f} s")
            case ModelAnswer(finish_reason=finish_reason):
                self.finish_reason = finish_reason
            case _:
                pass

    def on_appended(self, message: bytes) -> None:
        """The transcript is private."""

    def call_started(self, call: ToolCall, summary: str) -> None:
        self.report(call.name, summary)

    def call_finished(self, call: ToolCall, result: ToolResult) -> None:
        if result.status != "ok":
            self.report(call.name, f"{result.status}: {result.display}")

    async def _send(self, phase: str, detail: str) -> None:
        with contextlib.suppress(IpcError):
            await self._peer.ask(ReportActivity(phase=phase, detail=detail))
