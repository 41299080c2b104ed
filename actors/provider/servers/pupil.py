"""What a session has learnt of its server, and the requests that it learns by."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from actors.conversation import Conversation
from actors.provider.interface import ProviderError
from actors.provider.servers.learning import Lesson, lessons, lessons_of_room
from actors.provider.wires.wire import Quirks, Wire

TRIES: Final = 6
"""How often one request is sent in another form at most."""
_OF_THE_FORM: Final = frozenset({"bad_request", "not_found", "server_error"})
"""Codes of errors that may be about the form of a request. Some servers call a template's refusal a fault."""
_TOO_LONG: Final = "context_length_exceeded"


class Pupil:
    """Keeps the quirks of a session's server.

    What helped once is kept. What the server refused is never tried again; an attempt that ended otherwise,
    by a cancel or a broken connection, proves nothing.
    """

    def __init__(self, quirks: Quirks, tell: Callable[[str], None]) -> None:
        """`tell` takes what was learnt, once: `takes no stream_options; ...`."""
        self.quirks = quirks
        self.refused: set[tuple[str, Any]] = set()
        """Names and values of quirks that were tried and did not help."""
        self._tell = tell

    def begin(self, wire: Wire, conversation: Conversation) -> "Attempt":
        """Make the request for a conversation."""
        return Attempt(self, wire, conversation)

    def keep(self, lesson: Lesson) -> None:
        """Ask the server so from now on."""
        quirks = lesson.on(self.quirks)
        if quirks != self.quirks:
            self.quirks = quirks
            self._tell(lesson.told)


class Attempt:
    """One request, in the forms that are tried until the server takes it."""

    def __init__(self, pupil: Pupil, wire: Wire, conversation: Conversation) -> None:
        self.quirks = pupil.quirks
        self.body = wire.body(conversation, self.quirks)
        self._begun_with = self.quirks
        self._pupil = pupil
        self._wire = wire
        self._conversation = conversation
        self._tried: list[Lesson] = []

    def learn(self, error: ProviderError) -> bool:
        """Take a refusal; True when the request has another form now, which was not tried before."""
        found = list(self._lessons(self.quirks, error))
        self._give_up({lesson.quirk for lesson in (*found, *self._lessons(self._begun_with, error))})
        for lesson in found if len(self._tried) < TRIES else ():
            quirks = lesson.on(self.quirks)
            if not self._is_new(lesson) or (body := self._wire.body(self._conversation, quirks)) == self.body:
                continue
            self.quirks, self.body = quirks, body
            self._tried.append(lesson)
            return True
        return False

    def passed(self) -> None:
        """The server takes it: what was tried last of each quirk is how it is asked from now on."""
        for lesson in {lesson.quirk: lesson for lesson in self._tried}.values():
            self._pupil.keep(lesson)
        self._tried.clear()

    def _lessons(self, quirks: Quirks, error: ProviderError) -> Iterator[Lesson]:
        if error.code == _TOO_LONG:
            return lessons_of_room(quirks, error.said)
        return lessons(quirks, error.said, error.status) if error.code in _OF_THE_FORM else iter(())

    def _give_up(self, blamed: set[str]) -> None:
        """What the server still complains of although it was given its other form is no help."""
        for lesson in self._tried:
            if lesson.quirk in blamed:
                self._pupil.refused.add((lesson.quirk, lesson.value))

    def _is_new(self, lesson: Lesson) -> bool:
        return (lesson.quirk, lesson.value) not in self._pupil.refused and lesson.value != getattr(
            self._begun_with, lesson.quirk
        )
