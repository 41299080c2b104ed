"""Makes room in a subagent's conversation, once: what its own tools brought is cut, the oldest first."""

from collections.abc import Sequence
from typing import Final

from actors.conversation import Conversation, encode_tool_result
from actors.delegation.gate import decode_message

HEAD: Final = 400
"""Characters that stay of a result that is cut."""
_SHORT: Final = 2_000
"""Bytes of a result that is not worth cutting; refusals are shorter."""
_RESULT: Final = b'{"role":"tool"'


class TailShortener:
    """Cuts half of what the tools of a subagent brought; the fork is the parent's and stays as it is."""

    def __init__(self, opening: int) -> None:
        """`opening` is the number of messages before those that the subagent adds."""
        self._kept = opening
        self._is_spent = False

    async def fit(self, conversation: Conversation) -> None:
        """Nothing is cut before the server says that it has to be."""

    async def overflow(self, conversation: Conversation, window: int = 0) -> bool:
        """Shorten what the server refused as too long; True when there was something to cut."""
        if self._is_spent:
            return False
        self._is_spent = True
        opening, own = conversation.messages[1 : self._kept], conversation.messages[self._kept :]
        shorter = shortened(own)
        conversation.replace([*opening, *shorter])
        return sum(map(len, shorter)) < sum(map(len, own))


def shortened(messages: Sequence[bytes]) -> list[bytes]:
    """The messages with half of the bytes of their tool results; the newest results stay whole."""
    room = sum(len(message) for message in messages if _is_long(message)) // 2
    kept: list[bytes] = []
    for message in reversed(messages):
        if _is_long(message):
            if len(message) > room:
                message = _cut(message)
            room -= len(message)
        kept.append(message)
    return kept[::-1]


def _is_long(message: bytes) -> bool:
    return message.startswith(_RESULT) and len(message) > _SHORT


def _cut(message: bytes) -> bytes:
    result = decode_message(message)
    content = result.content or ""
    note = (
        f"\n[{len(content) - HEAD:,} characters were removed to make room; read them again if you need them]"
    )
    return encode_tool_result(result.tool_call_id, content[:HEAD] + note)
