"""`update_plan`: replace the workspace plan; the result is the complete plan as it is stored."""

from collections.abc import Sequence
from itertools import chain
from typing import ClassVar, Final, Protocol

import msgspec

from actors.plan.delivery import plan_result
from actors.plan.input import Reading, UpdatePlanInput
from actors.plan.rules import bounded, check, dropped, normalize, one_line
from actors.tools.tool import Effect, Invocation, ToolOutput
from ipc.messages import Plan, PlanItem, PlanProblem, PlanRefused, PlanStored

NEXT_STEP: Final = "Correct every problem and send the whole plan again; until then this plan holds."


class PlanClient(Protocol):
    """The way to the plan store. Both raise `ToolFailure` when it stays away."""

    seen: int | None
    """The revision that the model saw last; `replace` sets it to that of its answer."""

    async def get(self) -> Plan:
        """The current plan."""
        ...

    async def replace(self, reason: str, items: tuple[PlanItem, ...]) -> PlanStored | PlanRefused:
        """Replace the whole plan; it is stored when this returns `PlanStored`."""
        ...


class UpdatePlan:
    """Hands a whole plan to the store and its answer to the model."""

    name: ClassVar[str] = "update_plan"
    effect: ClassVar[Effect] = "plan"
    input: ClassVar[type[UpdatePlanInput]] = UpdatePlanInput

    def __init__(self, plans: PlanClient) -> None:
        self._plans = plans

    def summary(self, given: UpdatePlanInput) -> str:
        return one_line(given.reading.reason)

    async def run(self, given: UpdatePlanInput, invocation: Invocation) -> ToolOutput:
        reading = given.reading
        before = await self._plans.get()
        if reading.faults:
            self._plans.seen = before.revision
            return _refused(_problems(reading, before), before)
        reply = await self._plans.replace(reading.reason, reading.items)
        if isinstance(reply, PlanRefused):
            return _refused(reply.problems, reply.plan)
        return _stored(reply.plan, dropped(reply.plan.items, before.items), reading.notes)


def _problems(reading: Reading, before: Plan) -> tuple[PlanProblem, ...]:
    """The faults, and what the rules say of the rest; nothing twice."""
    told = {(fault.item, fault.rule) for fault in reading.faults}
    broken = check(one_line(reading.reason), normalize(reading.items), before.items)
    others = (problem for problem in broken if (problem.item, problem.rule) not in told)
    return bounded(chain(reading.faults, others), len(reading.items))


def _stored(plan: Plan, gone: Sequence[str], notes: Sequence[str]) -> ToolOutput:
    return ToolOutput(plan_result(plan, dropped=gone, notes=notes), _progress(plan))


def _progress(plan: Plan) -> str:
    done = sum(item.status == "done" for item in plan.items)
    running = "".join(f", now: {item.title}" for item in plan.items if item.status == "in_progress")
    return f"{done} of {len(plan.items)} done{running}"


def _refused(problems: Sequence[PlanProblem], plan: Plan) -> ToolOutput:
    count = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
    error = {
        "code": "plan_refused",
        "message": f"The plan was refused: {count}.",
        "problems": problems,
        "next_step": NEXT_STEP,
    }
    content = msgspec.json.encode({"error": error, "plan": plan}).decode()
    display = "\n".join(f"{problem.item}: {problem.message}" for problem in problems)
    return ToolOutput(content, display, ok=False)
