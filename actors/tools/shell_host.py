"""The process that commands are started from; a fork of it, the runner, watches one command to its end.

    parent ── host ─┬─ runner ── bash -c COMMAND ── whatever that starts
                    └─ runner ...

The host has nothing in it but imports, and keeps one forked runner waiting for the next call. Both adopt
orphans: nothing that a command starts gets away from them, and they end with the parent.

One call is one socket, passed with a single byte to the runner that waits. On it the runner reads `Request`
as a line of JSON, answers `TAKEN`, and in the end with `Reply` as a line of JSON and the kept output behind
it. When the caller hangs up first, everything the command started is killed before the runner closes its end.
"""

import contextlib
import fcntl
import json
import os
import select
import signal
import socket
import sys
import time
from typing import Final, Literal, NoReturn, TypedDict

from actors import process_tree
from actors.tools.clip import Clip
from ipc import kernel

DRAIN_S: Final = 0.2
"""How long output is still read once the command has ended and something else holds its pipe."""
GRACE_S: Final = 0.15
"""Between SIGTERM and SIGKILL."""
NOT_STARTED: Final = 127
"""Exit status of a command that the system refused to start, as shells give it."""
TAKEN: Final = b"taken\n"
"""From here on the command may have begun."""

_PIPE_BYTES: Final = 1 << 20
_CHUNK: Final = 1 << 16
_BURST: Final = 2 * _PIPE_BYTES // _CHUNK
_LONGEST_POLL_MS: Final = 3_600_000


class Request(TypedDict):
    """What is to be run."""

    shell: str
    """Path of bash or sh."""
    command: str
    folder: str
    """Where it starts."""
    timeout_s: float
    head: int
    """Bytes of output kept from its start."""
    tail: int
    """Bytes of output kept from its end."""


class Reply(TypedDict):
    """How it ended. The output's `head` bytes, then its `tail` bytes follow the line."""

    end: Literal["exited", "timed_out"]
    status: int
    """Exit status, or minus the number of the signal."""
    total: int
    """Bytes printed."""
    head: int
    tail: int
    background: list[tuple[int, str]]
    """Process id and name of what goes on."""


class Signals:
    """Signals as bytes on a pipe, for a process that waits in `poll`."""

    def __init__(self, *numbers: signal.Signals) -> None:
        self.fd, write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in numbers:
            signal.signal(number, lambda *_: None)

    def take(self) -> bytes:
        """The numbers of the signals that came since the last look."""
        with contextlib.suppress(BlockingIOError):
            return os.read(self.fd, 4096)
        return b""


class Host:
    """Keeps one runner waiting for the next call, and ends what a lost runner leaves."""

    def __init__(self, calls: socket.socket) -> None:
        self._calls = calls
        self._signals = Signals(signal.SIGCHLD, signal.SIGTERM)
        self._taken, self._tell_taken = os.pipe2(os.O_CLOEXEC)
        self._runners: set[int] = set()
        self._spare = 0

    def run(self) -> None:
        """Serve until the parent hangs up or a signal says stop."""
        poll = select.poll()
        poll.register(self._calls, 0)  # only its end is of interest here
        for fd in (self._signals.fd, self._taken):
            poll.register(fd, select.POLLIN)
        while True:
            if self._spare not in self._runners:
                self._fork_spare()
            for fd, _ in poll.poll():
                if fd == self._taken:
                    os.read(fd, 1)
                    self._spare = 0
                elif fd != self._signals.fd or signal.SIGTERM in self._signals.take():
                    return
            self._sweep()

    def _sweep(self) -> None:
        """Reap, and kill what came to us because its runner is gone."""
        self._runners.difference_update(process_tree.reap().statuses)
        strays = [pid for pid in process_tree.children(os.getpid()) if pid not in self._runners]
        for pid in strays:
            process_tree.kill([pid, *process_tree.descendants(pid)])

    def _fork_spare(self) -> None:
        host = os.getpid()
        self._spare = os.fork()
        if self._spare == 0:
            _be_runner(host, self._calls, self._tell_taken)
        self._runners.add(self._spare)


