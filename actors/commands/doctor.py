"""`fido doctor`: what works here, where each setting came from, and what to do where something does not."""

import locale
import os
import platform
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pydantic import BaseModel

from actors import __version__
from actors.commands.findings import Finding, State
from actors.commands.reachable import servers
from actors.delegation.requirement import standing
from actors.directories import state_directory, user_file
from actors.files.rg import find_rg
from actors.sandbox.level import Level, probe
from actors.settings.layers import SettingsError
from actors.settings.settings import Settings, load
from actors.settings.tables import Sandbox
from actors.tools.tool import ToolFailure
from ipc.endpoints import run_root
from ipc.errors import PlaceError
from ipc.secret_text import without_secrets


def doctor(workspace: Path, flags: Mapping[str, object]) -> int:
    """Print all findings as they come; return 1 when something does not work, else 0."""
    settings, fault, redact = Settings(), "", without_secrets
    try:
        settings = load(flags, os.environ, workspace)
        redact = settings.redactor.report
    except SettingsError as error:
        fault = str(error)
    is_bad = False
    for finding in _findings(workspace, settings, fault):
        is_bad |= finding.state == "bad"
        for line in finding.lines(redact):
            print(line)
    return int(is_bad)


def _findings(workspace: Path, settings: Settings, fault: str) -> Iterator[Finding]:
    yield Finding("fido", "ok", f"{__version__}, Python {platform.python_version()}, {sys.prefix}")
    if fault:
        yield Finding("settings", "bad", fault, "Mend it; until then Fido does not start.")
    else:
        yield from _settings(settings)
        yield from servers(settings)
    yield _ripgrep()
    yield sandbox(settings.sandbox, probe())
    yield commands(settings.shell.sandbox != "off", probe())
    yield _terminal()
    yield from _paths(workspace)


def _settings(settings: Settings) -> Iterator[Finding]:
    for key, value in _leaves(settings):
        yield Finding("setting", "ok", f"{key} = {value}  ({settings.source(key)})")
    if settings.screen.keys:
        yield Finding(
            "setting", "note", "the screen checks screen.keys when it starts, and says what it can't do"
        )
    for notice in settings.notices:
        yield Finding("setting", "note", notice)


def _leaves(table: BaseModel, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Each value by its dotted key; a secret is masked by its own type."""
    for name in type(table).model_fields:
        value = getattr(table, name)
        entries = value.items() if isinstance(value, dict) else [("", value)]
        for key, entry in entries:
            dotted = f"{prefix}{name}.{key}".rstrip(".")
            if isinstance(entry, BaseModel):
                yield from _leaves(entry, f"{dotted}.")
            else:
                yield dotted, "not set" if entry in (None, "") else entry


def _ripgrep() -> Finding:
    try:
        return Finding("ripgrep", "ok", find_rg())
    except ToolFailure as failure:
        return Finding("ripgrep", "bad", failure.message, failure.next_step)


def sandbox(wanted: Sandbox, here: Level) -> Finding:
    """What holds a subagent, judged by what the setting asks for."""
    found = standing(wanted, here)
    state: State = "ok" if found.whole else "bad" if found.barred else "note"
    return Finding("sandbox", state, found.sentence, found.next_step)


def commands(wanted: bool, here: Level) -> Finding:
    """What a wall around `bash_exec` would be worth, judged by whether there is to be one."""
    sentence = f"{here.commands_sentence}; shell.sandbox is {'on' if wanted else 'off'}"
    if here.walls_commands:
        return Finding("commands", "ok", sentence)
    step = "Until then no command runs; or set shell.sandbox to off."
    return Finding("commands", "bad" if wanted else "note", sentence, step if wanted else "")


def _terminal() -> Finding:
    if not sys.stdout.isatty():
        return Finding(
            "terminal", "note", "stdout is no terminal", "The screen needs one; use fido run here."
        )
    size = shutil.get_terminal_size()
    encoding = locale.getencoding()
    names = {name: os.environ.get(name) for name in ("TERM", "COLORTERM", "NO_COLOR")}
    text = ", ".join([f"{size.columns}x{size.lines}", encoding, *(f"{k}={v}" for k, v in names.items() if v)])
    if encoding.upper().replace("-", "") != "UTF8":
        return Finding("terminal", "note", text, "Set LC_ALL to a UTF-8 locale for the full set of glyphs.")
    return Finding("terminal", "ok", text)


def _paths(workspace: Path) -> Iterable[Finding]:
    yield _writable("workspace", workspace, "Plan and edits need it; use --workspace for another folder.")
    yield Finding("config", "ok", f"{user_file(os.environ)} ({_presence(user_file(os.environ))})")
    yield _writable("state", state_directory(os.environ), "Set XDG_STATE_HOME to a folder of yours.")
    try:
        yield Finding("sockets", "ok", str(run_root(dict(os.environ))))
    except PlaceError as error:
        yield Finding("sockets", "bad", str(error), "Set XDG_RUNTIME_DIR to a short path of yours.")


def _presence(path: Path) -> str:
    return "present" if path.exists() else "not there, which is fine"


def _nearest(path: Path) -> Path:
    """The path, or the folder in which it would be made."""
    return next(folder for folder in (path, *path.parents) if folder.exists())


def _writable(name: str, folder: Path, next_step: str) -> Finding:
    """Judge a folder that is to be written; one that is not there is made when it is needed."""
    there = _nearest(folder)
    if not os.access(there, os.W_OK | os.X_OK):
        return Finding(name, "bad", f"{there} cannot be written", next_step)
    made = "" if there == folder else "  (not there yet, which is fine)"
    return Finding(name, "ok", f"{folder}{made}")
