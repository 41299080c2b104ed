"""What can be read behind the wall: tried in a fresh process, since the wall can't be taken down."""

import json
import os
import socket
from pathlib import Path

import pytest

from actors.sandbox.private import SECRETS_OF_A_HOME, private_places
from tests.fakes.delegating import delegate
from tests.fakes.launch import launch, script
from tests.fakes.places import run_place
from tests.fakes.worker_parent import calls, result, says

BEHIND = """
import json, os, sys
from pathlib import Path
from actors.sandbox import reach
from actors.sandbox.level import probe
from actors.sandbox.private import private_places
from actors.sandbox.quarters import move_in
from actors.sandbox.wall import Wall, limit
folder, workspace, *paths = map(Path, sys.argv[1:])
around = Wall(workspace, probe(), private_places(os.environ, folder))
quarters = move_in(folder / "w-1-1")
limit()
around.build(quarters)
def outcome(path):
    try:
        os.listdir(path) if path.is_dir() else os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        return "read"
    except OSError as error:
        return type(error).__name__
print(json.dumps({str(path): outcome(path) for path in paths}))
"""
CLOSED = "PermissionError"


def outcomes(home: Path, workspace: Path, *paths: Path) -> list[str]:
    """How reading each path ends in a worker whose person's home that is."""
    folder = home.parent / "run"
    folder.mkdir(exist_ok=True)
    run = script(BEHIND, folder, workspace, *paths, env={"PATH": os.environ["PATH"], "HOME": str(home)})
    log = (folder / "w-1-1" / "log").read_text(encoding="utf-8")
    assert run.returncode == 0, log
    return list(json.loads(log).values())


def written(path: Path, text: str = "sk-CANARY") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


# --- what is private in the workspace -----------------------------------------------------------------------


def test_an_honest_worker_in_a_home_reads_no_key_no_other_session_and_no_secret(tmp_path: Path) -> None:
    home = tmp_path
    written(home / ".config/fido/config.toml")
    written(home / ".local/state/fido/sessions/a.jsonl")
    written(home / ".ssh/id")
    written(home / ".netrc")
    written(home / ".config/other/visible", "sk-VISIBLE")
    written(home / "project/visible", "sk-VISIBLE")
    private = (".config/fido/config.toml", ".local/state/fido/sessions/a.jsonl", ".ssh/id", ".netrc")
    reads = [calls("read_file", path, path=path) for path in (*private, "project/visible")]
    search = calls("ripgrep", "search", pattern="sk-")
    env = {"PATH": os.environ["PATH"], "HOME": str(home)}
    with run_place(home) as place, launch("actors.worker", place.directory, os.getpid(), env=env) as host:
        end, parent = delegate(place, home, says("", *reads, search), says(result()))
        host.terminate()
    assert end.fault is None
    results = parent.results()
    assert "CANARY" not in json.dumps(results)
    for path in private:
        assert "error" in json.loads(results[path]), path
    assert "sk-VISIBLE" in results["project/visible"]
    for path in ("project/visible", ".config/other/visible"):
        assert path in results["search"], results["search"]


def test_the_known_secrets_of_a_home_are_private(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "elsewhere")}
    private = private_places(environ, tmp_path / "run")
    assert {tmp_path / name for name in (*SECRETS_OF_A_HOME, "elsewhere/gh")} <= set(private)


def test_what_fido_keeps_is_private_wherever_the_environment_puts_it(tmp_path: Path) -> None:
    home, workspace = tmp_path / "home", tmp_path / "work"
    settings = written(workspace / "dotfiles/config.toml")
    (home / ".config/fido").mkdir(parents=True)
    (home / ".config/fido/config.toml").symlink_to(settings)
    written(workspace / "state/fido/sessions/a")
    (home / ".local").mkdir()
    (home / ".local/state").symlink_to(workspace / "state")
    beside = written(workspace / "dotfiles/vimrc"), written(workspace / "state/other/a")
    closed = settings, workspace / "state/fido/sessions/a", home / ".config/fido/config.toml"
    assert outcomes(home, workspace, *closed, *beside) == [CLOSED] * 3 + ["read"] * 2


def test_the_sockets_of_every_run_are_private_where_they_lie_in_the_workspace(tmp_path: Path) -> None:
    other = written(tmp_path / "run/r-0123456789ab/run.json")
    assert outcomes(tmp_path / "home", tmp_path, other, tmp_path, tmp_path / "run") == [
        CLOSED,
        "read",
        "read",
    ]


@pytest.mark.parametrize("inside", [".config/fido", ".ssh/keys"])
def test_a_workspace_in_a_private_folder_is_closed(tmp_path: Path, inside: str) -> None:
    home = tmp_path / "home"
    file = written(home / inside / "file")
    assert outcomes(home, home / inside, file, home / inside) == [CLOSED] * 2


def test_beside_the_private_only_what_is_a_file_or_a_folder_is_open(tmp_path: Path) -> None:
    home = tmp_path / "home"
    secret = written(home / ".ssh/id")
    (home / "way_in").symlink_to(".ssh")
    (home / "way_to_what_is_open").symlink_to("kept")
    (home / "way_out").symlink_to(tmp_path)
    os.mkfifo(home / "pipe")
    written(home / "kept")
    outside = written(tmp_path / "outside")
    paths = (home / "way_in/id", home / "way_out/outside", home / "pipe", secret, outside)
    assert outcomes(home, home, *paths, home / "way_to_what_is_open") == [CLOSED] * 5 + ["read"]


# --- exceptions are of their kind ---------------------------------------------------------------------------


@pytest.mark.parametrize("named", ["~/", "~/pipe", "~/socket", "/dev/full", "~/keys"])
def test_what_is_named_as_ignore_rules_and_is_no_file_opens_nothing(tmp_path: Path, named: str) -> None:
    home, workspace = tmp_path / "home", tmp_path / "workspace"
    workspace.mkdir()
    secrets = written(home / "keys/key"), written(tmp_path / ".ignore/key")
    os.mkfifo(home / "pipe")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(home / "socket"))
    written(home / ".gitconfig", f"[core]\n\texcludesFile = {named}\n")
    paths = (*secrets, home / "pipe", Path("/dev/full"), home)
    assert outcomes(home, workspace, *paths) == [CLOSED] * 5


def test_a_file_that_is_named_as_ignore_rules_is_open(tmp_path: Path) -> None:
    written(tmp_path / "home/.gitconfig", "[core]\n\texcludesFile = ~/mine\n")
    mine, above = written(tmp_path / "home/mine"), written(tmp_path / ".ignore")
    (tmp_path / "workspace").mkdir()
    assert outcomes(tmp_path / "home", tmp_path / "workspace", mine, above) == ["read"] * 2


def test_what_a_linked_worktree_excludes_can_be_read_and_nothing_else_of_its_repository(
    tmp_path: Path,
) -> None:
    home, workspace, repository = tmp_path / "home", tmp_path / "linked", tmp_path / "main" / ".git"
    linked = repository / "worktrees" / "linked"
    written(linked / "HEAD")
    written(linked / "commondir", "../..\n")
    written(workspace / ".git", f"gitdir: {linked}\n")
    paths = written(repository / "info" / "exclude"), written(repository / "config")
    assert outcomes(home, workspace, *paths) == ["read", CLOSED]
