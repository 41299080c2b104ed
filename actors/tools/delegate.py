"""`delegate`: hand one bounded, read-only task to a subagent."""

from typing import Annotated, ClassVar, Final, Literal, Protocol

import msgspec
from pydantic import Field, StringConstraints

from actors.tools.tool import Effect, Invocation, ToolInput, ToolOutput

MAX_TASK: Final = 8_000
"""Characters of the task, and of the background."""
MIN_TIMEOUT_MS: Final = 1_000
"""Whoever asks for less means seconds; a delegation would never come to its end in that."""

Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


class Scope(ToolInput):
    """Where to look; it narrows the work, never the fork."""

    paths: Annotated[tuple[Line, ...], Field(max_length=50)] = ()
    symbols: Annotated[tuple[Line, ...], Field(max_length=50)] = ()


class DelegateInput(ToolInput):
    """One task for one subagent."""

    task: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_TASK),
        Field(description="What to find out, self-contained"),
    ]
    context: Annotated[
        str,
        StringConstraints(strip_whitespace=True, max_length=MAX_TASK),
        Field(description="Why it is delegated, and what is known already"),
    ] = ""
    scope: Annotated[Scope, Field(description="Workspace-relative paths and symbols to look at")] = Scope()
    mode: Literal["read_only"] = "read_only"
    output_contract: Literal["findings"] = "findings"
    timeout_ms: Annotated[int | None, Field(ge=MIN_TIMEOUT_MS, description="Milliseconds, at least 1000")] = (
        None
    )


class Delegator(Protocol):
    """Runs a delegation to its end, whatever that is."""

    async def delegate(self, request: DelegateInput, invocation: Invocation) -> str:
        """Return the `delegate_result` as JSON; a failed delegation is a result, too."""
        ...


class _Fault(msgspec.Struct):
    message: str


class _Outcome(msgspec.Struct):
    status: str
    error: _Fault | None = None


class DelegateTool:
    """Waits for the one subagent and hands its result over."""

    name: ClassVar[str] = "delegate"
    effect: ClassVar[Effect] = "delegate"
    input: ClassVar[type[DelegateInput]] = DelegateInput

    def __init__(self, delegator: Delegator) -> None:
        self._delegator = delegator

    def summary(self, given: DelegateInput) -> str:
        return given.task.splitlines()[0]

    async def run(self, given: DelegateInput, invocation: Invocation) -> ToolOutput:
        result = await self._delegator.delegate(given, invocation)
        outcome = msgspec.json.decode(result, type=_Outcome)
        # What a subagent says is for the parent's model; nobody draws it.
        display = f"{outcome.status}: {outcome.error.message}" if outcome.error else outcome.status
        return ToolOutput(result, display, ok=outcome.status != "failed")
