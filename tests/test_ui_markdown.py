"""Answers as they are read: Markdown drawn in the transcript."""

import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise

import pytest
import urwid
from hypothesis import given, settings
from hypothesis import strategies as st

from ipc.messages import MessageDelta
from tests.fakes.facts import session
from tests.fakes.screen import Desktop
from tests.test_ui_pieces import LINES
from ui import theme
from ui.theme import Glyphs
from ui.transcript import code
from ui.transcript.texts import text_widget

WORKSPACE = session().workspace
Run = tuple[object, str]

HOSTILE = st.lists(
    st.one_of(
        LINES, st.text(alphabet="*_`~[]()!<>|#-+.0 1\n\tab日é\u0301👩\u200d\x1b\u202e&;:/\\", max_size=60)
    ),
    max_size=12,
).map("\n".join)


def desk(*deltas: str, glyphs: Glyphs = theme.UNICODE) -> Desktop:
    desktop = Desktop(glyphs=glyphs).tell(session())
    desktop.tell(*(MessageDelta(turn=1, kind="text", text=delta) for delta in deltas))
    desktop.view.state.conversation.transcript.close()
    return desktop


def runs(desktop: Desktop, columns: int = 60) -> list[list[Run]]:
    """The rows of an answer, each as its attributes and texts."""
    rows: list[list[Run]] = []
    for block in desktop.view.state.conversation.transcript.blocks:
        canvas = text_widget(block, desktop.view).render((columns,))  # type: ignore[arg-type]
        assert canvas.cols() == columns
        rows += [[(role, text.decode()) for role, _, text in row] for row in canvas.content()]
    return rows


def read(text: str, columns: int = 60, glyphs: Glyphs = theme.UNICODE) -> list[str]:
    """What a person reads of an answer."""
    return ["".join(part for _, part in row).rstrip() for row in runs(desk(text, glyphs=glyphs), columns)]


def layers(role: object) -> list[object]:
    return list(role.layers) if isinstance(role, urwid.LayeredAttr) else [role]


def links(text: str) -> dict[str, str]:
    """Where a terminal leads from which text, at a width that wraps nothing."""
    return opened(desk(text))


def opened(desktop: Desktop) -> dict[str, str]:
    return {
        part: layer.hyperlink.uri
        for row in runs(desktop, 300)
        for role, part in row
        for layer in layers(role)
        if isinstance(layer, urwid.AttrSpec) and layer.hyperlink is not None
    }


def roles(text: str, part: str) -> list[object]:
    """The roles of the first run that is a text."""
    return next(layers(role) for row in runs(desk(text)) for role, run in row if run.strip() == part)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("# Head\n\ntext", ["  Head", "", "  text"]),
        ("one\ntwo  \nthree", ["  one", "  two", "  three"]),
        ("one\n\n\n\ntwo", ["  one", "", "  two"]),
        ("**a** *b* `c` ~~d~~ \\*e\\*", ["  a b c d *e*"]),
        ("- a\n- b\n  - c\n\n  d", ["  • a", "  • b", "    ◦ c", "", "    d"]),
        ("9. a\n10. b\n    - c", ["  9. a", "  10. b", "      • c"]),
        ("1. a\n   1. x\n   1. y", ["  1. a", "     1. x", "     2. y"]),
        ("1. a\n1. b\n\n1. c\n", ["  1. a", "  2. b", "", "  3. c"]),
        ("- [x] done\n- [ ] to do\n- [y] text", ["  [x] done", "  [ ] to do", "  • [y] text"]),
        ("> a\n> > b\n>\n> - c", ["  │ a", "  │ │ b", "  │", "  │ • c"]),
        ("---", ["  " + "─" * 32]),
        ("```\n  a\n\nb\n```", ["      a", "", "    b"]),
        ("- a\n  ```\n  b\n  ```", ["  • a", "      b"]),
        ("    indented *code*", ["    indented *code*"]),
        ("<b>x</b> <!-- y -->\n<div>\n*z*", ["  <b>x</b> <!-- y -->", "  <div>", "  z"]),
        ("[/x] [red] [b", ["  [/x] [red] [b"]),
        ("[1]: http://a.b", ["  [1]: http://a.b"]),
        ("&lt;b&gt; &#x1b;[2J &#x202e;x", ["  <b> \ufffd[2J <U+202E>x"]),
        ("snake_case_name 2 * 3 * 4", ["  snake_case_name 2 * 3 * 4"]),
        ("![a cat](http://a.b/c.png)", ["  a cat (http://a.b/c.png)"]),
    ],
)
def test_a_construct_is_drawn_as_a_person_reads_it(written: str, shown: list[str]) -> None:
    assert read(written) == shown


