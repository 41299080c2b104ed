"""What a person requires of the wall around subagents, and what follows where it is not whole (pure)."""

from typing import Final, NamedTuple

from actors.sandbox.level import Level
from actors.settings.tables import Sandbox
from ipc.messages import NoticeRaised, Problem

BARRED: Final = "sandbox_unavailable"
"""The code of a delegation that was refused because the wall is not whole."""
_NOT_HERE: Final = Problem(
    code=BARRED, message="Delegation is not available here: the wall around subagents is not whole."
)
_TURN_ON: Final = 'Set sandbox = "require", the default, to have it again.'
_TURN_ON_A_PART: Final = 'Set sandbox = "best-effort" to have what there is of it.'
_DO_WITHOUT: Final = "Or set sandbox to best-effort: a subagent is then held by what there is, and by policy."


class Standing(NamedTuple):
    """What holds for every delegation of a run."""

    whole: bool
    """Whether subagents work behind the whole wall."""
    barred: bool
    """Whether none may work at all."""
    sentence: str
    """What holds a subagent here, and what does not."""
    next_step: str = ""
    """What a person can do about it; empty when the wall is whole."""

    @property
    def notice(self) -> NoticeRaised:
        """What a person is told when a session is opened."""
        message = f"{self.sentence} {self.next_step}".strip()
        return NoticeRaised(level="info" if self.whole else "warning", message=message)

    @property
    def problem(self) -> Problem | None:
        """Why nothing can be delegated, if so; for a model, which has no say in what holds it."""
        return _NOT_HERE if self.barred else None


def standing(required: Sandbox, level: Level) -> Standing:
    """Judge what the kernel has by what is required."""
    held = f"{level.sentence[0].upper()}{level.sentence[1:]}"
    if required == "off":
        sentence = 'No wall holds a subagent: sandbox is "off", only its own tools keep it from writing.'
        return Standing(whole=False, barred=False, sentence=sentence, next_step=_turn_on(level))
    if level.complete:
        return Standing(whole=True, barred=False, sentence=f"{held}.")
    if required == "best-effort":
        sentence = f'{held}. Subagents work so, since sandbox is "best-effort".'
        return Standing(whole=False, barred=False, sentence=sentence, next_step=level.next_step)
    sentence = f"{held}. So no subagent works here."
    return Standing(whole=False, barred=True, sentence=sentence, next_step=f"{level.next_step} {_DO_WITHOUT}")


def _turn_on(level: Level) -> str:
    """The way to as much of the wall as this kernel can have."""
    if level.complete:
        return _TURN_ON
    has_a_part = level.landlock > 0 or level.seccomp
    return f"{_TURN_ON_A_PART} {level.next_step}" if has_a_part else level.next_step
