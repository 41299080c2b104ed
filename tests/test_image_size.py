"""Images are named with their size, whatever is in them."""

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.files.image_size import image_size
from actors.files.workspace import Workspace
from actors.tools.read_file import ReadFile
from tests.fakes.calling import refusal

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 480) + b"\x08\x06\0\0\0"
PREVIEW = b"\xff\xe1" + struct.pack(">H", 60_002) + b"\xff\xc0" * 30_000
JPEG = b"\xff\xd8" + PREVIEW + b"\xff\xff\xc2\0\x11\x08" + struct.pack(">HH", 480, 640) + b"\x03"
GIF = b"GIF89a" + struct.pack("<HH", 640, 480) + b"\0\0\0"
BMP = b"BM" + b"\0" * 16 + struct.pack("<ii", 640, -480) + b"\0"
LOSSY = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 640, 480)
LOSSLESS = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + (639 | 479 << 14).to_bytes(4, "little")
EXTENDED = b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0" + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")
IMAGES = {
    "PNG": PNG,
    "JPEG": JPEG,
    "GIF": GIF,
    "BMP": BMP,
    "WebP": LOSSY,
    "WebP image of": LOSSLESS,
    "WebP image": EXTENDED,
}


@pytest.mark.report("FILE-05")
@pytest.mark.parametrize("kind", IMAGES)
def test_an_image_is_named_with_bytes_and_pixels(tmp_path: Path, kind: str) -> None:
    (tmp_path / "image").write_bytes(IMAGES[kind])
    told = refusal(ReadFile(Workspace(tmp_path)), path="image")
    assert told.code == "binary_file"
    assert kind in told.message
    assert "640x480 pixels" in told.message
    assert f"{len(IMAGES[kind])} bytes" in told.message


@given(st.sampled_from(list(IMAGES.values())), st.integers(0, 60), st.binary(max_size=20))
def test_a_damaged_image_has_a_size_or_none(image: bytes, length: int, rest: bytes) -> None:
    size = image_size(image[:length] + rest)
    assert size is None or len(size) == 2
