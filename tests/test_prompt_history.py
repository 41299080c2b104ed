"""The prompts of a workspace on disk: kept by several runs at once, bounded, private, in no turn's way."""

import fcntl
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.secrets.redactor import Redactor
from actors.session.prompt_history import FULL, LOCK_WAIT_S, LONGEST, MOST, PromptHistory

WRITER = """
import sys
from pathlib import Path
from actors.session.prompt_history import PromptHistory
history = PromptHistory(Path(sys.argv[1]), str)
for number in range(int(sys.argv[3])):
    history.add(f"{sys.argv[2]}-{number}" + " x" * 500)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "prompts" / "w-1.jsonl"


def test_prompts_are_told_newest_first_and_each_once(path: Path) -> None:
    history = PromptHistory(path, str)
    assert history.told() == ()
    for prompt in ("one", "two\nlines", "three ünï", "one"):
        history.add(prompt)
    assert PromptHistory(path, str).told() == ("one", "three ünï", "two\nlines")


def test_nobody_else_can_read_them_whatever_the_umask(path: Path) -> None:
    before = os.umask(0)
    try:
        PromptHistory(path, str).add("private")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_secret_is_neither_written_nor_told_when_it_became_known_only_later(path: Path) -> None:
    secret = "sk-abcdefghijklmnop1234567890"
    PromptHistory(path, str).add(f"early {secret}")
    known = PromptHistory(path, Redactor([secret]).content)
    known.add(f"late {secret}")
    assert path.read_text(encoding="utf-8").count(secret) == 1
    assert not [prompt for prompt in known.told() if secret in prompt]
    assert len(known.told()) == 2


def test_damaged_lines_are_passed_over_and_a_torn_one_costs_itself_alone(path: Path) -> None:
    history = PromptHistory(path, str)
    history.add("whole")
    with path.open("ab") as file:
        file.write(b'{"at":1}\nnot json\n\xff\xfe\n[]\n\n{"at":"x","prompt":"to')
    history.add("behind")
    assert history.told() == ("behind", "whole")


def test_half_a_pair_in_a_prompt_is_no_reason_not_to_keep_it(path: Path) -> None:
    history = PromptHistory(path, str)
    history.add("caf\udce9")
    assert history.told() == ("caf?",)


def test_it_is_written_anew_before_it_grows_without_bound(path: Path) -> None:
    history = PromptHistory(path, str)
    long = "x" * (LONGEST // 2)
    for number in range(2 * FULL // len(long)):
        history.add(f"{number} {long}")
        assert path.stat().st_size <= FULL + LONGEST
    told = history.told()
    assert told[0].startswith(f"{2 * FULL // len(long) - 1} ")
    assert len(told) < 2 * FULL // len(long)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(os.listdir(path.parent)) == ["lock", "w-1.jsonl"]


def test_at_most_so_many_are_told_and_a_monster_is_not_kept(path: Path) -> None:
    history = PromptHistory(path, str)
    for number in range(MOST + 5):
        history.add(str(number))
    history.add("x" * LONGEST)
    assert history.told() == tuple(str(number) for number in range(MOST + 4, 4, -1))


def test_runs_that_write_at_once_lose_nothing_of_each_other(path: Path) -> None:
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), name, "200"], cwd=Path(__file__).parents[1]
        )
        for name in "abc"
    ]
    assert [run.wait(60) for run in runs] == [0, 0, 0]
    told = {prompt.split()[0] for prompt in PromptHistory(path, str).told()}
    assert told == {f"{name}-{number}" for name in "abc" for number in range(200)}


def test_what_was_added_outlasts_kill_9(path: Path) -> None:
    script = WRITER + "\nimport os, signal\nos.kill(os.getpid(), signal.SIGKILL)"
    run = subprocess.run([sys.executable, "-c", script, str(path), "a", "3"], cwd=Path(__file__).parents[1])
    assert run.returncode == -signal.SIGKILL
    assert len(PromptHistory(path, str).told()) == 3


def test_a_run_that_was_stopped_with_the_lock_holds_nobody_up(path: Path) -> None:
    history = PromptHistory(path, str)
    history.add("before")
    with path.with_name("lock").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        begun = time.monotonic()
        history.add("meanwhile")
        assert time.monotonic() - begun < LOCK_WAIT_S / 4
        history.finish()
    assert history.told() == ("meanwhile", "before")


@pytest.mark.parametrize("laid", ["folder", "pipe", "link", "file above"])
def test_what_stands_in_its_place_costs_no_prompt_its_turn(path: Path, laid: str, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine\n", encoding="utf-8")
    if laid == "file above":
        path.parent.write_text("", encoding="utf-8")
    else:
        path.parent.mkdir()
    match laid:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "link":
            path.symlink_to(elsewhere)
    history = PromptHistory(path, str)
    history.add("hello")
    assert history.told() == ()
    assert elsewhere.read_text(encoding="utf-8") == "mine\n"


@settings(max_examples=30, deadline=None)
@given(prompts=st.lists(st.text(max_size=40), max_size=6), damage=st.binary(max_size=30))
def test_any_prompts_come_back_as_they_were(
    prompts: list[str], damage: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("any") / "w.jsonl"
    path.write_bytes(damage)
    history = PromptHistory(path, str)
    for prompt in prompts:
        history.add(prompt)
    assert list(history.told()) == list(dict.fromkeys(reversed(prompts)))
