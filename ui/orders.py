"""What is to be done for the person: by another process, by the screen's own, or by the terminal."""

from dataclasses import dataclass
from typing import Literal

from ipc.messages import (
    CancelTurn,
    ClearPlan,
    CompactConversation,
    GetPlan,
    ListPaths,
    ListPrompts,
    ListSessions,
    OpenSession,
    RedoTurn,
    SettleAsk,
    StartTurn,
    StopJob,
    UndoTurn,
)

Act = Literal["leave", "suspend", "background", "redraw", "edit"]
"""What the process itself does: end the screen and its run (to come back), stop until `fg`, paint, hand the
draft to the person's editor."""
Send = (
    StartTurn
    | CancelTurn
    | SettleAsk
    | GetPlan
    | ClearPlan
    | CompactConversation
    | UndoTurn
    | RedoTurn
    | ListSessions
    | ListPaths
    | ListPrompts
    | OpenSession
    | StopJob
)


@dataclass(frozen=True, slots=True)
class Copy:
    """Hand a text to the terminal, for its clipboard."""

    text: str

    @property
    def size(self) -> str:
        """How much it is, for people."""
        lines = self.text.count("\n") + 1
        return f"{lines:,} lines" if lines > 1 else f"{len(self.text):,} characters"


Order = Send | Act | Copy
