"""The undo log: which turns' file changes stand, and what was taken back; a fold of the events (pure)."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from actors.session.events import (
    AnyEvent,
    FileChange,
    FilesChanged,
    FilesChanging,
    FilesRestored,
    FilesRestoring,
    FileState,
    PromptTaken,
    RestoreTakenBack,
)


@dataclass(slots=True)
class TurnChanges:
    """What one turn did to files, its calls merged."""

    turn: int
    """Its number, which never changes."""
    states: dict[str, tuple[FileState | None, FileState | None]] = field(default_factory=dict)
    """Path to what was there before the turn's first change and behind its last one."""
    mixed: set[str] = field(default_factory=set)
    """Paths that somebody else changed between two of its calls."""
    traces: list[str] = field(default_factory=list)
    """What it left where nothing is kept, as builds and tests do."""
    unkept: list[str] = field(default_factory=list)
    """What it may have changed beyond `states`."""

    def add(self, event: FilesChanged) -> None:
        for change in event.changes:
            before, last = self.states.get(change.path, (change.before, change.before))
            if last != change.before:
                self.mixed.add(change.path)
            self.states[change.path] = before, change.after
        self.unkept += [each for each in event.unkept if each not in self.unkept]
        self.traces += [each for each in event.traces if each not in self.traces]

    def changes(self) -> list[FileChange]:
        """Every path that the turn left otherwise than it found it."""
        return [
            FileChange(path=path, before=before, after=after)
            for path, (before, after) in self.states.items()
            if before != after
        ]


class UndoLog:
    """A fold: give it every event of a session, in order."""

    def __init__(self, events: Iterable[AnyEvent] = ()) -> None:
        self.turn = 0
        """The running turn, or the last one."""
        self.dangling: dict[str, FilesChanging] = {}
        """Call to what it was about to change, where its end is not recorded."""
        self.interrupted: tuple[FilesRestoring, ...] = ()
        """Restores that did not come to their end, until a prompt tells the model of them."""
        self._standing: list[TurnChanges] = []
        self._undone: list[TurnChanges] = []
        for event in events:
            self.apply(event)

    def apply(self, event: AnyEvent) -> None:
        match event:
            case PromptTaken(turn=turn):
                self.turn = turn
                self.interrupted = ()
            case FilesRestoring():
                self.interrupted += (event,)
            case RestoreTakenBack():  # an earlier one has left files half-way still
                self.interrupted = self.interrupted[:-1]
            case FilesChanging(call_id=call_id):
                self.dangling[call_id] = event
            case FilesChanged():
                self.dangling.pop(event.call_id, None)
                self._changed(event)
            case FilesRestored(turn=turn):
                self.interrupted = tuple(each for each in self.interrupted if each.turn != turn)
                self._restored(event)
            case _:
                pass

    @property
    def newest(self) -> int:
        """The newest turn that may have changed files and stands; 0 when there is none."""
        standing = (turn.turn for turn in reversed(self._standing) if turn.changes() or turn.unkept)
        return next(standing, 0)

    def to_undo(self) -> TurnChanges | None:
        """The newest turn with changes that stand."""
        return next((turn for turn in reversed(self._standing) if turn.changes()), None)

    def to_redo(self) -> TurnChanges | None:
        """The turn that was taken back last."""
        return self._undone[-1] if self._undone else None

    def unkept_since(self, turn: int) -> list[str]:
        """What turns from this one on may have changed that was not kept, each once."""
        since = (changes for changes in self._standing if changes.turn >= turn)
        return list(dict.fromkeys(each for changes in since for each in (*changes.unkept, *changes.traces)))

    def _changed(self, event: FilesChanged) -> None:
        if not (event.changes or event.unkept or event.traces):
            return
        if event.changes:
            self._undone.clear()
        if not self._standing or self._standing[-1].turn != event.turn:
            self._standing.append(TurnChanges(event.turn))
        self._standing[-1].add(event)

    def _restored(self, event: FilesRestored) -> None:
        if event.direction == "undo":
            _move(event.turn, self._standing, self._undone)
        else:
            _move(event.turn, self._undone, self._standing)


def _move(turn: int, source: list[TurnChanges], target: list[TurnChanges]) -> None:
    for changes in source:
        if changes.turn == turn:
            source.remove(changes)
            target.append(changes)
            return
