"""The plan on a disk that fails: at every system call, with every error, full, read-only, cut from power."""

import errno
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from actors.plan.file import NAME, PlanFile, StoreFailed, encode
from actors.plan_store import PlanStore
from ipc.endpoints import RunPlace
from ipc.messages import (
    AnyCommand,
    AnyFact,
    GetPlan,
    NoticeRaised,
    Plan,
    PlanRefused,
    PlanStored,
    ReplacePlan,
)
from tests.fakes.chat_script import Step, call, say
from tests.fakes.failing_calls import KILL, watched
from tests.fakes.fault_table import LONG, Fault
from tests.fakes.fido import DEADLINE_S, GUARD, Finished, Home, home, openai_environment
from tests.fakes.launch import ROOT
from tests.fakes.places import run_place
from tests.fakes.plans import plan, step
from tests.fakes.scripted_server import ScriptedServer
from tests.fakes.somebody import somebodys_folder

OWN_MOUNTS = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-Urm"]
ERRORS = [errno.EIO, errno.ENOSPC, errno.EROFS]
if LONG:
    ERRORS += [errno.EDQUOT, errno.EACCES, errno.EMFILE, errno.ENOMEM, errno.EFBIG]
LAST_CALL = 200
"""Far behind the last call of the work."""

Say = Callable[[bytes], object]


@pytest.fixture
def at_home() -> Iterator[Home]:
    with home() as made:
        yield made


def three_plans(folder: Path) -> Callable[[Say], None]:
    """Store three plans, and acknowledge each."""

    def work(say: Say) -> None:
        file = PlanFile(folder)
        file.load()
        for revision in (1, 2, 3):
            file.store(plan(step("a", details=str(revision) * 50), revision=revision))
            say(b"%d\n" % revision)

    return work


def at(number: int, answer: int) -> Callable[[int, str, str], int]:
    return lambda call, _name, _path: answer if call == number else 0


def folders(root: Path) -> "itertools.starmap[tuple[int, Path]]":
    """Numbers from 1, each with a fresh folder."""

    def fresh(number: int) -> tuple[int, Path]:
        folder = root / str(number)
        folder.mkdir()
        return number, folder

    return itertools.starmap(fresh, zip(range(1, LAST_CALL), strict=False))


@pytest.mark.fault(34, says="the plan store is killed at each system call")
def test_a_kill_at_any_system_call_loses_no_acknowledged_plan(tmp_path: Path, fault: Fault) -> None:
    for number, folder in folders(tmp_path):
        with fault.attempt():
            run = watched(three_plans(folder), at(number, KILL))
            acknowledged = len(run.said.split())
            file = PlanFile(folder)
            loaded = file.load()
            assert loaded.warning == "", f"call {number}"
            assert loaded.plan.revision in (acknowledged, acknowledged + 1), f"call {number}"
            file.store(plan(step("a"), revision=9))
            assert os.listdir(folder) == [NAME], f"call {number}"
        if run.finished:
            break
    assert acknowledged == 3
    assert number > 20


@pytest.mark.fault(35, says="the power fails: what was synced, and when")
def test_what_is_acknowledged_outlasts_a_power_cut(tmp_path: Path) -> None:
    """What a cut leaves follows from the order of the calls: content first, then its name, then a word."""
    three_plans(tmp_path)(lambda _: None)
    run = watched(three_plans(tmp_path), at(0, 0))
    temporary = str(tmp_path / f"{NAME}.tmp")
    order = [call for call in run.calls if call[0] in ("write", "fsync", "renameat2")]
    assert order == 3 * [
        ("write", temporary),
        ("fsync", temporary),
        ("renameat2", ""),
        ("fsync", str(tmp_path)),
    ]


# --- every call, every error -------------------------------------------------------------------------------


class Store(PlanStore):
    """The actor without its sockets."""

    def __init__(self, place: RunPlace) -> None:
        super().__init__(place)
        self.notices: list[str] = []
        loaded = self._file.load()
        self._plan = loaded.plan
        self.warning = loaded.warning

    def publish(self, fact: AnyFact) -> None:
        if isinstance(fact, NoticeRaised):
            self.notices.append(fact.message)

    def do(self, command: AnyCommand) -> PlanStored | PlanRefused:
        reply = self.on_command(command, None)  # type: ignore[arg-type]
        assert isinstance(reply, PlanStored | PlanRefused)
        return reply


class Told(msgspec.Struct):
    """What a store said of three updates, and where it ended."""

    rules: list[str]
    held: list[str]
    """Reason of the plan that each reply says holds."""
    notices: list[str]
    loaded: str
    """Reason of the plan that the store found."""
    at_end: str
    """Reason of the plan that it holds after all."""
    warning: str


