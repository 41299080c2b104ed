"""What a session's events add up to; the same fold live and after a restart (pure)."""

from typing import Final

from actors.prompts.asides import told_with
from actors.session.balance import Messages
from actors.session.events import (
    AnyEvent,
    CallEnded,
    CallStarted,
    ConversationCompacted,
    DelegationEnded,
    FilesRestored,
    MessageAppended,
    PlanWritten,
    PromptTaken,
    SessionStarted,
    TurnEnded,
    UsageRecorded,
)
from ipc.messages import Plan, Usage

COST_DIGITS: Final = 12
"""Decimal places of a cost: prices are for a million tokens; what lies behind is the noise of floats."""


class History:
    """The fold of a session; deterministic, so that the same log gives the same bytes."""

    def __init__(self) -> None:
        self.started: SessionStarted | None = None
        """Null when the first line of the log is damaged."""
        self.turns = 0
        """Number of the last turn."""
        self.running: PromptTaken | None = None
        """The prompt of the turn that has no end yet."""
        self.turn_usage = Usage()
        """The last turn, subagents included."""
        self.usage = Usage()
        """The whole session, subagents included."""
        self.subagent_usage = Usage()
        """The subagents' share of the session."""
        self.context_tokens = 0
        """Size of the last request of the parent and its answer, tokens."""
        self.plan: Plan | None = None
        """The last plan that the store acknowledged to this session."""
        self.strip: Plan | None = None
        """That plan, unless a later turn has begun."""
        self.restored: tuple[FilesRestored, ...] = ()
        """What a person took back or made again since the last prompt."""
        self.agent_ids: set[str] = set()
        """Of the subagents there have been."""
        self.running_calls: dict[str, CallStarted] = {}
        """Calls of the last turn that were started and have not ended."""
        self._messages = Messages()
        self._turn_of: dict[str, int] = {}

    @property
    def messages(self) -> tuple[bytes, ...]:
        """Encoded, in order, system message first, every tool call with exactly one result behind it."""
        return self._messages.balanced()

    @property
    def stand_ins(self) -> tuple[bytes, ...]:
        """What stands at the end of `messages` in place of what is not in the log."""
        return self._messages.stand_ins()

    def turn_of(self, run_id: str) -> int | None:
        """The turn that a run began with; None when it has not begun."""
        return self._turn_of.get(run_id)

    def apply(self, event: AnyEvent) -> None:
        """Take the next event."""
        match event:
            case MessageAppended(message=message):
                self._messages.add(bytes(message))
            case CallStarted(call_id=call_id):
                self._messages.begin(call_id)
                self.running_calls[call_id] = event
            case CallEnded(call_id=call_id):
                self.running_calls.pop(call_id, None)
            case UsageRecorded():
                self._spend(event)
            case DelegationEnded(agent_id=agent_id):
                self.agent_ids.add(agent_id)
            case PromptTaken():
                self._begin(event)
            case TurnEnded():
                self.running = None
            case PlanWritten(plan=plan):
                self.plan = self.strip = plan
            case ConversationCompacted(messages=messages, after_tokens=after):
                self._messages.replace(map(bytes, messages))
                self.context_tokens = after
            case FilesRestored():
                self.restored += (event,)
            case SessionStarted():
                self.started = event
            case _:
                pass

    def _begin(self, prompt: PromptTaken) -> None:
        self.turns = prompt.turn
        self.running = prompt
        self._messages.prompt(told_with(prompt.text, prompt.asides))
        self.turn_usage = Usage()
        self.strip = None
        self.restored = ()
        self.running_calls.clear()
        if prompt.run_id:
            self._turn_of[prompt.run_id] = prompt.turn

    def _spend(self, event: UsageRecorded) -> None:
        spent = event.usage
        self.turn_usage = add_usage(self.turn_usage, spent)
        self.usage = add_usage(self.usage, spent)
        if event.subagent:
            self.subagent_usage = add_usage(self.subagent_usage, spent)
        elif not event.summary:
            self.context_tokens = spent.prompt_tokens + spent.completion_tokens


def add_usage(one: Usage, other: Usage) -> Usage:
    """The sum; the cost is null only when neither has one."""
    known = one.cost_usd is not None or other.cost_usd is not None
    return Usage(
        prompt_tokens=one.prompt_tokens + other.prompt_tokens,
        cached_tokens=one.cached_tokens + other.cached_tokens,
        completion_tokens=one.completion_tokens + other.completion_tokens,
        cost_usd=round((one.cost_usd or 0.0) + (other.cost_usd or 0.0), COST_DIGITS) if known else None,
    )
