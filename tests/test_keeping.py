"""A grant for good: what becomes of a person's config.toml."""

import multiprocessing
import os
import stat
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.permissions.grants import Grant
from actors.permissions.keeping import NotKept, keep
from actors.permissions.policy import decide
from actors.permissions.subject import Subject
from actors.settings.settings import Settings, load
from tests.fakes.places import short_directory

MAKE = Grant("command_lines", 'make "a" && ls > x\ntrue')
BEFORE = """# mine
model = "m"  # the good one

[permissions.commands]
"git status" = "allow"   # of course
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config" / "fido" / "config.toml"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / 'wörk "space"'
    folder.mkdir()
    return folder


def loaded(config: Path, workspace: Path, **flags: object) -> Settings:
    return load(flags, {"XDG_CONFIG_HOME": str(config.parent.parent)}, workspace)


def allows(settings: Settings, command: str) -> bool:
    rules, subject = settings.permissions.rules, Subject(command=command)
    return decide("bash_exec", "execute", mode="agent", rules=rules, subject=subject).answer == "allow"


def test_a_grant_is_read_back_for_its_workspace_alone(config: Path, workspace: Path, tmp_path: Path) -> None:
    told = keep(MAKE, workspace, config)
    keep(Grant("tools", "patch"), workspace, config)
    keep(Grant("hosts", "docs.python.org"), workspace, config)
    keep(Grant("paths", "./Makefile"), workspace, config)
    keep(Grant("paths", "./~x.txt"), workspace, config)
    assert str(config) in told
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    kept = loaded(config, workspace).permissions
    assert kept.tools == {"patch": "allow"}
    assert kept.hosts == {"docs.python.org": "allow"}
    assert kept.paths == {"./Makefile": "allow", "./~x.txt": "allow"}
    assert allows(loaded(config, workspace), MAKE.name)
    assert loaded(config, tmp_path).permissions.tools == {}
    assert "workspaces" in loaded(config, workspace).source("permissions.tools.patch")


@pytest.mark.report("FILE-09", "FILE-10")
def test_comments_order_mode_and_a_link_stay(config: Path, workspace: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text(BEFORE, encoding="utf-8")
    real.chmod(0o640)
    config.parent.mkdir(parents=True)
    config.symlink_to(real)
    keep(MAKE, workspace, config)
    keep(MAKE, workspace, config)
    assert config.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    text = real.read_text(encoding="utf-8")
    assert text.startswith(BEFORE)
    assert text.count("make") == 1
    assert allows(loaded(config, workspace), "git status")
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")] == []


def test_flags_and_the_workspace_of_a_person_count_more_than_the_rest_of_their_file(
    config: Path, workspace: Path
) -> None:
    config.parent.mkdir(parents=True)
    config.write_text('[permissions.tools]\npatch = "ask"\nrm = "deny"\n', encoding="utf-8")
    keep(Grant("tools", "patch"), workspace, config)
    assert loaded(config, workspace).permissions.tools == {"patch": "allow", "rm": "deny"}
    assert loaded(config, workspace, deny=["patch"]).permissions.tools["patch"] == "deny"


@pytest.mark.parametrize(
    "before",
    [
        "model = ", 'workspaces = "x"\n', "[workspaces]\n'WS' = 1\n", "\ufeffmodel = 'x'", "a = 1\na = 2",
        "[workspaces.'WS']\nmodel = 'x'\n", "[workspaces.'WS'.permissions.paths]\n'~' = 'allow'\n",
        "permissions = 1\n",
    ],
)  # fmt: skip
def test_a_file_that_can_not_be_read_is_left_as_it_is(config: Path, workspace: Path, before: str) -> None:
    config.parent.mkdir(parents=True)
    config.write_text(before.replace("WS", str(workspace)), encoding="utf-8")
    bytes_before = config.read_bytes()
    with pytest.raises(NotKept, match=r"config\.toml"):
        keep(MAKE, workspace, config)
    assert config.read_bytes() == bytes_before


def test_what_is_no_file_or_stands_in_no_folder_is_said(config: Path, workspace: Path) -> None:
    config.parent.mkdir(parents=True)
    os.mkfifo(config)
    with pytest.raises(NotKept, match="no regular file"):
        keep(MAKE, workspace, config)
    config.unlink()
    config.parent.rmdir()
    config.parent.write_text("", encoding="utf-8")
    with pytest.raises(NotKept, match="Make it writable"):
        keep(MAKE, workspace, config)


def _keep_many(workspace: Path, config: Path, number: int) -> None:
    for each in range(5):
        keep(Grant("command_lines", f"make {number} {each}"), workspace, config)


def test_of_grants_given_in_several_sessions_at_once_none_is_lost(config: Path, workspace: Path) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_keep_many, args=(workspace, config, number)) for number in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(30)
        assert writer.exitcode == 0
    assert len(loaded(config, workspace).permissions.command_lines) == 15


@settings(max_examples=25)
@given(st.text(min_size=1, max_size=30))
def test_any_command_line_is_read_back_as_it_was(line: str) -> None:
    with short_directory() as folder:
        config, workspace = folder / "config" / "fido" / "config.toml", folder / "w"
        workspace.mkdir()
        try:
            keep(Grant("command_lines", line), workspace, config)
        except NotKept:
            assert any("\ud800" <= character <= "\udfff" for character in line)
            assert not config.exists()
        else:
            assert loaded(config, workspace).permissions.command_lines == {line: "allow"}


@pytest.mark.parametrize(
    "before",
    [
        "workspaces = {}  # none\nmodel = 'm'\n",
        "[workspaces]\n'WS' = {permissions = {}}\n[shell]\n",
        "workspaces = {'WS' = {permissions = {tools = {rm = 'allow'}}}}\n",
        "[workspaces.'WS'.permissions]\ntools = {rm = 'ask'}  # mine\n[shell]\n",
    ],
)
def test_tables_on_one_line_take_a_grant_too(config: Path, workspace: Path, before: str) -> None:
    config.parent.mkdir(parents=True)
    key = str(workspace).replace("'", "")
    config.write_text(before.replace("'WS'", f"'{key}'"), encoding="utf-8")
    before_it = tomllib.loads(config.read_text(encoding="utf-8"))
    keep(MAKE, workspace, config)
    after = tomllib.loads(config.read_text(encoding="utf-8"))
    assert allows(loaded(config, workspace), MAKE.name)
    del after["workspaces"][key]["permissions"]["command_lines"]
    assert after["workspaces"][key]["permissions"] == (
        before_it["workspaces"].get(key, {}).get("permissions", {})
    )
    assert {**after, "workspaces": 0} == {**before_it, "workspaces": 0}


@pytest.mark.parametrize(
    "before",
    [
        "[workspaces.'WS']\npermissions.tools.patch = 'ask'\n",
        "workspaces.'/y'.permissions.tools.rm = 'ask'\nmodel = 'x'\n[shell]\nsandbox = 'off'\n",
    ],
)
def test_a_grant_never_lands_in_another_table(config: Path, workspace: Path, before: str) -> None:
    config.parent.mkdir(parents=True)
    config.write_text(before.replace("WS", str(workspace)), encoding="utf-8")
    meant = tomllib.loads(config.read_text(encoding="utf-8"))
    with pytest.raises(NotKept, match="dotted keys; write them as"):
        keep(MAKE, workspace, config)
    assert tomllib.loads(config.read_text(encoding="utf-8")) == meant


def test_what_the_settings_could_not_be_read_with_is_not_written(config: Path, workspace: Path) -> None:
    lines = [f"echo {number} {'x' * 60_000}" for number in range(18)]
    for line in lines[:-1]:
        keep(Grant("command_lines", line), workspace, config)
    with pytest.raises(NotKept, match=r"config\.toml would be larger than 1048576 bytes\. Delete"):
        keep(Grant("command_lines", lines[-1]), workspace, config)
    assert set(loaded(config, workspace).permissions.command_lines) == set(lines[:-1])
    before = config.read_bytes()
    with pytest.raises(NotKept, match=r"config\.toml"):
        keep(Grant("paths", "~x.txt"), workspace, config)
    assert config.read_bytes() == before


def test_what_is_no_text_is_not_blamed_on_the_file(config: Path, workspace: Path) -> None:
    with pytest.raises(NotKept) as caught:
        keep(Grant("command_lines", "echo \ud800"), workspace, config)
    assert str(caught.value) == "it holds characters that are no text, and settings are text."
    assert not config.exists()


@pytest.mark.parametrize("table", ["permissions", "workspaces.'WS'.permissions"])
def test_a_denial_that_was_written_meanwhile_stays_one(config: Path, workspace: Path, table: str) -> None:
    config.parent.mkdir(parents=True)
    text = f"[{table}.command_lines]\nls = 'deny'\n".replace("WS", str(workspace))
    config.write_text(text, encoding="utf-8")
    with pytest.raises(NotKept, match=r"config\.toml denies it by now"):
        keep(Grant("command_lines", "ls"), workspace, config)
    assert config.read_text(encoding="utf-8") == text


def test_of_a_line_in_another_folder_one_plain_command_is_kept_and_nothing_more(
    config: Path, workspace: Path
) -> None:
    keep(Grant("command_lines", "make all", "a b"), workspace, config)
    assert loaded(config, workspace).permissions.command_lines == {"cd 'a b' && make all": "allow"}
    before = config.read_bytes()
    with pytest.raises(NotKept, match="more than one command in a folder"):
        keep(Grant("command_lines", "make & rm -rf build", "sub"), workspace, config)
    assert config.read_bytes() == before


def test_a_yes_for_a_path_counts_more_than_every_rule_of_the_rest_of_the_file(
    config: Path, workspace: Path
) -> None:
    config.parent.mkdir(parents=True)
    config.write_text('[permissions.paths]\n"./a.lock" = "ask"\n"*.lock" = "ask"\n', encoding="utf-8")
    keep(Grant("paths", "./a.lock"), workspace, config)
    rules, subject = loaded(config, workspace).permissions.rules, Subject(paths=("a.lock",))
    assert decide("patch", "write", mode="agent", rules=rules, subject=subject).answer == "allow"
