"""Pages of a long text: together they are the whole of it."""

from hypothesis import given
from hypothesis import strategies as st

from actors.files.text_page import MAX_BYTES, MAX_LINE_BYTES, line_count, line_start, page

LINES = st.lists(
    st.one_of(st.text("aé漢😀 \r", max_size=8), st.sampled_from(["é" * 1500, "漢" * 20_000])), max_size=6
)


def all_pages(data: bytes, limit: int) -> str:
    """Read on as the pages say, inside lines and behind them, until nothing is left."""
    lines: list[str] = []
    line, column = 1, 1
    while (start := line_start(data, line)) is not None and data:
        for piece in page(data, start, line, column, limit):
            assert len(piece.text.encode()) <= MAX_BYTES
            text = piece.text + "\r" * piece.with_return
            if piece.column == 1:
                lines.append(text)
            else:
                lines[-1] += text
            line, column = (piece.line, piece.next_column) if piece.left else (piece.line + 1, 1)
            if piece.left:
                break
    return "\n".join(lines)


@given(LINES, st.integers(1, 3), st.booleans())
def test_reading_page_after_page_gives_every_character_once(
    lines: list[str], limit: int, closed: bool
) -> None:
    text = "\n".join(lines) + ("\n" if closed and lines else "")
    assert all_pages(text.encode(), limit) == text.removesuffix("\n")


@given(LINES)
def test_lines_are_counted_as_an_editor_counts_them(lines: list[str]) -> None:
    text = "".join(line + "\n" for line in lines)
    assert line_count(text.encode()) == len(lines)
    assert line_count((text + "x").encode()) == len(lines) + 1


def test_a_page_is_bounded_though_every_line_is_long() -> None:
    data = b"\n".join([b"x" * 5000] * 100)
    pieces = page(data, 0, 1, 1, 1000)
    assert sum(len(piece.text) for piece in pieces) <= MAX_BYTES + MAX_LINE_BYTES
    assert all(piece.left == 3000 for piece in pieces)


def test_a_column_inside_a_character_moves_to_the_next_one() -> None:
    (piece,) = page("aéb".encode(), 0, 1, 3, 1)
    assert (piece.column, piece.text) == (4, "b")


def test_a_column_behind_the_line_shows_nothing_of_it_and_goes_on() -> None:
    first, second = page(b"ab\ncd\n", 0, 1, 99, 5)
    assert (first.text, first.left) == ("", 0)
    assert second.text == "cd"


@given(st.integers(1, 200_002), st.sampled_from([b"", b"x", b"x" * 70_000]))
def test_a_line_is_found_where_it_starts(line: int, text: bytes) -> None:
    data = (text + b"\n") * (200_000 if len(text) < 2 else 20)
    lines = data.count(b"\n")
    assert line_start(data, line) == ((line - 1) * (len(text) + 1) if line <= lines else None)
