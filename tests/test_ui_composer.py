"""What a person writes: editing, pastes, chips, and the messages that wait."""

import time
from itertools import pairwise

import pytest
import urwid
from hypothesis import given, settings
from hypothesis import strategies as st

from ipc.messages import StartTurn
from tests.fakes.facts import session
from tests.fakes.hostile_texts import HOSTILE, foreign
from tests.fakes.screen import Desktop, draw_exactly
from ui import keys
from ui.composer.composer import Composer
from ui.composer.draft import EDITABLE_LINE, Draft, Paste, draft_of, folded, folded_again, joined, received
from ui.composer.editor import LineEditor
from ui.composer.outbox import Outbox
from ui.composer.pastes import Pastes
from ui.theme import UNICODE

COLUMNS = 60
PASTE = "".join(f"line {number}\n" for number in range(10_000))


def typed(*given: str) -> LineEditor:
    """An editor that got texts, character by character, and keys of more than one."""
    editor = LineEditor()
    press(editor, *given)
    return editor


def press(editor: LineEditor, *given: str) -> None:
    for each in given:
        for key in [each] if isinstance(each, keys.Pasted) or each in KEYS else each:
            editor.type(COLUMNS, key)


KEYS = {"left", "backspace", "delete", "ctrl w", "ctrl y", "ctrl _", "meta _", "ctrl a", "ctrl left"}


def shown(editor: LineEditor) -> str:
    return "\n".join(row.decode().rstrip() for row in editor.render((COLUMNS,), True).text).replace(
        "\xa0", " "
    )


# --- editing


def test_words_are_left_deleted_and_put_back() -> None:
    editor = typed("git commit --amend", "ctrl w", "ctrl left")
    assert (editor.edit_text, editor.edit_pos) == ("git commit ", 4)
    press(editor, "ctrl y")
    assert editor.edit_text == "git --amendcommit "


def test_undo_takes_back_what_was_typed_and_redo_makes_it_again() -> None:
    editor = typed("keep this ", "ctrl w", "ctrl _")
    assert editor.edit_text == "keep this "
    press(editor, "meta _")
    assert editor.edit_text == "keep "


def test_a_line_end_and_a_paste_are_steps_of_their_own() -> None:
    editor = typed("a")
    editor.newline()
    press(editor, keys.Pasted("pasted"), "ctrl _")
    assert editor.edit_text == "a\n"
    press(editor, "ctrl _")
    assert editor.edit_text == "a"


@pytest.mark.parametrize("character", ["e\u0301", "界", "👩\u200d👧", "🇩🇪", "ก็"])
def test_what_looks_like_one_character_is_deleted_as_one(character: str) -> None:
    editor = LineEditor()
    editor.restore(draft_of(f"a{character}b"))
    press(editor, "left", "backspace")
    assert editor.edit_text == "ab"


def test_the_cursor_stands_behind_wide_characters_and_not_beside_combining_marks() -> None:
    editor = LineEditor()
    editor.restore(draft_of("界e\u0301x"))
    assert editor.get_cursor_coords((COLUMNS,)) == (4, 0)


def test_a_control_character_that_is_typed_is_seen_does_nothing_and_is_sent_as_it_is() -> None:
    editor = typed("a\u202eb", "left", "backspace")
    assert shown(typed("a\u202eb")) == "a<U+202E>b"
    assert typed("a\u202eb").draft().whole == "a\u202eb"
    assert (editor.edit_text, editor.get_cursor_coords((COLUMNS,))) == ("ab", (1, 0))


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_is_pasted_is_sent_as_it_is_and_drawn_as_what_can_be_seen(kind: str) -> None:
    desk = Desktop().tell(session()).press(keys.Pasted(f"<{HOSTILE[kind]}>"))
    draw_exactly(desk)
    assert foreign("\n".join(desk.lines).encode()) == ""
    came = HOSTILE[kind].replace("\r", "\n").replace("\0", "\u2400")
    assert desk.press("enter").orders == [StartTurn(prompt=f"<{came}>")]


def test_what_no_text_can_hold_is_replaced_and_ends_of_lines_are_newlines() -> None:
    assert received("a\r\nb\rc\0d\ud800e") == "a\nb\nc\u2400d\ufffde"


