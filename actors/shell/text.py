"""What a command printed and how it ended, as text for a model."""

import re
import signal
from typing import Final, assert_never

from actors.shell.wire import Reply

_ESCAPE: Final = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # OSC, DCS and other strings
    r"|\x1b[ -/]*[0-~]?"
    r"|[^\n]\x08"  # a letter struck over
)
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NOISE: Final = re.compile(r"[\x00-\x06\x0e-\x1a\x1c-\x1f\ufffd]")
_NOISY: Final = 0.2
_LEAST_NOISE: Final = 8
"""Part of a line, and characters of it, past which it is no text; a word in another encoding has fewer."""
_SIGNALS: Final = 64
"""Shells tell a signal as 128 plus its number, which goes up to this."""
_NO_TERMINAL: Final = re.compile(
    r"/dev/tty|terminal is required|not (to |from )?a (tty|terminal)|no tty present"
    r"|Inappropriate ioctl for device"
    r"|terminal prompts disabled|could not read (Username|Password|Passphrase)|Host key verification failed"
    r"|Permission denied \([a-z,-]*publickey|EOF when reading a line|EOFError",
    re.IGNORECASE,
)
_WALLED: Final = re.compile(
    r"Permission denied|Operation not permitted|Read-only|EACCES|EPERM|resolve|network|socket|connect"
    r"|Errno (1|13)\b",
    re.IGNORECASE,
)
_NAMED: Final = 10
"""Background processes that are named one by one."""


def told(reply: Reply, output: bytes, timeout_ms: int, *, walled: bool = False) -> str:
    """The output, cut where it was, and a line in brackets on how it ended.

    `walled` tells that the kernel kept the command in.
    """
    kept = f"{reply['file']}, which read_file and ripgrep take" if reply["file"] else ""
    text = _output(reply, output, kept).rstrip("\n")
    notes = [*_end(reply, timeout_ms), *_hints(reply, text, walled), *_background(reply, kept, walled)]
    return "\n".join(part for part in (text, *notes) if part)


def plain(data: bytes) -> str:
    """Output as it would stand on a screen: no escape sequences, no overwritten or struck-over text.

    What is no text at all is counted, not shown: a model would pay for each byte of it.
    """
    text = _without_noise(data.decode("utf-8", "replace"))
    text = _ESCAPE.sub("", text)
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return _CONTROL.sub("", text)


def last_lines(data: bytes) -> str:
    """The same, of lines that a running command has just printed."""
    return plain(data).rstrip("\n")


def described(status: int) -> str:
    """An exit status in words; a negative one is a signal's number."""
    if status < 0:
        return f"killed by {_signal_name(-status)}"
    if 128 < status <= 128 + _SIGNALS:
        return f"exit status {status}: 128 + {_signal_name(status - 128)}"
    return f"exit status {status}"


def _without_noise(text: str) -> str:
    """Lines that are no text, in one line that counts them."""
    if not _NOISE.search(text):
        return text
    lines: list[str] = []
    noise = 0
    for line in text.split("\n"):
        if len(_NOISE.findall(line)) > max(_LEAST_NOISE, _NOISY * len(line)):
            noise += len(line) + 1
            continue
        if noise:
            lines.append(f"[some {noise:,} bytes that are no text]")
            noise = 0
        lines.append(line)
    if noise:
        lines.append(f"[some {noise:,} bytes that are no text]")
    return "\n".join(lines)


def _output(reply: Reply, output: bytes, kept: str) -> str:
    total = reply["total"]
    if total <= len(output):
        return plain(output)
    head, tail = _whole_lines(output[: reply["head"]], output[reply["head"] :])
    left = total - len(head) - len(tail)
    marker = f"[... {left:,} of {total:,} bytes left out: {_where(reply, kept)} ...]"
    return f"{plain(head)}\n{marker}\n{plain(tail)}"


def _where(reply: Reply, kept: str) -> str:
    """Where the rest can be read."""
    if not kept:
        return "filter the output, or send it to a file and read the part you need"
    if reply["in_file"] < reply["total"]:
        return f"the first {reply['in_file']:,} are in {kept}"
    return f"all are in {kept}"


def _whole_lines(head: bytes, tail: bytes) -> tuple[bytes, bytes]:
    """Cut at line ends; a line that is longer than half a part is cut itself."""
    end = head.rfind(b"\n")
    if end > len(head) // 2:
        head = head[:end]
    start = tail.find(b"\n") + 1
    if start < len(tail) // 2:
        tail = tail[start:]
    return head, tail


def _end(reply: Reply, timeout_ms: int) -> list[str]:
    notes = [] if reply["total"] else ["[no output]"]
    match reply["end"]:
        case "exited" | "unwalled":
            how = described(reply["status"])
        case "timed_out":
            how = (
                f"status timed_out: not done after {timeout_ms:,} ms, so it was killed with all it had "
                "started. Raise timeout_ms, or start what is meant to stay with & and its output in a file."
            )
        case "cancelled":
            how = (
                "status cancelled: stopped before its end, with everything it had started. "
                "What it had changed by then is changed."
            )
        case "full_screen":
            how = (
                f"status full_screen: {reply['full_screen']} draws on a screen and waits for keys, and no "
                "command has either, so it was ended with all else. Use patch to edit, read_file to read, "
                "and what prints and ends by itself, such as the command that watch repeats."
            )
        case other:
            assert_never(other)
    return [*notes, f"[{how}]"]


def _hints(reply: Reply, text: str, walled: bool) -> list[str]:
    """Why it may have failed, where that lies in how commands are run."""
    if reply["status"] == 0 or reply["end"] in ("cancelled", "full_screen"):
        return []
    hints = []
    if _NO_TERMINAL.search(text):
        hints.append(
            "[No command has a terminal or anything to read: use the non-interactive form, such as -y, "
            "--no-edit, --batch, or arguments in place of answers; what only the user can type, they run.]"
        )
    if walled and _WALLED.search(text):
        hints.append(
            "[Commands run walled in: they write in the workspace and $TMPDIR only, and have no network. "
            "If the task needs more, ask the user, who can turn shell.sandbox off.]"
        )
    return hints


def _background(reply: Reply, kept: str, walled: bool) -> list[str]:
    if not reply["background"]:
        return []
    named = ", ".join(f"{pid} ({plain(name.encode())})" for pid, name in reply["background"][:_NAMED])
    more = len(reply["background"]) - _NAMED
    on = f"goes to {kept}" if kept else "is lost, unless it goes to a file"
    ends = "the user stops it with /jobs, or this session ends"
    if not walled:  # the kernel lets no signal through from one walled command to another
        ends = f"you kill it, {ends}"
    return [
        f"[still running in the background: {named}{f' and {more} more' if more > 0 else ''}. "
        f"It runs on until {ends}. What it prints from now on {on}.]"
    ]


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
