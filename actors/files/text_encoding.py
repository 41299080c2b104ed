"""How the bytes of a text file stand for characters, such that every byte survives a round trip (pure)."""

from dataclasses import dataclass

from actors.files.legacy_encoding import codecs_of


@dataclass(frozen=True, slots=True)
class Encoding:
    """A codec and the byte order mark in front of the text."""

    codec: str
    bom: bytes = b""
    rivals: tuple[str, ...] = ()
    """Other codecs that the same bytes may just as well be in; empty when the codec is certain."""

    @property
    def is_unknown(self) -> bool:
        """True when the bytes fit no codec that is in use; Latin-1 keeps each of them, whatever they mean."""
        return self.codec == "latin-1"

    @property
    def name(self) -> str:
        """The codec as a person knows it."""
        return _NAMES.get(self.codec, self.codec.upper())

    def decode(self, data: bytes) -> str:
        return data[len(self.bom) :].decode(self.codec)

    def encode(self, text: str) -> bytes:
        return self.bom + text.encode(self.codec)


_NAMES = {
    "latin-1": "Latin-1",
    "cp932": "Shift-JIS",
    "cp949": "EUC-KR",
    "euc_jp": "EUC-JP",
    "koi8_r": "KOI8-R",
}
LATIN_1 = Encoding("latin-1")
UTF_8 = Encoding("utf-8")
_MARKED = (
    Encoding("utf-8", b"\xef\xbb\xbf"),
    Encoding("utf-32-le", b"\xff\xfe\0\0"),
    Encoding("utf-32-be", b"\0\0\xfe\xff"),
    Encoding("utf-16-le", b"\xff\xfe"),
    Encoding("utf-16-be", b"\xfe\xff"),
)
"""UTF-32 comes first: its little-endian mark starts like that of UTF-16."""
HEAD_BYTES = 8192
"""How much of a file tells that it is no text."""

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"BM", "a BMP image"),
    (b"%PDF-", "a PDF document"),
    (b"\x7fELF", "an ELF binary"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\0asm", "a WebAssembly module"),
)
_TEXT_BYTES = bytes({*range(0x20, 0x7F), *range(0x80, 0x100), *b"\t\n\v\f\r\b\x1b"})


def marked_encoding(head: bytes) -> Encoding | None:
    """The encoding that a byte order mark names."""
    return next((each for each in _MARKED if head.startswith(each.bom)), None)


def detect(data: bytes) -> Encoding:
    """The encoding of a whole file: by its mark, else UTF-8 when it is valid, else what it looks like.

    Raises `UnicodeDecodeError` when the bytes belie their mark.
    """
    marked = marked_encoding(data) or _wide(data[:HEAD_BYTES])
    if marked is not None:
        marked.decode(data)
        return marked
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        codec, *rivals = codecs_of(data, error.start) or (LATIN_1.codec,)
        return Encoding(codec, rivals=tuple(rivals))
    return UTF_8


def binary_kind(head: bytes) -> str:
    """What kind of binary a file is that starts like this, as `a PNG image`; empty when it is text."""
    for magic, kind in _MAGIC:
        if head.startswith(magic) and (magic != b"BM" or b"\0" in head):
            return kind
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "a WebP image"
    marked = marked_encoding(head) or _wide(head)
    if marked is not None and marked.codec != "utf-8":
        return ""
    strange = len(head.translate(None, _TEXT_BYTES))
    return "a binary file" if b"\0" in head or 10 * strange > len(head) else ""


def _wide(head: bytes) -> Encoding | None:
    """UTF-16 without a mark, as it is in text that is mostly ASCII: zeros at every other place, and text."""
    for codec, high in (("utf-16-le", 1), ("utf-16-be", 0)):
        low = head[1 - high :: 2]
        zeros = head[high::2].count(0)
        if zeros and 10 * zeros >= 9 * len(low) and not low.translate(None, _TEXT_BYTES):
            return Encoding(codec)
    return None
