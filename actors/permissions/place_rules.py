"""Rules on paths that a call changes and on hosts that it asks (pure)."""

import re
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import Final

from actors.files.path_glob import PathGlob, compile_glob
from actors.permissions.command_rules import Answer
from actors.web.addresses import carried, parsed
from actors.web.urls import read_host

TOP: Final = "./"
"""What a glob begins with that means a path from the workspace itself, and not a name at any depth."""
_ELSEWHERE: Final = re.compile(r"^/|//|(?:^|/)\.{1,2}(?:/|$)")
"""A glob that counts from the root, or that no resolved path can match."""


@dataclass(frozen=True, slots=True)
class PathRule:
    """A glob over paths in the workspace, and the answer to a call that changes one of them."""

    glob: str
    answer: Answer
    compiled: PathGlob

    @classmethod
    def parse(cls, glob: str, answer: Answer) -> "PathRule":
        """Read `docs/**`, `*.md` or `./Makefile`. Raises `ValueError` with a sentence for a person."""
        path = glob.removeprefix(TOP)
        if not path.strip() or _ELSEWHERE.search(path) or glob.startswith(("!", "~")):
            raise ValueError(
                f"{glob!r} is no glob over paths in the workspace, such as docs/**, *.md or ./Makefile"
            )
        try:
            return cls(glob, answer, compile_glob(f"/{path}" if glob.startswith(TOP) else path))
        except ValueError as error:
            raise ValueError(f"{glob!r} is no glob: {error}") from None

    def means(self, path: str, *, with_content: bool = False) -> bool:
        """Whether a path is meant; `with_content`: or, as far as the glob tells, anything below it."""
        if self.compiled.matches(path):
            return True
        if not with_content:
            return False
        fixed = self._fixed()
        inside, around = f"{fixed}/".startswith(f"{path}/"), f"{path}/".startswith(f"{fixed}/")
        return not fixed or inside or around

    def _fixed(self) -> str:
        """The path that is meant, or a folder that all which is meant lies in; empty: it may be anywhere."""
        if "/" not in self.glob:
            return ""
        literal, *more = re.split(r"[*?\[{]", self.glob.removeprefix(TOP), maxsplit=1)
        return literal.rpartition("/")[0] if more else literal.rstrip("/")


@dataclass(frozen=True, slots=True)
class HostRule:
    """A host, or all hosts below a domain, and the answer to a call that asks it."""

    host: str
    """`docs.python.org`, `*.python.org`, or `*` for all; written as a URL's host is read."""
    answer: Answer

    @classmethod
    def parse(cls, host: str, answer: Answer) -> "HostRule":
        """Read `docs.python.org` or `*.python.org`. Raises `ValueError` with a sentence for a person."""
        given = host.strip()
        if given == "*":
            return cls(given, answer)
        is_domain = given.startswith("*.")
        try:
            name = read_host(given.removeprefix("*."))
        except ValueError:
            name = ""
        if not name or (is_domain and _is_address(name)):
            raise ValueError(f"{host!r} is no host; write it as docs.python.org or *.python.org")
        return cls(f"*.{name}" if is_domain else name, answer)

    def means(self, host: str) -> bool:
        """Whether a host is meant, written as `host_of` has it.

        What restricts an IPv4 address restricts the IPv6 ones that lead to it, too, and the other way round.
        """
        if self.host.startswith("*."):
            return host.endswith(self.host[1:])
        if self.host in ("*", host):
            return True
        return self.answer != "allow" and _inner(self.host) == _inner(host)


def _inner(host: str) -> str:
    """The IPv4 address that an IPv6 one leads to; every other host as it is."""
    if not host.startswith("["):
        return host
    address = parsed(host[1:-1])
    inner = carried(address) if isinstance(address, IPv6Address) else None
    return host if inner is None else str(inner)


def _is_address(host: str) -> bool:
    return host.startswith("[") or host.rpartition(".")[2].isdecimal()
