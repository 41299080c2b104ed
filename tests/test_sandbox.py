"""What a worker is and has: each in a fresh process, since nothing of it can be taken back."""

import asyncio
import errno
import json
import os
import re
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.delegation.warm_worker import find_worker, newest_worker
from actors.sandbox import level, seccomp, syscalls, wall
from actors.sandbox.environment import public_environment
from actors.sandbox.level import Level
from actors.sandbox.quarters import MAILBOX
from ipc.channel import Channel
from ipc.endpoints import RunPlace
from ipc.mailbox import Link
from ipc.messages import Ping
from tests.fakes.delegating import delegate
from tests.fakes.launch import DEADLINE_S, launch, script
from tests.fakes.places import run_place
from tests.fakes.worker_parent import calls, result, says

INSIDE = """
import ctypes, json, os, resource, signal, threading
from actors.sandbox import wall
read, write = os.pipe()
host = os.getpid()
child = os.fork()
if child == 0:
    os.close(read)
    try:
        {inside}
    except wall.SandboxError as error:
        said = {{"error": str(error)}}
    os.write(write, json.dumps(said).encode())
    os._exit(0)
os.close(write)
print(os.read(read, 65536).decode())
os.waitpid(child, 0)
"""


def inside(code: str) -> dict[str, object]:
    run = script(INSIDE.format(inside=code))
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)  # type: ignore[no-any-return]


def test_a_worker_has_bounded_memory_files_and_log_no_core_and_no_new_privileges() -> None:
    given_up = inside(
        """wall.limit()
        libc = ctypes.CDLL(None)
        said = {
            "memory": resource.getrlimit(resource.RLIMIT_AS),
            "core": resource.getrlimit(resource.RLIMIT_CORE),
            "files": resource.getrlimit(resource.RLIMIT_NOFILE),
            "file": resource.getrlimit(resource.RLIMIT_FSIZE),
            "processes": resource.getrlimit(resource.RLIMIT_NPROC),
            "dumpable": libc.prctl(3, 0, 0, 0, 0),
            "no_new_privileges": libc.prctl(39, 0, 0, 0, 0),
        }"""
    )
    processes, most = given_up.pop("processes")  # type: ignore[misc]
    assert wall.PROCESSES < processes == most < wall.PROCESSES + 2**22
    assert given_up == {
        "memory": [wall.MEMORY_BYTES] * 2,
        "core": [0, 0],
        "files": [wall.OPEN_FILES] * 2,
        "file": [wall.FILE_BYTES] * 2,
        "dumpable": 0,
        "no_new_privileges": 1,
    }


def test_an_environment_is_public_only_by_name_and_never_with_the_name_of_a_secret() -> None:
    public = {"PATH": "/bin", "HOME": "/h", "LC_ALL": "C", "XDG_RUNTIME_DIR": "/r", "FIDO_MODE": "plan"}
    secret = (
        "OPENAI_API_KEY FIDO_API_KEY FIDO_BASE_URL AWS_SECRET_ACCESS_KEY GITHUB_TOKEN SSH_AUTH_SOCK "
        "PGPASSWORD XDG_TOKEN MY_OWN DOCKER_HOST DATABASE_URL http_proxy LD_PRELOAD RIPGREP_CONFIG_PATH"
    )
    assert public_environment(public | dict.fromkeys(secret.split(), "x")) == public


# --- the filter, run by hand --------------------------------------------------------------------------------

MACHINES = tuple(syscalls.MACHINES)
ORDINARY = {
    "x86_64": {"read": 0, "write": 1, "mmap": 9, "execve": 59, "futex": 202, "accept4": 288, "vfork": 58},
    "aarch64": {"read": 63, "write": 64, "mmap": 222, "execve": 221, "futex": 98, "accept4": 242},
}
WORD = st.integers(0, 2**32 - 1)


def verdict(program: bytes, machine: str, number: int, arguments: Sequence[int] = (), arch: int = 0) -> int:
    """What a filter returns for a call, as the kernel would run it."""
    words = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack("<IIQ6Q", number, arch or syscalls.MACHINES[machine][1], 0, *words)
    instructions = list(struct.iter_unpack("<HBBI", program))
    at = held = 0
    while True:
        code, if_true, if_false, value = instructions[at]
        at += 1
        match code:
            case 0x20:
                held = int.from_bytes(data[value : value + 4], "little")
            case 0x54:
                held &= value
            case 0x15:
                at += if_true if held == value else if_false
            case 0x35:
                at += if_true if held >= value else if_false
            case 0x06:
                return int(value)
            case _:
                raise AssertionError(code)


def refused(error: int) -> int:
    return seccomp.REFUSE | error


