"""What a session has learnt of its server, and the requests that it learns by."""

from collections.abc import Callable

from actors.conversation import Conversation
from actors.provider.interface import ProviderError
from actors.provider.servers.learning import lessons
from actors.provider.wires.wire import Quirks, Wire

TRIES = 6
"""How often one request is sent in another form at most."""
_OF_THE_FORM = frozenset({"bad_request", "not_found", "server_error"})
"""Codes of errors that may be about the form of a request. Some servers call a template's refusal a fault."""


class Pupil:
    """Keeps the quirks of a session's server; what helped once is kept, what did not is never tried again."""

    def __init__(self, quirks: Quirks, tell: Callable[[str], None]) -> None:
        """`tell` takes what was learnt, once: `takes no stream_options; ...`."""
        self.quirks = quirks
        self.tried = {quirks}
        self.tell = tell

    def begin(self, wire: Wire, conversation: Conversation) -> "Attempt":
        """Make the request for a conversation."""
        return Attempt(self, wire, conversation)


class Attempt:
    """One request, in the forms that are tried until the server takes it."""

    def __init__(self, pupil: Pupil, wire: Wire, conversation: Conversation) -> None:
        self.quirks = pupil.quirks
        self.body = wire.body(conversation, self.quirks)
        self._pupil = pupil
        self._wire = wire
        self._conversation = conversation
        self._told: list[str] = []

    def learn(self, error: ProviderError) -> bool:
        """Take a refusal; True when the request has another form now, which was not tried before."""
        if error.code not in _OF_THE_FORM or len(self._told) >= TRIES:
            return False
        for lesson in lessons(self.quirks, error.said):
            if lesson.quirks in self._pupil.tried:
                continue
            body = self._wire.body(self._conversation, lesson.quirks)
            if body != self.body:
                self._pupil.tried.add(lesson.quirks)
                self.quirks, self.body = lesson.quirks, body
                self._told.append(lesson.told)
                return True
        return False

    def passed(self) -> None:
        """The server takes it: this is how it is asked from now on."""
        self._pupil.quirks = self.quirks
        for told in self._told:
            self._pupil.tell(told)
        self._told.clear()
