"""What a server wants back with an answer, out of its streamed pieces. Pure."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

DETAILS: Final = "reasoning_details"
"""OpenRouter's form of it: a list of objects, signed and encrypted ones among them."""
REASONING: Final = ("reasoning_content", "reasoning")
"""Names under which servers show reasoning; some fill both with the same text."""
EXTRAS: Final = "extra_content"
"""Gemini's member of a call, which signs the thought behind it; in a message those of its calls, by id."""
_JOINED: Final = ("text", "summary", "data")
"""Members of a detail that come in pieces; the others come whole, and once."""


class EchoAssembly:
    """Collects the member that is named; without a name the one that came, if reasoning is to be kept."""

    def __init__(self, name: str, *, keeps: bool = False) -> None:
        self._name = name
        self._keeps = keeps and not name
        self._details: list[dict[str, Any]] = []

    def feed(self, delta: dict[str, Any]) -> int:
        """Take one delta, return how many characters of meaning it brought beside the reasoning itself."""
        if self._keeps and not self._name:
            self._name = next((name for name in REASONING if _is_text(delta, name)), "")
        if self._name != DETAILS:
            return 0
        details = delta.get(DETAILS)
        return sum(map(self._add, filter(_is_object, details))) if isinstance(details, list) else 0

    def members(self, reasoning: str, extras: Mapping[str, Any]) -> str:
        """The members as `ModelAnswer.echo` holds them; empty when there is nothing to send back.

        `extras` came with calls, by their ids.
        """
        members: dict[str, Any] = {EXTRAS: extras} if extras else {}
        if self._name == DETAILS and self._details:
            members[DETAILS] = [_whole(one) for one in self._details]
        elif self._name and self._name != DETAILS and reasoning:
            members[self._name] = reasoning
        return msgspec.json.encode(members).decode() if members else ""

    def _add(self, piece: dict[str, Any]) -> int:
        """Join a piece to the one before it, if both are of one detail, as OpenRouter cuts them."""
        last = self._details[-1] if self._details else None
        if last is None or any(last.get(key) != piece.get(key) for key in ("type", "index")):
            self._details.append({**piece, **{key: [piece[key]] for key in _JOINED if _is_text(piece, key)}})
        else:
            for key, value in piece.items():
                if key in _JOINED and isinstance(value, str):
                    pieces = last.get(key)
                    if isinstance(pieces, list):
                        pieces.append(value)
                    else:
                        last[key] = [value]
                elif value is not None:
                    last[key] = value
        return sum(len(piece[key]) for key in _JOINED if _is_text(piece, key))


def _is_object(piece: Any) -> bool:
    return isinstance(piece, dict)


def _is_text(piece: dict[str, Any], key: str) -> bool:
    return isinstance(piece.get(key), str)


def _whole(detail: dict[str, Any]) -> dict[str, Any]:
    return {
        key: "".join(value) if key in _JOINED and isinstance(value, list) else value
        for key, value in detail.items()
    }
