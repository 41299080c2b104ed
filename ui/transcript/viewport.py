"""Which rows of a long list are seen: a place that stays, and hardly anything unseen is laid out; pure."""

from typing import NamedTuple, Protocol


class Things(Protocol):
    """Things one below the other, by positions.

    Nothing moves when the oldest go. What is inserted above a thing moves it on, so who remembers a position
    remembers the thing, too.
    """

    @property
    def first(self) -> int:
        """The position of the oldest."""
        ...

    @property
    def end(self) -> int:
        """The position behind the newest."""
        ...

    def thing(self, position: int) -> object:
        """What stands there."""
        ...


class Lines(Things, Protocol):
    """What is looked at."""

    def height(self, position: int, columns: int) -> int:
        """Rows of a thing, possibly none."""
        ...


class Placed(NamedTuple):
    """A thing that is seen, at least in part."""

    position: int
    top: int
    """Its first row within the view; negative when that is above it."""
    rows: int


class _Place(NamedTuple):
    """What the topmost row shows."""

    position: int
    thing: object
    inset: int
    """Rows of the thing above the view."""
    height: int
    columns: int
    """The thing's size when the reader came there: at another width the inset is in proportion."""


class Viewport:
    """Follows the end until the reader scrolls away from it, and again when they have scrolled back to it."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self.place: _Place | None = None
        self.following = True
        self.ends = True
        """Whether the end is in view."""
        self.columns = self.rows = 1
        """The size it was seen in."""
        self.cover = 0
        """Rows at the top that something may lie over: what is to be seen is put below them."""

    def layout(self, columns: int, rows: int) -> list[Placed]:
        """Return what is seen, from top to bottom."""
        self.columns, self.rows = columns, rows
        self.ends = True
        if self._lines.first >= self._lines.end:
            return []
        if self.following:
            self._keep(*self._last())
        placed, room = self._down(*self._here())
        self.ends = room is not None
        if room:  # what was read last stays the place, for when there are fewer rows again
            placed, _ = self._down(*self._last())
        return placed

    def scroll(self, rows: int) -> None:
        """Move by rows, down when positive."""
        if seen := self.layout(self.columns, self.rows):
            self._put(seen[0].position, rows - seen[0].top)

    def show(self, position: int, top: int, bottom: int, margin: int = 0) -> None:
        """Bring the rows `top` to `bottom` of a thing into view, with `margin` rows if they were not."""
        placed = self.layout(self.columns, self.rows)
        seen = (each for each in placed if each.position == position)
        if any(each.top + top >= self.cover and each.top + bottom <= self.rows for each in seen):
            return
        if placed and (position, top - self.cover) < (placed[0].position, -placed[0].top):
            self._put(position, top - max(margin, self.cover))
        else:
            self._put(position, min(top - self.cover, bottom + margin - self.rows))

    @property
    def page(self) -> int:
        """Rows that PgUp and PgDn scroll: what was the last row is seen again."""
        return max(1, self.rows - 1 - self.cover)

    def go_to(self, position: int) -> None:
        """Put a thing at the top."""
        self._put(position, 0)

    def to_oldest(self) -> None:
        """Show the beginning."""
        if self._lines.first < self._lines.end:
            self._put(self._lines.first, 0)

    def to_newest(self) -> None:
        """Show the end and follow it."""
        self.following = True

    def go_with(self, other: "Viewport") -> None:
        """Take the place of another view of the same things, drawn differently."""
        self.place, self.following = other.place, other.following

    def _height(self, position: int) -> int:
        return self._lines.height(position, self.columns)

    def _down(self, position: int, inset: int) -> tuple[list[Placed], int | None]:
        """Return what is seen below a row of a thing, and the rows that are free if the end is in view."""
        placed: list[Placed] = []
        top = -inset
        while position < self._lines.end:
            if top >= self.rows and self._height(position):
                return placed, None
            rows = self._height(position)
            if rows and top + rows > 0:
                placed.append(Placed(position, top, rows))
            top, position = top + rows, position + 1
        return placed, None if top > self.rows else self.rows - top

    def _last(self) -> tuple[int, int]:
        """Return what the topmost row shows when the end stands on the lowest row."""
        position, room = self._lines.end, self.rows
        while room > 0 and position > self._lines.first:
            position -= 1
            room -= self._height(position)
        return position, max(0, -room)

    def _put(self, position: int, inset: int) -> None:
        """Go to a row of a thing; beyond its own rows those of its neighbours are meant."""
        self.following = False
        while inset < 0 and position > self._lines.first:
            position -= 1
            inset += self._height(position)
        inset = max(0, inset)
        while position + 1 < self._lines.end and inset >= (rows := self._height(position)):
            inset, position = inset - rows, position + 1
        self._keep(position, inset)
        self.layout(self.columns, self.rows)
        self.following = self.ends

    def _keep(self, position: int, inset: int) -> None:
        thing = self._lines.thing(position)
        self.place = _Place(position, thing, inset, self._height(position), self.columns)

    def _here(self) -> tuple[int, int]:
        """Return what the topmost row shows now: things may have been added or dropped above it."""
        place = self.place
        if place is None:
            return self._lines.first, 0
        position = found(self._lines, place.position, place.thing)
        if position is None:
            position = max(self._lines.first, min(place.position, self._lines.end - 1))
            self._keep(position, 0)
            return position, 0
        if place.columns == self.columns:
            return position, place.inset
        rows = self._height(position)
        return position, min(place.inset * rows // max(1, place.height), max(0, rows - 1))


def found(lines: Things, near: int, thing: object) -> int | None:
    """Return where a thing stands by now, which is seldom far from where it stood; None when it is gone."""
    first, end = lines.first, lines.end
    for distance in range(max(end - near, near - first) + 1):
        for position in (near + distance, near - distance):
            if first <= position < end and lines.thing(position) is thing:
                return position
    return None
