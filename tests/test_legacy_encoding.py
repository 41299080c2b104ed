"""Files in other encodings than UTF-8: read as what they are, edited byte for byte or not at all."""

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from actors.files.text_edit import edit
from actors.files.text_encoding import detect
from actors.files.workspace import Workspace
from actors.tools.patch import Patch
from actors.tools.read_file import ReadFile
from actors.tools.tool import ToolFailure
from tests.fakes.calling import call, refusal
from tests.fakes.snapshots import NOTHING_KEPT

TEXTS = {
    "latin-1": "# Lit le fichier de réglages\n# Si le fichier n'existe pas, où l'on veut, déjà là\n",
    "cp1252": "# He said “hello” — it’s fine, the café is near\n",
    "gbk": "# 读取配置文件,返回字典\n# 如果文件不存在,就使用默认的设置\n# 每一行都是一个键和一个值\n",
    "gb18030": "# 读取配置文件 😀,返回字典\n# 如果文件不存在,就使用默认的设置\n",
    "big5": "# 讀取設定檔,傳回字典\n# 如果檔案不存在,就使用預設的設定\n",
    "shift_jis": "# 設定ファイルを読み込み、辞書を返す\n# ファイルが存在しない場合は、既定を使う\n",
    "euc_jp": "# 設定ファイルを読み込み、辞書を返す\n# ファイルが存在しない場合は、既定を使う\n",
    "euc_kr": "# 설정 파일을 읽어서 사전을 돌려준다\n# 파일이 없으면 기본 설정을 사용한다\n",
    "cp1251": "# Читает файл настроек и возвращает словарь\n# Если файла нет, берутся значения\n",
    "koi8_r": "# Читает файл настроек и возвращает словарь\n# Если файла нет, берутся значения\n",
    "cp1250": "# Zażółć gęślą jaźń, wartości domyślne, proszę sprawdzić ścieżkę\n",
    "utf-16": "# naïve 日本語 😀\n",
    "utf-16-le": "# plain words of a file without a mark\n",
    "utf-32": "# naïve 日本語 😀\n",
}
MAC_ROMAN = "# déjà vu naïve\n".encode("mac_roman")
"""An encoding that is in no table of ours."""
CODECS = st.sampled_from(sorted(TEXTS))


@pytest.mark.report("FILE-04")
@pytest.mark.parametrize("codec", TEXTS)
def test_a_word_is_changed_and_all_else_stays_byte_for_byte(tmp_path: Path, codec: str) -> None:
    text = f"{TEXTS[codec]}word = 1\r\n{TEXTS[codec]}"
    (tmp_path / "a").write_bytes(text.encode(codec))
    shown = call(ReadFile(Workspace(tmp_path)), path="a").content
    assert f"1\t{TEXTS[codec].partition(chr(10))[0]}\n" in shown
    assert "\ufffd" not in shown
    call(Patch(Workspace(tmp_path), NOTHING_KEPT), path="a", old_text="word = 1\n", new_text="mot = 2\n")
    assert (tmp_path / "a").read_bytes() == text.replace("word = 1", "mot = 2").encode(codec)


@given(CODECS, st.data())
def test_an_edit_of_what_was_read_changes_its_bytes_and_no_others(codec: str, data: st.DataObject) -> None:
    known = st.text(st.sampled_from(f"aZ\\|~ \n{TEXTS[codec]}"), max_size=12)
    front, old, back = data.draw(known), data.draw(known), data.draw(known)
    new = data.draw(known)
    text = f"{TEXTS[codec]}{front}{old}{back}"
    assume(old not in ("", new))
    assume(text.count(old) == 1)
    before = text.encode(codec)
    assume(detect(before).decode(before) == text)
    try:
        outcome: bytes | str = edit(before, old, new).data
    except ToolFailure as error:
        outcome = error.code
    assert outcome in ("encoding_unknown", "several_matches", text.replace(old, new).encode(codec))