@given(st.lists(st.sampled_from([*"ab\u200b\u200d\ufe0f\u0301👩界\u202e\n\ue0b0"]), max_size=12), st.data())
def test_each_place_in_a_text_is_drawn_in_one_place_and_found_there_again(
    parts: list[str], data: st.DataObject
) -> None:
    editor = LineEditor()
    editor.restore(draft_of("".join(parts)))
    editor.set_edit_pos(data.draw(st.integers(0, len(parts))))
    before, columns = editor.edit_pos, data.draw(st.integers(9, 30))
    coords = editor.get_cursor_coords((columns,))
    assert coords is not None
    assert editor.move_cursor_to_coords((columns,), *coords)
    assert editor.get_cursor_coords((columns,)) == coords
    assert editor.edit_pos == before or coords[0] == columns - 1  # behind a full row stands its last column


@pytest.mark.parametrize("text", ["a" * 60 + "\u202e", "\u202e" * 9, "界\u200b" * 20])
def test_in_a_line_that_is_clipped_the_cursor_stays_in_view(text: str) -> None:
    editor = LineEditor(multiline=False)
    press(editor, text)
    canvas = editor.render((20,), True)
    assert (canvas.cols(), canvas.rows()) == (20, 1)
    assert canvas.cursor[0] in (18, 19)


# --- pastes


def test_a_short_paste_stands_as_it_is_tabs_and_all() -> None:
    editor = typed("see: ", keys.Pasted("if x:\n\treturn\n"))
    assert editor.edit_text == editor.draft().whole == "see: if x:\n\treturn\n"


@pytest.mark.report("TERM-07")
def test_a_long_paste_is_sent_in_full_between_what_was_typed_before_and_behind_it() -> None:
    editor = typed("Explain: ", keys.Pasted(PASTE), " and say why")
    assert shown(editor) == "Explain: [paste #1: 10,000 lines] and say why"
    assert editor.take().whole == f"Explain: {PASTE} and say why"


def test_a_folded_paste_is_one_character_to_the_cursor_and_to_deletion() -> None:
    editor = typed("a", keys.Pasted(PASTE), "b")
    press(editor, "left", "left")
    assert editor.get_cursor_coords((COLUMNS,)) == (1, 0)
    press(editor, "delete")
    assert editor.edit_text == "ab"
    press(editor, "ctrl _")
    assert editor.draft().whole == f"a{PASTE}b"


def test_a_deleted_paste_can_be_put_back_elsewhere() -> None:
    editor = typed("first ", keys.Pasted(PASTE), "ctrl w", "ctrl a", "ctrl y")
    assert editor.draft().whole == f"{PASTE}first "


def test_several_pastes_are_told_apart_by_their_place() -> None:
    editor = typed(keys.Pasted("x" * 1_200), " or ", keys.Pasted("y\n" * 20))
    assert shown(editor) == "[paste #1: 1,200 characters] or [paste #2: 20 lines]"


def test_a_click_on_a_folded_paste_puts_the_cursor_beside_it() -> None:
    composer = Composer(UNICODE)
    press(composer.editor, "ab", keys.Pasted(PASTE), "cd")
    for column, place in ((3, 1), (6, 2), (24, 3), (29, 4)):
        composer.mouse_event((COLUMNS,), "mouse press", 1, column, 0, True)
        assert composer.editor.edit_pos == place


def test_a_folded_paste_becomes_text_on_demand_and_undo_folds_it_again() -> None:
    editor = typed("a ", keys.Pasted("one\n" * 20), " b")
    assert editor.expand() == "done"
    assert editor.edit_text == "a " + "one\n" * 20 + " b"
    press(editor, "ctrl _")
    assert shown(editor) == "a [paste #1: 20 lines] b"


def test_a_paste_too_long_to_be_edited_stays_folded() -> None:
    editor = typed(keys.Pasted(PASTE))
    assert editor.expand() == "long"
    assert typed("no paste").expand() == "none"
    assert editor.draft().whole == PASTE


def test_a_paste_that_reads_like_a_key_is_text() -> None:
    editor = LineEditor()
    for text in ("enter", "backspace", "esc", "1"):
        editor.type(COLUMNS, keys.Pasted(text))
    assert editor.edit_text == "enterbackspaceesc1"


def test_a_character_that_stands_for_a_paste_can_not_be_forged() -> None:
    editor = typed(keys.Pasted(PASTE), keys.Pasted("\ud800\U000f0000"), "\ud800")
    assert editor.draft().whole == f"{PASTE}\ufffd\U000f0000\ufffd"


def test_a_paste_that_would_make_the_line_too_long_to_be_laid_out_is_folded_however_short() -> None:
    editor = typed(*[keys.Pasted("w" * 999)] * 30)
    assert editor.draft().whole == "w" * 999 * 30
    assert len(editor.edit_text) <= EDITABLE_LINE + 30


def test_when_no_character_is_left_a_paste_stands_as_it_is() -> None:
    chips: dict[str, Paste] = {}
    places = [folded(f"paste {number}", chips) for number in range(0x800)]
    assert len({*places}) == len(chips) == 0x800
    assert folded("one more", chips) == "one more"


