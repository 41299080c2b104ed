"""What a person has allowed beyond one call: in words, in memory, as a setting, as a flag (pure)."""

import shlex
from dataclasses import dataclass
from typing import Literal

from actors.permissions.subject import Subject

Table = Literal["tools", "paths", "hosts", "command_lines"]
LONGEST_LINE = 200
"""Characters of a command that a flag or a label repeats."""
_ALL = {
    "mkdir": "every mkdir in this workspace",
    "patch": "every patch in this workspace",
    "rm": "every rm in this workspace",
    "rmdir": "every rmdir in this workspace",
}


@dataclass(frozen=True, slots=True)
class Grant:
    """One thing that is allowed from now on."""

    table: Table
    """Where the settings keep it, below `permissions`."""
    name: str
    """The tool, the path, the host, or the whole command line."""

    @property
    def words(self) -> str:
        """What it covers, for a person."""
        match self.table:
            case "command_lines":
                return f"`{_on_one_line(self.name)}`"
            case "paths":
                return f"changes of {self.name}"
            case "hosts":
                return f"browse_url on {self.name}"
            case "tools":
                return _ALL.get(self.name, f"every {self.name}")

    @property
    def flag(self) -> str:
        """The arguments of `fido run` that allow the same; a whole tool where a line is too long for that."""
        match self.table:
            case "command_lines" if _fits_a_flag(self.name):
                return f"--allow {shlex.quote(f'bash_exec({self.name})')}"
            case "command_lines":
                return "--allow bash_exec"
            case "paths":
                return f"--allow {shlex.quote(f'patch({self.name})')}"
            case "hosts":
                return f"--allow {shlex.quote(f'browse_url({self.name})')}"
            case "tools":
                return f"--allow {self.name}"


@dataclass(frozen=True, slots=True)
class Grants:
    """What the person has allowed for the rest of the session."""

    given: frozenset[Grant] = frozenset()

    def adding(self, grant: Grant) -> "Grants":
        """With one more."""
        return Grants(self.given | {grant})


def grant_for(tool: str, subject: Subject, *, by_rule: bool = False) -> Grant | None:
    """What a yes for more than once covers: this very command, this host, else the tool; null: nothing.

    Where a rule asks for a path (`by_rule`), a yes is for this path alone.
    """
    if tool == "bash_exec":
        return Grant("command_lines", line_of(subject)) if subject.command.strip() else None
    if tool == "browse_url":
        return Grant("hosts", subject.host) if subject.host else None
    if not by_rule:
        return Grant("tools", tool)
    is_one = len(subject.paths) == 1 and not subject.with_content
    return Grant("paths", subject.paths[0]) if is_one and not set("*?[]{}!") & set(subject.paths[0]) else None


def line_of(subject: Subject) -> str:
    """The command as it would be typed in the workspace itself."""
    command = subject.command.strip()
    return f"cd {shlex.quote(subject.folder)} && {command}" if subject.folder else command


def _fits_a_flag(line: str) -> bool:
    """Whether a flag with the line allows it; ` *` at its end would be any words there."""
    return len(line) <= LONGEST_LINE and "\n" not in line and not line.endswith(" *")


def _on_one_line(line: str) -> str:
    text = " ".join(line.split())
    return text if len(text) <= LONGEST_LINE else text[: LONGEST_LINE - 1] + "…"
