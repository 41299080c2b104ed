"""What `fido doctor` finds: one line each, and what to do where something does not work."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from ipc.terminal_text import clean_line

State = Literal["ok", "note", "bad"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    name: str
    state: State
    text: str
    next_step: str = ""

    def lines(self, redact: Callable[[str], str]) -> Iterator[str]:
        """The lines that a person reads; `redact` takes out what must not be shown."""
        mark = {"ok": "+", "note": "-", "bad": "!"}[self.state]
        yield f"{mark} {self.name:<12} {clean_line(redact(self.text), 400)}"
        if self.next_step:
            yield f"  {'':<12} -> {clean_line(redact(self.next_step), 400)}"
