"""Which codecs a text may be in that is not UTF-8, as far as its bytes tell (pure)."""

SAMPLE_BYTES = 64 << 10
DECLARATION_BYTES = 512
"""At the start of a file, where it may say what it is in."""
MOST_MESS = 0.1
"""Share of odd characters from which a reading is none."""
CLOSE = 0.1
"""How much more mess a reading may have and still be as good as the best one."""

OF_SEVERAL_BYTES = ("euc_jp", "cp932", "gbk", "gb18030", "big5", "cp949")
CANDIDATES = (
    "cp1252", "cp1251", "koi8_r", *OF_SEVERAL_BYTES, "cp1250", "iso8859_2",
    "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp874",
)  # fmt: skip
"""What files are in, the likelier first where the bytes decide nothing. None of them has states: text is
encoded in pieces as it is in a whole."""
_NEVER_INSIDE = (b"\n", b" ", b",", b'"')
"""Bytes that are no part of a longer character in any of them."""


def codecs_of(data: bytes, strange_at: int) -> tuple[str, ...]:
    """The codecs that such bytes may be in, the likeliest first; each gives the same bytes back.

    `strange_at` is an offset from which on they are no UTF-8.
    """
    from charset_normalizer import from_bytes  # 40 ms, which only such a file is to cost

    matches = list(from_bytes(_sample(data, strange_at), cp_isolation=list(CANDIDATES)))
    least = min((match.chaos for match in matches), default=1.0)
    if least > MOST_MESS:
        return ()
    good = {name for match in matches if match.chaos <= least + CLOSE for name in match.could_be_from_charset}
    fitting = [codec for codec in CANDIDATES if codec in good and _fits(data, codec)]
    if "gbk" in fitting and "gb18030" in fitting:
        fitting.remove("gb18030")  # it has every character of the other, in the same form
    if "cp1252" in fitting and data.decode("cp1252") == data.decode("latin-1"):
        fitting.append("iso8859_1")
    return tuple(fitting)


def _sample(data: bytes, strange_at: int) -> bytes:
    """What the file declares, and lines from the first strange one on."""
    begin = data.rfind(b"\n", 0, strange_at) + 1
    start = max(begin, strange_at - DECLARATION_BYTES)
    piece = data[start : start + SAMPLE_BYTES]
    if start + SAMPLE_BYTES < len(data):
        piece = piece[: max(map(piece.rfind, _NEVER_INSIDE)) + 1] or piece
    return data[: min(start, DECLARATION_BYTES)] + piece


def _fits(data: bytes, codec: str) -> bool:
    try:
        return data.decode(codec).encode(codec) == data
    except UnicodeError:
        return False
