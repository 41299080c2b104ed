"""Why a delegation did not complete, in its parent's own words: a closed set of codes (pure).

Rules
-----
These words reach result, bar and log, so neither a worker nor a model server gets a word in: of a worker a
code counts, of a server its code and its status. What a server says may repeat the conversation; it is for
the parent's model alone.
"""

from collections.abc import Mapping
from typing import Final

from actors.provider.interface import ProviderError
from ipc.messages import Problem, WorkerFault

CODES: Final = frozenset(
    {
        *("cancelled", "timeout", "max_rounds", "output_limit", "context_length_exceeded"),
        *("worker_lost", "out_of_memory", "sandbox_unavailable", "internal_error"),
        *("provider_error", "malformed_output", "nested_delegation_forbidden"),
    }
)
_AGAIN: Final = "Delegate it again, or look yourself."
_LESS: Final = "Delegate less at once."

CANCELLED: Final = Problem(code="cancelled", message="The delegation was cancelled.")
OUT_OF_TIME: Final = Problem(
    code="timeout",
    message="The delegation ran out of time.",
    next_step="Delegate less at once, or give it a larger timeout_ms.",
)
CUT_OFF: Final = Problem(
    code="output_limit", message="The answer of the subagent was cut off at the model's output limit."
)
SAID_NOTHING: Final = Problem(code="malformed_output", message="The subagent's model answered nothing.")
FAULTY: Final = Problem(
    code="internal_error", message="The delegation failed inside Fido; the log has where.", next_step=_AGAIN
)
OF_THE_WORKER: Final[Mapping[WorkerFault, Problem]] = {
    "out_of_memory": Problem(
        code="out_of_memory", message="The subagent needed more memory than it may have.", next_step=_LESS
    ),
    "internal_error": FAULTY,
}


def lost(why: str) -> Problem:
    """A worker that is no use any more; `why` is a sentence."""
    return Problem(code="worker_lost", message=why, next_step=_AGAIN)


def too_many_rounds(rounds: int) -> Problem:
    message = f"The subagent was stopped after {rounds} rounds of tool calls."
    return Problem(code="max_rounds", message=message, next_step=_LESS)


def of_the_server(error: ProviderError) -> Problem:
    """What a model server did, without what it said."""
    if error.code == "context_length_exceeded":
        message = "The subagent's conversation is longer than the model takes."
        return Problem(code=error.code, message=message, next_step=_LESS)
    status = f", status {error.status}" if error.status else ""
    return Problem(
        code="provider_error", message=f"The model server failed the subagent ({error.code}{status})."
    )
