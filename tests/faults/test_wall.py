"""The wall around a worker, tried from inside by code that does whatever it likes: rows 21 to 28."""

import asyncio
import json
import os
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from actors.delegation.warm_worker import find_worker
from actors.process_tree import children
from ipc.endpoints import RunPlace
from tests.fakes.delegating import delegate
from tests.fakes.delegation_scene import Answering, Scene
from tests.fakes.delegation_scene import delegate as whole
from tests.fakes.fault_table import LONG, Fault
from tests.fakes.fido import GUARD, Home, home
from tests.fakes.launch import DEADLINE_S, Watched, command, script
from tests.fakes.reaches import REACHES
from tests.fakes.somebody import NOBODY
from tests.fakes.town import digest, town
from tests.fakes.unguarded import BROOD, HOARD_BYTES
from tests.fakes.walled import break_in, break_in_older, hosted
from tests.fakes.worker_parent import calls, result, says
from tests.fakes.writes import CONTENT, WRITES

HERE = os.getuid()
USERS = [HERE, *([NOBODY] if HERE == 0 else [])]
REFUSED = {"EPERM", "EACCES", "ENOSYS", "ENOTTY"}
"""How a route may end."""
NEVER = {"a_descriptor_that_the_host_had": "EBADF"}
"""What a worker does not have, wall or not."""
CANCEL_S = 0.3
"""How long a cancelled delegation may take to have its result."""
NOT_EVERYWHERE = {
    *("opened_by_openat2", "mode_by_fchmodat2", "attribute_by_setxattrat", "flags_by_file_setattr"),
    *("flags_when_open", "kernel_crypto", "a_ring", "a_call_that_is_new", "own_mailbox_connected"),
    "a_call_in_another_architecture",
}
"""Routes that a kernel or a file system may not have, or that lead nowhere by themselves."""
FOR_ROOT = {
    *("raw_packets", "link_layer", "secret_by_handle", "a_child_in_a_namespace", "a_namespace", "traced"),
    *("memory_of_the_host", "memory_of_the_host_by_a_call", "descriptor_of_the_host_by_a_call"),
}
"""Routes that may be closed to everybody else."""


@pytest.fixture(scope="module", params=USERS, ids=lambda uid: "root" if uid == 0 else "somebody")
def uid(request: pytest.FixtureRequest) -> int:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def outcomes(uid: int) -> dict[str, str]:
    """Where every route led behind the wall; nothing that is not the worker's has changed or was touched."""
    with town(uid) as around:
        before, bystander = digest(around.workspace), around.bystander()
        told = break_in(around.place, uid, around.given)
        assert isinstance(told, dict), told
        assert digest(around.workspace) == before
        assert around.heard() == []
        assert around.bystander() == bystander
        assert list(around.place.workers_directory.iterdir()) == []
    return told


@pytest.mark.fault(22, 23, 24, 25, 26, says="no wall: every route leads somewhere")
def test_without_a_wall_every_route_leads_somewhere() -> None:
    assert len(WRITES) > 40
    with town(HERE) as around:
        around.place.no_wall.touch()
        before = digest(around.workspace)
        outcomes = break_in(around.place, HERE, around.given)
        after = digest(around.workspace)
        heard = around.heard()
    assert isinstance(outcomes, dict), outcomes
    stopped = {name: end for name, end in outcomes.items() if end != "done"}
    may_stop = NOT_EVERYWHERE | (FOR_ROOT if HERE else set())
    assert {name: end for name, end in stopped.items() if name not in may_stop} == NEVER
    paths = before.keys() | after.keys()
    changed = {path.split("/")[0] for path in paths if before.get(path) != after.get(path)}
    assert WRITES.keys() - NOT_EVERYWHERE <= changed
    assert len(heard) == len(around.ears)


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(22, marks=pytest.mark.fault(22, says="a worker writes, by each route")),
        pytest.param(23, marks=pytest.mark.fault(23, says="a worker uses the network")),
        pytest.param(24, marks=pytest.mark.fault(24, says="a worker connects to a unix socket")),
        pytest.param(25, marks=pytest.mark.fault(25, says="a worker reads a secret")),
        pytest.param(26, marks=pytest.mark.fault(26, says="a worker signals, traces, slows, unties itself")),
    ],
)
def test_behind_the_wall_no_route_leads_anywhere(row: int, outcomes: dict[str, str], fault: Fault) -> None:
    routes = REACHES[row].keys() | (WRITES.keys() if row == 22 else set())
    for name in sorted(routes):
        with fault.attempt():
            assert outcomes[name] in REFUSED | {NEVER.get(name, "")}, f"{name}: {outcomes[name]}"