@given(st.binary(max_size=30), st.binary(max_size=30), st.sampled_from(["é", "日本語", "ñ", "x"]))
def test_bytes_in_no_encoding_are_edited_exactly_or_not_at_all(front: bytes, back: bytes, new: str) -> None:
    before = front + b"\xff\x81\nword = 1\n\x8d" + back
    assume(b"word" not in front + back)
    assume(not before.startswith((b"\xff\xfe", b"\xfe\xff")))
    after = before.replace(b"word = 1", b"word = " + new.encode(detect(before).codec, "replace"))
    try:
        outcome: bytes | str = edit(before, "word = 1", f"word = {new}").data
    except ToolFailure as error:
        outcome = error.code
    assert outcome in ("encoding_unknown", "not_in_encoding", after)


@pytest.mark.parametrize(
    ("codec", "new"), [("gbk", "😀"), ("shift_jis", "ñ"), ("cp1251", "日"), ("koi8_r", "é")]
)
def test_what_an_encoding_has_not_is_refused_by_name(tmp_path: Path, codec: str, new: str) -> None:
    before = f"{TEXTS[codec]}word\n".encode(codec)
    (tmp_path / "a").write_bytes(before)
    told = refusal(Patch(Workspace(tmp_path), NOTHING_KEPT), path="a", old_text="word", new_text=new)
    assert told.code == "not_in_encoding"
    assert new in told.message
    assert detect(before).name in told.message
    assert (tmp_path / "a").read_bytes() == before


def code_of(before: bytes, old: str, new: str) -> str:
    with pytest.raises(ToolFailure) as caught:
        edit(before, old, new)
    assert caught.value.next_step
    return caught.value.code


def test_a_character_that_encodings_write_differently_is_not_made_up() -> None:
    """Each of these words may be in many encodings, which agree on some characters only."""
    assert edit(b"un caf\xe9\n", "un", "le").data == b"le caf\xe9\n"
    assert edit(b"un caf\xe9\n", "un caf\xe9", "\xe9t\xe9, caf\xe9").data == b"\xe9t\xe9, caf\xe9\n"
    assert code_of(b"un caf\xe9\n", "un", "\u20ac") == "encoding_unknown"
    assert code_of(b"un caf\xe9\n", "un", "\xf1") == "encoding_unknown"


def test_a_character_of_several_bytes_is_not_torn() -> None:
    shift_jis = "表A\n".encode("shift-jis")
    assert shift_jis == b"\x95\x5cA\n"
    assert code_of(shift_jis, "\\A", "B") == "no_match"
    assert code_of(MAC_ROMAN, "j", "g") == "encoding_unknown"


def test_bytes_that_belie_their_mark_are_refused() -> None:
    assert code_of(b"\xff\xfea", "a", "b") == "encoding_unknown"


def test_an_encoding_is_found_however_far_behind_the_first_strange_character_comes() -> None:
    text = "x = 1\n" * 200_000 + TEXTS["gbk"]
    assert detect(text.encode("gbk")).codec == "gbk"
    one_line = "x" * 3_000_000 + TEXTS["shift_jis"].replace("\n", " ") * 3_000
    assert detect(one_line.encode("shift_jis")).codec == "cp932"


def test_a_guess_is_told_as_one(tmp_path: Path) -> None:
    (tmp_path / "certain").write_bytes(TEXTS["gbk"].encode("gbk"))
    (tmp_path / "guess").write_bytes(b"caf\xe9\n")
    (tmp_path / "unknown").write_bytes(MAC_ROMAN)
    tool = ReadFile(Workspace(tmp_path))
    assert call(tool, path="certain").content.endswith("; GBK]")
    assert (
        call(tool, path="guess").content == "1\tcafé\n[lines 1-1 of 1; not UTF-8: shown as CP1252, a guess]"
    )
    assert call(tool, path="unknown").content.endswith("; not UTF-8: shown as Latin-1, a guess]")
