"""How the bytes of a text file stand for characters, such that every byte survives a round trip (pure)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Encoding:
    """A codec and the byte order mark in front of the text."""

    codec: str
    bom: bytes = b""

    @property
    def is_guess(self) -> bool:
        """True when the bytes are in some other encoding than one we can know; Latin-1 keeps each of them."""
        return self.codec == "latin-1"

    def decode(self, data: bytes) -> str:
        return data[len(self.bom) :].decode(self.codec)

    def encode(self, text: str) -> bytes:
        return self.bom + text.encode(self.codec)


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

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
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
    """The encoding of a whole file: by its mark, else UTF-8 when it is valid, else Latin-1 as a guess.

    Raises `UnicodeDecodeError` when the bytes belie their mark.
    """
    marked = marked_encoding(data)
    if marked is not None:
        marked.decode(data)
        return marked
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return LATIN_1
    return UTF_8


def binary_kind(head: bytes) -> str:
    """What kind of binary a file is that starts like this, as `a PNG image`; empty when it is text."""
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "a WebP image"
    marked = marked_encoding(head)
    if marked is not None and marked.codec != "utf-8":
        return ""
    strange = len(head.translate(None, _TEXT_BYTES))
    return "a binary file" if b"\0" in head or 10 * strange > len(head) else ""
