"""The parent's side of the plan: every replacement acknowledged, or honestly refused."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from actors.plan.rules import normalize, one_line
from actors.tools.tool import ToolFailure
from ipc.errors import IpcError, LocalFault
from ipc.mailbox import Link
from ipc.messages import Deed, GetPlan, Plan, PlanItem, PlanRefused, PlanStored, ReplacePlan

ATTEMPTS: Final = 20
"""How often a plan store that went away is asked again; it is back within a fraction of a second."""
_PAUSE_S: Final = 0.1
_DEADLINE_S: Final = 3.0


class PlanClient:
    """Talks to the workspace's plan store for one session."""

    def __init__(
        self,
        link: Link,
        written: Callable[[Plan], None],
        session_id: str = "",
        deeds: Callable[[], tuple[Deed, ...]] = tuple,
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
        for _ in range(ATTEMPTS):
            try:
                reply = await self._link.ask(GetPlan(), _DEADLINE_S)
            except IpcError:
                await asyncio.sleep(_PAUSE_S)
                continue
            if isinstance(reply, PlanStored):
                return reply.plan
        raise _away()

    async def replace(self, reason: str, items: tuple[PlanItem, ...]) -> PlanStored | PlanRefused:
        """Replace the plan. Raises `ToolFailure` when the store stays away.

        It is based on the plan that the model saw last: what another session or the person did meanwhile
        comes back as `stale_plan` instead of being overwritten. A store that dies before it answers may have
        stored the plan; the plan on disk tells, so that an update is neither lost nor applied twice.
        """
        command = ReplacePlan(
            reason=reason,
            items=items,
            based_on=self.seen,
            session_id=self._session_id,
            ledger=self._deeds(),
        )
        for _ in range(ATTEMPTS):
            try:
                reply = await self._link.ask(command, _DEADLINE_S)
            except LocalFault as fault:
                raise ToolFailure("plan_too_large", str(fault), "Send a shorter plan.") from fault
            except IpcError:
                await asyncio.sleep(_PAUSE_S)
                current = await self.get()
                if not _is_result(current, command):
                    continue
                reply = PlanStored(plan=current)
            if isinstance(reply, PlanStored):
                self._written(reply.plan)
            if isinstance(reply, PlanStored | PlanRefused):
                self.seen = reply.plan.revision
                return reply
        raise _away()


def _is_result(plan: Plan, command: ReplacePlan) -> bool:
    """Whether a plan is what this command makes, whatever the verdicts on its evidence are."""
    if command.based_on is not None and plan.revision <= command.based_on:
        return False
    return (plan.session, plan.reason, _unjudged(plan.items)) == (
        command.session_id,
        one_line(command.reason),
        _unjudged(normalize(command.items)),
    )


def _unjudged(items: Iterable[PlanItem]) -> list[PlanItem]:
    return [msgspec.structs.replace(item, verdicts=()) for item in items]


def _away() -> ToolFailure:
    return ToolFailure(
        "plan_store_away", "The plan store does not answer.", "Go on without the plan and tell the user."
    )
