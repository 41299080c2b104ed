"""The plan-store actor: the only writer of a workspace's plan, elected by a lock among all its runs."""

import asyncio
import fcntl
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Final

import msgspec

from actors.clock import timestamp
from actors.plan.evidence import judge
from actors.plan.file import ChangedOutside, PlanFile, StoreFailed, StoreUncertain
from actors.plan.git_exclude import PATTERN, exclude
from actors.plan.rules import check, normalize, one_line
from ipc import kernel, logs
from ipc.actor import Actor, run
from ipc.endpoints import RunPlace
from ipc.mailbox import Answer, Peer
from ipc.messages import (
    ActorName,
    AnyCommand,
    AnyFact,
    ClearPlan,
    GetPlan,
    Level,
    NoticeRaised,
    Plan,
    PlanChanged,
    PlanItem,
    PlanProblem,
    PlanRefused,
    PlanStored,
    Refused,
    ReplacePlan,
)

STAND_BY_S: Final = 0.05
"""How often a plan store that stands by looks whether the workspace has become free."""
REASON_CLEARED: Final = "Cleared"


class PlanStore(Actor):
    """Holds the plan that lies on disk; another run's plan store in the same workspace waits its turn."""

    name: ClassVar[ActorName] = "plan_store"
    publishes: ClassVar[bool] = True

    def __init__(self, place: RunPlace) -> None:
        super().__init__(place)
        self._workspace = Path(place.run.workspace)
        self._file = PlanFile(self._workspace)
        self._plan = Plan()
        self._warning = ""
        self._excluded = False
        self._adopted = False
        """Whether the plan was changed outside and no caller has been told yet."""

    async def on_start(self) -> None:
        while not _elected(self.place.workspace_directory):  # noqa: ASYNC110 - a lock has no event to wait for
            await asyncio.sleep(STAND_BY_S)
        loaded = self._file.load()
        self._plan, self._warning = loaded.plan, loaded.warning

    async def on_bound(self) -> None:
        self.publish(PlanChanged(plan=self._plan))
        if self._warning:
            self._notice("warning", self._warning)

    def on_command(self, command: AnyCommand, peer: Peer) -> Answer:
        match command:
            case GetPlan():
                self._look_outside()
                return PlanStored(plan=self._plan)
            case ReplacePlan():
                self._look_outside()
                return self._replace(command)
            case ClearPlan():
                self._look_outside()
                return self._clear()
            case _:
                return super().on_command(command, peer)

    def _replace(self, command: ReplacePlan) -> PlanStored | PlanRefused:
        reason, items = one_line(command.reason), normalize(command.items)
        stale = (_stale(self._plan.revision),) if self._is_stale(command.based_on) else ()
        problems = (*stale, *check(reason, items, self._plan.items))
        if problems:
            return self._refused(*problems)
        judged = judge(items, self._plan.items, command.ledger)
        return self._store(reason, judged, command.session_id)

    def _clear(self) -> PlanStored | Refused:
        if not self._plan.items:
            return PlanStored(plan=self._plan)
        if self._is_stale(None):
            problem = _stale(self._plan.revision)
        else:
            reply = self._store(REASON_CLEARED, (), "")
            if isinstance(reply, PlanStored):
                return reply
            problem = reply.problems[0]
        return Refused(code=problem.rule, message=f"Not cleared: {problem.message}.", next_step=problem.fix)

    def _store(self, reason: str, items: tuple[PlanItem, ...], session: str) -> PlanStored | PlanRefused:
        if not self._excluded:
            self._excluded = True
            if exclude(self._workspace):
                self._notice(
                    "info", f"Added {PATTERN} to .git/info/exclude, so that Git does not see the plan."
                )
        plan = Plan(
            revision=self._plan.revision + 1,
            updated_at=timestamp(),
            reason=reason,
            session=session,
            items=items,
        )
        try:
            self._file.store(plan, _behind_the_reply)
        except ChangedOutside:
            self._adopt()
            self._adopted = False
            return self._refused(_stale(self._plan.revision))
        except StoreFailed as error:
            self._notice("error", f"The plan was not stored. {error}.")
            return self._refused(_not_stored(str(error)))
        except StoreUncertain as error:
            self._take(plan)
            self._notice("error", f"The plan may not survive a power cut. {error}.")
            return self._refused(_uncertain(str(error)))
        self._take(plan)
        return PlanStored(plan=plan)

    def _look_outside(self) -> None:
        """Take over what another program has made of the file, before it could be overwritten."""
        try:
            unchanged = self._file.is_unchanged()
        except OSError:
            return
        if not unchanged:
            self._adopt()

    def _adopt(self) -> None:
        loaded = self._file.load()
        revision = max(self._plan.revision, loaded.plan.revision) + 1
        # Whoever edits the file can not vouch for what was done: only what was verified before stays so.
        plan = msgspec.structs.replace(
            loaded.plan,
            revision=revision,
            updated_at=timestamp(),
            session="",
            items=judge(loaded.plan.items, self._plan.items, ()),
        )
        notice = loaded.warning or "The plan file was removed by another program; the plan is empty."
        if loaded.found:
            notice = "The plan file was changed by another program; Fido goes on with what it says now."
            try:
                self._file.store(plan)
            except (ChangedOutside, StoreFailed, StoreUncertain) as error:
                notice = f"{notice} {error}."
        self._take(plan)
        self._adopted = True
        self._notice("warning", notice)

    def _is_stale(self, based_on: int | None) -> bool:
        adopted, self._adopted = self._adopted, False
        return adopted if based_on is None else based_on != self._plan.revision

    def _take(self, plan: Plan) -> None:
        self._plan = plan
        self._tell(PlanChanged(plan=plan))

    def _refused(self, *problems: PlanProblem) -> PlanRefused:
        return PlanRefused(problems=problems, plan=self._plan)

    def _notice(self, level: Level, message: str) -> None:
        self._tell(NoticeRaised(level=level, message=message))

    def _tell(self, fact: AnyFact) -> None:
        """Publish behind the reply, which it would hold up by 80 µs; facts keep their order."""
        _behind_the_reply(lambda: self.publish(fact))


