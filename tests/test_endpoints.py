"""Run directories: private, short, swept when dead and never before."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ipc.endpoints import (
    PATH_LIMIT,
    Run,
    RunPlace,
    create_run,
    live_runs,
    new_id,
    run_root,
    services_place,
    workspace_key,
)
from ipc.errors import PlaceError
from tests.fakes.places import short_directory

WORKSPACE = "/some/where"


def new_run(workspace: str = WORKSPACE) -> Run:
    return Run(id=new_id(), session_id="s", workspace=workspace, pid=os.getpid())


@pytest.mark.parametrize("variable", ["XDG_RUNTIME_DIR", "TMPDIR", "HOME"])
def test_socket_paths_fit_for_any_environment_and_workspace(variable: str, tmp_path: Path) -> None:
    long = tmp_path / ("d" * 100) / ("e" * 100)
    long.mkdir(parents=True)
    root = run_root({variable: str(long)})
    place_path = root / f"r-{new_id()}" / "workers" / "w-9999999-4194304" / "mail.ipc"
    assert len(os.fsencode(place_path)) <= PATH_LIMIT
    assert len(workspace_key("/w" * 2000)) == len(workspace_key("/"))


def test_the_runtime_directory_is_used_when_it_is_short() -> None:
    with short_directory() as runtime:
        root = run_root({"XDG_RUNTIME_DIR": str(runtime)})
        assert root == runtime / "fido"
        assert root.stat().st_mode & 0o777 == 0o700


def test_a_root_that_others_could_read_is_closed() -> None:
    with short_directory() as runtime:
        (runtime / "fido").mkdir(mode=0o755)
        assert run_root({"XDG_RUNTIME_DIR": str(runtime)}).stat().st_mode & 0o777 == 0o700


def test_a_link_in_the_place_of_the_root_is_not_followed() -> None:
    with short_directory() as runtime, short_directory() as elsewhere:
        (runtime / "fido").symlink_to(elsewhere)
        assert run_root({"XDG_RUNTIME_DIR": str(runtime)}).parent != runtime


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a directory to somebody else")
def test_a_root_of_another_user_is_refused() -> None:
    with short_directory() as runtime:
        (runtime / "fido").mkdir(mode=0o700)
        os.chown(runtime / "fido", 65534, 65534)
        assert run_root({"XDG_RUNTIME_DIR": str(runtime)}).parent != runtime


def test_a_run_is_joined_by_its_directory() -> None:
    with short_directory() as root:
        made = create_run(root, new_run())
        joined = RunPlace.open(made.directory)
        assert joined.run == made.run
        assert joined.mailbox("parent") == made.mailbox("parent")


def test_what_is_no_run_says_so() -> None:
    with short_directory() as root, pytest.raises(PlaceError, match="holds no run"):
        RunPlace.open(root)


def test_runs_of_one_workspace_share_its_plan_store_and_nothing_else() -> None:
    with short_directory() as root:
        one, two = create_run(root, new_run()), create_run(root, new_run())
        other = create_run(root, new_run("/else/where"))
        assert one.mailbox("plan_store") == two.mailbox("plan_store") != other.mailbox("plan_store")
        assert one.mailbox("parent") != two.mailbox("parent")


def dead_run(root: Path) -> Path:
    """A run whose process was killed without a word, with a socket left behind."""
    code = (
        "import os, sys, socket; from pathlib import Path; from ipc.endpoints import *;"
        "run = Run(id=new_id(), session_id='s', workspace='/gone', pid=1);"
        f"place = create_run(Path({str(root)!r}), run);"
        "s = socket.socket(socket.AF_UNIX); s.bind(str(place.directory / 'parent.ipc'));"
        "print(place.directory, flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    return Path(done.stdout.strip())


def test_the_sockets_of_a_dead_run_are_removed_and_those_of_a_live_one_never() -> None:
    with short_directory() as root:
        live = create_run(root, new_run())
        dead = dead_run(root)
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(str(live.directory / "parent.ipc"))
        assert (dead / "parent.ipc").exists()
        create_run(root, new_run())
        assert not dead.exists()
        assert (live.directory / "parent.ipc").exists()
        assert live.workspace_directory.exists()
        listening.close()


def test_crashes_leave_no_pile_of_directories() -> None:
    with short_directory() as root:
        for _ in range(5):
            dead_run(root)
        create_run(root, new_run())
        assert len(list(root.glob("r-*"))) == 1
        assert len(list(root.glob("w-*"))) == 1


def test_only_live_runs_are_listed() -> None:
    with short_directory() as root:
        dead_run(root)
        live = create_run(root, new_run())
        assert live_runs(root) == [live.run]
        assert live_runs(root, WORKSPACE) == [live.run]
        assert live_runs(root, "/else/where") == []


def test_a_removed_run_leaves_nothing() -> None:
    with short_directory() as root:
        place = create_run(root, new_run())
        place.remove()
        assert not place.directory.exists()


def test_services_of_one_workspace_meet_in_one_run() -> None:
    with short_directory() as root:
        first, second = services_place(root, new_run()), services_place(root, new_run())
        assert first.directory == second.directory
        assert first.run == second.run
        assert services_place(root, new_run("/else/where")).directory != first.directory


def test_a_process_whose_run_is_gone_ends_with_one_line(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="holds no run that can be joined"):
        RunPlace.join(tmp_path / "gone")
