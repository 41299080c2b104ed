"""Colours of code: Pygments knows the languages, the roles are ours."""

import functools
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from typing import Final, Protocol, cast

from ui.palettes import Role
from ui.transcript.lines import Span

MOST: Final = 8_000
"""Characters of code that are coloured."""
_PLAIN: Final = ("", "text", "txt", "plain", "plaintext", "output", "none")
_ROLES: Final[dict[str, Role]] = {
    "Comment": "c_comment",
    "Comment.Preproc": "c_builtin",
    "Keyword": "c_keyword",
    "Keyword.Constant": "c_number",
    "Keyword.Type": "c_builtin",
    "Operator.Word": "c_keyword",
    "Literal.String": "c_string",
    "Literal.Number": "c_number",
    "Name.Builtin": "c_builtin",
    "Name.Attribute": "c_name",
    "Name.Class": "c_name",
    "Name.Decorator": "c_builtin",
    "Name.Exception": "c_builtin",
    "Name.Function": "c_name",
    "Name.Namespace": "c_name",
    "Name.Tag": "c_keyword",
    "Name.Variable": "c_name",
    "Generic.Inserted": "added",
    "Generic.Deleted": "removed",
    "Generic.Heading": "strong",
    "Generic.Subheading": "c_comment",
    "Generic.Prompt": "c_comment",
}
"""Roles by the names of Pygments' tokens; one that is not named has the role of the one it is a kind of."""


class Lexer(Protocol):
    """What cuts the code of a language into tokens."""

    def get_tokens(self, text: str) -> Iterable[tuple[tuple[str, ...], str]]:
        """Return the tokens, each with the names of its kind."""


def coloured(code: str, language: str) -> list[list[Span]]:
    """Return the lines of code in the colours of its language, as far as that is known."""
    lexer = _lexer(language.lower()) if len(code) <= MOST else None
    if lexer is None:
        return [[(None, line)] for line in code.split("\n")]
    lines: list[list[Span]] = [[]]
    tokens = ((_role(".".join(kind)), text) for kind, text in lexer.get_tokens(code))
    for role, group in groupby(tokens, key=itemgetter(0)):
        first, *rest = "".join(text for _, text in group).split("\n")
        lines[-1].append((role, first))
        lines += [[(role, line)] for line in rest]
    return lines[: code.count("\n") + 1]


@functools.cache
def _role(kind: str) -> Role | None:
    while kind and kind not in _ROLES:
        kind = kind.rpartition(".")[0]
    return _ROLES.get(kind)


@functools.lru_cache(maxsize=32)
def _lexer(language: str) -> Lexer | None:
    if language in _PLAIN or language not in _languages():
        return None
    from pygments.lexers import get_lexer_by_name

    return cast(Lexer, get_lexer_by_name(language, stripnl=False))


@functools.cache
def _languages() -> frozenset[str]:
    """Return the names that Pygments itself knows: for others it imports whatever is installed."""
    # 10 ms and 1 MiB for Pygments, and up to 50 ms for a language: only an answer with code pays
    from pygments.lexers import get_all_lexers

    return frozenset(alias for _, aliases, _, _ in get_all_lexers(plugins=False) for alias in aliases)
