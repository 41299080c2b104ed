"""What is seen of a long list: the reader's place stays, the end is followed, nothing unseen is measured."""

from hypothesis import given, settings
from hypothesis import strategies as st

from ui.transcript.viewport import Placed, Viewport


class Things:
    """Things of so many characters, as high as their text is at a width."""

    def __init__(self, sizes: list[int]) -> None:
        self.things: list[list[int]] = [[size] for size in sizes]
        self.first = 0
        self.measured: set[int] = set()

    @property
    def end(self) -> int:
        return self.first + len(self.things)

    def height(self, position: int, columns: int) -> int:
        self.measured.add(position)
        return -(-self.things[position - self.first][0] // columns)

    def thing(self, position: int) -> object:
        return self.things[position - self.first]


def seen(viewport: Viewport, columns: int = 10, rows: int = 5) -> list[Placed]:
    return viewport.layout(columns, rows)


def test_the_end_is_followed_until_the_reader_scrolls_away() -> None:
    things = Things([10] * 20)
    viewport = Viewport(things)
    assert [each.position for each in seen(viewport)] == [15, 16, 17, 18, 19]
    things.things.append([10])
    assert seen(viewport)[-1].position == 20
    viewport.scroll(-2)
    things.things.append([10])
    assert [each.position for each in seen(viewport)] == [14, 15, 16, 17, 18]
    assert not viewport.following
    viewport.scroll(3)
    assert viewport.following


def test_only_what_is_seen_is_measured() -> None:
    things = Things([10] * 50_000)
    viewport = Viewport(things)
    seen(viewport)
    viewport.scroll(-3)
    assert len(things.measured) <= 9


def test_what_is_added_or_dropped_above_moves_nothing() -> None:
    things = Things([10] * 20)
    viewport = Viewport(things)
    seen(viewport)
    viewport.scroll(-7)
    top = things.thing(seen(viewport)[0].position)
    things.things.insert(3, [10])
    assert things.thing(seen(viewport)[0].position) is top
    del things.things[:4]
    things.first = 4
    assert things.thing(seen(viewport)[0].position) is top
    del things.things[:12]
    things.first = 16
    assert seen(viewport)[0].position == 16


def test_a_narrow_screen_and_back_is_the_same_place() -> None:
    things = Things([10, 95, 10, 200, 10, 10, 300])
    viewport = Viewport(things)
    seen(viewport)
    viewport.scroll(-35)
    before = seen(viewport)
    for columns in (3, 50, 7):
        shown = seen(viewport, columns)
        assert before[0].position in {each.position for each in shown}
        assert not viewport.following
    assert seen(viewport) == before


def test_something_outside_is_brought_into_view_and_what_is_seen_stays() -> None:
    viewport = Viewport(Things([10] * 30))
    seen(viewport)
    viewport.show(10, 0, 1)
    assert seen(viewport)[0] == Placed(10, 0, 1)
    viewport.show(12, 0, 1)
    assert seen(viewport)[0] == Placed(10, 0, 1)
    viewport.show(20, 0, 1)
    assert seen(viewport)[-1] == Placed(20, 4, 1)
    viewport.show(5, 0, 1, margin=2)
    assert Placed(5, 2, 1) in seen(viewport)


def test_a_thing_higher_than_the_view_is_shown_from_its_top() -> None:
    viewport = Viewport(Things([10, 200, 10]))
    seen(viewport)
    viewport.show(1, 0, 20)
    assert seen(viewport)[0] == Placed(1, 0, 20)


def test_where_the_reader_was_is_looked_for_once_when_it_is_gone() -> None:
    things = Things([10] * 1_000)
    viewport = Viewport(things)
    seen(viewport)
    viewport.scroll(-500)
    place = seen(viewport)[0].position
    things.things = [[10] for _ in range(1_000)]
    assert seen(viewport)[0].position == place
    assert viewport.place is not None
    assert viewport.place.thing is things.things[place]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(0, 80), max_size=12),
    st.lists(
        st.tuples(
            st.sampled_from(["scroll", "add", "size", "show", "old", "new", "fold"]), st.integers(-30, 30)
        ),
        max_size=12,
    ),
)
def test_the_view_is_full_whenever_there_is_enough_to_see(
    sizes: list[int], acts: list[tuple[str, int]]
) -> None:
    things, columns, rows = Things(sizes), 10, 5
    viewport = Viewport(things)
    for act, number in [("scroll", 0), *acts]:
        match act:
            case "scroll":
                viewport.scroll(number)
            case "add":
                things.things.append([abs(number)])
            case "size":
                columns, rows = max(1, abs(number)), 1 + abs(number) % 9
            case "fold" if things.things:
                things.things[number % len(things.things)][0] = 0
            case "show" if things.things:
                viewport.show(number % len(things.things), 0, 1)
            case "old":
                viewport.to_oldest()
            case "new":
                viewport.to_newest()
            case _:
                pass
        placed = viewport.layout(columns, rows)
        total = sum(things.height(position, columns) for position in range(things.end))
        covered = sum(min(rows, each.top + each.rows) - max(0, each.top) for each in placed)
        assert covered == min(total, rows)
