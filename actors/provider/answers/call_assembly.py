"""Tool calls out of their streamed pieces, in all the ways that servers cut them. Pure.

Rules
-----
A piece belongs to the call with its id; else to the newest call at its `index`; else to the call in
progress. It opens a new call when there is none, when it has a name and another id, when it has another
name and no id, or when it brings a name and arguments although the call there is complete already. A piece
that only repeats a complete call is dropped. Names and ids count once, however often they come.
"""

import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from actors.provider.answers.echo import EXTRAS
from actors.provider.answers.pieces import Pieces
from ipc.messages import ToolCall

_NO_NAME: Final = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME: Final = 64
DRAFT_SIZE: Final = 256
"""Characters that a new call counts for, however empty; about what keeping it costs."""


@dataclass(slots=True)
class _Draft:
    index: int | None
    id: str = ""
    name: str = ""
    pieces: Pieces = field(default_factory=Pieces)
    extra: Any = None
    """What came with it for its server alone."""

    def arguments(self) -> str:
        return str(self.pieces)

    def is_complete(self) -> bool:
        """Whether the arguments are a whole object; decoded only when they end like one."""
        if not self.pieces.last.rstrip().endswith("}"):
            return False
        try:
            msgspec.json.decode(self.arguments())
        except (msgspec.DecodeError, RecursionError):
            return False
        return True


def unique_id() -> str:
    return f"call_{secrets.token_hex(8)}"


class CallAssembly:
    """Takes the entries of `delta.tool_calls` as they come."""

    def __init__(self, new_id: Callable[[], str] = unique_id) -> None:
        self.extras: dict[str, Any] = {}
        """What came with calls for their server alone, by the ids that `calls` gave them."""
        self._drafts: list[_Draft] = []
        self._newest_at: dict[int, _Draft] = {}
        self._with_id: dict[tuple[int | None, str], _Draft] = {}
        self._new_id = new_id

    def feed(self, entry: Any) -> int:
        """Take one entry, return how many characters of meaning it brought."""
        if not isinstance(entry, dict):
            return 0
        function = entry.get("function")
        function = function if isinstance(function, dict) else {}
        index = entry.get("index")
        index = index if isinstance(index, int) else None
        call_id, name = _text(entry.get("id")), _text(function.get("name"))
        arguments = _arguments(function.get("arguments"))
        known = len(self._drafts)
        draft = self._place(index, call_id, name, arguments)
        if draft is None:
            return 0
        self._name(draft, call_id, name)
        if arguments:
            draft.pieces.append(arguments)
        opened = len(self._drafts) - known
        size = opened * DRAFT_SIZE + len(call_id) + len(name) + len(arguments)
        if extra := entry.get(EXTRAS):
            draft.extra = extra
            size += len(msgspec.json.encode(extra))
        return size

    def calls(self) -> tuple[ToolCall, ...]:
        """The calls in the order they began; ids that are missing or taken are replaced by new ones.

        So are characters of a name that no server takes back: the answer is part of every later request.
        """
        taken: set[str] = set()
        calls = []
        for draft in self._drafts:
            call_id = draft.id if draft.id and draft.id not in taken else self._new_id()
            taken.add(call_id)
            if draft.extra is not None:
                self.extras[call_id] = draft.extra
            text = draft.arguments()
            if text.startswith("{}") and text[2:].lstrip().startswith("{"):
                text = text[2:]  # an empty object stood for arguments that were still to come
            meaning = "" if text.strip() in ("", "null") else text
            calls.append(ToolCall(id=call_id, name=sound_name(draft.name), arguments=meaning))
        return tuple(calls)

    def _place(self, index: int | None, call_id: str, name: str, arguments: str) -> _Draft | None:
        """Find or open the call that a piece belongs to; None for a mere repetition."""
        draft = self._find(index, call_id)
        if draft is None or (name and call_id and draft.id and call_id != draft.id):
            return self._open(index)
        if call_id and call_id == draft.id and draft.arguments() == "{}":
            return draft
        if name and arguments.lstrip().startswith("{") and draft.is_complete():
            repeated = bool(call_id) and arguments == draft.arguments()
            return None if repeated else self._open(index)
        is_named_on = index is not None and not arguments and not draft.arguments()
        if name and draft.name and name != draft.name and not call_id and not is_named_on:
            return self._open(index)
        return draft

    def _find(self, index: int | None, call_id: str) -> _Draft | None:
        if call_id and (draft := self._with_id.get((index, call_id))):
            return draft
        if index is not None:
            return self._newest_at.get(index)
        return self._drafts[-1] if self._drafts and not call_id else None

    def _open(self, index: int | None) -> _Draft:
        draft = _Draft(index)
        self._drafts.append(draft)
        if index is not None:
            self._newest_at[index] = draft
        return draft

    def _name(self, draft: _Draft, call_id: str, name: str) -> None:
        if not draft.name or (name.startswith(draft.name) and not draft.arguments()):
            draft.name = name or draft.name
        elif name != draft.name and not draft.arguments() and call_id in ("", draft.id):
            draft.name += name  # as it comes in pieces
        if call_id and not draft.id:
            draft.id = call_id
            self._with_id[draft.index, call_id] = self._with_id[None, call_id] = draft


def sound_name(name: str) -> str:
    """The name as every server takes it back."""
    return _NO_NAME.sub("_", name)[:_LONGEST_NAME] or "unnamed"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _arguments(value: Any) -> str:
    """Arguments as text; a few servers send the object itself."""
    if isinstance(value, dict):
        return msgspec.json.encode(value).decode()
    return _text(value)
