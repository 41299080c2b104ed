"""A session in the test's own process whose conversation can be compacted: a plan store, books, a memory."""

import asyncio
import itertools
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import msgspec

from actors.calls import ToolResult
from actors.compaction.compactor import Compactor
from actors.compaction.memory import Memory
from actors.compaction.window import Window
from actors.conversation import Conversation, encode_head, encode_system, encode_user
from actors.provider.interface import ProviderError
from actors.session.events import (
    AnyEvent,
    CallEnded,
    CallStarted,
    ConversationCompacted,
    MessageAppended,
    PromptTaken,
    TurnEnded,
    UsageRecorded,
)
from actors.tools.tool import ToolFailure
from actors.turn import TurnOutcome, run_turn
from ipc.messages import (
    AnyFact,
    CompactionFinished,
    ModelAnswer,
    Plan,
    StreamEvent,
    ToolCall,
    ToolStatus,
    Usage,
)
from tests.fakes import chat_rules
from tests.fakes.models import ScriptedProvider, Step

SYSTEM = encode_system("the system message, with AGENTS.md")


class Plans:
    """A plan store that answers, or is away."""

    def __init__(self, plan: Plan | None = None) -> None:
        self.plan = plan or Plan()
        self.is_away = False
        self.seen: int | None = None

    async def get(self) -> Plan:
        if self.is_away:
            raise ToolFailure("plan_store_away", "away")
        return self.plan


class Tools:
    """Every call gets the result that `answer` makes, and is recorded."""

    def __init__(self, answer: Callable[[ToolCall], str], session: "Session") -> None:
        self.answer = answer
        self.session = session

    def is_parallel(self, call: ToolCall) -> bool:
        return False

    async def invoke(self, call: ToolCall, *, cut_off: bool = False) -> ToolResult:
        result = self.answer(call)
        self.session.called(call, failed=result.startswith('{"error"'))
        return ToolResult(result, "ok")


class Session:
    """What a parent has: conversation, events, facts. The model's answers are scripted."""

    def __init__(
        self,
        steps: Iterable[Step] = (),
        *,
        window: int = 10_000,
        at: float = 0.8,
        plan: Plan | None = None,
        provider: ScriptedProvider | None = None,
    ) -> None:
        self.conversation = Conversation(encode_head("m", b"[]", {"stream": True}), [SYSTEM])
        self.provider = provider or ScriptedProvider(steps)
        self.plans = Plans(plan)
        self.memory = Memory()
        self.window = Window(window)
        self.events: list[AnyEvent] = []
        self.facts: list[AnyFact] = []
        self.streamed: list[StreamEvent] = []
        self.turn = 0
        self.compactor = Compactor(
            self.provider, self.plans, self, self.facts.append, self.memory, window=self.window, at=at
        )
        self.on_appended(SYSTEM)

    # --- what the compactor and the turn loop ask for ------------------------------------------------------

    def record(self, event: AnyEvent) -> None:
        self.events.append(event)
        self.memory.apply(event)

    def used(self, usage: Usage, *, summary: bool = False) -> None:
        self.record(UsageRecorded(turn=self.turn, usage=usage, summary=summary))

    def on_stream(self, event: StreamEvent) -> None:
        self.streamed.append(event)
        if isinstance(event, ModelAnswer) and event.usage is not None:
            self.used(event.usage)

    def on_appended(self, message: bytes) -> None:
        self.record(MessageAppended(turn=self.turn, message=msgspec.Raw(message)))

    # --- what a test does -----------------------------------------------------------------------------------

    def prompt(self, text: str) -> None:
        self.turn += 1
        self.record(PromptTaken(turn=self.turn, text=text, at=""))
        self.conversation.append(encode_user(text))
        self.on_appended(encode_user(text))

    def says(self, text: str) -> None:
        self.on_appended(self.conversation.append_answer(ModelAnswer(text=text)))

    def works(
        self,
        result: str,
        name: str = "read_file",
        call_id: str = "",
        *,
        arguments: str = "{}",
        summary: str = "",
        failed: bool = False,
    ) -> None:
        """One round: a call and its result."""
        call = ToolCall(id=call_id or f"call{next(_numbers)}", name=name, arguments=arguments)
        self.on_appended(self.conversation.append_answer(ModelAnswer(tool_calls=(call,))))
        self.called(call, summary, failed=failed)
        self.on_appended(self.conversation.append_result(call.id, result))

    def called(self, call: ToolCall, summary: str = "", *, failed: bool = False) -> None:
        """What the log keeps of one call."""
        self.record(
            CallStarted(
                turn=self.turn, call_id=call.id, name=call.name, arguments=call.arguments, summary=summary
            )
        )
        status: ToolStatus = "error" if failed else "ok"
        self.record(CallEnded(turn=self.turn, call_id=call.id, name=call.name, status=status, duration_ms=1))

    def ends(self, text: str) -> None:
        self.record(TurnEnded(turn=self.turn, status="completed", final_text=text))

    def plays(self, prompt: str, answer: str, result: str = "") -> None:
        """A whole turn, without the model."""
        self.prompt(prompt)
        if result:
            self.works(result)
        self.says(answer)
        self.ends(answer)

    async def run(
        self, answer: Callable[[ToolCall], str] = lambda call: f"result of {call.id}", max_rounds: int = 30
    ) -> TurnOutcome:
        """Play the prompted turn with the scripted answers."""
        outcome = await run_turn(
            self.conversation,
            self.provider,
            Tools(answer, self),
            self,
            max_rounds=max_rounds,
            compactor=self.compactor,
        )
        self.record(TurnEnded(turn=self.turn, status=outcome.status, final_text=outcome.final_text))
        return outcome

    # --- what a test looks at -------------------------------------------------------------------------------

    @property
    def compactions(self) -> list[ConversationCompacted]:
        return [event for event in self.events if isinstance(event, ConversationCompacted)]

    @property
    def finished(self) -> list[CompactionFinished]:
        return [fact for fact in self.facts if isinstance(fact, CompactionFinished)]

    def said(self) -> list[dict[str, object]]:
        """The conversation decoded, after a strict server has looked at it."""
        request = chat_rules.parse(self.conversation.body())
        chat_rules.check(request)
        messages: list[dict[str, object]] = request["messages"]
        return messages


def roles(messages: Iterable[dict[str, object]]) -> str:
    """The first letters of the roles, a call of the assistant in upper case: `suaAt`."""
    return "".join(_letter(message) for message in messages)


def _letter(message: dict[str, object]) -> str:
    letter = str(message["role"])[0]
    return letter.upper() if message.get("tool_calls") else letter


_numbers = itertools.count(1)


# --- what several tests play --------------------------------------------------------------------------------

DEADLINE_S = 20
LONG = "line of a file\n" * 1_880
"""About 8,600 tokens: near a window of 10,000."""
TOO_LONG = ProviderError("context_length_exceeded", "too long")


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(work, DEADLINE_S))


def says(text: str, prompt_tokens: int = 0) -> ModelAnswer:
    usage = Usage(prompt_tokens=prompt_tokens, completion_tokens=5) if prompt_tokens else None
    return ModelAnswer(text=text, finish_reason="stop", usage=usage)


def near_the_window(*steps: Any, **options: Any) -> Session:
    """A session with two finished turns that leave little room, and a third prompt."""
    session = Session(steps, **options)
    session.plays("rename A to B", "Renamed A to B.", LONG)
    session.plays("no, leave the tests alone", "Understood.")
    session.prompt("continue")
    return session


def play(session: Session) -> TurnOutcome:
    outcome: TurnOutcome = run(session.run())
    return outcome