def test_a_paste_into_one_line_stays_on_it() -> None:
    editor = LineEditor(multiline=False)
    press(editor, keys.Pasted("two\nlines\n"))
    assert editor.edit_text == "two lines"


# --- drafts


def test_drafts_with_pastes_of_the_same_name_can_be_joined() -> None:
    one, two = typed("1", keys.Pasted("x\n" * 50)).draft(), typed("2", keys.Pasted("y\n" * 50)).draft()
    assert joined([one, Draft(), two]).whole == "1" + "x\n" * 50 + "\n\n2" + "y\n" * 50


def test_a_draft_that_is_restored_takes_its_cursor_and_its_pastes_along() -> None:
    before = typed("a", keys.Pasted(PASTE), "bc", "left").draft()
    editor = typed(keys.Pasted("z\n" * 50))
    editor.restore(before)
    assert (editor.draft().whole, editor.edit_pos) == (f"a{PASTE}bc", 3)
    press(editor, "ctrl _")
    assert editor.draft().whole == "z\n" * 50


def test_a_text_from_an_editor_is_folded_where_a_paste_is_still_as_it_was() -> None:
    draft = typed("a ", keys.Pasted(PASTE)).draft()
    changed = folded_again(f"changed {PASTE} more", draft.chips)
    assert (changed.whole, changed.line) == (f"changed {PASTE} more", "changed [paste #1: 10,000 lines] more")
    assert folded_again("all new", draft.chips) == Draft("all new", 7)


def test_a_key_beside_a_paste_of_a_million_lines_costs_what_it_costs_without() -> None:
    times = {}
    for pasted in ("", "some line of a log file\n" * 1_000_000):
        editor = typed(*([keys.Pasted(pasted)] if pasted else []))
        begun = time.perf_counter()
        for _ in range(50):
            press(editor, "x")
            editor.draft()
            editor.render((COLUMNS,), True)
        times[pasted] = time.perf_counter() - begun
        editor.take()
    # Counting its lines once a key took 300 times as long.
    assert max(times.values()) < 10 * min(times.values())


def test_what_could_not_be_sent_comes_back_before_what_is_written_now() -> None:
    composer = Composer(UNICODE)
    press(composer.editor, "now")
    composer.give_back(Draft("before"))
    assert (composer.editor.edit_text, composer.editor.edit_pos) == ("before\nnow", 6)
    composer.give_back(draft_of(""))
    assert composer.editor.edit_text == "before\nnow"


@pytest.mark.parametrize(("changes", "left"), [("", "now"), ("!", "before!\nnow")])
def test_what_was_taken_all_the_same_goes_unless_it_was_changed(changes: str, left: str) -> None:
    composer, given = Composer(UNICODE), typed("before").draft()
    press(composer.editor, "now")
    composer.give_back(given)
    press(composer.editor, *changes)
    composer.take_away(given)
    assert composer.editor.edit_text == left


# --- what waits


def waiting(*texts: str) -> Outbox:
    return Outbox([Draft(text) for text in texts])


def test_a_message_that_is_taken_back_keeps_its_place_and_the_draft_comes_back() -> None:
    outbox = waiting("a", "b", "c")
    assert outbox.take(Draft("my draft")) == Draft("c")
    assert outbox.take(Draft("c")) == Draft("b")
    assert outbox.put_back(Draft("B")) == Draft("my draft")
    assert [each.whole for each in outbox.waiting] == ["a", "B", "c"]


def test_what_was_changed_stays_changed_when_the_one_before_is_taken() -> None:
    outbox = waiting("a", "b")
    outbox.take(Draft())
    outbox.take(Draft("b!"))
    assert outbox.leave() == Draft()
    assert [each.whole for each in outbox.waiting] == ["a", "b!"]


def test_a_message_is_not_sent_while_it_is_edited_and_the_ones_before_it_are() -> None:
    outbox = waiting("a", "b")
    outbox.take(Draft())
    assert outbox.next() == Draft("a")
    assert outbox.next() is None
    outbox.put_back(Draft("b"))
    assert outbox.next() == Draft("b")


def test_a_message_of_which_nothing_is_left_is_gone() -> None:
    outbox = waiting("a", "b")
    outbox.take(Draft())
    outbox.put_back(Draft("  "))
    assert [each.whole for each in outbox.waiting] == ["a"]


def test_a_message_that_was_emptied_while_it_is_edited_is_not_kept() -> None:
    outbox = waiting("a", "b")
    outbox.take(Draft("draft"))
    assert outbox.with_edited(Draft(" ")) == (Draft("draft"), [Draft("a")])


