"""A shell command line as the simple commands in it, wherever they stand; read by a real parser (pure)."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from actors.permissions.programs import GOVERNING, HARMLESS_VALUE
from actors.permissions.shell_live import Explained
from actors.permissions.shell_words import plain_words

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

LONGEST_LINE: Final = 4_000
"""Characters of a line that is read. Some take quadratic time: 0.2 s for 4,000, 3 s for 16,000."""
_PARSE_S: Final = 0.3

_HARMLESS: Final = frozenset(
    {
        "ansi_c_string", "command", "command_name", "command_substitution", "comment", "compound_statement",
        "concatenation", "do_group", "elif_clause", "else_clause", "file_descriptor", "file_redirect",
        "if_statement", "list", "negated_command", "number", "pipeline", "process_substitution", "program",
        "raw_string", "redirected_statement", "simple_expansion", "special_variable_name", "string",
        "string_content", "subshell", "variable_name", "while_statement", "word",
    }
)  # fmt: skip
"""Syntax that changes no variable, no file and no meaning of a name; all else in a line has an effect."""
_NAMED_BY_SYNTAX: Final = frozenset({"declaration_command", "unset_command"})
_KEYWORDS: Final = frozenset(
    {
        "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in", "select",
        "then", "time", "until", "while", "[[",
    }
)  # fmt: skip
_JOINED: Final = re.compile(r"\S\\\n\S")
"""A word over two lines: the shell reads one, the parser two."""
_GAP: Final = re.compile(rb"(?:[ \t\n]|\\\n)*")
_GAP_IN_COMMAND: Final = re.compile(rb"(?:[ \t]|\\\n)*")
"""What may stand between two parts of a line; where the parser errs, it is more: `''\\ x`."""
_OF_A_COMMAND: Final = frozenset(
    {
        "command", "declaration_command", "file_redirect", "herestring_redirect", "redirected_statement",
        "unset_command", "variable_assignment",
    }
)  # fmt: skip
_TEXTS: Final = frozenset({"heredoc_body", "heredoc_redirect", "string", "translated_string"})
"""Syntax in which more than gaps stands between the parts."""
_DESCRIPTOR: Final = re.compile(r"\d+")
_NAME_IN_BRACES: Final = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
_DELIMITER: Final = re.compile(r"""-?(['"]?)([A-Za-z0-9_]+)\1""")
_OPENING: Final = frozenset(
    {"arithmetic_expansion", "command_substitution", "expansion", "process_substitution"}
)
_EVALUATED: Final = frozenset(
    {
        "arithmetic_expansion", "array", "c_style_for_statement", "declaration_command", "expansion",
        "for_statement", "subscript", "test_command", "unset_command", "variable_assignment",
    }
)  # fmt: skip
"""Where the shell may read a text once more, as a value or a subscript."""
_FRESH: Final = frozenset({"command_substitution", "do_group", "process_substitution"})
_DEAD: Final = {"raw_string": b"\0", "ansi_c_string": b"\\", "comment": b"`"}
"""Syntax in which the shell sees nothing, unless this stands in it."""
_SETTING: Final = frozenset({"for_statement", "select_statement", "variable_assignment"})
_LOOSE: Final = frozenset({"heredoc_redirect", "herestring_redirect", "variable_assignment"})
_CODE: Final = re.compile(rb"\\[xuUc0-7]")
_COPYING: Final = frozenset({">&", "<&"})
_NOWHERE: Final = "/dev/null"
_NEW_LINE: Final = 10


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """A program with its arguments."""

    words: tuple[str | None, ...]
    """Unquoted; null is a word that only the shell knows, which may become any number of words."""
    is_fed: bool = False
    """Whether it reads something that the line gives it: a pipe, a file, a text."""
    text: str = ""
    """As it is written."""


@dataclass(frozen=True, slots=True)
class Line:
    """What stands in a line."""

    commands: tuple[SimpleCommand, ...] = ()
    """In the order of the text, those in substitutions, functions and loops among them."""
    is_plain: bool = True
    """Whether its commands are all it does: nothing is written by redirection, no variable is set."""
    is_clear: bool = True
    """Whether all of it could be read."""
    loose: str = ""
    """Text in it that is no argument: of variables and here-documents."""


UNREADABLE: Final = Line(is_plain=False, is_clear=False)


def read_line(text: str) -> Line:
    """Take a line apart; what the parser and a shell could read differently is not clear.

    A plain command needs no parser, and has its words also where the parser's grammar has none.
    """
    words = plain_words(text.strip("\n")) if len(text) <= LONGEST_LINE else None
    if words is not None and words[0] not in _KEYWORDS:
        return Line((SimpleCommand(words, text=text),))
    if len(text) > LONGEST_LINE or _JOINED.search(text) or not _is_visible(text):
        return UNREADABLE
    try:
        data = text.encode()
        root = _parsed(data)
    except ValueError:
        return UNREADABLE
    if root is None or root.has_error:
        found = tuple(_Reader(data).commands(root)) if root is not None else ()
        return Line(found, is_plain=False, is_clear=False, loose=text)
    return _Reader(data).line(root)


def _is_visible(text: str) -> bool:
    return all(character.isprintable() or character in "\n\t" for character in text)


def _parsed(data: bytes) -> "Node | None":
    end = time.monotonic() + _PARSE_S
    try:
        tree = _parser().parse(
            lambda at, _: data[at:], progress_callback=lambda _at, _error: time.monotonic() > end
        )
    except ValueError:
        _parser().reset()
        return None
    return tree.root_node


@cache
def _parser() -> "Parser":
    """Made at the first line that has to be read: importing it takes 20 ms."""
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


class _Place(NamedTuple):
    node: "Node"
    is_fed: bool
    more: tuple[str | None, ...] = ()
    """Words of this command that stand behind its redirections."""
    is_value: bool = False
    """Whether the shell could read its text once more."""


class _Reader:
    """One walk over a tree; no recursion, since a line may be nested as deep as it is long."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._explained = Explained(data)
        self._loose: list[str] = []
        self.is_plain = True
        self.is_clear = True

    def line(self, root: "Node") -> Line:
        """All of it, and whether every byte has its reason."""
        commands = tuple(self.commands(root))
        is_plain = self.is_plain and self._explained.is_plain()
        is_clear = self.is_clear and self._explained.is_clear()
        return Line(commands, is_plain, is_clear, "\n".join(self._loose))

    def commands(self, root: "Node") -> Iterator[SimpleCommand]:
        waiting = [_Place(root, is_fed=False)]
        while waiting:
            place = waiting.pop()
            node = place.node
            if node.type == "command":
                yield self._command(place)
            elif node.type in _NAMED_BY_SYNTAX:
                words = tuple(self._word(child) for child in node.children)
                yield SimpleCommand(words, place.is_fed, self._text(node))
            if node.is_named and not self._is_harmless(node):
                self.is_plain = False
            self._explain(node, place.is_value)
            if node.type not in _TEXTS and not self._is_whole(node):
                self.is_clear = False
            is_value = self._is_evaluated(node) or (place.is_value and node.type not in _FRESH)
            waiting += reversed([each._replace(is_value=is_value) for each in self._below(place)])

    def _is_harmless(self, node: "Node") -> bool:
        if node.type == "expansion":
            return bool(_NAME_IN_BRACES.fullmatch(self._text(node)))
        return node.type in _HARMLESS

    def _is_evaluated(self, node: "Node") -> bool:
        if node.type == "compound_statement":
            return self._data.startswith(b"((", node.start_byte)
        return node.type in _EVALUATED

    def _explain(self, node: "Node", is_value: bool) -> None:
        kind, start, end = node.type, node.start_byte, node.end_byte
        if kind in _LOOSE:
            self._loose.append(self._text(node))
        if kind in _SETTING and not self._is_harmless_setting(node):
            self.is_clear = False
        if kind in _OPENING and node.is_named:
            self._explained.opens(start, end)
        elif kind == "heredoc_redirect":
            self._explain_document(node)
        elif is_value:
            self.is_clear = self.is_clear and not _becomes_other(kind, self._data[start:end])
        elif kind in ("word", "string_content"):
            self._explained.is_text(start, end, in_quotes=kind == "string_content")
        elif kind in _DEAD and _DEAD[kind] not in self._data[start:end]:
            self._explained.is_dead(start, end)

    def _explain_document(self, node: "Node") -> None:
        """Believe the parser where a here-document ends only if that is where its first line says so."""
        parts = {child.type: child for child in node.children}
        start, body, end = (parts.get(f"heredoc_{part}") for part in ("start", "body", "end"))
        found = _DELIMITER.fullmatch(self._text(start)) if start is not None else None
        if found is None or body is None or end is None or self._data[body.start_byte - 1] != _NEW_LINE:
            self.is_clear = False
            return
        lines = self._data[body.start_byte : end.end_byte].decode(errors="replace").split("\n")
        if found[2] in (line.strip("\t") for line in lines[:-1]) or lines[-1].strip("\t") != found[2]:
            self.is_clear = False
        elif found[1]:
            self._explained.is_dead(body.start_byte, body.end_byte)

    def _is_harmless_setting(self, node: "Node") -> bool:
        """Whether a variable that is set decides nothing about what runs, or its value says nothing."""
        name = node.child_by_field_name("name") or node.child_by_field_name("variable")
        value = node.child_by_field_name("value")
        if name is not None and not GOVERNING.fullmatch(self._text(name)):
            return True
        return name is not None and HARMLESS_VALUE.fullmatch(self._text(value) if value else "-") is not None

    def _is_whole(self, node: "Node") -> bool:
        """Whether the parts of a node are all that stands in it."""
        if node.type == "file_descriptor" and not _DESCRIPTOR.fullmatch(self._text(node)):
            return False
        gap = _GAP_IN_COMMAND if node.type in _OF_A_COMMAND else _GAP
        gaps = ((one.end_byte, other.start_byte) for one, other in pairwise(node.children))
        return all(gap.fullmatch(self._data, end, start) for end, start in gaps if end < start)

    def _below(self, place: _Place) -> Iterator[_Place]:
        node = place.node
        if node.type == "redirected_statement":
            return self._redirected(place)
        if node.type == "pipeline":
            return (_Place(child, place.is_fed or at > 0) for at, child in enumerate(node.children))
        is_fed = place.is_fed or (
            node.type == "process_substitution" and self._data.startswith(b">", node.start_byte)
        )
        return (_Place(child, is_fed) for child in node.children)

    def _redirected(self, place: _Place) -> Iterator[_Place]:
        body = place.node.child_by_field_name("body")
        redirects = place.node.children_by_field_name("redirect")
        is_fed, more = place.is_fed, list(place.more)
        for redirect in redirects:
            is_fed = is_fed or self._feeds(redirect)
            more += self._words_behind(redirect)
        if body is not None:
            yield _Place(body, is_fed, tuple(more))
            self.is_plain = self.is_plain and (not more or body.type == "command")
        for redirect in redirects:
            self._judge(redirect)
            yield _Place(redirect, place.is_fed)

    def _command(self, place: _Place) -> SimpleCommand:
        words: list[str | None] = []
        is_fed = place.is_fed
        for child in place.node.children:
            if child.type == "variable_assignment":
                self.is_plain = False
            elif child.type in ("file_redirect", "herestring_redirect", "heredoc_redirect"):
                self._judge(child)
                is_fed = is_fed or self._feeds(child)
                words += self._words_behind(child)
            else:
                words.append(self._word(child))
        return SimpleCommand((*words, *place.more), is_fed, self._text(place.node))

    def _word(self, node: "Node") -> str | None:
        words = plain_words(f"_ {self._text(node)}")  # behind another, where `a=b` is a word like any
        return words[1] if words is not None and len(words) == 2 else None

    def _words_behind(self, redirect: "Node") -> list[str | None]:
        """What the parser takes for further targets; for the shell these are arguments of the command."""
        if redirect.type == "file_redirect":
            return [self._word(node) for node in redirect.children_by_field_name("destination")[1:]]
        return [self._word(node) for node in redirect.children_by_field_name("argument")]

    def _judge(self, redirect: "Node") -> None:
        if redirect.type != "file_redirect":
            self.is_plain = False
            return
        target = self._target(redirect)
        is_copy = self._operator(redirect) in _COPYING and bool(_DESCRIPTOR.fullmatch(target.rstrip("-")))
        if not (is_copy or target == _NOWHERE or self._operator(redirect).endswith("-")):
            self.is_plain = False

    def _feeds(self, redirect: "Node") -> bool:
        if redirect.type != "file_redirect":
            return True
        return "<" in self._operator(redirect) and self._target(redirect) != _NOWHERE

    def _target(self, redirect: "Node") -> str:
        targets = redirect.children_by_field_name("destination")
        return (self._word(targets[0]) or "") if targets else ""

    def _operator(self, redirect: "Node") -> str:
        return next((self._text(node) for node in redirect.children if not node.is_named), "")

    def _text(self, node: "Node") -> str:
        return self._data[node.start_byte : node.end_byte].decode(errors="replace")


def _becomes_other(kind: str, text: bytes) -> bool:
    """Whether a value is written in a way that hides what it is: with escapes outside of double quotes."""
    return (kind == "word" and b"\\" in text) or (kind == "ansi_c_string" and bool(_CODE.search(text)))