@pytest.mark.fault(22, 24, 25, says="every tool, and no guard that refuses a call")
def test_a_worker_without_a_guard_reads_searches_and_changes_nothing(uid: int) -> None:
    with town(uid) as around, hosted("unguarded", around.place, uid, {}):
        before = digest(around.workspace)
        reads = calls("read_file", "read", path="readable"), calls("ripgrep", "search", pattern="was here")
        writes = (
            calls("patch", "patch", path="readable", old_text="what", new_text="X"),
            calls("patch", "new", path="new", old_text="", new_text="X"),
            calls("rm", "rm", path="readable"),
            calls("mkdir", "mkdir", path="new"),
            calls("rmdir", "rmdir", path="linked", recursive=True),
            calls("bash_exec", "shell", command="echo X > readable"),
            calls("read_file", "secret", path="symlink"),
        )
        end, parent = delegate(around.place, around.workspace, says("", *reads, *writes), says(result()))
        assert digest(around.workspace) == before
    results = parent.results()
    assert end.fault is None
    assert CONTENT.strip() in results["read"]
    assert "opened_to_write/file" in results["search"]
    for name in ("patch", "new", "rm", "mkdir", "rmdir", "shell", "secret"):
        assert "error" in json.loads(results[name]), results[name]


@pytest.mark.fault(21, says="a worker needs 4 GB")
def test_a_worker_that_hoards_memory_fails_for_that_and_nobody_else_does() -> None:
    with town(HERE) as around, hosted("hoarding", around.place, HERE, {}):
        before = memory_bytes()
        end, _ = delegate(around.place, around.workspace, says(result()))
        grown = memory_bytes() - before
    assert end.fault == "out_of_memory"
    assert grown < 5 * 1024**2 < HOARD_BYTES


@pytest.mark.fault(30, says="a cancel of a worker with 600 processes, each in a session of its own")
def test_a_worker_that_multiplies_is_cancelled_in_time_and_nobody_of_it_is_left(
    uid: int, tmp_path: Path, fault: Fault
) -> None:
    async def cancelled(scene: Scene, host: int, model: Answering) -> float:
        await scene.ready()
        delegating = asyncio.ensure_future(whole(scene.delegator()))
        try:
            await until(lambda: model.asked == 1)
            (worker,) = children(host)
            brood = children(worker)
            assert len(brood) == BROOD
            began = time.monotonic()
            delegating.cancel()
            made = await delegating
            took = time.monotonic() - began
            assert made["error"]["code"] == "cancelled"
            await until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in (worker, *brood)))
            fault.took(time.monotonic() - began)
            return took
        finally:
            scene.close()

    with town(uid) as around, hosted("forking", around.place, uid, {}) as host:
        scene = Scene(around.place, tmp_path / "state")
        scene.provider = model = Answering(delay_s=DEADLINE_S)
        assert asyncio.run(cancelled(scene, host.pid, model)) < CANCEL_S


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not holds():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.002)


def memory_bytes() -> int:
    """Of this process, in memory now."""
    return int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.fault(26, says="a worker clings to life")
def test_a_worker_ends_with_its_host_whatever_it_has_tried(uid: int) -> None:
    with town(uid) as around, hosted("clings", around.place, uid, {}) as host:
        worker = asyncio.run(warm(around.place))
        with Watched(worker, last=True) as process:
            host.kill()
            assert process.ends_within()


async def warm(place: RunPlace) -> int:
    """Pid of the next worker."""
    worker = await asyncio.wait_for(find_worker(place), DEADLINE_S)
    worker.close()
    return worker.pid


@pytest.mark.parametrize(
    "kernel", ["LYING_LANDLOCK", "LYING_SECCOMP", "BROKEN_LANDLOCK"], ids=lambda name: name.lower()
)
@pytest.mark.fault(27, says="the kernel claims a wall that does not hold")
def test_no_worker_lives_where_the_wall_does_not_hold(kernel: str) -> None:
    with town(HERE) as around:
        before = digest(around.workspace)
        said = break_in(around.place, HERE, around.given, kernel)
        assert digest(around.workspace) == before
    assert isinstance(said, str), said
    assert "wall" in said


@pytest.mark.parametrize("abi", [1, *([2, 3, 4, 5] if LONG else [])])
@pytest.mark.fault(22, 23, 24, 25, 26, says="the kernel's Landlock is an old one")
def test_seccomp_makes_up_for_what_an_older_landlock_lacks(abi: int) -> None:
    with town(HERE) as around:
        before, bystander = digest(around.workspace), around.bystander()
        outcomes = break_in_older(around.place, around.given, abi)
        assert digest(around.workspace) == before
        assert around.heard() == []
        assert around.bystander() == bystander
    assert {name for name, end in outcomes.items() if end not in REFUSED} == NEVER.keys()