def test_long_lines_hang_behind_their_mark() -> None:
    assert read("- one two three four five six", 16) == ["  • one two", "    three four", "    five six"]
    assert read("> one two three four", 14) == ["  │ one two", "  │ three four"]
    assert read("```\n  if one two three:\n```", 18) == ["      if one two", "        three:"]


def test_ascii_signs_are_enough() -> None:
    text = "- a\n  - b\n\n> c\n\n---\n\n| a | b |\n|---|---|\n| c | d |\n"
    assert "\n".join(read(text, glyphs=theme.ASCII)).isascii()


def test_a_text_of_nothing_but_marks_is_text() -> None:
    assert "".join(row.strip() for row in read("[" * 1_900)) == "[" * 1_900
    assert "".join(row.strip() for row in read("```\n" + "[(" * 700 + "\n```")) == "[(" * 700
    for no_fence in ("``` `" + "[*" * 900, "```a`\n" + "[*" * 900):
        assert "".join(row.strip() for row in read(no_fence)) == no_fence.replace("\n", "")


# --- tables ------------------------------------------------------------------------------------------

TABLE = "| Name | Count | Note |\n|:--|--:|:-:|\n| a | 1 | x |\n| **bb** | 22 | yyyyy |\n"


def test_a_table_is_aligned() -> None:
    assert read(TABLE) == [
        "  Name │ Count │ Note",
        "  ─────┼───────┼──────",
        "  a    │     1 │   x",
        "  bb   │    22 │ yyyyy",
    ]


def test_cells_are_wrapped_and_wide_characters_keep_the_columns() -> None:
    rows = read("| a | b |\n|--|--|\n| 日本 | one two three four five |\n| x | y |\n", 24)
    assert rows == [
        "  a    │ b",
        "  ─────┼────────────────",
        "  日本 │ one two three",
        "       │ four five",
        "  ─────┼────────────────",
        "  x    │ y",
    ]


def test_a_table_without_room_is_a_paragraph_for_each_row() -> None:
    text = "| Option | Meaning |\n|--|--|\n| first one | what it means |\n| second | nothing |\n"
    assert read(text, 18) == [
        "  Option: first",
        "    one",
        "  Meaning: what",
        "    it means",
        "",
        "  Option: second",
        "  Meaning: nothing",
    ]


def test_a_long_table_has_its_head_in_every_part() -> None:
    rows = read("| n | square |\n|--|--|\n" + "".join(f"| {n} | {n * n} |\n" for n in range(100)))
    heads = [at for at, row in enumerate(rows) if "square" in row]
    assert len(heads) > 1
    assert sum(str(99 * 99) in row for row in rows) == 1


# --- code --------------------------------------------------------------------------------------------


def test_code_has_the_colours_of_its_language() -> None:
    text = "```python\ndef f(x):\n    return 'a' + 12  # why\n```"
    for part, role in (("def", "c_keyword"), ("'a'", "c_string"), ("12", "c_number"), ("# why", "c_comment")):
        assert roles(text, part) == [role]
    assert roles("```diff\n+ new\n- old\n```", "+ new") == ["added"]


@pytest.mark.parametrize("language", ["", "text", "no such language", "../../etc/passwd", "\x1b[2J", "{.py}"])
def test_code_in_an_unknown_language_is_plain(language: str) -> None:
    assert [row.strip() for row in read(f"```{language}\ndef f():\n```")] == ["def f():"]


def all_names() -> list[str]:
    return sorted(set(code._names().values()))