def test_the_last_message_or_the_edited_one_can_be_removed() -> None:
    outbox = waiting("a", "b", "c")
    assert outbox.drop() == Draft("c")
    outbox.take(Draft())
    outbox.take(Draft("b"))
    assert outbox.drop() == Draft("a")
    assert waiting().drop() is None


def test_few_rows_show_what_waits_and_always_the_message_that_is_edited() -> None:
    outbox = waiting(*"abcde")
    assert outbox.rows(3) == [("a", False), ("b", False), ("and 3 more", False)]
    outbox.take(Draft())
    assert outbox.rows(3) == [("d", False), ("e", True), ("and 3 more", False)]
    assert outbox.rows(0) == []


# --- what the terminal sends


def sifted(*reads: bytes) -> tuple[bytes, list[str]]:
    """What is left of raw input, and the pastes that were in it."""
    pastes, left = Pastes(), b""
    for read in reads:
        left += bytes(pastes.sift(list(read)))
    return left, pastes.named(["end paste"] * left.count(b"\x1b[201~"))


def test_a_paste_is_one_key_and_its_line_ends_are_newlines() -> None:
    left, pasted = sifted(b"a\x1b[200~one\rtwo\r\nthree\x1b[201~b")
    assert left == b"a\x1b[200~\x1b[201~b"
    assert pasted == ["one\ntwo\nthree"]
    assert isinstance(pasted[0], keys.Pasted)


@given(st.lists(st.sampled_from(["x", "界", "\r", "\x1b[A", "[201", "\x1b", "~"])), st.data())
def test_a_paste_is_whole_wherever_reading_cuts_it(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts).replace("\x1b[201~", "")
    sent = b"\x1b[200~" + text.encode() + b"\x1b[201~z"
    cuts = sorted({6, len(sent), *data.draw(st.lists(st.integers(6, len(sent)), max_size=4))})
    left, pasted = sifted(sent[:6], *(sent[a:b] for a, b in pairwise(cuts)))
    assert left == b"\x1b[200~\x1b[201~z"
    assert pasted == [text.replace("\r", "\n")]


def test_ctrl_c_ends_a_paste_whose_end_was_lost() -> None:
    left, pasted = sifted(b"\x1b[200~half", b"\x03", b"typed")
    assert left == b"\x1b[200~\x1b[201~typed"
    assert pasted == ["half"]


def test_what_came_of_a_paste_is_there_when_it_is_given_up_and_its_late_end_is_no_key() -> None:
    pastes = Pastes()
    assert pastes.named(["begin paste"] * (pastes.sift(list(b"\x1b[200~half")) == list(b"\x1b[200~"))) == []
    assert (pastes.give_up(), pastes.coming_in) == ("half", False)
    pastes.sift(list(b"rest\x1b[201~"))
    assert pastes.named(["end paste", "x"]) == ["x"]


PRESSES = st.lists(
    st.one_of(
        st.sampled_from(sorted(KEYS)),
        st.sampled_from(["right", "up", "down", "home", "end", "meta d", "ctrl k", "ctrl u", "ctrl right"]),
        st.sampled_from(["a", " ", "界", "e\u0301"[1], "👩", "\u200d", "\ufe0f", "ก", "็", "\u202e", "\t"]),
        st.sampled_from([keys.Pasted("short\tone"), keys.Pasted("long\n" * 30), keys.Pasted("x" * 30_000)]),
    ),
    max_size=25,
)


@pytest.mark.report("TERM-05")
@settings(max_examples=40)
@given(PRESSES, st.integers(1, 60), st.integers(1, 9))
def test_whatever_is_pressed_at_any_width_the_cursor_is_on_the_screen_and_undo_leads_back(
    presses: list[str], columns: int, rows: int
) -> None:
    composer = Composer(UNICODE)
    composer.limit = rows
    for key in presses:
        composer.editor.type(columns, key)
        if key == "meta d":
            composer.editor.expand()
        canvas = composer.render((columns + 2,), True)
        assert canvas.cols() == columns + 2
        assert canvas.rows() == composer.rows((columns + 2,), True) <= rows
        for row in canvas.content():
            assert sum(urwid.calc_width(run, 0, len(run)) for _, _, run in row) == columns + 2
        column, row = canvas.cursor
        assert 0 <= column < columns + 2
        assert 0 <= row < canvas.rows()
    written = composer.editor.draft()
    while composer.editor.undo():
        pass
    assert composer.editor.edit_text == ""
    while composer.editor.redo():
        pass
    assert composer.editor.draft().whole == written.whole or "ctrl _" in presses
