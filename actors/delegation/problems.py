"""Why a delegation did not complete, in its parent's own words: a closed set of codes (pure).

Rules
-----
These words reach result, bar and log, so neither a worker nor a model server gets a word in: of a worker a
code counts, of a server its code and its status. What a server says may repeat the conversation; it is for
the parent's model alone. What a person could do about a problem is told where persons look: as a notice and
by `fido doctor`.
"""

from collections.abc import Mapping
from typing import Final

from actors.provider.interface import ProviderError
from ipc.messages import Problem, WorkerFault

_YOURSELF: Final = "Do the task yourself, or delegate it once more."
_NARROWER: Final = "Go on with what there is: do the rest yourself, or delegate a narrower task."

INSTEAD: Final[Mapping[str, str]] = {
    "cancelled": "Go on with what there is; delegate this again only when the user asks for it.",
    "timeout": _NARROWER,
    "max_rounds": _NARROWER,
    "output_limit": _NARROWER,
    "context_length_exceeded": _NARROWER,
    "out_of_memory": _NARROWER,
    "malformed_output": "Take what there is as it is, or do the task yourself.",
    "worker_lost": _YOURSELF,
    "internal_error": _YOURSELF,
    "provider_error": "Go on with what there is, and do the rest yourself.",
    "sandbox_unavailable": "Do the task yourself; no delegation works in this session.",
    "nested_delegation_forbidden": "Continue the assigned task without calling delegate.",
}
"""What the model that delegated can do now; none of it is for a person."""
CODES: Final = frozenset(INSTEAD)

CANCELLED: Final = Problem(code="cancelled", message="The delegation was cancelled.")
OUT_OF_TIME: Final = Problem(code="timeout", message="The delegation ran out of time.")
CUT_OFF: Final = Problem(
    code="output_limit", message="The answer of the subagent was cut off at the model's output limit."
)
REQUESTS_SPENT: Final = Problem(
    code="max_rounds", message="The subagent has had all its requests to the model."
)
SAID_NOTHING: Final = Problem(code="malformed_output", message="The subagent's model answered nothing.")
FAULTY: Final = Problem(
    code="internal_error", message="The delegation failed inside Fido; the log has where."
)
OF_THE_WORKER: Final[Mapping[WorkerFault, Problem]] = {
    "out_of_memory": Problem(
        code="out_of_memory", message="The subagent needed more memory than it may have."
    ),
    "internal_error": FAULTY,
}
_OF_THE_SERVER: Final[Mapping[str, Problem]] = {
    "context_length_exceeded": Problem(
        code="context_length_exceeded", message="The subagent's conversation is longer than the model takes."
    ),
    "idle_timeout": Problem(code="timeout", message="The subagent's model was silent for too long."),
    "total_timeout": Problem(code="timeout", message="One answer of the subagent's model took too long."),
}


def lost(why: str) -> Problem:
    """A worker that is no use any more; `why` is a sentence."""
    return Problem(code="worker_lost", message=why)


def too_many_rounds(rounds: int) -> Problem:
    counted = "1 round" if rounds == 1 else f"{rounds} rounds"
    return Problem(code="max_rounds", message=f"The subagent was stopped after {counted} of tool calls.")


def of_the_server(error: ProviderError) -> Problem:
    """What a model server did, without what it said."""
    status = f", status {error.status}" if error.status else ""
    message = f"The model server failed the subagent: {error.code}{status}."
    return _OF_THE_SERVER.get(error.code) or Problem(code="provider_error", message=message)
