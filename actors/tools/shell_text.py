"""What a command printed and how it ended, as text for a model."""

import re
import signal
from typing import Final

from actors.tools.shell_host import Reply

_ESCAPE: Final = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # OSC, DCS and other strings
    r"|\x1b[ -/]*[0-~]?"
    r"|[^\n]\x08"  # a letter struck over
)
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SIGNALS: Final = 64
"""Shells tell a signal as 128 plus its number, which goes up to this."""


def told(reply: Reply, output: bytes, timeout_ms: int) -> str:
    """The output, cut where it was, and a line in brackets on how it ended."""
    parts = [_output(reply, output).rstrip("\n"), *_notes(reply, timeout_ms)]
    return "\n".join(part for part in parts if part)


def plain(data: bytes) -> str:
    """Output as it would stand on a screen: no escape sequences, no overwritten or struck-over text."""
    text = _ESCAPE.sub("", data.decode("utf-8", "replace"))
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return _CONTROL.sub("", text)


def described(status: int) -> str:
    """An exit status in words; a negative one is a signal's number."""
    if status < 0:
        return f"killed by {_signal_name(-status)}"
    if 128 < status <= 128 + _SIGNALS:
        return f"exit status {status}: 128 + {_signal_name(status - 128)}"
    return f"exit status {status}"


def _output(reply: Reply, output: bytes) -> str:
    total = reply["total"]
    if total <= len(output):
        return plain(output)
    head, tail = _whole_lines(output[: reply["head"]], output[reply["head"] :])
    left = total - len(head) - len(tail)
    marker = (
        f"[... {left:,} of {total:,} bytes left out: filter the output, or send it to a file and read the "
        "part you need ...]"
    )
    return f"{plain(head)}\n{marker}\n{plain(tail)}"


def _whole_lines(head: bytes, tail: bytes) -> tuple[bytes, bytes]:
    """Cut at line ends; a line that is longer than half a part is cut itself."""
    end = head.rfind(b"\n")
    if end > len(head) // 2:
        head = head[:end]
    start = tail.find(b"\n") + 1
    if start < len(tail) // 2:
        tail = tail[start:]
    return head, tail


def _notes(reply: Reply, timeout_ms: int) -> list[str]:
    notes = [] if reply["total"] else ["[no output]"]
    if reply["end"] == "timed_out":
        return [
            *notes,
            f"[status timed_out: not done after {timeout_ms:,} ms, so it was killed with everything it had "
            "started. Raise timeout_ms, or start what is meant to stay with & and its output in a file.]",
        ]
    notes.append(f"[{described(reply['status'])}]")
    if reply["background"]:
        named = ", ".join(f"{pid} ({plain(name.encode())})" for pid, name in reply["background"][:10])
        more = len(reply["background"]) - 10
        notes.append(
            f"[still running in the background: {named}{f' and {more} more' if more > 0 else ''}. "
            "Stop one with kill; all end with Fido. What they print from now on is lost, unless it goes to a "
            "file.]"
        )
    return notes


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
