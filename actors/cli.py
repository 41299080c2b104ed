"""The `fido` command: understands the line, makes the run, hands over. Imports what a command needs only."""

import os
import sys
from argparse import Namespace
from pathlib import Path
from typing import Literal

from actors import __version__
from actors.commands.arguments import UsageError, parser_for, prompt_of, split
from actors.directories import state_directory
from actors.environment import without_keys
from actors.last_words import say, stdout_lost
from actors.restarts import REOPEN
from ipc import kernel
from ipc.endpoints import FRAME_LIMIT, Run, create_run, live_runs, new_id, run_root, services_place
from ipc.errors import PlaceError

USAGE_STATUS = 2
OPEN_FILES = 64
"""A screen has 34 at a time, a parent 31, and as many again with a second screen."""
_NOT_FLAGS = frozenset({"prompt", "workspace", "session", "version", "name", "session_id"})


def main(argv: list[str]) -> int:
    """Carry out one command line; return the exit status."""
    try:
        status = _carry_out(argv)
        sys.stdout.flush()
        return status
    except (UsageError, PlaceError) as error:
        say(str(error).removeprefix("fido: "))
        return USAGE_STATUS
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        status = stdout_lost(error)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is buffered has nowhere to go
        return status


def _carry_out(argv: list[str]) -> int:
    command, words = split(argv)
    try:
        options = parser_for(command).understand(words)
    except SystemExit as done:
        return int(done.code or 0)
    match command:
        case "":
            return _screen(options)
        case "run":
            return _supervised(options, _prompt(options.prompt), "headless")
        case "resume":
            return _resume(options)
        case "attach":
            return _attach(options)
        case "actor":
            return _actor(options)
        case "completion":
            from actors.commands.completion import completion

            print(completion(options.shell), end="")
            return 0
        case "doctor":
            from actors.commands.doctor import doctor

            return doctor(_workspace(options), _flags(options))
        case _:
            from actors.commands import reports

            return reports.report(command, _workspace(options), options)


def _screen(options: Namespace) -> int:
    if options.version:
        print(f"fido {__version__}")
        return 0
    _require_terminal()
    return _supervised(options, prompt_of(options.prompt) or None, "ui")


def _resume(options: Namespace) -> int:
    """Open the screen on an earlier session; without a name it begins with the list of them."""
    from actors.resume import ResumeRefused, check_session, running_sessions

    options.session = options.session_id or options.session
    options.pick = options.session is None or None
    if options.session:
        try:
            workspace = _workspace(options)
            running = running_sessions(run_root(dict(os.environ)), workspace)
            check_session(options.session, state_directory(os.environ) / "sessions", workspace, running)
        except ResumeRefused as refused:
            raise UsageError(str(refused)) from None
    _require_terminal()
    return _supervised(options, None, "ui")


def _require_terminal() -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("the screen needs a terminal; without one use: fido run PROMPT")


def _supervised(options: Namespace, prompt: str | None, front: Literal["ui", "headless"]) -> int:
    allowed = kernel.allow_open_files(OPEN_FILES)
    if allowed < OPEN_FILES:
        raise PlaceError(
            f"a process may open {allowed} files here, and Fido needs {OPEN_FILES}: ulimit -n {OPEN_FILES}"
        )
    place = create_run(run_root(dict(os.environ)), _run(options, new_id(), prompt, front))
    from actors.processes import supervise

    return supervise(place, front)


def _attach(options: Namespace) -> int:
    """Become the screen of a run that somebody else supervises."""
    root, workspace = run_root(dict(os.environ)), str(_workspace(options))
    wanted = options.session_id or options.session
    runs = [run for run in live_runs(root, workspace) if wanted in (None, run.session_id)]
    if not runs:
        named = f"session {wanted}" if wanted else "session"
        raise UsageError(f"no {named} is running in {workspace}; start one with: fido")
    if len(runs) > 1:
        raise UsageError(
            f"several sessions are running, name one: {', '.join(run.session_id for run in runs)}"
        )
    directory = str(root / f"r-{runs[0].id}")
    line = [sys.executable, "-I", "-X", "utf8", "-m", "ui.app", directory, str(os.getppid())]
    os.execve(sys.executable, line, without_keys(os.environ))


def _actor(options: Namespace) -> int:
    """Run one actor here; all that are started in one workspace meet in one run."""
    from importlib import import_module

    wanted = _run(options, "", None, "none")
    place = services_place(run_root(dict(os.environ)), wanted)
    _refuse_other_flags(wanted, place.run, options.session)
    refusal = place.failure_file(options.name)
    refusal.unlink(missing_ok=True)
    main = import_module(f"actors.{options.name}").main
    status = REOPEN
    while status == REOPEN:
        status = main([str(place.directory), str(os.getppid())])
    if status and refusal.exists():
        raise UsageError(refusal.read_text(encoding="utf-8").strip())
    return status


def _refuse_other_flags(wanted: Run, found: Run, session: str | None) -> None:
    """All services of a workspace have the flags of the one that was started first."""
    keys = wanted.flags.keys() | found.flags.keys()
    other = {key for key in keys if wanted.flags.get(key) != found.flags.get(key)}
    if session not in (None, found.session_id):
        other.add("session")
    if other:
        names = ", ".join(sorted(f"--{key.replace('_', '-')}" for key in other))
        raise UsageError(
            f"the services of {found.workspace} run with another {names}; "
            "give every one the same flags, or end them first"
        )


def _run(options: Namespace, run_id: str, prompt: str | None, front: str) -> Run:
    return Run(
        id=run_id,
        session_id=options.session or _new_session_id(),
        workspace=str(_workspace(options)),
        pid=os.getpid(),
        prompt=prompt,
        front=front,
        flags=_flags(options),
        frame_limit=_frame_limit(os.environ.get("FIDO_MESSAGE_LIMIT", "")),
        drafts=str(state_directory(os.environ) / "drafts"),
    )


def _frame_limit(given: str) -> int:
    """Largest message between two processes, bytes; a variable, since no settings file is read this early."""
    if not given.strip():
        return FRAME_LIMIT
    if not given.isdecimal() or not 1 << 20 <= int(given) <= 1 << 30:
        raise UsageError(f"FIDO_MESSAGE_LIMIT: expected bytes from 1048576 to 1073741824, got {given!r}")
    return int(given)


def _flags(options: Namespace) -> dict[str, bool | int | float | str | list[str]]:
    return {key: value for key, value in vars(options).items() if key not in _NOT_FLAGS and value is not None}


def _workspace(options: Namespace) -> Path:
    given = options.workspace or "."
    try:
        workspace = Path(given).resolve(strict=True)
        str(workspace).encode()
    except UnicodeEncodeError:
        raise UsageError("the workspace's path is not UTF-8; rename it or work in another one") from None
    except OSError as error:
        raise UsageError(f"--workspace {given}: {(error.strerror or str(error)).lower()}") from None
    if not workspace.is_dir():
        raise UsageError(f"--workspace {given}: is no folder")
    return workspace


def _prompt(words: list[str]) -> str:
    if words == ["-"]:
        prompt = sys.stdin.buffer.read().decode("utf-8", "replace").strip()
    else:
        prompt = prompt_of(words)
    if not prompt:
        raise UsageError("run: there is no prompt; write one behind it, or - to read it from stdin")
    return prompt


def _new_session_id() -> str:
    """Sorts by time; the random end tells two that start in one second apart."""
    from time import gmtime, strftime

    return f"{strftime('%Y%m%d-%H%M%S', gmtime())}-{new_id()[:4]}"