def test_no_code_takes_long_to_be_coloured() -> None:
    """What took minutes, in every language whose colours are known, and in those that it was seen in."""
    line = code.LONGEST
    hostile = [
        ("a" * (line // 2) + "\t" * (line // 2) + "\n") * 7,
        *(((part * line)[:line] + "\n") * 7 for part in ("a ", '\\"', "[ ")),
        "\n" * code.MOST_LINES,
        "a" * 780 + "\t" * 780,
    ]
    for name in [
        *all_names(),
        "systemd",
        "autohotkey",
        "terraform",
        "registry",
        "easytrieve",
        "autoit",
        "fan",
    ]:
        code.coloured("", name, print, lasts=False)
        for text in hostile:
            begun = time.thread_time()
            code.coloured(text, name, print, lasts=False)
            assert time.thread_time() - begun < 1, (name, text[:10])


def test_code_that_is_written_gets_its_colours_line_by_line() -> None:
    lines = [f"def f{n}(): return {n}" for n in range(40)]
    plain, most = 0, 0
    for end in range(1, len(lines)):
        drawn = code.coloured("\n".join(lines[:end]) + "\nde", "python", print, lasts=True)
        plain = sum(len(line) == 1 for line in drawn) - 1
        most = max(most, plain)
        assert plain <= end // 8 + 1
    assert most > 1
    assert all(len(line) > 1 for line in code.coloured("\n".join(lines), "python", print, lasts=False))


def test_a_language_that_is_not_loaded_yet_is_drawn_when_it_is() -> None:
    languages, waiting, drawn = code.Languages(), list[Callable[[], None]](), list[str]()
    languages.load = lambda work, then: waiting.extend((work, then))
    assert languages.lexer("rust", lambda: drawn.append("first")) is None
    assert languages.lexer("rust", lambda: drawn.append("second")) is None
    assert (len(waiting), drawn) == (2, [])
    for work in waiting:
        work()
    assert drawn == ["first", "second"]
    assert languages.lexer("rust", print) is not None


def test_a_long_program_is_coloured_in_all_its_parts() -> None:
    rows = runs(desk("```python\n" + "def f():\n    return 1\n\n" * 100 + "```\n"))
    assert sum(part == "def" and role == "c_keyword" for row in rows for role, part in row) == 100


# --- links -------------------------------------------------------------------------------------------


def test_a_link_can_be_opened_and_shows_its_address_when_its_text_is_another() -> None:
    assert links("[docs](https://a.b/c)") == {"docs": "https://a.b/c", "https://a.b/c": "https://a.b/c"}
    assert read("[docs](https://a.b/c)") == ["  docs (https://a.b/c)"]
    assert read("<https://a.b/c> and [https://a.b](https://a.b/)") == ["  https://a.b/c and https://a.b"]


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("[https://good.example](https://evil.example)", "https://evil.example"),
        ("[good.example](https://evil.example)", "https://evil.example"),
        ("[https://apple.com](https://аpple.com)", "https://xn--pple-43d.com"),
        ("[https://a.b](https://A.b.evil.example)", "https://A.b.evil.example"),
        ("[www.google.com](www.google.com)", "(file:www.google.com)"),
        ("[google.com/a.py](google.com/a.py)", "(file:google.com/a.py)"),
        ("[a@b.c](a@b.c)", "(file:a@b.c)"),
        ("[https://bank.com](mailto:https://bank.com)", "(mailto:https://bank.com)"),
        ("[bank.com](mailto:bank.com)", "(mailto:bank.com)"),
        ("[a@b.c](mailto:a@b.c?bcc=d@e.f)", "(mailto:a@b.c?bcc=d@e.f)"),
        ("[![https://good.example](x.png)](https://evil.example)", "https://evil.example"),
    ],
)
def test_no_text_looks_like_another_address_than_the_one_it_leads_to(written: str, address: str) -> None:
    assert address.lower() in read(written, 200)[0].lower()


def test_an_address_in_the_text_is_a_link_without_the_signs_around_it() -> None:
    text = "See https://a.b/c_(d), (https://e.f) and **http://g.h/i?j=k&l=m**."
    assert links(text) == {
        each: each for each in ("https://a.b/c_(d)", "https://e.f", "http://g.h/i?j=k&l=m")
    }
    assert read(text, 100) == ["  See https://a.b/c_(d), (https://e.f) and http://g.h/i?j=k&l=m."]
    assert links("`https://a.b`") == {}


@pytest.mark.parametrize(
    "address",
    [
        "https://github.com/a/b/blob/main/pkg/__init__.py",
        "https://a.b/pkg/__init__",
        "https://x.org/a_b_c/*z*/~~y~~",
        "http://a.b/2**3**4",
    ],
)
def test_the_marks_within_an_address_are_part_of_it(address: str) -> None:
    for text in (
        f"see {address} there",
        f"**{address}**, *it*",
        f"- {address}",
        f"| a |\n|--|\n| {address} |",
    ):
        assert links(text) == {address: address}
        assert address in "\n".join(read(text, 100))
    assert links(f"_{address}_") == {address: address}


def test_a_picture_within_a_link_leads_where_the_link_leads() -> None:
    assert read("[![build](https://a.b/c.svg)](https://d.e)") == ["  build (https://d.e)"]
    assert set(links("[![build](https://a.b/c.svg)](https://d.e)").values()) == {"https://d.e"}


