"""How many tokens a conversation takes: by the server's last number, else by its bytes (pure).

Rules
-----
A token is taken for 3.5 bytes of JSON, which English prose stays above and source code is near. Where the
server told the size of an earlier request, only what came since is estimated. The answer counts by its bytes
as well: reasoning is among a server's completion tokens and is never sent back.
"""

from math import ceil
from typing import Final

from actors.conversation import Conversation

BYTES_PER_TOKEN: Final = 3.5
_MOST_BYTES_PER_TOKEN: Final = 12
"""No text has more. Some servers leave what their cache served out of the number they report."""
_LEAST_BYTES_PER_TOKEN: Final = 1


def size_of(conversation: Conversation) -> int:
    """Bytes of the request that the conversation makes."""
    return len(conversation.head) + sum(map(len, conversation.messages)) + len(conversation.messages)


def tokens_of(size: int, reported: int = 0, since: int = 0) -> int:
    """Estimate a request of `size` bytes.

    `reported` is what the server counted for it before `since` bytes were appended; 0: it never did. A number
    that cannot be is not believed.
    """
    sent = size - since
    if sent <= reported * _MOST_BYTES_PER_TOKEN and reported * _LEAST_BYTES_PER_TOKEN <= sent:
        return reported + ceil(since / BYTES_PER_TOKEN)
    return ceil(size / BYTES_PER_TOKEN)
