"""What the model is told behind a prompt, since it could not see it otherwise (pure)."""

from collections.abc import Iterable, Sequence
from typing import Final

from actors.session.events import FilesRestored, FilesRestoring
from ipc.messages import Plan

_PATHS_TOLD: Final = 20


def told_with(prompt: str, asides: Iterable[str]) -> str:
    """The prompt as the model gets it: the person's words first, each aside marked as Fido's own."""
    return prompt + "".join(f"\n\n[Fido: {aside}]" for aside in asides)


def files_restored(event: FilesRestored) -> str:
    """Say that files are no longer as the model left them."""
    shown = _some(event.paths)
    if event.direction == "undo":
        done = f"the user took back the file changes of turn {event.turn}"
        return f"{done}: {shown}. Read before you rely on them."
    return f"the user made the file changes of turn {event.turn} again: {shown}."


def restore_interrupted(event: FilesRestoring) -> str:
    """Say that files may be half-way between two states."""
    what = "taking back" if event.direction == "undo" else "making again"
    return (
        f"{what} the file changes of turn {event.turn} was interrupted; each of these may be as it was "
        f"before that turn, or behind it: {_some(event.paths)}. Read before you rely on them."
    )


def stale_step(plan: Plan) -> str:
    """Remind of a step that a turn left in progress; empty when none is."""
    running = next((item for item in plan.items if item.status == "in_progress"), None)
    if running is None:
        return ""
    return (
        f'the plan step "{running.id}" has been in_progress since an earlier turn; '
        "update the plan where that is no longer true."
    )


def unfinished(plan: Plan) -> str:
    """Tell the person, at the end of a turn, which step is left in progress; empty when none is."""
    running = next((item for item in plan.items if item.status == "in_progress"), None)
    if running is None:
        return ""
    pending = sum(item.status in ("pending", "blocked") for item in plan.items)
    rest = f", and {pending} more not begun" if pending else ""
    return f'The plan is unfinished: "{running.title}" is still in progress{rest}.'


def _some(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _PATHS_TOLD} more" if len(paths) > _PATHS_TOLD else ""
    return ", ".join(paths[:_PATHS_TOLD]) + more
