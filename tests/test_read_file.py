"""read_file: what a model sees of a file, and what it is spared."""

import json
import os
import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from actors.files.workspace import Workspace
from actors.tools.read_file import MAX_LINES, ReadFile
from tests.fakes.calling import call, refusal


@pytest.fixture
def tool(tmp_path: Path) -> ReadFile:
    return ReadFile(Workspace(tmp_path))


def test_lines_are_numbered_and_the_last_line_says_that_it_is_all(tool: ReadFile, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one\n\n\ttwo\n", encoding="utf-8")
    assert call(tool, path="a.py").content == "1\tone\n2\t\n3\t\ttwo\n[lines 1-3 of 3]"


def test_a_range_says_where_to_read_on(tool: ReadFile, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("".join(f"line {n}\n" for n in range(1, 101)), encoding="utf-8")
    content = call(tool, path="a", offset=10, limit=2).content
    assert content == "10\tline 10\n11\tline 11\n[lines 10-11 of 100; read on with offset 12]"


def test_a_long_file_is_cut_after_its_most_lines(tool: ReadFile, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n" * 5000, encoding="utf-8")
    content = call(tool, path="a", limit=99_999).content
    assert content.endswith(f"[lines 1-{MAX_LINES} of 5000; read on with offset {MAX_LINES + 1}]")


@pytest.mark.report("FILE-06")
def test_an_enormous_line_is_cut_and_can_be_read_on_inside(tool: ReadFile, tmp_path: Path) -> None:
    text = "".join(f"{n:06}é" for n in range(625_000))
    assert len(text.encode()) == 5_000_000
    (tmp_path / "big.json").write_text(text, encoding="utf-8")
    content = call(tool, path="big.json").content
    assert len(content.encode()) < 3000
    seen = ""
    for _ in range(3):
        line = content.split("\n")[0].partition("\t")[2]
        shown, _, marker = line.partition("… [cut: ")
        seen += shown
        cursor = re.search(r"read on with path (\S+)\]", marker)
        assert cursor
        content = call(tool, path=cursor[1]).content
        assert len(content.encode()) < 40_000
    assert "\ufffd" not in seen
    assert len(seen) > 50_000
    assert text.startswith(seen)


def test_a_place_as_search_results_name_it_is_understood(tool: ReadFile, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one\ntwo\nthree\n", encoding="utf-8")
    (tmp_path / "odd:2").write_text("odd\n", encoding="utf-8")
    assert call(tool, path="a.py:2").content.startswith("2\ttwo\n")
    assert call(tool, path="a.py:2:2").content.startswith("2:2\two\n")
    assert call(tool, path="odd:2").content.startswith("1\todd\n")
    assert refusal(tool, path="b.py:2").code == "not_found"


@pytest.mark.report("FILE-05")
@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 100, "PNG"),
        (b"\x7fELF\x02\x01\x01" + b"\0" * 100, "ELF"),
        (b"text\n" * 2100 + b"\0more", "binary"),
        (bytes(range(256)) * 8, "binary"),
        (b"\x01\x02\x03\x04\x05" * 300, "binary"),
        (b"%PDF-1.7\nabc", "PDF"),
    ],
)
def test_a_binary_is_named_with_its_size(tool: ReadFile, tmp_path: Path, data: bytes, kind: str) -> None:
    (tmp_path / "file").write_bytes(data)
    told = refusal(tool, path="file")
    assert told.code == "binary_file"
    assert kind in told.message
    assert f"{len(data)} bytes" in told.message
    assert len(told.message) < 100


@pytest.mark.parametrize(
    ("data", "note"),
    [
        ("naïve\n".encode("utf-8-sig"), ""),
        ("naïve\n".encode("utf-16"), "UTF-16-LE"),
        (b"\xfe\xff" + "naïve\n".encode("utf-16-be"), "UTF-16-BE"),
        ("naïve\n".encode("utf-32"), "UTF-32-LE"),
        ("naïve\n".encode("latin-1"), "not UTF-8: shown as CP1252, a guess"),
        ("naïve\r\n".encode(), "CRLF"),
        ("naïve".encode(), "no newline at the end"),
    ],
)
def test_encodings_are_told_and_the_text_is_the_same(
    tool: ReadFile, tmp_path: Path, data: bytes, note: str
) -> None:
    (tmp_path / "file").write_bytes(data)
    line, footer = call(tool, path="file").content.split("\n")
    assert line == "1\tnaïve"
    assert footer == ("[lines 1-1 of 1]" if not note else f"[lines 1-1 of 1; {note}]")


def test_mixed_line_endings_are_told(tool: ReadFile, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"a\r\nb\nc\nd\n")
    assert call(tool, path="file").content == "1\ta\n2\tb\n3\tc\n4\td\n[lines 1-4 of 4; CRLF in some lines]"


@pytest.mark.report("FILE-05")
def test_empty_files_folders_pipes_and_missing_files_are_told_apart(tool: ReadFile, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    assert call(tool, path="empty").content == "[empty file]"
    assert refusal(tool, path="folder").code == "is_a_folder"
    assert refusal(tool, path="pipe").code == "not_a_regular_file"
    assert refusal(tool, path="missing").code == "not_found"
    assert refusal(tool, path="../x").code == "outside_workspace"
    (tmp_path / "zero").symlink_to("/dev/zero")
    assert refusal(tool, path="zero").code == "outside_workspace"
    told = refusal(ReadFile(Workspace(Path("/dev"))), path="zero")
    assert (told.code, told.message) == ("not_a_regular_file", "zero is a device, not a file.")


def test_an_offset_behind_the_end_says_how_long_the_file_is(tool: ReadFile, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\ny\n", encoding="utf-8")
    told = refusal(tool, path="a", offset=3)
    assert told.code == "past_the_end"
    assert "2 lines" in told.message


def test_a_file_in_a_wrong_encoding_is_refused_not_guessed(tool: ReadFile, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xff\xfea")
    assert refusal(tool, path="a").code == "binary_file"


CONTROLS = "".join(
    chr(code) for code in (*range(1, 9), 11, 12, *range(14, 32), 127, *range(128, 160), 0x2028)
)


def test_control_characters_are_marked_and_the_last_line_says_what_they_are(
    tool: ReadFile, tmp_path: Path
) -> None:
    (tmp_path / "a").write_bytes(b"d\re\r\n\x1b[31mred\r\n")
    content = call(tool, path="a").content
    assert content.startswith("1\td␍e\n2\t␛[31mred\n[lines 1-2 of 2; CRLF; ")
    assert r"␍ is \r, ␛ is \u001b, in JSON" in content


@pytest.mark.parametrize("character", CONTROLS)
def test_no_control_character_goes_unmarked(tool: ReadFile, tmp_path: Path, character: str) -> None:
    (tmp_path / "a").write_text(f"{'word ' * 20}{character}\n", encoding="utf-8", newline="")
    content = call(tool, path="a").content
    assert character not in content
    escape = re.search(r" is (\\r|\\u[0-9a-f]{4}), in JSON", content)
    assert escape
    assert json.loads(f'"{escape[1]}"') == character


@pytest.mark.parametrize("wrong", [{"offset": -1}, {"limit": 0}, {"limit": -5}])
def test_a_range_that_there_can_not_be_is_refused(tool: ReadFile, wrong: dict[str, int]) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        call(tool, path="a", **wrong)