def three_updates(place: RunPlace) -> Callable[[Say], None]:
    def work(say: Say) -> None:
        store = Store(place)
        rules, held, loaded = [], [], store.do(GetPlan()).plan.reason
        for reason in ("first", "second", "third"):
            reply = store.do(ReplacePlan(reason=reason, items=(step("a", details=reason),)))
            rules.append("stored" if isinstance(reply, PlanStored) else reply.problems[0].rule)
            held.append(reply.plan.reason)
        at_end = store.do(GetPlan()).plan.reason
        say(msgspec.json.encode(Told(rules, held, store.notices, loaded, at_end, store.warning)))

    return work


def on_disk(folder: Path) -> str:
    """Reason of the plan in the file; empty without one."""
    try:
        return msgspec.json.decode((folder / NAME).read_bytes(), type=Plan).reason
    except FileNotFoundError:
        return ""


@pytest.mark.fault(37, says="each system call fails with each error")
@pytest.mark.parametrize("error", ERRORS, ids=errno.errorcode.get)
def test_an_error_at_any_system_call_is_told_and_memory_and_disk_agree(
    error: int, tmp_path: Path, fault: Fault
) -> None:
    seen: set[str] = set()
    for number, folder in folders(tmp_path):
        with run_place(folder) as place:
            three_updates(place)(lambda _: None)  # as warm as it will be, and a plan to lose
            (folder / NAME).write_bytes(encode(plan(step("old"))))
            with fault.attempt():
                run = watched(three_updates(place), at(number, error))
                where = f"call {number}: {run.calls[number - 1 : number]}"
                assert run.finished, where
                told = msgspec.json.decode(run.said, type=Told)
                assert told.held[-1] == told.at_end == on_disk(folder), where
                _check_told(told, folder, error, where)
        seen |= set(told.rules)
        if number >= len(run.calls):
            break
    assert number > 20
    assert seen == {"stored", "not_stored", "uncertain"}


def _check_told(told: Told, folder: Path, error: int, where: str) -> None:
    """Whatever was not stored was told, with the reason; the next update went well; nothing was lost."""
    for rule, reason, held in zip(told.rules, ("first", "second", "third"), told.held, strict=True):
        assert (rule in ("stored", "uncertain")) == (held == reason), where
    failed = [number for number, rule in enumerate(told.rules) if rule != "stored"]
    assert len(failed) <= 1, where
    assert not failed or failed == [2] or told.rules[failed[0] + 1] == "stored", where
    if failed or told.warning:
        assert any(os.strerror(error) in said for said in [*told.notices, told.warning]), where
    kept = [path for path in folder.iterdir() if path.name != NAME]
    assert [path.name for path in kept if ".bad-" not in path.name] in ([], [f"{NAME}.tmp"]), where
    if told.warning:
        assert [path.read_bytes() for path in kept] == [encode(plan(step("old")))], where


THEIRS = encode(msgspec.structs.replace(plan(step("t")), reason="theirs"))


def replaced(path: Path) -> None:
    path.with_name("editor").write_bytes(THEIRS)
    path.with_name("editor").rename(path)


def in_place(path: Path) -> None:
    path.write_bytes(THEIRS)


@pytest.mark.fault(39, says="an edit before each system call")
@pytest.mark.parametrize("edit", [replaced, in_place])
def test_an_edit_by_another_program_at_any_moment_is_never_lost(
    edit: Callable[[Path], None], tmp_path: Path, fault: Fault
) -> None:
    for number, folder in folders(tmp_path):
        path = folder / NAME

        def edited(call: int, _name: str, _path: str, number: int = number, path: Path = path) -> int:
            if call == number:
                edit(path)
            return 0

        with run_place(folder) as place, fault.attempt():
            run = watched(three_updates(place), edited)
            assert run.finished
            told = msgspec.json.decode(run.said, type=Told)
            where = f"before call {number}: {run.calls[number - 1 : number]}; {told}"
            assert "theirs" in [told.loaded, told.at_end, on_disk(folder)] or "stale_plan" in told.rules, (
                where
            )
            assert ("theirs" in told.held) == ("stale_plan" in told.rules), where
        if number >= len(run.calls):
            break
    assert number > 20


@pytest.mark.fault(38, says="a file system that can not exchange names")
@pytest.mark.parametrize("error", [errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP], ids=errno.errorcode.get)
def test_a_file_system_that_can_not_exchange_names_holds_plans_too(error: int, tmp_path: Path) -> None:
    def refused(_call: int, name: str, _path: str) -> int:
        return error if name == "renameat2" else 0

    with run_place(tmp_path) as place:
        told = msgspec.json.decode(watched(three_updates(place), refused).said, type=Told)
    assert (told.rules, on_disk(tmp_path)) == (["stored"] * 3, "third")
    assert os.listdir(tmp_path) == [NAME]