def _behind_the_reply(work: Callable[[], None]) -> None:
    """Do it once the reply is on its way; at once where nobody waits for one."""
    try:
        asyncio.get_running_loop().call_soon(work)
    except RuntimeError:
        work()


def _stale(revision: int) -> PlanProblem:
    return PlanProblem(
        item="plan",
        rule="stale_plan",
        message=f"the plan was changed meanwhile and is at revision {revision} now",
        fix="Read the current plan, work your changes into it, and send the whole plan again.",
    )


def _not_stored(error: str) -> PlanProblem:
    return PlanProblem(
        item="plan",
        rule="not_stored",
        message=error,
        fix="Tell the user; go on with the earlier plan, and send this one again when the disk is in order.",
    )


def _uncertain(error: str) -> PlanProblem:
    return PlanProblem(
        item="plan",
        rule="uncertain",
        message=f"this plan holds, but it may not survive a power cut: {error}",
        fix="Tell the user, and send the plan again at the next milestone.",
    )


def _elected(directory: Path) -> bool:
    """Take the workspace's lock if it is free; it is held until this process ends."""
    directory.mkdir(mode=0o700, exist_ok=True)
    path = directory / "lock"
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The directory may have been swept between open and lock: a lock on a lost file elects nobody.
        if os.path.samestat(os.fstat(fd), path.stat()):
            return True
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(fd)
    return False


def main(argv: list[str]) -> int:
    """`python -I -m actors.plan_store RUN_DIR PPID`."""
    run_dir, ppid = argv
    kernel.die_with_parent(int(ppid))
    place = RunPlace.join(run_dir)
    logs.begin(place.run.flags.get("log_level", "warning"))
    return run(PlanStore(place))


if __name__ == "__main__":
    kernel.leave(main(sys.argv[1:]))
