"""Rules on paths that a call changes and on hosts that it asks (pure)."""

import re
from dataclasses import dataclass

from actors.files.path_glob import PathGlob, compile_glob
from actors.permissions.command_rules import Answer

_HOST = re.compile(r"(?:\*\.)?[^\s/:@*?#\[\]]+|\[[0-9a-f:.]+\]|\*")


@dataclass(frozen=True, slots=True)
class PathRule:
    """A glob over paths in the workspace, and the answer to a call that changes one of them."""

    glob: str
    answer: Answer
    compiled: PathGlob

    @classmethod
    def parse(cls, glob: str, answer: Answer) -> "PathRule":
        """Read `docs/**` or `*.md`. Raises `ValueError` with a sentence for a person."""
        if not glob.strip() or glob.startswith(("/", "!", "~", "../")):
            raise ValueError(f"{glob!r} is no glob over paths in the workspace, such as docs/** or *.md")
        try:
            return cls(glob, answer, compile_glob(glob))
        except ValueError as error:
            raise ValueError(f"{glob!r} is no glob: {error}") from None

    def means(self, path: str, *, with_content: bool = False) -> bool:
        """Whether a path is meant; `with_content`: or, as far as the glob tells, anything below it."""
        if self.compiled.matches(path):
            return True
        if not with_content:
            return False
        fixed = re.split(r"[*?\[{]", self.glob.removeprefix("./"), maxsplit=1)[0].rpartition("/")[0]
        inside, around = f"{fixed}/".startswith(f"{path}/"), f"{path}/".startswith(f"{fixed}/")
        return not fixed or inside or around


@dataclass(frozen=True, slots=True)
class HostRule:
    """A host, or all hosts below a domain, and the answer to a call that asks it."""

    host: str
    """`docs.python.org`, `*.python.org`, or `*` for all."""
    answer: Answer

    @classmethod
    def parse(cls, host: str, answer: Answer) -> "HostRule":
        """Read `docs.python.org` or `*.python.org`. Raises `ValueError` with a sentence for a person."""
        name = host.strip().rstrip(".").lower()
        if not _HOST.fullmatch(name):
            raise ValueError(f"{host!r} is no host; write it as docs.python.org or *.python.org")
        return cls(name, answer)

    def means(self, host: str) -> bool:
        """Whether a host is meant, written in lower case and without a dot at its end."""
        if self.host.startswith("*."):
            return host.endswith(self.host[1:])
        return self.host in ("*", host)
