"""What only a person can decide: approvals of calls and questions of the model, queued, each settled once."""

import asyncio
import itertools
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from actors.files.workspace import Workspace
from actors.invocation import AnyTool, Refusal
from actors.permissions.grants import Grant
from actors.permissions.keeping import NotKept
from actors.permissions.policy import Rules, Verdict, decide
from actors.permissions.subject import subject_of
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
NOBODY_TO_ASK = "there is nobody who could be asked"
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
        self,
        rules: Rules,
        mode: Mode,
        publish: Callable[[AnyFact], None],
        recorder: Recorder,
        workspace: Workspace,
        keep: Callable[[Grant], Awaitable[str]],
    ) -> None:
        """`keep` makes a grant a setting and says in a sentence where; it raises `NotKept`."""
        self._rules = rules
        self._mode = mode
        self._publish = publish
        self._recorder = recorder
        self._workspace = workspace
        self._keep = keep
        self._grants: frozenset[Grant] = frozenset()
        self._asks: dict[str, _Ask] = {}
        self._numbers = itertools.count(1)
        self._life = secrets.token_hex(3)  # an answer to an earlier life's ask must not fit one of ours

    async def check(self, tool: AnyTool, given: ToolInput, call: ToolCall) -> Refusal | None:
        """Decide on a call, asking the person where the policy says so; the log has every decision."""
        verdict = self.verdict(tool, given)
        if verdict.answer == "ask":
            return await self._by_person(tool, given, call, verdict)
        is_allowed = verdict.answer == "allow"
        self._recorder.call_decided(call, "allow" if is_allowed else "deny", verdict.by, verdict.because)
        return None if is_allowed else Refusal(verdict.code, verdict.message, verdict.next_step)

    def verdict(self, tool: AnyTool, given: ToolInput) -> Verdict:
        """What rules, mode and earlier grants say of a call. Raises `ToolFailure` for a bad path."""
        return decide(
            tool.name,
            tool.effect,
            mode=self._mode,
            rules=self._rules,
            grants=self._grants,
            subject=subject_of(tool.effect, given, self._workspace),
        )

    async def _by_person(
        self, tool: AnyTool, given: ToolInput, call: ToolCall, verdict: Verdict
    ) -> Refusal | None:
        subject = verdict.subject
        if len(subject.command) > BODY_LIMIT:
            self._recorder.call_decided(call, "deny", "limit", "longer than anybody can judge")
            return Refusal(
                "command_too_long",
                f"Nobody can judge a command of {len(subject.command):,} characters; "
                f"the limit is {BODY_LIMIT:,}.",
                "Write it into a file with patch and run that, or do it in smaller steps.",
            )
        summary = tool.summary(given)
        body = tool.preview(given) if isinstance(tool, Previewing) else subject.command or summary
        place = f" in {subject.folder}" if subject.folder else ""
        settled = await self._ask(
            "approval",
            tool.name,
            f"{tool.name}{place}: {summary}",
            body,
            call_id=call.id,
            grant=verdict.grant,
        )
        is_denied = settled.decision == "deny"
        if not settled.by_person:
            self._recorder.call_decided(call, "deny", "limit", NOBODY_TO_ASK)
            return Refusal("nobody_to_ask", f"This needs an approval, and {NOBODY_TO_ASK}.", settled.text)
        self._recorder.call_decided(call, "deny" if is_denied else "allow", "person", settled.decision)
        if is_denied:
            why = f" They say: {settled.text}" if settled.text else ""
            return Refusal(
                "denied_by_user", f"The user did not allow this.{why}", "Do without it, or ask what to do."
            )
        if verdict.grant is not None and settled.decision != "allow_once":
            await self._take(verdict.grant, for_good=settled.decision == "allow_always")
        return None

    async def _take(self, grant: Grant, *, for_good: bool) -> None:
        self._grants |= {grant}
        if not for_good:
            return
        try:
            self._recorder.notice("info", await self._keep(grant))
        except NotKept as error:
            self._recorder.notice("warning", f"Allowed for this session only: {error}")

    async def question(self, title: str, options: tuple[str, ...], call_id: str = "") -> str | None:
        """Put a question of the model before the person; None when it is not answered."""
        settled = await self._ask("question", "ask_user", title, title, call_id=call_id, options=options)
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

    async def _ask(
        self,
        kind: Literal["approval", "question"],
        tool: str,
        title: str,
        body: str,
        *,
        call_id: str,
        options: tuple[str, ...] = (),
        grant: Grant | None = None,
    ) -> SettleAsk:
        """Wait for the person, who may take all the time there is; a cancelled turn lets it lapse."""
        raised = AskRaised(
            ask_id=f"ask-{self._life}-{next(self._numbers)}",
            kind=kind,
            tool=tool,
            title=title.partition("\n")[0][:_TITLE_LIMIT],
            body=_shown(body),
            options=options,
            grant=grant.words if grant else "",
            flag=grant.flag if grant else "",
            call_id=call_id,
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
