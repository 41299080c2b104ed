"""What the parent saw of a subagent: it relays every request and every answer, so nobody has to tell it."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from actors.calls import argument_object
from actors.catalog.aliases import canonical
from actors.catalog.builtin import EFFECTS
from actors.delegation.policy import refusal
from actors.delegation.problems import (
    CUT_OFF,
    OUT_OF_TIME,
    REQUESTS_SPENT,
    SAID_NOTHING,
    of_the_server,
    too_many_rounds,
)
from actors.files.workspace import Workspace
from actors.provider.answers.stream import ANSWER_LIMIT
from actors.provider.interface import ProviderError
from actors.session.history import add_usage
from actors.tools.tool import ToolFailure
from actors.web.urls import host_of
from ipc.messages import ModelAnswer, Problem, RetryScheduled, StreamEvent, TextDelta, ToolCall, Usage

MAX_TEXTS: Final = ANSWER_LIMIT
"""Characters kept of what a subagent says: any one answer whole. The oldest go first, and that is said."""
_UNKNOWN: Final = "unknown tool"

Show = Callable[[str, str, Usage], None]
"""Takes a phase, its detail and what was used so far."""


class Witness:
    """Keeps what was said and used, and tells what goes on as far as it is safe to show."""

    def __init__(self, agent_id: str, workspace: Workspace, max_rounds: int, show: Show) -> None:
        """`show` is called each time phase or detail is another."""
        self.usage = Usage()
        self.requests = 0
        self.relayed: list[ModelAnswer] = []
        """Every answer as it went to the worker; of one that broke off, its beginning."""
        self.server_said = ""
        """Why the last request failed, as the model server put it; it may repeat the conversation."""
        self._agent_id = agent_id
        self._workspace = workspace
        self._max_rounds = max_rounds
        self._show = show
        self._shown = ("", "")
        self._texts: deque[str] = deque()
        self._kept = self._dropped = 0
        self._pieces: list[str] = []
        self._rounds = 0
        self._failed: Problem | None = None
        self._was_cut_off = self._is_out_of_time = self._said_nothing = self._is_calling = False

    def requested(self, *, handing_in: bool) -> None:
        """A request goes to the model."""
        self.requests += 1
        self._failed, self.server_said = None, ""
        self._is_out_of_time |= handing_in
        self._tell("reasoning", "")

    def streamed(self, event: StreamEvent) -> None:
        """A piece of the answer comes back."""
        match event:
            case TextDelta(text=text):
                self._pieces.append(text)
                self._tell("reviewing", "")
            case RetryScheduled(attempt=attempt):
                self._tell("reasoning", f"the server failed; attempt {attempt}")
            case _:
                pass

    def used(self, usage: Usage) -> None:
        """A request has cost so much."""
        self.usage = add_usage(self.usage, usage)

    def answered(self, answer: ModelAnswer) -> None:
        """The whole answer is there."""
        self._pieces.clear()
        self.relayed.append(answer)
        self._keep(answer.text)
        self._is_calling = bool(answer.tool_calls)
        if answer.tool_calls:
            self._rounds += 1
            self._tell(*self._calling(answer.tool_calls))
        elif answer.finish_reason == "length":
            self._was_cut_off = True
        self._said_nothing = not (answer.text.strip() or answer.tool_calls)

    def failed(self, error: ProviderError) -> None:
        """The request brought no whole answer."""
        self._failed, self.server_said = of_the_server(error), error.message
        self.stopped()

    def spent(self) -> None:
        """There is no further request for this subagent."""
        self._failed = REQUESTS_SPENT

    def stopped(self, *, out_of_time: bool = False) -> None:
        """The request was stopped; what had come of it stays."""
        self._is_out_of_time |= out_of_time
        text = "".join(self._pieces)
        self._pieces.clear()
        self.relayed.append(ModelAnswer(text=text))
        self._keep(text)

    def texts(self) -> tuple[str, ...]:
        """What the subagent said, one text for each answer, the oldest first."""
        said = [*self._texts, current] if (current := "".join(self._pieces)).strip() else [*self._texts]
        if self._dropped and said:
            said[0] = f"[{self._dropped:,} characters before this were not kept]\n{said[0]}"
        return tuple(said)

    def problem(self) -> Problem | None:
        """Why it is not complete, whatever its worker says of that."""
        if self._is_out_of_time:
            return OUT_OF_TIME
        if self._failed is not None:
            return self._failed
        if self._rounds >= self._max_rounds:
            return too_many_rounds(self._max_rounds)  # a call behind the last round does not count
        if self._was_cut_off:
            return CUT_OFF
        return SAID_NOTHING if self._said_nothing else None

    @property
    def is_calling(self) -> bool:
        """Whether the last answer called tools, so that there has to be another request."""
        return self._is_calling

    def _keep(self, text: str) -> None:
        if not text.strip():
            return
        self._texts.append(text)
        self._kept += len(text)
        while (excess := self._kept - MAX_TEXTS) > 0:
            oldest = self._texts.popleft()
            if len(oldest) > excess:
                self._texts.appendleft(oldest[excess:])
            gone = min(excess, len(oldest))
            self._kept -= gone
            self._dropped += gone

    def _calling(self, calls: Sequence[ToolCall]) -> tuple[str, str]:
        """The call worth showing: a rejected delegation, else the first one."""
        meant = [canonical(call) for call in calls]
        call = next((call for call in meant if call.name == "delegate"), meant[0])
        more = f" (+{len(calls) - 1})" if len(calls) > 1 else ""
        effect = EFFECTS.get(call.name)
        if effect is None:
            return _UNKNOWN, more.strip()
        refused = refusal(self._agent_id, call.name, effect)
        return call.name, (refused.display if refused else self._subject(call)) + more

    def _subject(self, call: ToolCall) -> str:
        """The path that a call names, if it is there, or the host that it asks; all else stays private."""
        try:
            given = argument_object(call)
            if EFFECTS.get(call.name) == "web":
                return host_of(str(given.get("url", "")))
            path = given.get("path")
            if not isinstance(path, str) or not path:
                return ""
            return self._workspace.relative(self._workspace.resolve_existing(path))
        except (ValueError, OSError, ToolFailure):
            return ""

    def _tell(self, phase: str, detail: str) -> None:
        if (phase, detail) != self._shown:
            self._shown = phase, detail
            self._show(phase, detail, self.usage)
