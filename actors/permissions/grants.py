"""What a person has allowed beyond one call: in words, in memory, as a setting, as a flag (pure)."""

import re
import shlex
from dataclasses import dataclass
from typing import Final, Literal

from actors.permissions.place_rules import TOP
from actors.permissions.shell_words import plain_words
from actors.permissions.subject import Subject
from ipc.terminal_text import clean_line, on_one_line

Table = Literal["tools", "paths", "hosts", "command_lines"]
LONGEST_LINE: Final = 200
"""Characters of a command that a flag or a label repeats."""
_ALL: Final = {
    "mkdir": "every mkdir in this workspace",
    "patch": "every patch in this workspace",
    "rm": "every rm in this workspace",
    "rmdir": "every rmdir in this workspace",
}
_GAPS: Final = " \t\n"
"""What the shell skips before and behind a command."""
_WILD: Final = re.compile(r"[?\[]")
_ALWAYS_WILD: Final = re.compile(r"[*{}]")
"""A glob has no way to write these as themselves."""


@dataclass(frozen=True, slots=True)
class Grant:
    """One thing that is allowed from now on."""

    table: Table
    """Where the settings keep it, below `permissions`."""
    name: str
    """The tool, the path as a glob, the host, or the whole command line."""
    folder: str = ""
    """Where a command line is run, relative to the workspace; empty: in the workspace itself."""

    @property
    def words(self) -> str:
        """What it covers, for a person."""
        match self.table:
            case "command_lines":
                place = f" in {self.folder}" if self.folder else ""
                return f"`{on_one_line(self.name, LONGEST_LINE)}`{place}"
            case "paths":
                return f"changes of {self.name}"
            case "hosts":
                return f"browse_url on {self.name}"
            case "tools":
                return _ALL.get(self.name, f"every {self.name}")

    @property
    def setting(self) -> str:
        """The name it has in its table of the settings; empty: none would mean just this."""
        return line_in(self.folder, self.name) if self.table == "command_lines" else self.name

    @property
    def flag(self) -> str:
        """The arguments of `fido run` that allow just the same; empty: there are none."""
        name = self.setting
        match self.table:
            case "tools":
                return f"--allow {name}"
            case _ if not _survives_a_terminal(name):
                return ""
            case "command_lines":
                # ` *` at the end of the flag's pattern would be any words
                return "" if name.endswith(" *") else f"--allow {shlex.quote(f'bash_exec({name})')}"
            case "paths":
                return f"--allow {shlex.quote(f'patch({name})')}"
            case "hosts":
                return f"--allow {shlex.quote(f'browse_url({name})')}"


def grant_for(tool: str, subject: Subject, *, by_rule: bool = False) -> Grant | None:
    """What a yes for more than once covers: this very command, this host, else the tool; null: nothing.

    Where a rule asks for a path (`by_rule`), a yes is for this path alone.
    """
    if tool == "bash_exec":
        line = _line(subject.command)
        return Grant("command_lines", line, subject.folder) if line else None
    if tool == "browse_url":
        return Grant("hosts", subject.host) if subject.host else None
    if not by_rule:
        return Grant("tools", tool)
    if len(subject.paths) != 1 or subject.with_content or _ALWAYS_WILD.search(subject.paths[0]):
        return None
    return Grant("paths", TOP + _WILD.sub(r"[\g<0>]", subject.paths[0]))


def line_in(folder: str, command: str) -> str:
    """A command as it would be typed in the workspace itself; empty where no line means just this.

    Behind `cd sub && ` only one plain command stays what it is: of `make & rm x` the second half would run in
    the workspace, and a brace of its own could close the one around it.
    """
    line = _line(command)
    if not folder:
        return line
    return f"cd {shlex.quote(folder)} && {line}" if plain_words(line) is not None else ""


def _line(command: str) -> str:
    """A command without the gaps around it; behind a backslash a gap is more."""
    line = command.strip(_GAPS)
    return command if line.endswith("\\") else line


def _survives_a_terminal(name: str) -> bool:
    """Whether a name is the same when a person copies it from a terminal."""
    return bool(name) and clean_line(name, LONGEST_LINE) == name
