"""Takes the secrets that Fido itself was given out of texts, by their value."""

import base64
import json
import re
from collections.abc import Iterable, Iterator
from typing import Final, TypeVar
from urllib.parse import quote, quote_plus

import msgspec

from ipc.secret_text import MARK, without_secrets

S = TypeVar("S", bound=msgspec.Struct)

SHORTEST: Final = 4
"""Characters; what is shorter is in every text, and no secret."""
_ESCAPE: Final = re.compile(r"\\++(?:u([0-9a-fA-F]{4})|(?=([\"/]))|)")
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]")
_SURE: Final = 8
_LONG: Final = 20


def is_unmistakable(secret: str) -> bool:
    """Whether where this value is, the secret is: `ollama` and `sk-1234` may well be in a text anyway."""
    return len(secret) >= _LONG or (len(secret) >= _SURE and any(map(str.isdigit, secret)))


class Redactor:
    """Knows some secrets. Without any, `content` gives every text back as it is, at no cost."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {secret for secret in secrets if len(secret) >= SHORTEST}
        sure = {form for secret in known if is_unmistakable(secret) for form in _forms(secret)}
        self.forms: Final = tuple(sorted(sure, key=lambda form: (-len(form), form)))
        """What the unmistakable ones look like wherever they go, the longest first."""
        self._raw_forms: Final = tuple(form.encode("utf-8", "surrogatepass") for form in self.forms)
        self._pattern: Final = re.compile("|".join(map(re.escape, self.forms)) or r"(?!)")
        words = sorted(known - sure, key=len, reverse=True)
        self._words: Final = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words)) or '(?!)'})(?!\w)")

    def __repr__(self) -> str:
        return f"Redactor({len(self.forms)} forms)"

    def content(self, text: str) -> str:
        """The text without the unmistakable secrets; for what a model says, and for what it is to read."""
        # Looking for each form alone is 50 times as fast as the pattern: most texts hold none.
        return self._pattern.sub(MARK, text) if any(form in text for form in self.forms) else text

    def arguments(self, text: str) -> str:
        """JSON without the unmistakable secrets, in whatever way it escapes their characters."""
        safe = self.content(text)
        if not self.forms or self.content(plain := _without_escapes(safe)) == plain:
            return safe
        return re.sub("|".join(map(_escaped, self.forms)), MARK, safe)

    def struct(self, value: S) -> S:
        """The same value without the unmistakable secrets, wherever in it they are."""
        if not self.forms:
            return value
        encoded = msgspec.json.encode(value)
        if not any(form in encoded for form in self._raw_forms):
            return value
        text = self._pattern.sub(MARK, encoded.decode("utf-8"))
        return msgspec.json.decode(text, type=type(value))

    def found(self, text: str) -> Iterator[re.Match[str]]:
        """Where the unmistakable secrets are."""
        return self._pattern.finditer(text) if self.forms else iter(())

    def report(self, text: str) -> str:
        """The text without all secrets, and without what looks like one; for errors, notices and logs."""
        return without_secrets(self._words.sub(MARK, self.content(text)))


class RedactedStream:
    """Redacts a text that comes in pieces: what comes out is what `content` makes of the whole."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""
        self._beginnings = frozenset(form[:end] for form in redactor.forms for end in range(1, len(form)))
        self._longest = max(map(len, self._beginnings), default=0)

    def feed(self, piece: str) -> str:
        """Take a piece; return what can be told by now: all but a possible beginning of a secret."""
        text, done, out = self._held + piece, 0, []
        held_from = self._open_end(text, 0)
        for found in self._redactor.found(text):
            if found.start() >= held_from:
                break
            out += [text[done : found.start()], MARK]
            done = found.end()
            if done > held_from:
                held_from = self._open_end(text, done)
        self._held = text[held_from:]
        return "".join([*out, text[done:held_from]])

    def end(self) -> str:
        """Return what is left; the text ends here."""
        left, self._held = self._redactor.content(self._held), ""
        return left

    def _open_end(self, text: str, start: int) -> int:
        """Where the first beginning of a form starts that the text ends with, from `start` on."""
        first = max(start, len(text) - self._longest)
        return next((at for at in range(first, len(text)) if text[at:] in self._beginnings), len(text))


def _without_escapes(text: str) -> str:
    """A JSON text as it is meant where a character needs no escape, also as JSON in JSON."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else "\\"[: not found[2]], text)


def _escaped(form: str) -> str:
    """A pattern of a form with any of its characters escaped."""
    # Begun in the middle of a run of backslashes, it would look at the rest of the run once for each.
    first, *others = map(_escaped_character, form)
    return rf"(?:(?<!\\)|(?=[^\\])){first}{''.join(others)}"


def _escaped_character(character: str) -> str:
    by_itself = {"/": r"\\*+/", '"': r'\\*+"', "\\": r"\\+?"}.get(character, re.escape(character))
    return rf"(?:{by_itself}|\\++u(?i:{ord(character):04x}))"


def _forms(secret: str) -> Iterator[str]:
    """A secret as it is, as JSON, URLs and Base64 write it, and as the name of a tool that a server takes."""
    yield secret
    yield _NOT_IN_NAMES.sub("_", secret)
    for escaped in (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]):
        yield from (escaped, escaped.replace("/", "\\/"))
    yield from (quote(secret, safe=""), quote(secret), quote_plus(secret))
    yield from _in_base64(secret.encode("utf-8", "surrogatepass"))


def _in_base64(raw: bytes) -> Iterator[str]:
    """What of it is the same whatever stands beside it, such as the user of `user:password`."""
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + raw).decode().rstrip("=")
        end = len(encoded) if (before + len(raw)) % 3 == 0 else len(encoded) - 1
        sure = encoded[(0, 2, 3)[before] : end]
        yield from (sure, sure.replace("+", "-").replace("/", "_"))
