"""The parent's side of the plan: every replacement acknowledged, or honestly refused."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Final

import msgspec

from actors.plan.evidence import relevant
from actors.plan.rules import normalize, one_line
from actors.tools.tool import ToolFailure
from ipc.errors import IpcError, LocalFault
from ipc.mailbox import Peer
from ipc.messages import (
    AnyReply,
    Deed,
    GetPlan,
    Plan,
    PlanItem,
    PlanRefused,
    PlanStored,
    Refused,
    ReplacePlan,
)

PATIENCE_S: Final = 20.0
"""How long a plan store that went away is waited for; it is back within a fraction of a second."""
_PAUSE_S: Final = 0.02
_DEADLINE_S: Final = 3.0


class PlanClient:
    """Talks to the workspace's plan store for one session."""

    def __init__(
        self,
        link: Peer,
        written: Callable[[Plan], None],
        session_id: str,
        deeds: Callable[[], tuple[Deed, ...]],
    ) -> None:
        """`written` takes every plan that was stored; `deeds` tells what the session has done so far."""
        self._link = link
        self._written = written
        self._session_id = session_id
        self._deeds = deeds
        self.seen: int | None = None
        """The revision that the model saw last; null while it saw none."""

    async def get(self) -> Plan:
        """The current plan. Raises `ToolFailure` when the store stays away."""
        async with _patience():
            return await self._current()

    async def replace(self, reason: str, items: tuple[PlanItem, ...]) -> PlanStored | PlanRefused:
        """Replace the plan. Raises `ToolFailure` when the store stays away.

        It is based on the plan that the model saw last: what another session or the person did meanwhile
        comes back as `stale_plan` instead of being overwritten. A store that dies before it answers may have
        stored the plan; the plan on disk tells, so that an update is neither lost nor applied twice.
        """
        async with _patience():
            based_on = since = self.seen
            if since is None:
                current = await self._current()
                # A model that saw no plan builds on nothing: one that is there comes back as `stale_plan`.
                based_on, since = 0 if current.items else current.revision, current.revision
            command = ReplacePlan(
                reason=reason,
                items=items,
                based_on=based_on,
                session_id=self._session_id,
                ledger=relevant(items, self._deeds()),
            )
            reply = await self._settled(command, since)
        self.seen = reply.plan.revision
        if isinstance(reply, PlanStored):
            self._written(reply.plan)
        return reply

    async def _settled(self, command: ReplacePlan, since: int) -> PlanStored | PlanRefused:
        while True:
            reply = await self._ask(command)
            if isinstance(reply, PlanRefused) and not _is_stale(reply):
                return reply  # also `uncertain`, where the plan holds and the model has to know more
            current = await self._current() if reply is None else reply.plan
            # Also behind `stale_plan`: an earlier try of this very command may have come through late.
            if current.revision > since and _is_result(current, command):
                return PlanStored(plan=current)
            if reply is not None:
                return reply

    async def _current(self) -> Plan:
        while True:
            reply = await self._ask(GetPlan())
            if isinstance(reply, PlanStored):
                return reply.plan

    async def _ask(self, command: GetPlan | ReplacePlan) -> PlanStored | PlanRefused | None:
        """The store's answer; nothing, after a pause, when there is none."""
        try:
            reply: AnyReply | None = await self._link.ask(command, _DEADLINE_S)
        except LocalFault as fault:
            raise ToolFailure("plan_too_large", str(fault), "Send a shorter plan.") from fault
        except IpcError:
            reply = None
        if isinstance(reply, PlanStored | PlanRefused):
            return reply
        if isinstance(reply, Refused) and reply.code == "wrong_version":
            raise ToolFailure(
                "plan_store_differs",
                "The plan of this workspace is kept by another running Fido, of another version.",
                "Go on without the plan, and tell the user to end the other session.",
            )
        await asyncio.sleep(_PAUSE_S)
        return None


@asynccontextmanager
async def _patience() -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield
    except TimeoutError:
        raise ToolFailure(
            "plan_store_away", "The plan store does not answer.", "Go on without the plan and tell the user."
        ) from None


def _is_result(plan: Plan, command: ReplacePlan) -> bool:
    """Whether a plan is what this command makes, whatever the verdicts on its evidence are."""
    return (plan.session, plan.reason, _unjudged(plan.items)) == (
        command.session_id,
        one_line(command.reason),
        _unjudged(normalize(command.items)),
    )


def _is_stale(reply: PlanRefused) -> bool:
    return any(problem.rule == "stale_plan" for problem in reply.problems)


def _unjudged(items: Iterable[PlanItem]) -> list[PlanItem]:
    return [msgspec.structs.replace(item, verdicts=()) for item in items]
