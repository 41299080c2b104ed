"""What a subagent is told after its task: the two prompts for its last message, and no other (pure)."""

from typing import Final

_LAST: Final = (
    "Send your final message now: nothing but the one JSON object of the form given with your task, with all "
    "that you have found, also in earlier messages. Call no tool."
)
REPAIR: Final = f"Your last message was not in the required form. {_LAST}"
HAND_IN: Final = (
    "Your work ends here: its time or its rounds are used up, and no tool runs any more. "
    f"{_LAST} Its status is partial, unless the task is answered; what is open belongs in uncertainties."
)
PROMPTS: Final = frozenset({REPAIR, HAND_IN})