def test_a_file_that_is_its_own_name_is_no_riddle() -> None:
    for name in ("app.py", "src/app.py", "README.md", "docs/a.b/c"):
        assert read(f"[{name}]({name})") == [f"  {name}"]


def test_files_of_the_workspace_can_be_opened_and_no_others() -> None:
    assert links("[x](src/app.py)")["x"] == f"file://{WORKSPACE}/src/app.py"
    assert links("[x](src/app.py:12:3)")["x"] == f"file://{WORKSPACE}/src/app.py"
    assert links(f"[x]({WORKSPACE}/a%20b.py#L3)")["x"] == f"file://{WORKSPACE}/a%20b.py"
    for outside in ("../x", "/etc/passwd", "src/../../x", f"{WORKSPACE}x", "%2e%2e/x"):
        assert links(f"[x]({outside})") == {}


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "data:text/html,x",
        "vscode:x",
        "ssh://a",
        "//a.b",
        "h\u200bttp://a",
    ],
)
def test_nothing_else_can_be_opened_but_all_of_it_can_be_read(address: str) -> None:
    text = f"[x]({address})"
    assert links(text) == {}
    assert "x" in read(text)[0]


def test_mail_addresses_can_be_opened() -> None:
    assert links("<a@b.c>") == {"a@b.c": "mailto:a@b.c"}
    assert read("<a@b.c>") == ["  a@b.c"]


# --- while it streams --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("some **bold te", "  some bold te"),
        ("some **bold*", "  some bold"),
        ("some **", "  some"),
        ("run `ls -", "  run ls -"),
        ("run `ls` and **`cat", "  run ls and cat"),
        ("~~not", "  not"),
        ("2 ** 3", "  2 ** 3"),
        ("`a ** b` is", "  a ** b is"),
        ("- an **item", "  • an item"),
        ("# A `head", "  A head"),
        ("```\n**", "    **"),
        ("| Na", "  Na"),
        ("| Name | Cou", "  Name │ Cou"),
    ],
)
def test_what_is_being_written_looks_as_it_will(written: str, shown: str) -> None:
    desktop = Desktop().tell(session(), MessageDelta(turn=1, kind="text", text=written))
    rows = ["".join(part for _, part in row).rstrip() for row in runs(desktop)]
    assert rows[0] == shown
    assert len(rows) == (2 if written.startswith("|") else 1)


def test_no_word_that_is_being_written_leads_anywhere() -> None:
    text = (
        "See [https://bank.example](https://evil.example/a) or https://a.b/__init__.py, **https://c.d/e** end"
    )
    whole = set(links(text).values())
    for end in range(len(text)):
        desktop = Desktop(120).tell(session(), MessageDelta(turn=1, kind="text", text=text[:end]))
        assert set(opened(desktop).values()) <= whole
    half = Desktop(120).tell(session(), MessageDelta(turn=1, kind="text", text="at https://a.b/__init__"))
    assert "".join(part for _, part in runs(half)[0]).strip() == "at https://a.b/__init__"


@settings(max_examples=25, deadline=None)
@given(HOSTILE, st.integers(0, 2_000))
def test_any_text_is_drawn_while_it_streams(text: str, end: int) -> None:
    desktop = Desktop().tell(session(), MessageDelta(turn=1, kind="text", text=text[:end]))
    assert all("\x1b" not in part for row in runs(desktop) for _, part in row)


# --- any text ----------------------------------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(HOSTILE, st.sampled_from([1, 2, 3, 7, 20, 57, 104]))
def test_any_text_is_drawn_at_any_width_and_nothing_in_it_acts(text: str, columns: int) -> None:
    for row in runs(desk(text), columns):
        shown = "".join(part for _, part in row)
        assert urwid.calc_width(shown, 0, len(shown)) == columns
        assert not {"\x1b", "\u202e", "\u200d"} & set(shown)


@settings(max_examples=40, deadline=None)
@given(HOSTILE, st.lists(st.integers(0, 3_000), max_size=8))
def test_a_streamed_answer_looks_like_the_whole_one(text: str, cuts: list[int]) -> None:
    places = [0, *sorted(place for place in cuts if place < len(text)), len(text)]
    assert runs(desk(*(text[a:b] for a, b in pairwise(places)))) == runs(desk(text))


def test_no_first_frame_pays_for_markdown() -> None:
    asked = "import sys, ui.app; print([name for name in ('markdown_it', 'pygments') if name in sys.modules])"
    told = subprocess.run(
        [sys.executable, "-c", asked], capture_output=True, text=True, timeout=30, check=True
    )
    assert told.stdout.strip() == "[]"
