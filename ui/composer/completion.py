"""What can be completed at the cursor, and what is put there: files, commands, their words; pure."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

from ui import keys
from ui.composer.fuzzy import Paths

_LOOKED_AT: Final = 400
"""Characters before the cursor, in its line, in which something to complete may begin."""
# Expressions are compiled when they are first used: together that takes a tenth of the time to a first frame.
_FILE: Final = r"""(?:^|(?<=[\s(\[{<,;:="']))@(?:"(?P<two>[^"]*)|'(?P<one>[^']*)|(?P<bare>[^\s"']\S*|))$"""
_REST: Final = {'"': r'[^"\n]*"?', "'": r"[^'\n]*'?", "": r"[^\s)\]}>,;]*"}
"""What behind the cursor belongs to a name, by the sign that it is quoted with."""
_NEEDS_QUOTES: Final = r"""[\s"'\\]|[)\]}>,;]"""

Kind = Literal["file", "command", "word"]
Words = Mapping[keys.LocalCommand, Sequence[tuple[str, str]]]
"""What may stand behind a command: each word and what it stands for."""


class Token(NamedTuple):
    """Where something is to be completed."""

    kind: Kind
    start: int
    """Where it begins in the text."""
    end: int
    """Where it ends: behind the cursor, when that is within it."""
    query: str
    """What of it stands before the cursor, without its sign and quotes."""
    command: keys.LocalCommand | None = None
    """What a word stands behind."""


class Choice(NamedTuple):
    """Something that may be put in the place of a token."""

    name: str
    """What it is called."""
    help: str = ""
    begins: bool = True
    """Whether what was typed is how it begins: then it is surely what was meant."""

    @property
    def is_folder(self) -> bool:
        return self.name.endswith("/")


def token_at(text: str, cursor: int) -> Token | None:
    """Return what can be completed at the cursor; None when there is nothing."""
    if text.startswith("/") and "\n" not in text:
        return _command_token(text, cursor)
    line = text[max(text.rfind("\n", 0, cursor) + 1, cursor - _LOOKED_AT) : cursor]
    found = re.search(_FILE, line)
    if found is None:
        return None
    quote = '"' if found["two"] is not None else "'" if found["one"] is not None else ""
    query = found["two"] or found["one"] or found["bare"] or ""
    rest = re.compile(_REST[quote]).match(text, cursor)
    assert rest is not None
    return Token("file", cursor - len(line) + found.start(), rest.end(), query)


def choices(token: Token, paths: Paths, words: Words) -> list[Choice]:
    """Return what the token may become, the best first."""
    match token.kind:
        case "file":
            return [Choice(path) for path in paths.find(token.query)]
        case "word":
            offered = words.get(token.command, ()) if token.command is not None else ()
            return [Choice(word, stands_for) for word, stands_for in offered if word.startswith(token.query)]
        case "command":
            return _commands(token.query)


def put_in(token: Token, choice: Choice, behind: str, *, deeper: bool) -> str:
    """Return the text for the token. `behind` stands behind it; `deeper`: a folder is gone on with."""
    match token.kind:
        case "word":
            return choice.name
        case "command":
            return f"{choice.name} " if choice.name in keys.WITH_WORDS else choice.name
        case "file":
            if deeper and choice.is_folder:
                return f"@{_opened(choice.name)}"
            return f"@{_quoted(choice.name)}" + ("" if behind[:1].isspace() else " ")


def is_carried_out(token: Token, choice: Choice) -> bool:
    """Tell whether Enter takes the choice and carries it out: it was meant, and it changes nothing."""
    return token.kind == "command" and choice.begins and choice.name not in keys.WRITTEN_OUT


def is_written_out(token: Token, choice: Choice, text: str) -> bool:
    """Tell whether the choice stands in the text as it is."""
    written = text[token.start : token.end].strip()
    if token.kind == "command":
        entered = keys.local_command(written)
        return entered is not None and entered.command == choice.name
    return written.removeprefix("@") in (choice.name, _quoted(choice.name))


def _command_token(text: str, cursor: int) -> Token | None:
    query = text[:cursor]
    if "/" in query[1:].split(" ")[0]:
        return None  # a path
    for command in keys.WITH_WORDS:
        found = re.match(_behind(command), text, re.IGNORECASE)
        if found is not None and cursor >= found.end():
            return Token("word", found.end(), len(text), text[found.end() : cursor], command)
    if len(text[cursor:].split()) > 1 or text[cursor : cursor + 1].isspace():
        return None  # a sentence goes on there, which nothing may take the place of
    return Token("command", 0, len(text), query)


def _behind(command: keys.LocalCommand) -> str:
    """Return what matches the name of a command and the blanks behind it."""
    return "".join(rf"{re.escape(word)}\s+" for word in command.split())


def _commands(query: str) -> list[Choice]:
    """Return the commands that begin with what was typed, then those it is found in, then in whose help."""
    typed = re.sub(r"\s+", " ", query.lower())
    word = re.compile(rf"\b{re.escape(typed[1:])}")
    begin, hold, tell = list[Choice](), list[Choice](), list[Choice]()
    for name, does in keys.LOCAL_COMMANDS.items():
        known_as = [name, *(alias for alias, same in keys.SAME_COMMAND.items() if same == name)]
        if any(each.startswith(typed) for each in known_as):
            begin.append(Choice(name, does))
        elif any(typed[1:] in each for each in known_as):
            hold.append(Choice(name, does, begins=False))
        elif word.search(does):
            tell.append(Choice(name, does, begins=False))
    return begin + hold + tell


def _quoted(path: str) -> str:
    """Return a path as one word."""
    if not re.search(_NEEDS_QUOTES, path):
        return path
    if '"' not in path:
        return f'"{path}"'
    return f"'{path}'" if "'" not in path else '"' + path.replace('"', '\\"') + '"'


def _opened(folder: str) -> str:
    """Return a folder's path as the beginning of a word that goes on."""
    quoted = _quoted(folder)
    return quoted[:-1] if quoted != folder else folder
