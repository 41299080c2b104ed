"""Why a delegation did not complete: the closed set of codes that a parent's model meets (pure)."""

from typing import Final

from ipc.messages import Problem

CODES: Final = frozenset(
    {
        *("cancelled", "timeout", "max_rounds", "output_limit", "context_length_exceeded"),
        *("worker_lost", "out_of_memory", "sandbox_unavailable", "internal_error"),
        *("provider_error", "malformed_output", "nested_delegation_forbidden"),
    }
)
_OF_THE_PROVIDER: Final = frozenset(
    {
        *("unauthorized", "forbidden", "model_not_found", "not_found", "rate_limited", "bad_request"),
        *("unreachable", "idle_timeout", "total_timeout", "connection_lost", "bad_stream", "server_error"),
    }
)
_NO_OUTPUT: Final = "empty_answer"


def closed(problem: Problem) -> Problem:
    """The problem under a code of `CODES`; another code it had goes into the message."""
    if problem.code in CODES:
        return problem
    return Problem(
        code=_code(problem.code),
        message=f"{problem.message} ({problem.code})",
        next_step=problem.next_step,
    )


def _code(code: str) -> str:
    if code in _OF_THE_PROVIDER:
        return "provider_error"
    return "malformed_output" if code == _NO_OUTPUT else "internal_error"
