"""The command line: what it takes, what it refuses in one line, and what the quick commands print."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from actors import __version__
from actors.catalog.builtin import TOOLS
from actors.catalog.surface import advertised
from actors.cli import main
from actors.commands.arguments import COMMANDS, MODES, UsageError, parser_for, prompt_of, split
from actors.commands.completion import completion
from actors.session.events import PromptTaken, SessionStarted
from actors.session.log import SessionLog
from ipc.messages import Mode
from tests.fakes.fido import DEADLINE_S, GUARD, Home, home


class Shell:
    """Runs `fido` as a person does, in a home of its own."""

    def __init__(self, folder: Path, at: Home) -> None:
        self.workspace = folder / "work"
        self.workspace.mkdir()
        self.state = at.folder / "state"
        self.config = at.folder / "config" / "fido" / "config.toml"
        self.config.parent.mkdir()
        self.home = at

    def fido(self, *words: str, stdin: bytes = b"", **environ: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*GUARD, *words],
            cwd=self.workspace,
            env=self.home.environment(**environ),
            input=stdin,
            capture_output=True,
            timeout=DEADLINE_S,
            check=False,
        )

    def refusal(self, *words: str, **environ: str) -> str:
        """The one line on stderr of a command that ends with status 2."""
        run = self.fido(*words, **environ)
        assert (run.returncode, run.stdout) == (2, b"")
        lines = run.stderr.decode().splitlines()
        assert len(lines) == 1
        assert lines[0].startswith("fido: ")
        return lines[0]

    def output(self, *words: str, **environ: str) -> str:
        run = self.fido(*words, **environ)
        assert run.returncode == 0, run.stderr.decode()
        return run.stdout.decode()


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with home() as at:
        yield Shell(tmp_path, at)


# --- the line ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "command", "rest"),
    [
        ([], "", []),
        (["fix", "the", "tests"], "", ["fix", "the", "tests"]),
        (["run", "hi"], "run", ["hi"]),
        (["--model", "plan", "run", "hi"], "run", ["--model", "plan", "hi"]),
        (["--model=run", "plan"], "plan", ["--model=run"]),
        (["plan the release"], "", ["plan the release"]),
        (["--", "run"], "", ["--", "run"]),
        (["--version"], "", ["--version"]),
    ],
)
def test_first_bare_word_is_the_command_or_begins_the_prompt(
    words: list[str], command: str, rest: list[str]
) -> None:
    assert split(words) == (command, rest)


def test_flags_and_words_may_come_in_any_order() -> None:
    options = parser_for("run").understand(
        ["fix", "--max-turns", "3", "it", "--allow=patch", "--allow", "rm"]
    )
    assert (options.prompt, options.max_turns, options.allow) == (["fix", "it"], 3, ["patch", "rm"])


def test_prompt_that_is_no_utf8_is_taken_with_marks() -> None:
    assert prompt_of([os.fsdecode(b"caf\xe9")]) == "caf\ufffd"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_and_flag_has_its_help_line(command: str) -> None:
    assert COMMANDS[command].help
    assert all(action.help for action in parser_for(command).actions())
    assert " ".join(COMMANDS[command].form.split()) in parser_for(command).format_help()


def test_version_is_told(shell: Shell) -> None:
    assert shell.output("--version") == f"fido {__version__}\n"


def test_help_lists_every_command(shell: Shell) -> None:
    text = shell.output("--help")
    assert [name for name in COMMANDS if name and f"fido {name}" not in text] == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--modell", "x"], "--modell: unknown flag; did you mean --model"),
        (["run", "x", "--mode", "fast"], "--mode: invalid choice: 'fast'"),
        (["run", "x", "--max-turns", "0"], "--max-turns: expected a number from 1, got '0'"),
        (["run", "x", "--timeout", "soon"], "--timeout: expected seconds above 0, got 'soon'"),
        (["run"], "there is no prompt"),
        (["plan", "the", "release"], "invalid choice: 'the'"),
        (["--session", "../x"], "--session: a session id has"),
        (["--workspace", "nowhere", "plan"], "--workspace nowhere: no such file or directory"),
        (["actor", "ui"], "invalid choice: 'ui'"),
        (["hello"], "the screen needs a terminal; without one use: fido run PROMPT"),
    ],
)
def test_what_is_not_understood_is_one_line_and_status_2(
    capfd: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    assert main(words) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("fido: ")
    assert told in err
    assert len(err.splitlines()) == 1


def test_nothing_to_attach_to_is_told(shell: Shell) -> None:
    assert "no session s-1 is running" in shell.refusal("attach", "s-1")


def test_log_that_another_start_has_just_removed_is_no_hindrance(shell: Shell) -> None:
    logs = shell.state / "fido" / "logs"
    logs.mkdir(parents=True)
    (logs / "gone.log").symlink_to("nowhere")
    assert shell.output("run", "hi")


def test_command_line_is_told_without_what_a_terminal_acts_on(shell: Shell) -> None:
    assert "␛]0;x" in shell.refusal("plan", "--\x1b]0;x")


def test_modes_on_the_command_line_are_those_of_a_session() -> None:
    assert get_args(Mode) == MODES


def test_message_limit_out_of_bounds_is_refused(shell: Shell) -> None:
    assert "FIDO_MESSAGE_LIMIT: expected bytes" in shell.refusal("run", "x", FIDO_MESSAGE_LIMIT="many")


def test_prompt_from_an_empty_stdin_is_refused(shell: Shell) -> None:
    assert "there is no prompt" in shell.refusal("run", "-")


def test_unknown_flag_is_raised_as_one_line() -> None:
    with pytest.raises(UsageError, match="fido plan: --jsno: unknown flag; did you mean --json"):
        parser_for("plan").understand(["--jsno"])


@pytest.mark.report("CFG-06")
@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"modell = 1", "'modell': unknown setting; did you mean model"),
        (b"\xef\xbb\xbfmodel = 'x'", "byte order mark"),
        (b"provider = 'olama'", "provider: unknown server; did you mean ollama"),
        (b"max_tool_rounds = 'many'", "max_tool_rounds: input should be a valid integer"),
        (b"timeouts = 3", "timeouts: has to be a table"),
        (b"model = ", "is not TOML"),
        (None, "cannot be read: it is no regular file"),
    ],
)
def test_settings_that_cannot_be_used_end_a_run_with_one_line_and_status_2(
    shell: Shell, content: bytes | None, told: str
) -> None:
    if content is None:
        shell.config.mkdir()
    else:
        shell.config.write_bytes(content)
    line = shell.refusal("run", "hello")
    assert line.startswith(f"fido: {shell.config}: ")
    assert told in line


NO_STDOUT = {
    "reader has gone": ('"$@" | :; exit ${PIPESTATUS[0]}', 141, ""),
    "is closed": ('"$@" >&-', 0, ""),
    "is full": ('"$@" > /dev/full', 1, "fido: stdout cannot be written: no space left on device\n"),
    "is full, and nobody is told": ('"$@" > /dev/full 2>&-', 1, ""),
}


@pytest.mark.parametrize("how", NO_STDOUT)
def test_stdout_that_takes_nothing_ends_a_command_without_a_traceback(shell: Shell, how: str) -> None:
    line, status, told = NO_STDOUT[how]
    longest = [["run", "hi"]] if how == "is full" else []
    for words in (["--help"], ["tools", "--advertised"], ["plan", "--json"], *longest):
        run = subprocess.run(
            ["bash", "-c", f"{line}", "bash", *GUARD, *words],
            cwd=shell.workspace,
            env=shell.home.environment(),
            capture_output=True,
            timeout=DEADLINE_S,
            check=False,
        )
        assert (run.returncode, run.stderr.decode()) == (status, told), words


# --- completion --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_completion_knows_every_command_and_flag(name: str) -> None:
    script = completion(name)
    flags = {flag.removeprefix("--") for command in COMMANDS for flag in parser_for(command).flags()}
    assert [word for word in {*filter(None, COMMANDS), *flags} if word not in script] == []


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("fido pl", ["plan"]),
        ("fido run --mode ", ["plan", "agent", "yolo"]),
        ("fido run --output-format s", ["stream-json"]),
        ("fido plan ", ["show", "clear"]),
        ("fido tools --adv", ["--advertised"]),
    ],
)
def test_bash_offers_what_fits(line: str, offered: list[str]) -> None:
    words = line.split(" ")
    quoted = " ".join(f'"{word}"' for word in words)
    script = f"{completion('bash')}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _fido\n"
    run = subprocess.run(
        ["bash", "-c", script + 'printf "%s\\n" "${COMPREPLY[@]}"'],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    found = run.stdout.split()
    assert found[: len(offered)] == offered


# --- quick commands ----------------------------------------------------------------------------------

PLAN = {
    "version": 1,
    "revision": 3,
    "updatedAt": "2025-01-01T00:00:00.000Z",
    "reason": "Ship it",
    "session": "s-9",
    "items": [
        {
            "id": "look",
            "title": "Look \x1b[31maround",
            "status": "done",
            "details": "",
            "dependencies": [],
            "next_action": "",
            "evidence": ["src/app.py:42", "pytest -q"],
            "verdicts": ["verified", "claimed"],
        },
        {
            "id": "act",
            "title": "Act",
            "status": "in_progress",
            "details": "with care",
            "dependencies": ["look"],
            "next_action": "Write it",
            "evidence": [],
            "verdicts": [],
        },
    ],
}


def test_plan_is_shown_without_a_session(shell: Shell) -> None:
    (shell.workspace / ".fido-plan.json").write_text(json.dumps(PLAN), encoding="utf-8")
    text = shell.output("plan")
    for part in ("Ship it", "1/2", "look", "src/app.py:42", "act", "with care", "Write it", "in_progress"):
        assert part in text
    assert "\x1b" not in text
    assert "verified: src/app.py:42\n" in text
    assert "claimed: pytest -q\n" in text
    assert "Carried over from session s-9, on 1 Jan 2025.\n" in text
    assert json.loads(shell.output("plan", "show", "--json")) == PLAN


@pytest.mark.parametrize("command", ["plan", "sessions"])
def test_json_holds_nothing_that_a_terminal_acts_on(shell: Shell, command: str) -> None:
    hostile = "\x9b31m\u202e\x7f"
    (shell.workspace / ".fido-plan.json").write_text(json.dumps(PLAN | {"reason": hostile}), encoding="utf-8")
    begin_session(shell, "s-1", shell.workspace, "2025-01-01T00:00:00.000Z", f"do {hostile}")
    text = shell.output(command, "--json")
    assert text.isascii()
    assert "\x7f" not in text
    told = json.loads(text)
    assert hostile in (told["reason"] if command == "plan" else told[0]["first_prompt"])


def test_no_plan_is_no_error(shell: Shell) -> None:
    assert shell.output("plan") == "There is no plan.\n"
    assert json.loads(shell.output("plan", "--json"))["items"] == []
    assert not (shell.workspace / ".fido-plan.json").exists()


def test_plan_is_cleared_without_a_session(shell: Shell) -> None:
    file = shell.workspace / ".fido-plan.json"
    file.write_text(json.dumps(PLAN), encoding="utf-8")
    cleared = json.loads(shell.output("plan", "clear", "--json"))
    assert (cleared["revision"], cleared["items"]) == (4, [])
    assert json.loads(file.read_text(encoding="utf-8")) == cleared


def test_damaged_plan_is_told_and_left_where_it_is_by_show(shell: Shell) -> None:
    file = shell.workspace / ".fido-plan.json"
    file.write_text("{", encoding="utf-8")
    run = shell.fido("plan")
    assert run.returncode == 1
    assert "is damaged" in run.stderr.decode()
    assert file.read_text(encoding="utf-8") == "{"


def begin_session(shell: Shell, session_id: str, workspace: Path, at: str, prompt: str = "") -> None:
    header = SessionStarted(
        session_id=session_id,
        workspace=str(workspace),
        model="m",
        mode="agent",
        at=at,
        system_sha256="",
        tools_sha256="",
    )
    log = SessionLog.create(shell.state / "fido" / "sessions", session_id, header)
    log.append(PromptTaken(turn=1, text=prompt or f"do {session_id}\nnow", at=at))
    log.close()


def test_sessions_of_this_workspace_are_listed_newest_first(shell: Shell, tmp_path: Path) -> None:
    assert shell.output("sessions") == "There are no sessions in this workspace.\n"
    begin_session(shell, "s-1", shell.workspace, "2025-01-01T00:00:00.000Z")
    begin_session(shell, "s-2", shell.workspace, "2025-01-02T00:00:00.000Z")
    begin_session(shell, "s-3", tmp_path, "2025-01-03T00:00:00.000Z")
    listed = json.loads(shell.output("sessions", "--json"))
    assert [(entry["session_id"], entry["turns"], entry["running"]) for entry in listed] == [
        ("s-2", 1, False),
        ("s-1", 1, False),
    ]
    text = shell.output("sessions")
    assert "do s-1" in text
    assert len(text.splitlines()) == 2


def test_a_session_that_can_not_be_resumed_here_is_refused_with_the_way_out(
    shell: Shell, tmp_path: Path
) -> None:
    assert "There is no session" in shell.refusal("resume", "s-1")
    begin_session(shell, "s-1", tmp_path, "2025-01-01T00:00:00.000Z")
    assert shell.refusal("resume", "s-1").endswith(
        f"session s-1 belongs to {tmp_path}, not to {shell.workspace}; add --workspace {tmp_path}"
    )
    assert "needs a terminal" in shell.refusal("resume", "s-1", "--workspace", str(tmp_path))
    assert "needs a terminal" in shell.refusal("resume")


def test_tools_are_listed_and_advertised_bytes_printed(shell: Shell) -> None:
    array = advertised(TOOLS)
    assert shell.fido("tools", "--advertised").stdout == array
    listed = json.loads(shell.output("tools", "--json"))
    names = [entry["function"]["name"] for entry in json.loads(array)]
    assert [entry["name"] for entry in listed] == names
    assert {entry["state"] for entry in listed} == {"active"}
    text = shell.output("tools")
    assert all(name in text for name in names)


def test_closed_pipe_behind_a_command_is_no_traceback(shell: Shell) -> None:
    read, write = os.pipe()
    os.close(read)
    run = subprocess.run(
        [*GUARD, "tools", "--advertised"],
        cwd=shell.workspace,
        env=shell.home.environment(),
        stdout=write,
        stderr=subprocess.PIPE,
        timeout=30,
        check=False,
    )
    os.close(write)
    assert (run.returncode, run.stderr) == (141, b"")
