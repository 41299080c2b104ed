"""The parent's side of the plan: every replacement acknowledged, or honestly refused."""

import asyncio
from collections.abc import Callable
from typing import Final

from actors.plan.rules import normalize, one_line
from actors.tools.tool import ToolFailure
from ipc.errors import IpcError, LocalFault
from ipc.mailbox import Link
from ipc.messages import GetPlan, Plan, PlanItem, PlanRefused, PlanStored, ReplacePlan

ATTEMPTS: Final = 20
"""How often a plan store that went away is asked again; it is back within a fraction of a second."""
_PAUSE_S: Final = 0.1
_DEADLINE_S: Final = 3.0


class PlanClient:
    """Talks to the workspace's plan store."""

    def __init__(self, link: Link, written: Callable[[Plan], None]) -> None:
        self._link = link
        self._written = written
        self._revision: int | None = None

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

        It is based on the plan that this session saw last: what another session or the person did meanwhile
        comes back as `stale_plan` instead of being overwritten. A store that dies before it answers may have
        stored the plan; the plan on disk tells, so that an update is neither lost nor applied twice.
        """
        wanted = (one_line(reason), normalize(items))
        for _ in range(ATTEMPTS):
            try:
                reply = await self._link.ask(
                    ReplacePlan(reason=reason, items=items, based_on=self._revision), _DEADLINE_S
                )
            except LocalFault as fault:
                raise ToolFailure("plan_too_large", str(fault), "Send a shorter plan.") from fault
            except IpcError:
                await asyncio.sleep(_PAUSE_S)
                current = await self.get()
                if (current.reason, current.items) != wanted:
                    continue
                reply = PlanStored(plan=current)
            if isinstance(reply, PlanStored | PlanRefused):
                self._revision = reply.plan.revision
            if isinstance(reply, PlanStored):
                self._written(reply.plan)
                return reply
            if isinstance(reply, PlanRefused):
                return reply
        raise _away()


def _away() -> ToolFailure:
    return ToolFailure(
        "plan_store_away", "The plan store does not answer.", "Go on without the plan and tell the user."
    )
