"""What may happen next to a process, a turn and a delegation: tables, looked up by their owners.

Rules
-----
An actor has at most one process, which may end at any moment and comes back only while nobody has asked it
to stop. The parent does one piece of work at a time, a turn or what a person asked for between turns, and
each ends exactly once. A delegation is accepted by one worker, ends exactly once, and whatever arrives
after its end changes nothing. Nothing is asked of a worker at the end: a cancel, the deadline and a lost
worker end a delegation at once, wherever it is.
"""

from collections.abc import Mapping
from typing import Final, Literal, TypeVar

ProcessState = Literal["down", "running", "stopping"]
ProcessEvent = Literal["start", "stop", "exit"]
TurnState = Literal["idle", "running", "stopping"]
TurnEvent = Literal["begin", "cancel", "end"]
DelegationState = Literal["waiting", "starting", "running", "handing_in", "ended"]
DelegationEvent = Literal[
    "worker_ready", "accepted", "refused", "hand_in", "finish", "cancel", "deadline", "worker_lost"
]

S = TypeVar("S", bound=str)
E = TypeVar("E", bound=str)
Table = Mapping[tuple[S, E], S]

PROCESS: Final[Table[ProcessState, ProcessEvent]] = {
    ("down", "start"): "running",
    ("down", "stop"): "down",
    ("running", "exit"): "down",
    ("running", "stop"): "stopping",
    ("stopping", "stop"): "stopping",
    ("stopping", "exit"): "down",
}

TURN: Final[Table[TurnState, TurnEvent]] = {
    ("idle", "begin"): "running",
    ("idle", "cancel"): "idle",
    ("running", "cancel"): "stopping",
    ("running", "end"): "idle",
    ("stopping", "cancel"): "stopping",
    ("stopping", "end"): "idle",
}

DELEGATION: Final[Table[DelegationState, DelegationEvent]] = {
    ("waiting", "worker_ready"): "starting",
    ("waiting", "refused"): "ended",
    ("waiting", "cancel"): "ended",
    ("waiting", "deadline"): "ended",
    ("waiting", "worker_lost"): "ended",
    ("starting", "accepted"): "running",
    ("starting", "refused"): "ended",
    ("starting", "hand_in"): "handing_in",
    ("starting", "finish"): "ended",
    ("starting", "cancel"): "ended",
    ("starting", "deadline"): "ended",
    ("starting", "worker_lost"): "ended",
    ("running", "hand_in"): "handing_in",
    ("running", "finish"): "ended",
    ("running", "cancel"): "ended",
    ("running", "deadline"): "ended",
    ("running", "worker_lost"): "ended",
    ("handing_in", "accepted"): "handing_in",
    ("handing_in", "refused"): "ended",
    ("handing_in", "finish"): "ended",
    ("handing_in", "cancel"): "ended",
    ("handing_in", "deadline"): "ended",
    ("handing_in", "worker_lost"): "ended",
    ("ended", "accepted"): "ended",
    ("ended", "refused"): "ended",
    ("ended", "finish"): "ended",
    ("ended", "cancel"): "ended",
    ("ended", "deadline"): "ended",
    ("ended", "worker_lost"): "ended",
}


class IllegalTransitionError(Exception):
    """An event that the table does not know in this state: a fault of ours."""


def advance(table: Table[S, E], state: S, event: E) -> S:
    """Look up the next state. Raises `IllegalTransitionError`."""
    try:
        return table[state, event]
    except KeyError:
        raise IllegalTransitionError(f"{event!r} can't happen while {state!r}") from None
