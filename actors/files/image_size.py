"""Width and height of an image, as its first bytes tell (pure)."""

import struct

HEAD_BYTES = 256 << 10
"""How much of a file is enough: a JPEG may carry a preview of 64 KB and profiles before its size."""
_JPEG_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})


def image_size(head: bytes) -> tuple[int, int] | None:
    """Pixels across and down of a PNG, GIF, BMP, WebP or JPEG; null when they are not told there."""
    try:
        if head.startswith(b"\x89PNG\r\n\x1a\n"):
            return _pair(">II", head, 16)
        if head.startswith(b"GIF8"):
            return _pair("<HH", head, 6)
        if head.startswith(b"BM"):
            width, height = _pair("<ii", head, 18)
            return width, abs(height)  # below zero: the rows begin at the top
        if head.startswith(b"\xff\xd8"):
            return _jpeg(head)
        return _webp(head) if head[8:12] == b"WEBP" else None
    except (struct.error, IndexError):
        return None


def _pair(form: str, head: bytes, at: int) -> tuple[int, int]:
    first, second = struct.unpack_from(form, head, at)
    return first, second


def _jpeg(head: bytes) -> tuple[int, int] | None:
    """Go from segment to segment up to the frame, which has height before width."""
    at = 2
    while head[at] == 0xFF:
        marker = head[at + 1]
        if marker in _JPEG_FRAMES:
            height, width = _pair(">HH", head, at + 5)
            return width, height
        if marker == 0xFF:  # padding
            at += 1
        else:
            at += 2 + int.from_bytes(head[at + 2 : at + 4], "big")
    return None


def _webp(head: bytes) -> tuple[int, int] | None:
    match head[12:16]:
        case b"VP8 ":
            width, height = _pair("<HH", head, 26)
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            bits = int.from_bytes(head[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
        case _:
            return None