class Watch:
    """One command from its start to the end of the last process it left."""

    def __init__(self, request: Request, signals: Signals, call: socket.socket) -> None:
        self._request = request
        self._signals = signals
        self._call = call
        self._clip = Clip(request["head"], request["tail"])
        self._status: int | None = None
        self._output, write = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._output, False)
        self._output_open = True
        with contextlib.suppress(OSError):  # the user's share of pipe memory may be spent
            fcntl.fcntl(self._output, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        try:
            self._command = _start(request, write)
        except OSError as error:
            self._command, self._status = 0, NOT_STARTED
            os.write(write, f"The command was not started: {error.strerror}.\n".encode())
        os.close(write)
        self._poll = select.poll()
        for fd in (self._output, signals.fd, call.fileno()):
            self._poll.register(fd, select.POLLIN)

    def until_end(self) -> Reply | None:
        """Read until the command ends, its time is up, or the caller hangs up: then there is no reply."""
        deadline = time.monotonic() + self._request["timeout_s"]
        while self._output_open or self._status is None:
            left_ms = 1000 * (deadline - time.monotonic())
            if left_ms <= 0:
                break
            for fd, _ in self._poll.poll(min(left_ms + 1, _LONGEST_POLL_MS)):
                if fd == self._output:
                    self._read()
                elif fd == self._call.fileno() or signal.SIGTERM in self._signals.take():
                    process_tree.end_all(GRACE_S)
                    return None
                elif self._status is None and self._has_ended():
                    deadline = min(deadline, time.monotonic() + DRAIN_S)
        return self._end()

    def until_alone(self) -> None:
        """Stay with what goes on in the background: read and forget its output, end it when told."""
        while process_tree.reap().left:
            for fd, _ in self._poll.poll():
                if fd == self._output:
                    self._read(keep=False)
                elif signal.SIGTERM in self._signals.take():
                    process_tree.end_all()

    def _end(self) -> Reply:
        if self._status is None:
            ended = process_tree.end_all(GRACE_S)
            self._read()
            return self._reply("timed_out", ended.statuses.get(self._command, -signal.SIGKILL))
        return self._reply("exited", self._status)

    def _reply(self, end: Literal["exited", "timed_out"], status: int) -> Reply:
        clip = self._clip
        return Reply(
            end=end,
            status=status,
            total=clip.total,
            head=len(clip.head),
            tail=len(clip.tail),
            background=[(pid, _name_of(pid)) for pid in process_tree.descendants(os.getpid())],
        )

    def output(self) -> bytes:
        """What was kept: the head, then the tail."""
        return self._clip.head + self._clip.tail

    def hang_up(self) -> None:
        """Let go of the caller."""
        self._poll.unregister(self._call)
        self._call.close()

    def _read(self, *, keep: bool = True) -> None:
        """Take what is in the pipe, in one go: a poll for each piece would cost as much as the piece."""
        for _ in range(_BURST if self._output_open else 0):
            try:
                chunk = os.read(self._output, _CHUNK)
            except BlockingIOError:
                return
            if not chunk:
                self._output_open = False
                self._poll.unregister(self._output)
                return
            if keep:
                self._clip.add(chunk)

    def _has_ended(self) -> bool:
        self._status = process_tree.reap().statuses.get(self._command)
        return self._status is not None


def _be_runner(host: int, calls: socket.socket, tell_taken: int) -> NoReturn:
    """Live a runner's life, in the fork."""
    status = 1
    try:
        signals = Signals(signal.SIGCHLD, signal.SIGTERM)
        kernel.die_with_parent(host, signal.SIGTERM)
        kernel.adopt_orphans()
        call = _next_call(calls, signals)
        os.write(tell_taken, b"!")
        if call is not None:
            _serve(call, signals)
        status = 0
    except Exception:  # noqa: BLE001 - this is the process's main
        sys.excepthook(*sys.exc_info())
    finally:
        process_tree.end_all()
        os._exit(status)


def _next_call(calls: socket.socket, signals: Signals) -> socket.socket | None:
    """Wait for a call; none comes any more when the parent has hung up or a signal says stop."""
    poll = select.poll()
    poll.register(calls, select.POLLIN)
    poll.register(signals.fd, select.POLLIN)
    ready = {fd for fd, _ in poll.poll()}
    if signal.SIGTERM in signals.take() or calls.fileno() not in ready:
        return None
    _, passed, _, _ = socket.recv_fds(calls, 1, 1)
    if not passed:
        return None
    os.set_inheritable(passed[0], False)  # a passed descriptor is not, unlike every other one
    return socket.socket(fileno=passed[0])


def _serve(call: socket.socket, signals: Signals) -> None:
    with call.makefile("rb") as lines:
        line = lines.readline()
    # Hung up before it was asked, or told to end, as when the host was killed: not taken, so sent again.
    if not line or signal.SIGTERM in signals.take():
        return
    request: Request = json.loads(line)
    try:
        call.sendall(TAKEN)
    except OSError:  # the caller has died meanwhile; nothing was begun
        return
    watch = Watch(request, signals, call)
    reply = watch.until_end()
    if reply is not None:
        with contextlib.suppress(OSError):  # the caller has hung up meanwhile
            call.sendall(json.dumps(reply).encode() + b"\n" + watch.output())
    watch.hang_up()
    watch.until_alone()


def _start(request: Request, output: int) -> int:
    """Start the command in a session of its own: no terminal, nothing to read, one pipe for all output.

    Spawned, not forked: that copies no page tables, which halves the time to the first output.
    """
    os.chdir(request["folder"])
    return os.posix_spawn(
        request["shell"],
        ["bash", "-c", request["command"]],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, output, 1), (os.POSIX_SPAWN_DUP2, output, 2)],
        setsid=True,
        setsigdef=[signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ],
    )


def _name_of(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return "ended"


def main(parent: int) -> None:
    """Serve the calls that come on descriptor 0, until `parent` ends."""
    kernel.die_with_parent(parent, signal.SIGTERM)
    kernel.adopt_orphans()
    calls = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC), 0)
    try:
        Host(calls).run()
    finally:
        process_tree.end_all()


def command_line(root: str) -> list[str]:
    """How this process is started: from the folder that holds our packages, without site."""
    start = "import sys; _, root, parent = sys.argv; sys.path.append(root); "
    start += "from actors.tools import shell_host; shell_host.main(int(parent))"
    return [sys.executable, "-I", "-S", "-c", start, root, str(os.getpid())]
