"""What a person reads about taking back and making again (pure)."""

from collections.abc import Collection, Iterable, Sequence
from typing import Final, Literal

from actors.files.workspace import brief
from actors.session.events import FileChange
from actors.undo.path_text import to_text

NAMED: Final = 5
"""Paths that a sentence names at most."""

Direction = Literal["undo", "redo"]


def restored(
    turn: int,
    direction: Direction,
    changes: Sequence[FileChange],
    *,
    stayed: Collection[str] = (),
    mixed: Collection[str] = (),
    unkept: Sequence[str] = (),
) -> str:
    """`Took back turn 4: 2 edits (src/a.py, b.py). /redo makes them again.`, and what else is to be known."""
    told = f"{_counted(changes)} ({names(change.path for change in changes)})"
    if direction == "undo":
        sentences = [f"Took back turn {turn}: {told}.", "/redo makes them again."]
    else:
        sentences = [f"Made the changes of turn {turn} again: {told}.", "/undo takes them back."]
    if stayed:
        sentences.append(f"{names(map(to_text, stayed))} stayed: there is more in it than was recorded.")
    if mixed and direction == "undo":
        sentences.append(
            f"Somebody else had changed {names(mixed)} during the turn; that is taken back, too."
        )
    if unkept:
        sentences.append(f"Not in it: {names(unkept)}.")
    return " ".join(sentences)


def names(paths: Iterable[str]) -> str:
    """The first of them, and how many more."""
    every = list(paths)
    more = f" and {len(every) - NAMED} more" if len(every) > NAMED else ""
    return ", ".join(map(brief, every[:NAMED])) + more


def _counted(changes: Iterable[FileChange]) -> str:
    counts: dict[str, int] = {}
    for change in changes:
        deed = _deed(change)
        counts[deed] = counts.get(deed, 0) + 1
    return ", ".join(f"{count} {deed}{'s' * (count > 1)}" for deed, count in counts.items())


def _deed(change: FileChange) -> str:
    if change.before is None:
        return "creation"
    if change.after is None:
        return "deletion"
    if (change.before.kind, change.before.content) == (change.after.kind, change.after.content):
        return "mode change"
    return "edit"