@pytest.mark.fault(36, says="two writes find no room")
def test_a_disk_that_fails_for_a_while_is_told_of_and_then_serves_again(tmp_path: Path) -> None:
    writes = itertools.count(1)

    def full_twice(_call: int, name: str, _path: str) -> int:
        return errno.ENOSPC if name == "write" and next(writes) <= 2 else 0

    with run_place(tmp_path) as place:
        run = watched(three_updates(place), full_twice)
    told = msgspec.json.decode(run.said, type=Told)
    assert (told.rules, told.held) == (["not_stored", "not_stored", "stored"], ["", "", "third"])
    assert len(told.notices) == 2
    assert all("No space left on device" in notice for notice in told.notices)
    assert os.listdir(tmp_path) == [NAME]


# --- real small disks --------------------------------------------------------------------------------------

ON_A_TINY_DISK = """
import os, sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from actors.plan.file import NAME, PlanFile, StoreFailed
from tests.fakes.plans import plan, step
from tests.fakes.scripted_server import ScriptedServer
folder = Path(sys.argv[1])
os.system(f"mount -t tmpfs -o size=64k,nr_inodes=16 none {folder}")
file = PlanFile(folder)
file.load()
small = plan(step("a"))
file.store(small)
(folder / "filler").write_bytes(b"x" * 56 * 1024)
big = plan(*(step(f"s{n}", details="x" * 600) for n in range(20)), revision=2)
try:
    file.store(big)
except StoreFailed as error:
    print(error)
print(PlanFile(folder).load().plan == small, sorted(os.listdir(folder)) == [NAME, "filler"])
(folder / "filler").unlink()
file.store(big)
print(PlanFile(folder).load().plan == big)
os.system(f"mount -o remount,ro {folder}")
try:
    file.store(small)
except StoreFailed as error:
    print(error)
print(PlanFile(folder).load().plan == big)
"""


@pytest.mark.fault(36, 38, says="a small disk, full and then read-only")
def test_a_full_and_a_read_only_file_system_leave_the_old_plan(tmp_path: Path) -> None:
    run = subprocess.run(
        [*OWN_MOUNTS, sys.executable, "-I", "-c", ON_A_TINY_DISK, str(tmp_path), str(ROOT)],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    full, kept, again, read_only, still = run.stdout.splitlines()
    assert "No space left on device" in full
    assert (kept, again, still) == ("True True", "True", "True")
    assert "Read-only file system" in read_only


@pytest.mark.fault(38, says="the right to write into the folder is lost for a while")
def test_a_folder_that_is_closed_for_a_while_keeps_its_plan() -> None:
    with somebodys_folder() as folder:
        file = PlanFile(folder)
        file.load()
        file.store(plan(step("a")))
        folder.chmod(0o500)
        with pytest.raises(StoreFailed, match="Permission denied"):
            file.store(plan(step("b"), revision=2))
        assert on_disk(folder) == plan(step("a")).reason
        folder.chmod(0o700)
        file.store(plan(step("b"), revision=2))
        assert PlanFile(folder).load().plan.revision == 2


IN_A_TINY_WORKSPACE = f"""
    mount -t tmpfs -o size=64k,nr_inodes=16 none "$1"
    cd "$1"
    head -c {60 * 1024} /dev/zero > filler
    shift
    exec "$@"
"""


def update(reason: str) -> Step:
    step_of = {"status": "pending", "next_action": "n", "details": "d" * 600}
    items = [{"id": f"s{number}", "title": f"Step {number}", **step_of} for number in range(12)]
    return call("update_plan", {"reason": reason, "items": items})


def shell(command: str) -> Step:
    return call("bash_exec", {"command": command})


@pytest.mark.fault(36, 38, says="a run in a full, then read-only workspace")
def test_a_workspace_that_is_full_or_read_only_for_a_while_costs_no_more_than_that(
    at_home: Home, tmp_path: Path
) -> None:
    steps = [
        update("full"),
        shell("rm filler"),
        update("room"),
        shell("mount -o remount,ro ."),
        update("read-only"),
        shell("mount -o remount,rw ."),
        update("writable"),
        say("All done."),
    ]
    with ScriptedServer(steps) as server:
        words = ["sh", "-ec", IN_A_TINY_WORKSPACE, "sh", str(tmp_path), *GUARD, "run", "go"]
        run = subprocess.run(
            [*OWN_MOUNTS, *words, "--output-format", "stream-json"],
            env=at_home.environment(FIDO_MODE="yolo", **openai_environment(server.base_url)),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )
        server.assert_done()
    done = Finished(run.returncode, run.stdout, run.stderr)
    assert done.status == 0, done
    tools = [message["content"] for message in server.requests[-1].messages if message["role"] == "tool"]
    full, room, read_only, writable = (json.loads(content) for content in tools[::2])
    assert [result["error"]["problems"][0]["rule"] for result in (full, read_only)] == ["not_stored"] * 2
    assert [result["reason"] for result in (room, writable)] == ["room", "writable"]
    assert (full["plan"]["revision"], read_only["plan"], writable["revision"]) == (0, room, 2)
    told = [event["message"] for event in done.events("notice") if "was not stored" in event["message"]]
    assert len(told) == 2
    assert "No space left on device" in told[0]
    assert "Read-only file system" in told[1]
