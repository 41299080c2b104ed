"""What the turn loop needs from a model, whoever carries the request there."""

from collections.abc import AsyncGenerator
from typing import Protocol

from actors.conversation import Conversation
from ipc.messages import Problem, StreamEvent


class ProviderError(Exception):
    """A request failed for good: retries are spent, or would not help.

    `code` is one of `unauthorized`, `no_credit`, `forbidden`, `model_not_found`, `not_found`,
    `context_length_exceeded`, `rate_limited`, `bad_request`, `unreachable`, `idle_timeout`, `total_timeout`,
    `connection_lost`, `incomplete`, `content_filter`, `bad_stream`, `server_error`. No text of it ever holds
    a key.
    `window` is the number of tokens the model takes, where the server named it in a
    `context_length_exceeded`; else 0.
    `status` is the HTTP status that the server answered with; 0 when there was no such answer.
    `said` is what the server itself said, for learning from it; it may hold anything, and is shown to nobody.
    """

    def __init__(
        self, code: str, message: str, next_step: str = "", *, window: int = 0, status: int = 0
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.next_step = next_step
        self.window = window
        self.status = status
        self.said = ""

    def problem(self) -> Problem:
        return Problem(code=self.code, message=self.message, next_step=self.next_step)


class Provider(Protocol):
    """Sends one conversation, yields the answer as it comes.

    The last event of a stream that ends well is a `ModelAnswer`. Raises `ProviderError`. Cancelling the
    consuming task (or `aclose` on the iterator) aborts the request at once.
    """

    def stream(self, conversation: Conversation) -> AsyncGenerator[StreamEvent, None]: ...
