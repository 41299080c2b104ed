"""The front of `fido run`: prints one turn's facts, settles what nobody can be asked, exits."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import Any, Final, Literal

import msgspec

from actors.headless_output import FactFilter, Format, Printer, printer_for, told_as_notice
from actors.last_words import stdout_lost
from ipc import kernel, logs
from ipc.bus import Follower
from ipc.channel import Channel
from ipc.endpoints import RunPlace
from ipc.errors import IpcError
from ipc.mailbox import Link
from ipc.messages import (
    AnyFact,
    AskRaised,
    CancelTurn,
    CompactionFinished,
    GetPlan,
    NoticeRaised,
    PlanChanged,
    PlanStored,
    Problem,
    RequestDelayed,
    SessionOpened,
    SettleAsk,
    ToolFinished,
    TurnFinished,
    TurnStarted,
)

EXIT_STATUS: Final = {"completed": 0, "failed": 1, "limit": 3, "cancelled": 1}
NEEDED_APPROVAL: Final = 4
CANCEL_PATIENCE_S: Final = 0.6
"""How long a cancelled turn may take to report its end; the supervisor waits a little longer for us."""
LAST_PLAN_S: Final = 1.0
NOBODY_ANSWERS: Final = "Nobody can answer in a headless run. Decide yourself, or say what you need to know."
NEEDED: Final = "{tool} needed an approval that nobody could give; allow it with {flag}"
NOT_THIS_ALONE: Final = (
    "--allow {tool} (this allows every {tool} that no rule of yours asks about: no flag means just this one)"
)
NOBODY_APPROVES: Final = "Do without, or tell the user to pass {flag}"
MORE_TURNS: Final = "Raise --max-turns, or go on with `fido run --session ID PROMPT`."
DELEGATION_FAILED: Final = "A delegation failed: {display}"


class Headless:
    """Watches the parent until its first turn has ended."""

    def __init__(self, place: RunPlace, printer: Printer) -> None:
        flags = place.run.flags
        timeout = flags.get("timeout")
        self._timeout_s = float(timeout) if isinstance(timeout, int | float) else None
        self._printer = printer
        self._place = place
        self._finished: asyncio.Future[TurnFinished] = asyncio.get_running_loop().create_future()
        self._filter = FactFilter(self._take)
        self._tasks: set[asyncio.Task[None]] = set()
        self._signal = 0
        self._timed_out = False
        self._first_turn = 1
        self._begun = self._ending = False
        self._needed: dict[str, str] = {}
        """The flag that would have allowed it, by the sentence that says what needed an approval."""
        self._channel = Channel(frame_limit=place.run.frame_limit)
        self._plans = Link(self._channel, "headless", place.mailbox("plan_store"))
        self._parent = Link(self._channel, "headless", place.mailbox("parent"))

    async def run(self) -> int:
        """Print until the turn is over; return the exit status of `fido run`."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._crash)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._interrupt, number)
        self._follow("parent", self._parent)
        if self._timeout_s is not None:
            loop.call_later(self._timeout_s, self._time_out)
        finished = await self._finished
        await self._take_last_plan()
        self._printer.finish(self._judged(finished))
        self._channel.close()
        return self._status(finished)

    def _crash(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """End with what a callback raised; a closed stdout is the common case."""
        if not self._finished.done():
            self._finished.set_exception(context.get("exception") or RuntimeError(context["message"]))

    def _follow(self, actor: Literal["parent", "plan_store"], link: Link) -> None:
        facts = self._place.facts(actor)
        Follower(self._channel, link, facts, on_reset=self._filter.reset, on_fact=self._filter.fact)

    def _is_past(self, fact: AnyFact) -> bool:
        """Whether a fact belongs to a turn that the session held before this run."""
        if isinstance(fact, TurnStarted) and fact.turn >= self._first_turn:
            self._begun = True
        told_anyway = isinstance(fact, SessionOpened | PlanChanged | NoticeRaised)
        return not self._begun and not told_anyway and not self._ending

    async def _take_last_plan(self) -> None:
        """Two publishers have no common order: ask, so that the last plan is not told too late."""
        with contextlib.suppress(IpcError):
            reply = await self._plans.ask(GetPlan(), LAST_PLAN_S)
            if isinstance(reply, PlanStored):
                self._filter.fact(PlanChanged(plan=reply.plan))

    def _take(self, fact: AnyFact) -> None:
        if self._is_past(fact):
            return
        if isinstance(fact, CompactionFinished | RequestDelayed):
            fact = told_as_notice(fact)
        if isinstance(fact, SessionOpened):
            self._first_turn = fact.first_turn
            self._printer.show(fact)  # always the first line; the plan comes behind it
            self._follow("plan_store", self._plans)
        elif isinstance(fact, TurnFinished):
            if not self._finished.done():
                self._finished.set_result(fact)
        elif isinstance(fact, AskRaised):
            self._refuse(fact)
        else:
            self._printer.show(fact)
            if isinstance(fact, ToolFinished) and fact.name == "delegate" and fact.status == "error":
                self._warn(DELEGATION_FAILED.format(display=fact.display))

    def _refuse(self, ask: AskRaised) -> None:
        flag = ask.flag or NOT_THIS_ALONE.format(tool=ask.tool)
        text = NOBODY_ANSWERS
        if ask.kind == "approval":
            text = NOBODY_APPROVES.format(flag=flag)
            needed = NEEDED.format(tool=ask.tool, flag=flag)
            self._needed[needed] = flag
            self._warn(needed)
        self._start(self._ask(SettleAsk(ask_id=ask.ask_id, decision="deny", text=text, by_person=False)))

    def _warn(self, message: str) -> None:
        """Tell the person, the same thing once."""
        self._filter.fact(NoticeRaised(level="warning", message=message))

    def _judged(self, fact: TurnFinished) -> TurnFinished:
        """The end as it is reported, in words of the command line."""
        problem = fact.problem
        if self._timed_out and fact.status == "cancelled":
            message = f"The run was stopped after {self._timeout_s:g} seconds."
            problem = Problem(code="timeout", message=message, next_step="Raise --timeout, or ask for less.")
            return msgspec.structs.replace(fact, status="limit", problem=problem)
        if problem and problem.code == "max_rounds" and self._place.run.flags.get("max_turns") is not None:
            problem = msgspec.structs.replace(problem, next_step=MORE_TURNS)
        elif fact.status == "completed" and self._needed:
            flags = dict.fromkeys(self._needed.values())
            next_step = f"Run it again with {' '.join(flags)}"
            problem = Problem(code="approval_needed", message=next(iter(self._needed)), next_step=next_step)
        return msgspec.structs.replace(fact, problem=problem)

    def _status(self, fact: TurnFinished) -> int:
        if self._signal:
            return 128 + self._signal
        status = EXIT_STATUS[self._judged(fact).status]
        return NEEDED_APPROVAL if status == 0 and self._needed else status

    def _interrupt(self, number: int) -> None:
        if self._refused_start():
            return
        self._signal = self._signal or number
        self._cancel(f"Interrupted by {signal.Signals(number).name}.")

    def _refused_start(self) -> bool:
        """Report a start that the parent refused, where objects are asked for; a person is told anyway."""
        try:
            reason = self._place.failure_file("parent").read_text(encoding="utf-8").strip()
        except OSError:
            return False
        if self._place.run.flags.get("output_format", "text") == "text":
            raise SystemExit(1)
        self._ending = True
        problem = Problem(code="start_refused", message=reason)
        self._take(TurnFinished(turn=0, status="failed", final_text="", problem=problem))
        return True

    def _time_out(self) -> None:
        self._timed_out = True
        self._cancel("The time is up.")

    def _cancel(self, message: str) -> None:
        self._ending = True
        self._start(self._ask(CancelTurn()))
        problem = Problem(code="cancelled", message=message)
        lost = TurnFinished(turn=0, status="cancelled", final_text="", problem=problem)
        asyncio.get_running_loop().call_later(CANCEL_PATIENCE_S, self._take, lost)

    async def _ask(self, command: CancelTurn | SettleAsk) -> None:
        try:
            await self._parent.ask(command)
        except IpcError:
            return  # A parent that comes back starts with a turn that has ended.

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _writer(fd: int) -> Callable[[bytes], None]:
    def write(data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]

    return write


def _tell(data: bytes) -> None:
    """Write to stderr as far as it takes it: a run is not for its notices."""
    with contextlib.suppress(OSError):
        _writer(2)(data)


def _format(place: RunPlace) -> Format:
    match place.run.flags.get("output_format", "text"):
        case "json":
            return "json"
        case "stream-json":
            return "stream-json"
        case _:
            return "text"


async def _main(place: RunPlace) -> int:
    progress = sys.stderr.isatty() or place.run.flags.get("log_level") in ("info", "debug")
    printer = printer_for(_format(place), _writer(1), _tell, progress=progress)
    try:
        return await Headless(place, printer).run()
    finally:
        kernel.hear_no_signals()


def main(argv: list[str]) -> int:
    """`python -I -m actors.headless RUN_DIR PPID`."""
    run_dir, ppid = argv
    kernel.die_with_parent(int(ppid))
    kernel.set_name("fido-headless")
    logs.begin("warning")
    try:
        return asyncio.run(_main(RunPlace.open(run_dir)))
    except OSError as error:
        return stdout_lost(error)


if __name__ == "__main__":
    kernel.leave(main(sys.argv[1:]))
