"""Search in files that are neither UTF-8 nor UTF-16: found in their own encoding, bounded, or said so."""

from pathlib import Path

import pytest

from actors.files import other_encodings
from actors.files.workspace import Workspace
from actors.tools.ripgrep import Ripgrep
from tests.fakes.calling import call

TEXTS = {
    "latin-1": ("Die Größe der Straße überrascht mich sehr, schöne Grüße.\n", "Größe"),
    "gbk": ("北京是中华人民共和国的首都，也是全国的政治中心。\n", "北京"),
    "cp932": ("これは日本語の文章です。検索できるはずです。\n", "検索"),
    "big5": ("這是一個繁體中文的文件，應該可以搜尋得到。\n", "搜尋"),
    "cp1251": ("Это русский текст, который должен находиться поиском.\n", "русский"),
    "euc_jp": ("これは日本語の文章です。検索できるはずです。\n", "検索"),
    "cp949": ("이것은 한국어 문장입니다. 검색할 수 있어야 합니다.\n", "검색"),
    "utf-16": ("Die Größe der Straße\n", "Größe"),
}


@pytest.fixture
def tool(tmp_path: Path) -> Ripgrep:
    return Ripgrep(Workspace(tmp_path))


@pytest.mark.parametrize("codec", TEXTS)
def test_a_word_is_found_in_the_encoding_of_the_file(tool: Ripgrep, tmp_path: Path, codec: str) -> None:
    text, word = TEXTS[codec]
    (tmp_path / "there.txt").write_bytes((text * 4).encode(codec))
    (tmp_path / "plain.txt").write_text("nothing\n", encoding="utf-8")
    content = call(tool, pattern=word, max_results=1).content
    assert content.split("\n")[0] == f"there.txt:1: {text.rstrip()}"
    assert "[1 of 4 matches in 1 file;" in content


def test_an_ascii_hit_is_shown_in_the_encoding_of_the_file(tool: Ripgrep, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("Die Größe der Straße, needle, schöne Grüße.\n".encode("latin-1"))
    assert call(tool, pattern="needle").content == "a.txt:1: Die Größe der Straße, needle, schöne Grüße."


def test_a_dot_stands_for_a_character_of_the_file(tool: Ripgrep, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("Die Größe der Straße, schöne Grüße.\n".encode("latin-1"))
    assert call(tool, pattern="Gr..e der").content == "a.txt:1: Die Größe der Straße, schöne Grüße."


def test_matches_of_both_readings_are_counted_once(tool: Ripgrep, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("Größe der Straße\nneedle und Grüße\n".encode("latin-1"))
    (tmp_path / "b.txt").write_text("Größe\n", encoding="utf-8")
    lines = call(tool, pattern="Größe|needle").content.split("\n")
    assert lines == ["a.txt:1: Größe der Straße", "a.txt:2: needle und Grüße", "b.txt:1: Größe"]


def test_a_broken_byte_hides_nothing_of_a_utf_8_file(tool: Ripgrep, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("Größe\n".encode() * 20 + b"\xff\n")
    assert len(call(tool, pattern="Größe").content.split("\n")) == 20


def test_ignored_files_and_those_of_other_names_stay_out(tool: Ripgrep, tmp_path: Path) -> None:
    text = TEXTS["latin-1"][0].encode("latin-1")
    for name in ("a.txt", "b.md", "ignored.txt", "-odd.txt"):
        (tmp_path / name).write_bytes(text)
    (tmp_path / ".gitignore").write_text("ignored*\n", encoding="utf-8")
    found = call(tool, pattern="Größe", glob="*.txt").content
    assert [line.partition(":")[0] for line in found.split("\n")] == ["-odd.txt", "a.txt"]


def test_nothing_found_in_a_guessed_encoding_is_told_as_that(tool: Ripgrep, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("caf\xe9\n".encode("latin-1"))
    content = call(tool, pattern="Größe").content
    assert content == "[no match]\n[the encoding of 1 file is a guess; there may be matches]"


def test_what_was_not_searched_is_told(tool: Ripgrep, tmp_path: Path) -> None:
    text = TEXTS["latin-1"][0].encode("latin-1")
    (tmp_path / "large.txt").write_bytes(text + b"x\n" * (other_encodings.MOST_BYTES // 2))
    content = call(tool, pattern="Größe").content
    assert content == "[no match]\n[1 file in other encodings than UTF-8 and UTF-16 not searched as such]"
