"""Commands behind the wall of `shell.sandbox`: the kernel is asked, with real commands."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.sandbox.level import Level, probe
from actors.shell.wall import CommandWall
from tests.fakes.shells import Shelled, shelled

pytestmark = pytest.mark.skipif(not probe().walls_commands, reason="needs Landlock 3 and seccomp")
PRIVATE = ".config/fido"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace that is a home, too, with something private in it."""
    root = tmp_path / "home"
    (root / PRIVATE).mkdir(parents=True)
    (root / PRIVATE / "config.toml").write_text("old", encoding="utf-8")
    (root / "src").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("old", encoding="utf-8")
    return root


@pytest.fixture
def here(root: Path, tmp_path: Path) -> Iterator[Shelled]:
    with shelled(root, tmp_path / "output" / "s", wall=CommandWall(root, [], probe())) as made:
        yield made


def test_a_walled_command_works_in_the_workspace_as_always(here: Shelled, root: Path) -> None:
    moves = "echo one > a; mkdir d; mv a d/b; ln -s b d/l; chmod 700 d/b; cat d/l >> a; rm d/l"
    text = here.run(f"{moves}; ls a d; echo x > /dev/null; cat <(echo pipe)")
    assert text == "a\n\nd:\nb\npipe\n[exit status 0]"
    assert (root / "a").read_text(encoding="utf-8") == "one\n"


def test_a_walled_command_has_temporary_files_of_its_own(here: Shelled, tmp_path: Path) -> None:
    text = here.run('f=$(mktemp); echo x > $f; cat $f; mkdir -p "$XDG_CACHE_HOME/go"; echo "$TMPDIR"')
    assert text == f"x\n{tmp_path}/output/s/tmp\n[exit status 0]"


def test_git_python_and_pipes_work_behind_the_wall(here: Shelled) -> None:
    commit = "git init -q . && git add src && git -c user.name=a -c user.email=b commit -q --allow-empty -m x"
    python = f"{sys.executable} -c 'import asyncio; asyncio.run(asyncio.sleep(0)); print(6 * 7)'"
    text = here.run(f"{commit} && git log --oneline | wc -l; {python}; seq 100000 | sort -rn | tail -1")
    assert text == "1\n42\n1\n[exit status 0]"


DEEDS = [
    "echo new > ../outside/file",
    "echo new >> ../outside/file",
    "echo new > ../outside/other",
    "truncate -s 0 ../outside/file",
    f"{sys.executable} -c \"import os; os.truncate('../outside/file', 0)\"",
    "dd if=/dev/zero of=../outside/file bs=1 count=1 conv=notrunc",
    "rm ../outside/file",
    "mkdir ../outside/d",
    "mv ../outside/file src/",
    "touch src/x && mv src/x ../outside/file",
    "ln ../outside/file src/hard && echo new > src/hard",
    "ln -s ../../outside/file src/soft && echo new > src/soft",
    "mknod src/disk b 8 0",
    "unshare -m true",
    "chroot / true",
]


def test_a_walled_command_changes_nothing_outside(here: Shelled, tmp_path: Path) -> None:
    for deed in DEEDS:
        output = here.call(deed)
        assert not output.ok, deed
        assert (tmp_path / "outside" / "file").read_text(encoding="utf-8") == "old", deed
        assert os.listdir(tmp_path / "outside") == ["file"], deed
    assert "[Commands run walled in: they write in the workspace and $TMPDIR only" in here.run(DEEDS[0])


def test_a_walled_command_has_no_socket_to_anybody(here: Shelled) -> None:
    tries = """
import socket
for kind in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK):
    for way in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
        try:
            socket.socket(kind, way)
        except PermissionError:
            continue
        print(kind, way)
try:
    socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)  # which could send to any path
except PermissionError:
    print("none")
"""
    assert here.run(f"{sys.executable} - <<'END'{tries}END") == "none\n[exit status 0]"


def test_neither_the_network_of_this_machine_nor_an_abstract_socket_is_reached(here: Shelled) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind(f"\0fido-test-{os.getpid()}")
        abstract.listen()
        server.setblocking(False)
        abstract.setblocking(False)
        here.run(f"exec 3<>/dev/tcp/127.0.0.1/{server.getsockname()[1]}")
        connect = f'socket.socket(socket.AF_UNIX).connect("\\0fido-test-{os.getpid()}")'
        here.run(f"{sys.executable} -c 'import socket; {connect}'")
        for each in (server, abstract):
            with pytest.raises(BlockingIOError):
                each.accept()


def test_what_a_walled_command_leaves_running_is_walled_and_stopped(here: Shelled, tmp_path: Path) -> None:
    os.mkfifo(here.root / "gate")
    text = here.run("(read x < gate; echo new > ../outside/file; echo done > gate; sleep 1000) & echo $!")
    assert "It runs on until the user stops it with /jobs" in text
    assert here.run("echo go > gate; cat gate").startswith("done")
    assert (tmp_path / "outside" / "file").read_text(encoding="utf-8") == "old"
    (job,) = here.listed
    here.stop(job)
    assert here.listed == []


@pytest.mark.skipif(probe().landlock < 6, reason="needs Landlock 6")
def test_a_walled_command_ends_no_process_outside(here: Shelled) -> None:
    with subprocess.Popen(["sleep", "1000"]) as other:
        assert "Operation not permitted" in here.run(f"kill {other.pid}")
        assert other.poll() is None
        other.kill()


def test_private_places_in_the_workspace_stay_closed(root: Path, tmp_path: Path) -> None:
    wall = CommandWall(root, [root / PRIVATE], probe())
    with shelled(root, tmp_path / "output" / "s", wall=wall) as here:
        assert not here.call(f"echo new > {PRIVATE}/config.toml").ok
        assert not here.call(f"mv {PRIVATE} src/").ok
        assert here.call("echo new > src/file").ok
    assert (root / PRIVATE / "config.toml").read_text(encoding="utf-8") == "old"


def test_where_the_kernel_has_no_such_wall_nothing_is_run(root: Path, tmp_path: Path) -> None:
    for level in (Level(landlock=2, seccomp=True), Level(landlock=7, seccomp=False)):
        with shelled(root, tmp_path / "output" / "s", wall=CommandWall(root, [], level)) as here:
            refused = here.refusal("touch ran")
        assert refused.code == "sandbox_unavailable"
        assert "fido doctor" in refused.next_step
    assert not (root / "ran").exists()


def test_a_wall_that_does_not_hold_is_noticed_before_anything_runs(root: Path) -> None:
    """What must stay closed lies in the workspace, and nobody has said that it is private."""
    wall = CommandWall(root, [], probe())
    with shelled(root, root / "state" / "output" / "s", wall=wall) as here:
        refused = here.refusal("touch ran")
    assert refused.code == "sandbox_unavailable"
    assert "a file could be written" in refused.message
    assert not (root / "ran").exists()


def test_a_workspace_with_fidos_own_state_in_it_is_walled_too(root: Path) -> None:
    wall = CommandWall(root, [root / "state"], probe())
    with shelled(root, root / "state" / "output" / "s", wall=wall) as here:
        assert here.run("echo x > src/x; echo y > $TMPDIR/y; cat src/x $TMPDIR/y").startswith("x\ny\n[exit")
        assert not here.call("touch state/z").ok


def test_a_shell_that_is_not_there_is_told_behind_the_wall_too(here: Shelled) -> None:
    here.shell.program = "/nowhere/bash"
    assert here.run("true") == "The command was not started: No such file or directory.\n[exit status 127]"
