"""What the shell and a runner say to each other on the socket of one call.

The shell sends `Request` as a line of JSON. The runner answers `TAKEN`, then `Printed` every now and then,
and in the end `Reply`, each a line of JSON with the bytes that it announces behind it. It closes its end
when nothing of the command runs any more. When the shell hangs up before, it ends everything first, and if
it has not replied yet, it then does.
"""

from typing import Final, Literal, TypedDict

TAKEN: Final = b"taken\n"
"""From here on the command may have begun."""


End = Literal["exited", "timed_out", "cancelled", "full_screen", "unwalled"]
"""How a command ended. `full_screen`: it was ended, since it wants a screen to draw on and keys.
`unwalled`: it was not started, since the kernel refused the wall; the output says why."""


class Request(TypedDict):
    """What is to be run."""

    shell: str
    """Path of bash or sh."""
    command: str
    folder: str
    """Where it starts."""
    environ: dict[str, str]
    """Variables beside those that all commands have."""
    timeout_s: float
    head: int
    """Bytes of output kept from its start."""
    tail: int
    """Bytes of output kept from its end."""
    file: str
    """Path of a file that is made for output of which these are not all; empty: none."""
    wall: "Wall | None"
    """What the kernel takes away from it; null: nothing."""


class Wall(TypedDict):
    """What a command may still do to files; it has no network at all."""

    landlock: int
    """ABI version of the kernel."""
    allowed: list[tuple[str, tuple[int, int, bool]]]
    """Path, then rights, kind and follow as of `landlock.Allowed`."""
    closed: str
    """A folder that can be written without the wall, to see that it stands."""


class Printed(TypedDict):
    """The command has printed something."""

    printed: int
    """Size of what follows: the last of its output so far."""


class Reply(TypedDict):
    """How it ended. The output's `head` bytes, then its `tail` bytes follow the line."""

    end: End
    full_screen: str
    """Name of the program that wants a screen; empty unless it was ended for that."""
    status: int
    """Exit status, or minus the number of the signal."""
    total: int
    """Bytes printed."""
    head: int
    tail: int
    file: str
    """Path of the file that was made for the output; empty: none was."""
    in_file: int
    """Bytes of output, from its start on, that are in the file."""
    background: list[tuple[int, str]]
    """Process id and name of what goes on, parents first; its output goes on in the file."""
