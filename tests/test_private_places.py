"""A workspace that is a person's home: what is private in it is for no tool."""

import json
from pathlib import Path

import pytest

from actors.files.workspace import Workspace
from actors.sandbox.private import private_places
from actors.tools.list_files import ListFiles
from actors.tools.mkdir import Mkdir
from actors.tools.patch import Patch
from actors.tools.read_file import ReadFile
from actors.tools.ripgrep import Ripgrep
from actors.tools.rm import Rm
from actors.tools.rmdir import Rmdir
from tests.fakes import chat_script as script
from tests.fakes.calling import call, refusal
from tests.fakes.fido import Run, home, openai_environment
from tests.fakes.scripted_server import ScriptedServer
from tests.fakes.snapshots import NOTHING_KEPT

PRIVATE = (".config/fido/config.toml", ".local/state/fido/sessions/s.jsonl", ".ssh/id_ed25519", ".netrc")
OUTPUT = ".local/state/fido/output/s"


@pytest.fixture
def a_home(tmp_path: Path) -> Path:
    for name in (*PRIVATE, f"{OUTPUT}/1", ".config/other/config.toml", "notes"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("canary\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def workspace(a_home: Path) -> Workspace:
    private = private_places({"HOME": str(a_home)}, a_home / "run")
    return Workspace(a_home, also_readable=[a_home / OUTPUT], private=private)


@pytest.mark.parametrize("name", PRIVATE)
def test_what_is_private_is_neither_read_nor_searched_nor_changed(workspace: Workspace, name: str) -> None:
    (workspace.root / "link").symlink_to(name)
    for path in (name, f"./notes/../{name}", "link", str(workspace.root / name)):
        assert refusal(ReadFile(workspace), path=path).code == "private_path"
        assert refusal(Ripgrep(workspace), pattern="x", path=path).code == "private_path"
        edit = {"path": path, "old_text": "canary", "new_text": "x"}
        told = refusal(Patch(workspace, NOTHING_KEPT), **edit)
        assert told.code == "private_path"
        assert "canary" not in told.message
    assert refusal(Rm(workspace, NOTHING_KEPT), path=name).code == "private_path"
    assert (workspace.root / name).read_text(encoding="utf-8") == "canary\n"


def test_a_list_and_a_search_of_the_home_leave_out_what_is_private(workspace: Workspace) -> None:
    listed = call(ListFiles(workspace)).content.split("\n")[1:]
    assert listed == ["7 .config/other/config.toml", "7 notes"]
    for path in ("", ".config", ".local"):
        found = call(Ripgrep(workspace), pattern="canary", path=path).content
        assert not any(name in found for name in PRIVATE)
    assert call(ListFiles(workspace), path=".local").content.startswith("0 files")
    assert refusal(ListFiles(workspace), path=".config/fido").code == "private_path"


def test_a_folder_with_something_private_in_it_is_not_removed(workspace: Workspace) -> None:
    for path in (".config", ".config/fido", ".local"):
        told = refusal(Rmdir(workspace, NOTHING_KEPT), path=path, recursive=True)
        assert told.code == "private_path"
    assert refusal(Mkdir(workspace, NOTHING_KEPT), path=".ssh/new").code == "private_path"


def test_the_output_of_this_sessions_commands_stays_readable(workspace: Workspace) -> None:
    path = f"{workspace.root}/{OUTPUT}/1"
    assert "canary" in call(ReadFile(workspace), path=path).content
    assert "canary" in call(Ripgrep(workspace), pattern="can", path=path).content
    assert "canary" in call(Ripgrep(workspace), pattern="can", path=f"{workspace.root}/{OUTPUT}").content


def test_names_with_marks_of_a_glob_are_left_out_as_they_are(tmp_path: Path) -> None:
    for name in ("[a]*{b}!/secret", "a/kept", "\\x ?/secret", "ab/kept"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("canary\n", encoding="utf-8")
    private = [tmp_path / "[a]*{b}!", tmp_path / "\\x ?"]
    listed = call(ListFiles(Workspace(tmp_path, private=private))).content.split("\n")[1:]
    assert listed == ["7 a/kept", "7 ab/kept"]


def test_a_folder_that_a_person_chose_to_work_in_is_open(a_home: Path) -> None:
    private = private_places({"HOME": str(a_home)}, a_home / "run")
    chosen = Workspace(a_home / ".ssh", private=private)
    assert "canary" in call(ReadFile(chosen), path="id_ed25519").content
    own = Workspace(a_home / ".config" / "fido", private=private)
    assert refusal(ReadFile(own), path="config.toml").code == "private_path"


def test_a_session_in_the_home_reads_no_settings_and_sweeps_what_an_earlier_one_left() -> None:
    with home() as at, ScriptedServer() as server:
        settings, notes = at.folder / "config" / "fido", at.folder / "state" / "fido" / "writing"
        for folder in (settings, notes):
            folder.mkdir(parents=True, mode=0o700)
        (settings / "config.toml").write_text('model = "canary-model"\n', encoding="utf-8")
        left, foreign = at.folder / f".fido-{'a' * 16}.tmp", at.folder / f".fido-{'b' * 16}.tmp"
        for path in (left, foreign):
            path.write_text("half", encoding="utf-8")
        (notes / "1").write_text(str(left), encoding="utf-8")
        paths = ("config/fido/config.toml", "state/fido/sessions")
        looks = [script.call("ripgrep", {"pattern": "canary", "path": path}) for path in ("", *paths)]
        server.add(script.calls([*looks, script.call("read_file", {"path": paths[0]})]), script.say("done"))
        done = Run(at, at.folder, "look", **openai_environment(server.base_url)).finish()
        assert (done.status, done.out) == (0, "done\n"), done
        messages = json.loads(server.requests[-1].body)["messages"]
        results = [message["content"] for message in messages if message["role"] == "tool"]
        assert results[0] == "[no match]"
        assert [json.loads(result)["error"]["code"] for result in results[1:]] == ["private_path"] * 3
        assert foreign.exists()
        assert not left.exists()
