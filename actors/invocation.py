"""The invocation guard: from a call as the model made it to the result it gets, whoever the caller is."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from pydantic import ValidationError

from actors.calls import UNKNOWN_TOOL, ToolResult, argument_object, failure, is_cut_off, mended
from actors.catalog.aliases import canonical, canonical_name, nearest_tools
from actors.tools.tool import Invocation, Tool, ToolFailure, ToolInput, ToolOutput
from ipc.messages import ToolCall

log = logging.getLogger(__name__)

AnyTool = Tool[Any]
_LONGEST_SHOWN: Final = 200
"""Characters of a name or of arguments that a result repeats."""
COMMA_IGNORED: Final = "A trailing comma in the arguments was ignored."


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call may not run."""

    code: str
    message: str
    next_step: str = ""
    content: str | None = None
    """The whole result, where its shape is fixed."""


class Gate(Protocol):
    """Decides on a call that is well-formed, waiting for a person where it must."""

    async def check(self, tool: AnyTool, given: ToolInput, call: ToolCall) -> Refusal | None: ...


class CallWatcher(Protocol):
    """Is told of every call, before it has any effect and when it has its result."""

    def call_started(self, call: ToolCall, summary: str) -> None: ...

    def call_finished(self, call: ToolCall, result: ToolResult) -> None: ...


class InvocationGuard:
    """The one way to a tool. A failure is a result; only cancellation is raised.

    A tool may hand in a result although its task was cancelled; then the call is `cancelled` all the same.
    """

    def __init__(
        self,
        tools: Mapping[str, AnyTool],
        gate: Gate,
        watcher: CallWatcher,
        redact: Callable[[str], str] = str,
    ) -> None:
        """`redact` takes out of every result what neither the model nor a log may hold."""
        self._tools = tools
        self._gate = gate
        self._watcher = watcher
        self._redact = redact

    def is_parallel(self, call: ToolCall) -> bool:
        tool = self._tools.get(canonical_name(call.name))
        return tool is not None and tool.effect == "read"

    async def invoke(self, call: ToolCall, *, cut_off: bool = False) -> ToolResult:
        call = canonical(call)
        understood = self._understand(call, cut_off)
        if isinstance(understood, ToolResult):
            self._watcher.call_started(call, "")
            self._watcher.call_finished(call, understood)
            return understood
        tool, given = understood
        self._watcher.call_started(call, tool.summary(given))
        stopwatch, result = _Stopwatch(), None
        try:
            result = self._redacted(await self._run(tool, given, call, stopwatch))
        finally:
            self._watcher.call_finished(call, result or _cut_short(stopwatch))
        return result

    def _redacted(self, result: ToolResult) -> ToolResult:
        return replace(result, content=self._redact(result.content), display=self._redact(result.display))

    def _understand(self, call: ToolCall, cut_off: bool) -> tuple[AnyTool, ToolInput] | ToolResult:
        tool = self._tools.get(call.name)
        if tool is None:
            return _failed(*_unknown(call.name, self._tools))
        read = mended(call) if tool.input.takes_mended and not cut_off else call
        notes = (COMMA_IGNORED,) if read is not call else ()
        try:
            return tool, tool.input.model_validate(argument_object(read), context=notes)
        except ValidationError as error:
            return _failed(*_invalid(call.name, error))
        except ValueError as error:
            return _failed(*_unreadable(call, str(error), cut_off or is_cut_off(call.arguments)))

    async def _run(
        self, tool: AnyTool, given: ToolInput, call: ToolCall, stopwatch: "_Stopwatch"
    ) -> ToolResult:
        try:
            refusal = await self._gate.check(tool, given, call)
            if refusal is not None:
                content = refusal.content or failure(refusal.code, refusal.message, refusal.next_step)
                return ToolResult(content, "denied", refusal.message, code=refusal.code)
            stopwatch.start()
            result = _finished(await tool.run(given, Invocation(call.id)))
        except ToolFailure as error:
            result = _failed(error.code, error.message, error.next_step)
        except Exception as error:
            log.exception("%s crashed", call.name)
            crash = f"{call.name} failed inside Fido: {type(error).__name__}: {error}"
            result = _failed("tool_crashed", crash)
        status = "cancelled" if _is_cancelled() else result.status
        return replace(result, status=status, duration_ms=stopwatch.elapsed_ms)


class _Stopwatch:
    """How long a tool has run; waiting for a person is not running."""

    def __init__(self) -> None:
        self._started: float | None = None

    def start(self) -> None:
        self._started = time.monotonic()

    @property
    def elapsed_ms(self) -> int:
        return 0 if self._started is None else round(1000 * (time.monotonic() - self._started))


def _cut_short(stopwatch: _Stopwatch) -> ToolResult:
    """The result of a call whose tool handed in none."""
    content = failure("cancelled", "The call was cancelled.")
    return ToolResult(content, "cancelled", duration_ms=stopwatch.elapsed_ms)


def _is_cancelled() -> bool:
    """Whether somebody cancelled the running task, which goes on."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _finished(output: ToolOutput) -> ToolResult:
    return ToolResult(output.content, "ok" if output.ok else "error", output.display or output.content)


def _failed(code: str, message: str, next_step: str = "") -> ToolResult:
    return ToolResult(failure(code, message, next_step), "error", message, code=code)


def _unknown(name: str, tools: Mapping[str, AnyTool]) -> tuple[str, str, str]:
    near = nearest_tools(name[:_LONGEST_SHOWN], tools)
    hint = f"Did you mean {' or '.join(near)}? " if near else ""
    shown = name if len(name) <= _LONGEST_SHOWN else name[:_LONGEST_SHOWN] + "…"
    return UNKNOWN_TOOL, f"There is no tool {shown!r}.", f"{hint}There are: {', '.join(sorted(tools))}."


def _unreadable(call: ToolCall, fault: str, cut_off: bool) -> tuple[str, str, str]:
    sent = call.arguments
    shown = sent if len(sent) <= _LONGEST_SHOWN else sent[:_LONGEST_SHOWN] + "…"
    if cut_off:
        message = f"The arguments of {call.name} were cut off before their end; nothing was run."
        return "arguments_cut_off", message, "Send the work in smaller pieces."
    message = f"The arguments of {call.name} are not one JSON object: {fault}. Received: {shown}"
    return "bad_arguments", message, "Send the call again with one valid JSON object."


def _invalid(name: str, error: ValidationError) -> tuple[str, str, str]:
    faults = "; ".join(
        _fault(each["loc"], each["msg"], each["input"]) for each in error.errors(include_url=False)
    )
    return "bad_arguments", f"{name}: {faults}", "Correct these and send the call again."


def _fault(where: tuple[int | str, ...], message: str, received: object) -> str:
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in where).lstrip(".")
    shown = repr(received)
    return f"{place or 'arguments'}: {message} (received {shown if len(shown) <= 80 else shown[:80] + '…'})"
