"""A long conversation as facts: what lies behind a person who has worked all day, and what streams now."""

from collections.abc import Iterator
from itertools import cycle
from typing import Final

from ipc.messages import AnyFact, MessageDelta, ToolFinished, ToolStarted, TurnStarted
from tests.fakes.facts import finished

ANSWER: Final = """## What I found

The loader reads **every** file twice: once to *count* its lines, and once to cut it into `4096` bytes.
The second pass is the one that matters, and it could do the work of the first.

1. `read_pieces` opens the file again
2. the cache is keyed by name, not by content
   - so a renamed file is read again
   - and a changed one may be served stale

```python
def read_pieces(path: str, size: int = 4096) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while piece := file.read(size):
            yield piece
```

| file | lines | read |
|------|------:|------|
| `app.py` | 212 | twice |
| `pieces.py` | 48 | once |

> Nothing in the tests would notice a change here; see [the notes](https://example.org/notes).

"""
LINES: Final = ANSWER.count("\n") + 4
"""Lines that a turn of the past takes in the transcript, at least."""


def past(lines: int) -> Iterator[AnyFact]:
    """Turns that are over, with at least so many lines in all."""
    for turn in range(1, lines // LINES + 2):
        call = f"call-{turn}"
        yield TurnStarted(turn=turn, prompt=f"Question {turn}")
        yield ToolStarted(call_id=call, name="read_file", summary=f"src/part_{turn}.py")
        yield ToolFinished(call_id=call, name="read_file", status="ok", duration_ms=turn % 900, display="")
        yield MessageDelta(turn=turn, kind="text", text=ANSWER)
        yield finished(turn, ANSWER)


def deltas(turn: int, size: int = 4) -> Iterator[MessageDelta]:
    """An answer without an end, in pieces of `size` characters, as models send it."""
    pieces = [ANSWER[at : at + size] for at in range(0, len(ANSWER), size)]
    return (MessageDelta(turn=turn, kind="text", text=piece) for piece in cycle(pieces))
