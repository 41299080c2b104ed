"""Colours of code: Pygments knows the languages, the roles are ours."""

import functools
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final, Protocol, cast

from ui.palettes import Role
from ui.transcript.lines import Span

MOST: Final = 3_000
"""Characters of code that are coloured."""
MOST_LINES: Final = 60
LONGEST: Final = 400
"""Characters of a line; from a longer one on there are no colours."""
BUDGET_S: Final = 0.05
"""Of the processor, for one piece of code: what nobody writes by hand can take so long."""
_TOKENS: Final = 64
"""Tokens from one look at the clock to the next."""
_STEP: Final = 8
"""While code is written, an eighth of its lines may wait for their colours: else all were read for each."""

# Languages whose tokens are found in less than 60 ms in whatever is written here (Pygments 2.21; in 70 others
# of its patterns some take minutes), each with its other names.
_LANGUAGES: Final = """
bash sh zsh ksh shell|batch bat|c h|clojure clj|cmake|cpp c++ cc hpp|csharp c# cs|css|dart|diff udiff patch
docker dockerfile|elixir ex exs|erlang erl|go golang|graphql|groovy gradle|haskell hs|html htm|ini cfg dosini
java|javascript js mjs|json jsonc|jsx|kotlin kt|latex tex|less|lua|make makefile mf|markdown md|mysql
nginx nginxconf|objective-c objectivec objc|ocaml|perl pl|php|postgres postgresql|powershell pwsh ps1
protobuf proto|pycon|python py python3 py3 pyi|r|ruby rb|rust rs|scss|sql|swift|toml|tsx|typescript ts
vim|xml|yaml yml|zig
"""
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

# Each language loads its own patterns, and those of the languages within it when they are met.
_SAMPLE: Final = "<script>a</script>\n<style>b {}</style>\nRUN ls\n>>> a\n"


Work = Callable[[], None]


class Lexer(Protocol):
    """What cuts the code of a language into tokens."""

    def __hash__(self) -> int: ...

    def get_tokens(self, text: str) -> Iterable[tuple[tuple[str, ...], str]]:
        """Return the tokens, each with the names of its kind."""


class Languages:
    """The languages whose colours are known; `load` does some work, and then what has to follow it."""

    def __init__(self) -> None:
        self.load: Callable[[Work, Work], None] = _at_once
        self._lexers: dict[str, Lexer] = {}
        self._waiting: dict[str, dict[Work, None]] = {}

    def lexer(self, name: str, again: Work) -> Lexer | None:
        """Return what reads a language; when it has to be loaded first, None, and `again` is called then."""
        if name not in self._lexers and name not in self._waiting:
            self._waiting[name] = {}
            self.load(functools.partial(self._get, name), functools.partial(self._tell, name))
        if name in self._waiting:
            self._waiting[name][again] = None
            return None
        return self._lexers[name]

    def _get(self, name: str) -> None:
        from pygments.lexers import get_lexer_by_name

        # Markdown would load whatever language a fence within it names.
        options = {"handlecodeblocks": False} if name == "markdown" else {}
        lexer = cast(Lexer, get_lexer_by_name(name, stripnl=False, **options))
        _tokens(lexer, _SAMPLE)
        self._lexers[name] = lexer

    def _tell(self, name: str) -> None:
        for again in self._waiting.pop(name, ()):
            again()


def _at_once(work: Work, then: Work) -> None:
    work()
    then()


LANGUAGES: Final = Languages()


def coloured(code: str, language: str, again: Work, *, lasts: bool) -> Sequence[Sequence[Span]]:
    """Return the lines of code in the colours of its language, as far as that is known.

    `again`: called when there will be more colours; `lasts`: the code is still being written.
    """
    lines = code.split("\n")
    name = _names().get(language.lower())
    lexer = None if name is None else LANGUAGES.lexer(name, again)
    known = 0 if lexer is None else _known(lines, lasts=lasts)
    if lexer is None or not known:
        return _plain(lines)
    return [*_read(lexer, "\n".join(lines[:known])), *_plain(lines[known:])]


def _known(lines: Sequence[str], *, lasts: bool) -> int:
    """Return how many lines are coloured; of code that is written fewer, until it is some more."""
    known = characters = 0
    for line in lines[: min(MOST_LINES, len(lines) - lasts)]:
        characters += len(line) + 1
        if len(line) > LONGEST or characters > MOST:
            break
        known += 1
    step = known
    if lasts:
        step = 0
        while (following := step + 1 + step // _STEP) <= known:
            step = following
    return step


@functools.lru_cache(maxsize=64)
def _read(lexer: Lexer, code: str) -> Sequence[Sequence[Span]]:
    lines: list[list[Span]] = [[]]
    for role, group in groupby(_tokens(lexer, code), key=itemgetter(0)):
        first, *rest = "".join(text for _, text in group).split("\n")
        lines[-1].append((role, first))
        lines += [[(role, line)] for line in rest]
    return lines[: code.count("\n") + 1]


def _tokens(lexer: Lexer, code: str) -> list[tuple[Role | None, str]]:
    """Return the tokens of code; when they are not found in time, the rest of it is one."""
    until = time.thread_time() + BUDGET_S
    found: list[tuple[Role | None, str]] = []
    taken = 0
    for count, (kind, text) in enumerate(lexer.get_tokens(code), 1):
        found.append((_role(kind), text))
        taken += len(text)
        if count % _TOKENS == 0 and time.thread_time() > until:
            return [*found, (None, code[taken:])]
    return found


def _plain(lines: Sequence[str]) -> list[list[Span]]:
    return [[(None, line)] for line in lines]


@functools.cache
def _names() -> dict[str, str]:
    """Return the languages by all their names."""
    languages = [each.split() for line in _LANGUAGES.split("\n") for each in line.split("|") if each]
    return {name: names[0] for names in languages for name in names}


@functools.cache
def _role(kind: tuple[str, ...]) -> Role | None:
    while kind and ".".join(kind) not in _ROLES:
        kind = kind[:-1]
    return _ROLES.get(".".join(kind))
