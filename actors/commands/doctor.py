"""`fido doctor`: what works here, where each setting came from, and what to do where something does not."""

import json
import locale
import os
import platform
import shutil
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel

from actors import __version__
from actors.delegation.requirement import standing
from actors.directories import state_directory, user_file
from actors.files.rg import find_rg
from actors.sandbox.level import Level, probe
from actors.settings.addresses import below
from actors.settings.layers import SettingsError
from actors.settings.settings import Settings, load
from actors.settings.tables import Sandbox
from actors.tools.tool import ToolFailure
from ipc.endpoints import run_root
from ipc.errors import PlaceError
from ipc.terminal_text import clean_line

REACH_S: Final = 10.0
"""How long the server may take to list its models."""

State = Literal["ok", "note", "bad"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    name: str
    state: State
    text: str
    next_step: str = ""

    def lines(self) -> Iterator[str]:
        mark = {"ok": "+", "note": "-", "bad": "!"}[self.state]
        yield f"{mark} {self.name:<12} {clean_line(self.text, 400)}"
        if self.next_step:
            yield f"  {'':<12} -> {clean_line(self.next_step, 400)}"


def doctor(workspace: Path, flags: Mapping[str, object]) -> int:
    """Print all findings; return 1 when something does not work, else 0."""
    findings = list(_findings(workspace, flags))
    for finding in findings:
        for line in finding.lines():
            print(line)
    return int(any(finding.state == "bad" for finding in findings))


def _findings(workspace: Path, flags: Mapping[str, object]) -> Iterator[Finding]:
    yield Finding("fido", "ok", f"{__version__}, Python {platform.python_version()}, {sys.prefix}")
    wanted: Sandbox = "require"
    try:
        settings = load(flags, os.environ, workspace)
    except SettingsError as error:
        yield Finding("settings", "bad", str(error), "Mend it; until then Fido does not start.")
    else:
        yield from _settings(settings)
        yield provider(settings)
        wanted = settings.sandbox
    yield _search()
    yield sandbox(wanted, probe())
    yield _terminal()
    yield from _paths(workspace)


def _settings(settings: Settings) -> Iterator[Finding]:
    for key, value in _leaves(settings):
        yield Finding("setting", "ok", f"{key} = {value}  ({settings.source(key)})")
    for notice in settings.notices:
        yield Finding("setting", "note", notice)


def _leaves(table: BaseModel, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Each value by its dotted key; a key is masked by its own type."""
    for name in type(table).model_fields:
        value = getattr(table, name)
        if isinstance(value, BaseModel):
            yield from _leaves(value, f"{prefix}{name}.")
        elif isinstance(value, dict):
            yield from ((f"{prefix}{name}.{key}", entry) for key, entry in value.items())
        else:
            yield f"{prefix}{name}", "not set" if value is None else value


def provider(settings: Settings) -> Finding:
    """Ask the server for its models: reachable, key taken, model known."""
    if settings.offline:
        return Finding(
            "provider",
            "note",
            "no key and no base URL: the built-in offline model answers, which is no language model",
            "Set OPENAI_API_KEY, or base_url for a local server such as http://localhost:11434/v1.",
        )
    url = below(settings.endpoint, "/models")
    try:
        models = _models(url, settings.key_for(url))
    except urllib.error.HTTPError as error:
        return _refused(url, error.code)
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", error)
        return Finding("provider", "bad", f"{url}: {reason}", "Check base_url, the network and the proxy.")
    if models and settings.model not in models:
        known = ", ".join(sorted(models)[:8])
        return Finding(
            "provider", "bad", f"{url} has no model {settings.model}", f"Set model to one of: {known}"
        )
    return Finding("provider", "ok", f"{url} answers, model {settings.model}")


def _refused(url: str, status: int) -> Finding:
    match status:
        case 401 | 403:
            return Finding("provider", "bad", f"{url}: the key was refused ({status})", "Check the API key.")
        case 404 | 405:
            step = "If chatting works, never mind; else check the path of base_url."
            return Finding("provider", "note", f"{url}: no list of models there ({status})", step)
        case _:
            return Finding(
                "provider", "bad", f"{url}: HTTP status {status}", "Look at the server, or try again."
            )


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key to another host."""

    def redirect_request(self, *_: object) -> None:
        return None


def _models(url: str, key: str | None) -> set[str]:
    """Ids of the server's models, empty when it names none in the usual form."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - settings take http and https only
    with urllib.request.build_opener(_NoRedirect).open(request, timeout=REACH_S) as response:
        listed: Any = json.loads(response.read(1 << 22))
    entries = listed.get("data") if isinstance(listed, dict) else None
    return {str(entry["id"]) for entry in entries or () if isinstance(entry, dict) and "id" in entry}


def _search() -> Finding:
    try:
        return Finding("ripgrep", "ok", find_rg())
    except ToolFailure as failure:
        return Finding("ripgrep", "bad", failure.message, failure.next_step)


def sandbox(wanted: Sandbox, here: Level) -> Finding:
    """What holds a subagent, judged by what the setting asks for."""
    found = standing(wanted, here)
    state: State = "ok" if found.whole else "bad" if found.barred else "note"
    return Finding("sandbox", state, found.sentence, found.next_step)


def _terminal() -> Finding:
    if not sys.stdout.isatty():
        return Finding(
            "terminal", "note", "stdout is no terminal", "The screen needs one; use fido run here."
        )
    size = shutil.get_terminal_size()
    encoding = locale.getpreferredencoding()
    names = {name: os.environ.get(name) for name in ("TERM", "COLORTERM", "NO_COLOR")}
    text = ", ".join([f"{size.columns}x{size.lines}", encoding, *(f"{k}={v}" for k, v in names.items() if v)])
    if encoding.upper().replace("-", "") != "UTF8":
        return Finding("terminal", "note", text, "Set LC_ALL to a UTF-8 locale for the full set of glyphs.")
    return Finding("terminal", "ok", text)


def _paths(workspace: Path) -> Iterable[Finding]:
    yield _writable("workspace", workspace, "Plan and edits need it; use --workspace for another folder.")
    yield Finding("config", "ok", f"{user_file(os.environ)} ({_presence(user_file(os.environ))})")
    yield _writable(
        "state", _nearest(state_directory(os.environ)), "Set XDG_STATE_HOME to a folder of yours."
    )
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
    if os.access(folder, os.W_OK | os.X_OK):
        return Finding(name, "ok", str(folder))
    return Finding(name, "bad", f"{folder} cannot be written", next_step)
