"""Keys with Ctrl and Alt on keyboards without Latin letters: they mean what stands there on the Latin one."""

import re
from typing import Final

_KEY: Final = re.compile(rb"\x1b\[(\d+):\d*:(\d+);(\d+)((?::\d+)?u)")
"""Of the kitty keyboard protocol: what a key types, where it is on a Latin keyboard, what is held with it."""
_LAST_LATIN: Final = 0x24F
_WITH_A_NAME: Final = 0b110
"""Alt and Ctrl; without them a key is the letter that it types."""


def named(data: bytes) -> bytes:
    """Return input with such keys as a Latin keyboard sends them: Ctrl-С of a Cyrillic one is Ctrl-C."""
    return _KEY.sub(_named, data)


def _named(key: re.Match[bytes]) -> bytes:
    held = int(key[3]) - 1
    if int(key[1]) <= _LAST_LATIN or not held & _WITH_A_NAME:
        return key[0]
    return b"\x1b[%b;%b%b" % (key[2], key[3], key[4])