@pytest.mark.parametrize("kernel", ["NO_LANDLOCK", "NO_SECCOMP"], ids=lambda name: name.lower())
@pytest.mark.fault(27, says="the kernel has half a wall: the half stands")
def test_a_worker_is_held_by_what_the_kernel_has(kernel: str) -> None:
    with town(HERE) as around:
        outcomes = break_in(around.place, HERE, around.given, kernel)
    assert isinstance(outcomes, dict), outcomes
    held = {"mode", "udp", "unlinked"} if kernel == "NO_LANDLOCK" else {"opened_to_write", "secret"}
    assert {outcomes[name] for name in held} <= REFUSED


@pytest.mark.parametrize(
    ("kernel", "sandbox", "status", "told"),
    [
        ("NO_LANDLOCK", "require", 1, "! sandbox .* without Landlock"),
        ("NO_SECCOMP", "require", 1, "! sandbox .* without seccomp"),
        ("NO_LANDLOCK", "best-effort", 0, "- sandbox .* without Landlock"),
        ("NO_SECCOMP", "best-effort", 0, "- sandbox .* without seccomp"),
        ("NO_LANDLOCK", "off", 0, "- sandbox "),
    ],
)
@pytest.mark.fault(27, says="doctor tells of a wall that is missing")
def test_doctor_tells_of_a_wall_that_is_missing(kernel: str, sandbox: str, status: int, told: str) -> None:
    with home() as at:
        run = on_kernel(kernel, at, sandbox, "doctor")
    assert run.returncode == status, run.stdout
    assert re.search(f"^{told}.*\n +-> ", run.stdout, re.MULTILINE), run.stdout


@pytest.mark.parametrize("kernel", ["NO_LANDLOCK", "NO_SECCOMP"], ids=lambda name: name.lower())
@pytest.mark.fault(27, says="the wall is required and not whole: nothing is delegated")
def test_nothing_is_delegated_behind_half_a_wall_when_a_whole_one_is_required(kernel: str) -> None:
    with home() as at:
        (at.folder / "main.py").write_text("try:\n    run()\nexcept Exception:\n    pass\n", encoding="utf-8")
        run = on_kernel(kernel, at, "require", "run", "--output-format", "stream-json", "Survey this folder.")
        log = at.everything_written().decode(errors="replace")
    events = [json.loads(line) for line in run.stdout.splitlines()]
    assert any(event["type"] == "tool_started" and event["name"] == "delegate" for event in events)
    assert "sandbox_unavailable" in log
    assert "no subagent works here" in run.stdout


@pytest.mark.parametrize("sandbox", ["best-effort", "off"])
@pytest.mark.fault(27, says="half a wall, or none, is wanted: it is said")
def test_whoever_wants_less_than_a_wall_is_told_and_gets_the_delegation(sandbox: str) -> None:
    with home() as at:
        (at.folder / "main.py").write_text("try:\n    run()\nexcept Exception:\n    pass\n", encoding="utf-8")
        run = on_kernel(
            "NO_LANDLOCK", at, sandbox, "run", "--output-format", "stream-json", "Survey this folder."
        )
    events = [json.loads(line) for line in run.stdout.splitlines()]
    warnings = [
        event["message"] for event in events if event["type"] == "notice" and event["level"] == "warning"
    ]
    assert any(f'sandbox is "{sandbox}"' in message for message in warnings), warnings
    delegated = [event for event in events if event["type"] == "subagent"]
    assert delegated[-1]["phase"] == "completed"


def on_kernel(kernel: str, at: Home, sandbox: str, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run `fido` with that setting on a kernel that answers otherwise."""
    settings = at.folder / "config" / "fido" / "config.toml"
    settings.parent.mkdir()
    settings.write_text(f'sandbox = "{sandbox}"\n', encoding="utf-8")
    return subprocess.run(
        [*command("tests.fakes.other_kernel", kernel), *GUARD, *words],
        cwd=at.folder,
        env=at.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )


@pytest.mark.fault(28, says="the wall comes after a thread")
def test_no_wall_is_built_beside_a_thread() -> None:
    for built in ("wall.limit()", "wall.Wall(Path('/'), level.probe()).build(Quarters(Path('/'), 0))"):
        run = script(
            "import threading\nfrom pathlib import Path\nfrom actors.sandbox import level, wall\n"
            "from actors.sandbox.quarters import Quarters\n"
            "threading.Thread(target=threading.Event().wait, daemon=True).start()\n" + built
        )
        assert run.returncode != 0
        assert "SandboxError: there are 2 threads" in run.stderr
