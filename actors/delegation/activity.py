"""What a person sees of one delegation while it runs and at its end: its line in the bar."""

from collections.abc import Callable
from typing import Final

from actors.delegation.course import Course
from actors.delegation.result import DelegateResult
from ipc.messages import SubagentActivityChanged, Usage
from ipc.terminal_text import clean_line

DETAIL_LIMIT: Final = 120
PHASE_LIMIT: Final = 40


class Activity:
    """Tells what goes on; nothing more once the delegation has ended, but how."""

    def __init__(
        self, agent_id: str, queued: int, course: Course, publish: Callable[[SubagentActivityChanged], None]
    ) -> None:
        """`queued` counts further delegations of the same message."""
        self._agent_id = agent_id
        self._queued = queued
        self._course = course
        self._publish = publish

    def show(self, phase: str, detail: str, usage: Usage = Usage()) -> None:  # noqa: B008 - a frozen value
        """Show a phase, its detail and what was used until then."""
        if not self._course.ended.is_set():
            self._tell(phase, detail, usage, active=True)

    def end(self, phase: str, detail: str, usage: Usage) -> None:
        """Show how it ended; behind one that was cancelled nobody waits any more."""
        if phase == "cancelled":
            self._queued = 0
        self._tell(phase, detail, usage, active=False)

    def _tell(self, phase: str, detail: str, usage: Usage, *, active: bool) -> None:
        self._publish(
            SubagentActivityChanged(
                agent_id=self._agent_id,
                phase=clean_line(phase, PHASE_LIMIT),
                detail=clean_line(detail, DETAIL_LIMIT),
                elapsed_ms=self._course.elapsed_ms(),
                active=active,
                usage=usage,
                queued=self._queued,
            )
        )


def outcome(result: DelegateResult) -> str:
    """How it ended, for a person; what the subagent says of it is for the parent's model alone."""
    if result.error is not None:
        return result.error.message
    count = len(result.findings)
    checked = sum(finding.checked for finding in result.findings)
    return f"{count} finding{'' if count == 1 else 's'}, {checked} checked" if count else "no findings"
