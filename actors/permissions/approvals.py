"""What only a person can decide: approvals of calls and questions of the model, queued, each settled once."""

import asyncio
import itertools
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from actors.invocation import AnyTool, Refusal
from actors.permissions.policy import Grants, Rules, Verdict, decide
from actors.session.recorder import Recorder
from actors.tools.tool import ToolInput
from ipc.messages import (
    Accepted,
    AnyFact,
    AskRaised,
    AskSettled,
    Mode,
    Refused,
    SettleAsk,
    ToolCall,
)

LAPSED = "lapsed"
BODY_LIMIT = 64 * 1024
"""Characters that a person is asked to judge at once."""
_TITLE_LIMIT = 300


@runtime_checkable
class Previewing(Protocol):
    """A tool that can show what it is about to do."""

    def preview(self, given: ToolInput) -> str: ...


@dataclass(frozen=True, slots=True)
class _Ask:
    raised: AskRaised
    answer: "asyncio.Future[SettleAsk]"


class Approvals:
    """The parent's gate and asker: the policy decides, a person where it says so."""

    def __init__(
        self, rules: Rules, mode: Mode, publish: Callable[[AnyFact], None], recorder: Recorder
    ) -> None:
        self._rules = rules
        self._mode = mode
        self._publish = publish
        self._recorder = recorder
        self._grants = Grants()
        self._asks: dict[str, _Ask] = {}
        self._numbers = itertools.count(1)
        self._life = secrets.token_hex(3)  # an answer to an earlier life's ask must not fit one of ours

    async def check(self, tool: AnyTool, given: ToolInput, call: ToolCall) -> Refusal | None:
        """Decide on a call, asking the person where the policy says so."""
        command = getattr(given, "command", "")
        verdict = self._decide(tool, command)
        if verdict.answer == "allow":
            return None
        if verdict.answer == "deny":
            return Refusal(verdict.code, verdict.message, verdict.next_step)
        if len(command) > BODY_LIMIT:
            return Refusal(
                "command_too_long",
                f"Nobody can judge a command of {len(command):,} characters; the limit is {BODY_LIMIT:,}.",
                "Write it into a file with patch and run that, or do it in smaller steps.",
            )
        body = tool.preview(given) if isinstance(tool, Previewing) else command or tool.summary(given)
        settled = await self._ask("approval", tool.name, f"{tool.name}: {tool.summary(given)}", body, ())
        if settled.decision == "deny":
            why = f" They say: {settled.text}" if settled.text else ""
            return Refusal(
                "denied_by_user", f"The user did not allow this.{why}", "Do without it, or ask what to do."
            )
        if settled.decision == "allow_session":
            self._grants = self._grants.adding(tool.name, command)
        return None

    async def question(self, title: str, options: tuple[str, ...]) -> str | None:
        """Put a question of the model before the person; None when it is not answered."""
        settled = await self._ask("question", "ask_user", title, title, options)
        return None if settled.decision == "deny" else settled.text

    def settle(self, settle: SettleAsk) -> Accepted | Refused:
        """Take an answer; a second one to the same ask is refused."""
        ask = self._asks.get(settle.ask_id)
        if ask is None or ask.answer.done():
            return Refused(
                code="ask_settled", message="This was answered already, or its turn is over.", next_step=""
            )
        ask.answer.set_result(settle)
        return Accepted()

    def _decide(self, tool: AnyTool, command: str) -> Verdict:
        return decide(
            tool.name,
            tool.effect,
            mode=self._mode,
            rules=self._rules,
            grants=self._grants,
            command=command,
        )

    async def _ask(
        self,
        kind: Literal["approval", "question"],
        tool: str,
        title: str,
        body: str,
        options: tuple[str, ...],
    ) -> SettleAsk:
        """Wait for the person, who may take all the time there is; a cancelled turn lets it lapse."""
        raised = AskRaised(
            ask_id=f"ask-{self._life}-{next(self._numbers)}",
            kind=kind,
            tool=tool,
            title=title.partition("\n")[0][:_TITLE_LIMIT],
            body=_shown(body),
            options=options,
        )
        ask = _Ask(raised, asyncio.get_running_loop().create_future())
        outcome, text = LAPSED, ""
        try:
            self._asks[raised.ask_id] = ask
            self._publish(raised)
            settled = await ask.answer
            outcome, text = settled.decision, settled.text
            return settled
        finally:
            del self._asks[raised.ask_id]
            self._publish(AskSettled(ask_id=raised.ask_id, outcome=outcome))
            self._recorder.approval_settled(raised.ask_id, tool, raised.body, outcome, text)


def _shown(body: str) -> str:
    more = len(body) - BODY_LIMIT
    return body if more <= 0 else f"{body[:BODY_LIMIT]}\n… {more:,} more characters are not shown"
