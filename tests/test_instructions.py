"""The system message: what is in it, what never is, and what a workspace may add."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from actors.prompts.system_message import INSTRUCTIONS_LIMIT, system_message
from tests.fakes.chat_script import say
from tests.fakes.fido import Run, home, openai_environment
from tests.fakes.scripted_server import ScriptedServer

ROOT = Path(__file__).parent.parent


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    (root / ".git").mkdir(parents=True)
    (root / "pkg" / "inner").mkdir(parents=True)
    return root


def test_product_text_comes_first_and_the_workspace_last(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Use tabs. ", encoding="utf-8")
    text = system_message(tmp_path).text
    assert text.startswith("You are Fido")
    assert text.index(str(tmp_path)) < text.index("Use tabs.")
    assert text.endswith("Use tabs.\n")


def test_messages_of_two_workspaces_share_the_whole_product_text(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = (system_message(tmp_path / name).text for name in "ab")
    product, path = first.split(f"Path: {tmp_path}/")
    assert second.startswith(product)
    assert path == "a\n"


def test_system_text_stays_within_its_budget(tmp_path: Path) -> None:
    assert len(system_message(tmp_path).text.encode()) < 4_600


def test_same_workspace_gives_the_same_bytes_in_two_processes(repository: Path) -> None:
    (repository / "AGENTS.md").write_text("Öl, 日本語", encoding="utf-8")
    code = (
        "import sys, pathlib; from actors.prompts.system_message import system_message;"
        "sys.stdout.buffer.write(system_message(pathlib.Path(sys.argv[1])).text.encode())"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code, str(repository)],
            env={
                "PYTHONHASHSEED": seed,
                "LC_ALL": "C",
                "PYTHONPATH": str(ROOT),
                "PYTHONCOERCECLOCALE": "0",
            },
            capture_output=True,
            check=True,
            timeout=30,
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1] == system_message(repository).text.encode()
    assert "日本語".encode() in runs[0]


USAGE_POLICY = {
    "when to plan": r"multiple meaningful steps.*spans several files.*likely to be interrupted",
    "when not to": r"Skip a formal plan for a small, obvious change",
    "when to call": r"current state needs to be established, after a milestone, or when a blocker changes",
    "where to read it": r"Read the complete state from the latest `update_plan` result",
    "one at a time": r"exactly zero or one item `in_progress`",
    "stable ids": r"Preserve stable ids, and record concise blockers, next actions and evidence",
    "not too often": r"at milestones, not after every tool call",
    "nowhere else": r"keep it by a shell command; no plan ever stands in this text",
}


@pytest.mark.parametrize("rule", USAGE_POLICY)
def test_plan_usage_policy_is_told(rule: str, tmp_path: Path) -> None:
    assert re.search(USAGE_POLICY[rule], system_message(tmp_path).text)


def test_plan_file_does_not_reach_the_system_message(tmp_path: Path) -> None:
    before = system_message(tmp_path)
    (tmp_path / ".fido-plan.json").write_text('{"reason":"canary"}', encoding="utf-8")
    assert system_message(tmp_path) == before


def test_nearer_instructions_come_after_those_of_the_root(repository: Path) -> None:
    (repository / "AGENTS.md").write_text("from the root", encoding="utf-8")
    (repository / "pkg" / "AGENTS.md").write_text("from the package", encoding="utf-8")
    (repository / "pkg" / "inner" / "AGENTS.md").write_text("from the workspace", encoding="utf-8")
    text = system_message(repository / "pkg" / "inner").text
    places = [text.index(f"from the {where}") for where in ("root", "package", "workspace")]
    assert places == sorted(places)


def test_folders_above_a_workspace_without_a_repository_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("not yours", encoding="utf-8")
    (tmp_path / "work").mkdir()
    assert "not yours" not in system_message(tmp_path / "work").text


@pytest.mark.report("FILE-08")
def test_link_to_a_private_file_is_not_loaded_and_is_told(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("sk-canary", encoding="utf-8")
    (repository / "AGENTS.md").symlink_to(tmp_path / "secret")
    message = system_message(repository)
    assert "sk-canary" not in message.text
    assert message.notices == ("AGENTS.md was not read: it is a link that leads out of the workspace.",)


def test_link_that_stays_inside_is_followed(repository: Path) -> None:
    (repository / "pkg" / "rules.md").write_text("inside", encoding="utf-8")
    (repository / "AGENTS.md").symlink_to("pkg/rules.md")
    message = system_message(repository)
    assert message.text.endswith("inside\n")
    assert not message.notices


def test_fifo_does_not_hang_the_start(repository: Path) -> None:
    os.mkfifo(repository / "AGENTS.md")
    assert system_message(repository).notices == ("AGENTS.md was not read: it is no regular file.",)


def test_instructions_are_cut_at_their_limit_between_characters(repository: Path) -> None:
    (repository / "AGENTS.md").write_text("é" * INSTRUCTIONS_LIMIT, encoding="utf-8")
    (repository / "pkg" / "AGENTS.md").write_text("more", encoding="utf-8")
    message = system_message(repository / "pkg")
    assert message.text.count("é") == INSTRUCTIONS_LIMIT // 2
    assert "\ufffd" not in message.text
    assert "AGENTS.md was cut: instructions may have 32 KiB in all." in message.notices
    assert "pkg/AGENTS.md was cut: instructions may have 32 KiB in all." in message.notices


@pytest.mark.report("FILE-08")
def test_link_into_the_data_of_git_is_not_loaded_and_is_told(repository: Path) -> None:
    (repository / ".git" / "config").write_text("url = https://me:sk-canary@example.org", encoding="utf-8")
    (repository / "AGENTS.md").symlink_to(".git/config")
    message = system_message(repository)
    assert "sk-canary" not in message.text
    assert message.notices == ("AGENTS.md was not read: it is a link into Git's own data.",)


@pytest.mark.report("FILE-08")
@pytest.mark.parametrize("private", [".ssh/id", ".ssh", "pkg/.netrc"])
def test_link_into_a_private_place_is_not_loaded_and_is_told(repository: Path, private: str) -> None:
    """As where a home is a repository."""
    place = repository / private
    secret = place / "config" if private == ".ssh" else place
    secret.parent.mkdir(parents=True, exist_ok=True)
    secret.write_text("sk-canary", encoding="utf-8")
    (repository / "AGENTS.md").symlink_to(secret)
    (repository / "pkg" / "AGENTS.md").write_text("inside", encoding="utf-8")
    message = system_message(repository / "pkg", [place, repository / ".gnupg"])
    assert "sk-canary" not in message.text
    assert message.text.endswith("inside\n")
    assert message.notices == ("AGENTS.md was not read: it is a link into a private place.",)
    (repository / "AGENTS.md").unlink()
    (repository / "AGENTS.md").write_text("of the folder that was chosen", encoding="utf-8")
    assert "that was chosen" in system_message(repository, [repository]).text


@pytest.mark.report("FILE-08")
def test_link_to_a_private_file_reaches_no_request(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("sk-canary", encoding="utf-8")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "AGENTS.md").symlink_to(tmp_path / "secret")
    with home() as at, ScriptedServer() as server:
        server.add(say("hello"))
        done = Run(at, workspace, "hello", **openai_environment(server.base_url)).finish()
        assert done.status == 0, done
        assert "AGENTS.md was not read: it is a link that leads out of the workspace." in done.err
        assert b"sk-canary" not in server.requests[0].body


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16"])
def test_byte_order_mark_is_no_part_of_the_instructions(repository: Path, codec: str) -> None:
    (repository / "AGENTS.md").write_bytes("Nur Tabs, auch in Öl.\r\n".encode(codec))
    assert system_message(repository).text.endswith("## AGENTS.md\nNur Tabs, auch in Öl.\n")