@pytest.mark.parametrize("machine", MACHINES)
def test_the_filter_refuses_every_call_of_its_tables_and_nothing_ordinary(machine: str) -> None:
    program, column = seccomp.program(machine), syscalls.MACHINES[machine][0]
    tables = (syscalls.DENIED, errno.EPERM), (syscalls.HIDDEN, errno.ENOSYS), (syscalls.PRETENDED, 0)
    for table, error in tables:
        for name, numbers in table.items():
            number = numbers[column]
            assert number is None or verdict(program, machine, number) == refused(error), name
    for number in ORDINARY[machine].values():
        assert verdict(program, machine, number) == seccomp.ALLOW


@pytest.mark.parametrize("machine", MACHINES)
def test_the_filter_knows_nothing_of_other_architectures_and_newer_calls(machine: str) -> None:
    program = seccomp.program(machine)
    for number in (syscalls.UNKNOWN_FROM, 0x40000000, 0x40000001, 2**32 - 1):
        assert verdict(program, machine, number) == refused(errno.ENOSYS)
    for arch in (0x40000003, 0x40000028, 0xC000003E ^ 0xC00000B7 ^ syscalls.MACHINES[machine][1]):
        assert verdict(program, machine, ORDINARY[machine]["read"], arch=arch) == seccomp.KILL


@given(st.sampled_from(MACHINES), st.data())
def test_a_call_is_allowed_exactly_when_all_its_arguments_are(machine: str, data: st.DataObject) -> None:
    column = syscalls.MACHINES[machine][0]
    judged = {name: numbers[column] for name, numbers in syscalls.JUDGED.items()}
    name = data.draw(st.sampled_from([rule.call for rule in seccomp.RULES if judged[rule.call] is not None]))
    mine = [rule for rule in seccomp.RULES if rule.call == name]
    values = {value for rule in mine for value in rule.values} | {0o101, 0o1000, 2, 1 << 31}
    likely = st.sampled_from(sorted(values))
    arguments = [data.draw(likely | WORD) for _ in range(6)]
    high = [argument | data.draw(WORD) << 32 for argument in arguments]
    number = judged[name]
    assert number is not None
    fits = [arguments[rule.argument] & rule.mask in rule.values for rule in mine]
    allowed = verdict(seccomp.program(machine), machine, number, high) == seccomp.ALLOW
    assert allowed == all(fits)


def test_where_signals_are_not_scoped_a_process_may_only_signal_itself() -> None:
    program = seccomp.program("x86_64", signals_to=77)
    for name in ("kill", "tgkill"):
        number = syscalls.JUDGED[name][0]
        assert number is not None
        assert verdict(program, "x86_64", number, [77, 9]) == seccomp.ALLOW
        for other in (78, 0, 1, 2**32 - 1, 2**32 - 77):
            assert verdict(program, "x86_64", number, [other, 9]) == refused(errno.EPERM)
    number = syscalls.SIGNALS["pidfd_send_signal"][0]
    assert number is not None
    assert verdict(program, "x86_64", number, [77]) == refused(errno.EPERM)


# --- what it says -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("abi", [0, 1, 7])
@pytest.mark.parametrize("filters", [False, True])
def test_a_level_that_is_not_whole_says_what_is_missing_and_what_to_do(abi: int, filters: bool) -> None:
    here = Level(abi, filters)
    assert here.complete == bool(abi and filters) == (here.next_step == "")
    assert (f"Landlock {abi}" in here.sentence) == bool(abi)
    assert not here.complete or len(here.sentence) < 76, "it is one line of the screen"
    assert here.complete or ("landlock" in here.next_step) == (not abi)
    assert here.complete or ("seccomp" in here.next_step) == (not filters)


def test_the_filter_is_missing_on_a_processor_that_the_tables_do_not_know() -> None:
    told = "from actors.sandbox.level import probe; print(probe().seccomp, probe().complete)"
    run = script(f"import ctypes; ctypes.CDLL(None).personality(8)  # uname tells of 32 bits\n{told}")
    assert run.stdout == "False False\n", run.stderr


def test_a_process_without_a_wall_does_not_bear_its_marks() -> None:
    assert level.probe().complete
    assert not level.stands_around(os.getpid(), level.probe())
    with pytest.raises(OSError, match="No such"):
        level.stands_around(2**22, level.probe())


def test_a_filter_that_was_around_everybody_before_is_no_wall() -> None:
    run = script(
        """
import os, signal
from actors.sandbox import level, seccomp
from ipc import kernel
kernel.gain_nothing()
kernel.drop_capabilities()
held = level.Level(7, True)
def stands(filters):
    pid = os.fork()
    if pid == 0:
        for _ in range(filters):
            seccomp.install(seccomp.program())
        os.kill(os.getpid(), signal.SIGSTOP)
    os.waitpid(pid, os.WUNTRACED)
    found = level.stands_around(pid, held)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return found
seccomp.install(seccomp.program())
print(stands(0), stands(1))
"""
    )
    assert run.stdout == "False True\n", run.stderr


