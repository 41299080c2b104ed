"""Text from outside can neither act on a terminal nor hide in it."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipc.terminal_text import STACK_LIMIT, StreamCleaner, clean, clean_line

HOSTILE = {
    "OSC 52 clipboard, BEL": ("\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"),
    "OSC 0 title, ST": ("\x1b]0;pwned\x1b\\", "␛]0;pwned␛\\"),
    "OSC 8 link": ("\x1b]8;;http://e\x1b\\x", "␛]8;;http://e␛\\x"),
    "DCS, APC, PM, SOS": ("\x1bP1\x1b_G\x1b^p\x1bX", "␛P1␛_G␛^p␛X"),
    "a question to the terminal": ("\x1b[6n\x1b[c\x1b[21t", "␛[6n␛[c␛[21t"),
    "mode flips": ("\x1b[?1049l\x1b[?2004h\x1b[?1000h", "␛[?1049l␛[?2004h␛[?1000h"),
    "clear and home": ("\x1b[2J\x1b[H\x1bc", "␛[2J␛[H␛c"),
    "character sets": ("\x1b(0\x0e\x0f", "␛(0␎␏"),
    "8-bit CSI": ("\x9b2J\x9d0;t\x9c", "<U+009B>2J<U+009D>0;t<U+009C>"),
    "overwrite by CR": ("rm -rf ~\rls    ", "rm -rf ~␍ls    "),
    "overwrite by BS": ("evil\b\b\b\bgood", "evil␈␈␈␈good"),
    "VT FF NUL DEL": ("\x0b\x0c\x00\x7f", "␋␌␀␡"),
    "line ends of Windows": ("a\r\nb\r\n", "a\nb\n"),
    "line separators": ("a\u0085b\u2028c\u2029d", "a<U+0085>b<U+2028>c<U+2029>d"),
    "bidi override": ("\u202egnp.exe\u202c", "<U+202E>gnp.exe<U+202C>"),
    "bidi isolate": ("\u2067a\u2069\u200e\u200f\u061c", "<U+2067>a<U+2069><U+200E><U+200F><U+061C>"),
    "zero width": ("a\u200bb\u200cc\u2060d\ufeff", "a<U+200B>b<U+200C>c<U+2060>d<U+FEFF>"),
    "soft hyphen": ("pass\u00adword", "pass<U+00AD>word"),
    "fillers": ("\u115f\u1160\u3164\uffa0\u2800", "<U+115F><U+1160><U+3164><U+FFA0><U+2800>"),
    "smuggled by selectors": ("a\ufe01\ufe0f\U000e0100", "a<U+FE01><U+FE0F><U+E0100>"),
    "tag block": ("x\U000e0068\U000e0069", "x<U+E0068><U+E0069>"),
    "private use": ("\ue0b0\U000f0001", "<U+E0B0><U+F0001>"),
    "noncharacters": ("\ufdd0\uffff\U0001ffff", "<U+FDD0><U+FFFF><U+1FFFF>"),
    "lone surrogates": ("\udce9\ud83d", "<U+DCE9><U+D83D>"),
    "a stack of marks": ("e" + "\u0301" * 10_000, "e" + "\u0301" * STACK_LIMIT + "…"),
    "a stack of Thai vowels": ("ก" + "\u0e47" * 99, "ก" + "\u0e47" * STACK_LIMIT + "…"),
    "a stack beyond the BMP": ("a" + "\U0001d167" * 99, "a" + "\U0001d167" * STACK_LIMIT + "…"),
    "paste end inside a paste": ("\x1b[201~ls", "␛[201~ls"),
    "joiner between letters": ("ad\u200dmin", "ad<U+200D>min"),
    "joiner after nothing": ("\u200d😀", "<U+200D>😀"),
    "selector after a digit": ("1\ufe0f2", "1<U+FE0F>2"),
}

HARMLESS = [
    "plain",
    "two\nlines\tand a tab",
    "größer ≥ ½ — “quoted”",
    "漢字かな交じり文",
    "हिन्दी ภาษาไทย tiếng Việt עִבְרִית",
    "👩‍💻 ❤️ 1️⃣ 👍🏽 🇩🇪 🏳️‍🌈 ✅",
    "no-break\u00a0space",
    "[/x] [b {curly} <tag> %s",
]


@pytest.mark.parametrize(("text", "shown"), HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_becomes_visible(text: str, shown: str) -> None:
    assert clean(text) == shown


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_stays_as_it_is(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize(("text", "shown"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_sequence_cut_anywhere_is_shown_as_if_whole(text: str, shown: str) -> None:
    for cut in range(min(len(text), 60) + 1):
        cleaner = StreamCleaner()
        assert cleaner.feed(text[:cut]) + cleaner.feed(text[cut:]) + cleaner.flush() == shown


@given(st.lists(st.text(st.sampled_from("ae1#\r\n\t\x1b\u0301\u0e47\u200d\ufe0f\u20e3😀♀漢\u202e\ud83d"))))
def test_pieces_read_as_the_whole(pieces: list[str]) -> None:
    cleaner = StreamCleaner()
    shown = "".join(cleaner.feed(piece) for piece in pieces) + cleaner.flush()
    assert shown == clean("".join(pieces))


@given(st.text(st.characters(codec=None, categories=None)))
def test_nothing_active_or_invisible_survives(text: str) -> None:
    shown = clean(text)
    shown.encode("utf-8")
    for at, character in enumerate(shown):
        if character == "\u200d":
            assert unicodedata.category(shown[at + 1]) in ("So", "Sk", "Sm", "Cn")
            continue
        assert character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cs", "Co", "Zl", "Zp")
        assert not 0x202A <= ord(character) <= 0x202E
        assert not 0x2066 <= ord(character) <= 0x2069
    assert clean(shown) == shown


def test_a_line_is_one_line_and_bounded() -> None:
    assert clean_line("first\nsecond\tthird\n") == "first ⏎ second third"
    assert clean_line("x" * 300, 20) == "x" * 19 + "…"
    assert clean_line("\x1b" * 10_000_000, 10) == "␛" * 9 + "…"
    assert clean_line("\U000e0041" * 100, 10) == "<U+E0041>…"