def test_nothing_is_handed_to_a_worker_before_its_wall_stands(tmp_path: Path) -> None:
    with run_place(tmp_path) as place:
        words = [
            sys.executable,
            "-I",
            "-c",
            "print(flush=True); input()",
            "actors.worker",
            str(place.directory),
        ]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen(words, **pipes, start_new_session=True) as bare:
            assert bare.stdout is not None
            bare.stdout.readline()  # it runs: before that, the kernel may not know its words yet
            folder = place.workers_directory / f"w-1-{bare.pid}"
            folder.mkdir()
            (folder / MAILBOX).touch()
            assert asyncio.run(_newest(place)) is None
            place.no_wall.touch()
            assert asyncio.run(_newest(place)) == bare.pid


async def _newest(place: RunPlace) -> int | None:
    worker = newest_worker(place)
    if worker is None:
        return None
    worker.close()
    return worker.pid


# --- whole workers ------------------------------------------------------------------------------------------


@contextmanager
def workers(place: RunPlace, **environ: str) -> Iterator[None]:
    """A host of workers until the block ends."""
    words = ("actors.worker", place.directory, os.getpid())
    with launch(*words, env={"PATH": os.environ["PATH"], **environ}) as host:
        try:
            yield
        finally:
            host.terminate()


def test_a_worker_from_before_the_wall_was_wanted_makes_room_for_one_behind_it(tmp_path: Path) -> None:
    with run_place(tmp_path) as place:
        place.wall(up=False)
        with workers(place):
            bare = asyncio.run(_warm(place))
            place.wall(up=True)
            walled = asyncio.run(_warm(place))
            assert bare != walled
            assert level.stands_around(walled, level.probe())


@pytest.mark.parametrize("wall_stands", [True, False])
def test_the_wall_is_there_unless_the_run_says_off(tmp_path: Path, wall_stands: bool) -> None:
    with run_place(tmp_path) as place:
        place.wall(up=wall_stands)
        with workers(place):
            pid = asyncio.run(_warm(place))
            status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    assert "NoNewPrivs:\t1" in status
    assert ("Seccomp:\t2" in status) == wall_stands
    for name in ("CapEff", "CapBnd") if os.getuid() == 0 else ():
        assert (f"{name}:\t{0:016x}" in status) == wall_stands


async def _warm(place: RunPlace) -> int:
    """Pid of the next worker, as soon as it answers."""
    worker, channel = await asyncio.wait_for(find_worker(place), DEADLINE_S), Channel()
    await Link(channel, "parent", worker.address).ask(Ping(), DEADLINE_S)
    channel.close()
    worker.close()
    return worker.pid


@pytest.mark.parametrize(
    "config", ["", "[core]\n\texcludesFile = ~/mine\n", '[core]\nexcludesfile = "{home}/mine"\n']
)
def test_behind_the_wall_the_same_ignore_rules_hold(tmp_path: Path, config: str) -> None:
    home, workspace = tmp_path / "home", tmp_path / "repository" / "part"
    for path, rule in (
        (home / "mine" if config else home / ".config" / "git" / "ignore", "*.mine"),
        (tmp_path / ".ignore", "*.above"),
        (tmp_path / "repository" / ".git" / "info" / "exclude", "*.excluded"),
        (workspace / ".gitignore", "*.own"),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(rule, encoding="utf-8")
    (home / ".gitconfig").write_text(config.format(home=home), encoding="utf-8")
    for ending in ("mine", "above", "excluded", "own", "kept"):
        (workspace / f"a.{ending}").touch()
    with run_place(workspace) as place, workers(place, HOME=str(home)):
        _, parent = delegate(place, workspace, says("", calls("list_files", "l")), says(result()))
    listed = parent.results()["l"]
    assert re.findall(r"a\.\w+", listed) == ["a.kept"], listed


def test_rg_is_let_go_where_a_worker_may_send_no_signal(tmp_path: Path) -> None:
    run = script(
        """
import asyncio, os, sys
from pathlib import Path
from actors.files.rg import run_rg
from actors.sandbox.level import Level
from actors.sandbox.quarters import move_in
from actors.sandbox.wall import Wall, limit
around = Wall(Path("/usr"), Level(1, True))
quarters = move_in(Path(sys.argv[1]) / "w-1-1")
limit()
around.build(quarters)
class Enough(Exception):
    pass
def take(chunk):
    raise Enough
async def search():
    try:
        await run_rg(["--files"], Path("/usr"), take)
    except Enough:
        os._exit(7)
asyncio.run(search())
""",
        tmp_path,
    )
    assert run.returncode == 7, (tmp_path / "w-1-1" / "log").read_text(encoding="utf-8")
