"""The process that watches one command, and what the command leaves running, to its end."""

import contextlib
import fcntl
import json
import os
import select
import signal
import socket
import sys
import time
from typing import Final, NoReturn

from actors import process_tree
from actors.shell.full_screen import wants_screen
from actors.shell.output import Output
from actors.shell.signals import Signals
from actors.shell.start import NotStarted, Unwalled, start
from actors.shell.wire import TAKEN, End, Printed, Reply, Request
from ipc import kernel

DRAIN_S: Final = 0.2
"""How long output is still read once the command has ended and something else holds its pipe."""
GRACE_S: Final = 0.15
"""Between SIGTERM and SIGKILL."""
JOB_GRACE_S: Final = 2.0
"""The same for what goes on in the background: a server may have something to bring into safety."""
NOT_STARTED: Final = 127
"""Exit status of a command that the system refused to start, as shells give it."""
SILENT_S: Final = 0.5
"""How long a command runs before what it prints is told on the way."""
TELL_S: Final = 0.25
"""Between two times that it is."""
TOLD_LINES: Final = 5
TOLD_BYTES: Final = 2000

_PIPE_BYTES: Final = 1 << 20
_CHUNK: Final = 1 << 17
_BURST: Final = 2 * _PIPE_BYTES // _CHUNK
_LONGEST_POLL_S: Final = 3600


class Watch:
    """One command from its start to the end of the last process it left."""

    def __init__(self, request: Request, signals: Signals, call: socket.socket) -> None:
        self._request = request
        self._signals = signals
        self._call = call
        self._kept = Output(request["head"], request["tail"], request["file"])
        self._end: End = "exited"
        self._status: int | None = None
        self._started = time.monotonic()
        self._tell_at = self._look_at = self._started + SILENT_S
        self._told = 0
        self._full_screen = ""
        self._buffer = memoryview(bytearray(_CHUNK))
        self._output, write = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._output, False)
        self._output_open = True
        with contextlib.suppress(OSError):  # the user's share of pipe memory may be spent
            fcntl.fcntl(self._output, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self._command = self._start(write)
        os.close(write)
        self._poll = select.poll()
        for fd in (self._output, signals.fd, call.fileno()):
            self._poll.register(fd, select.POLLIN)

    def until_end(self) -> Reply | None:
        """Read until the command ends, or has to; there is no reply when a signal says that we have to."""
        deadline = self._started + self._request["timeout_s"]
        while self._output_open or self._status is None:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                break
            if self._looks_for_screen():
                return self._reply(self._ended("full_screen"))
            for fd, _ in self._poll.poll(1000 * min(left_s, self._tell(), self._look_in()) + 1):
                if fd == self._output:
                    self._read()
                elif fd == self._call.fileno():
                    return self._reply(self._ended("cancelled"))
                elif signal.SIGTERM in self._signals.take():
                    process_tree.end_all(GRACE_S)
                    return None
                elif self._status is None and self._has_ended():
                    deadline = min(deadline, time.monotonic() + DRAIN_S)
        return self._reply(self._ended("timed_out") if self._status is None else self._status)

    def send(self, reply: Reply) -> None:
        """Answer the caller, who may have hung up meanwhile."""
        with contextlib.suppress(OSError):
            self._call.sendall(json.dumps(reply).encode() + b"\n" + b"".join(self._kept.ends()))

    def until_alone(self) -> None:
        """Stay with what goes on in the background; end it when the caller hangs up, or a signal says so."""
        while process_tree.reap().left:
            for fd, _ in self._poll.poll():
                if fd == self._output:
                    self._read()
                elif fd == self._call.fileno():
                    process_tree.end_all(JOB_GRACE_S)
                elif signal.SIGTERM in self._signals.take():
                    process_tree.end_all(GRACE_S)

    def _start(self, output: int) -> int:
        """Start the command; 0 when that went wrong, which then is its output."""
        try:
            return start(self._request, output)
        except NotStarted as error:
            self._status = NOT_STARTED
            os.write(output, f"The command was not started: {error}.\n".encode())
        except Unwalled as error:
            self._end, self._status = "unwalled", NOT_STARTED
            os.write(output, f"{error}\n".encode())
        return 0

    def _ended(self, end: End) -> int:
        """End the command with all that it has started; return its status."""
        statuses = process_tree.end_all(GRACE_S).statuses
        self._read()
        self._end = end
        return statuses.get(self._command, -signal.SIGKILL) if self._status is None else self._status

    def _look_in(self) -> float:
        """Seconds until it is time to look whether a program waits for a screen."""
        return max(0.0, self._look_at - time.monotonic())

    def _looks_for_screen(self) -> bool:
        """Look, when it is time, whether a program does; every look is as late again as the one before."""
        now = time.monotonic()
        if now < self._look_at or self._status is not None:
            return False
        self._look_at = now + (now - self._started)
        running = process_tree.descendants(os.getpid())
        self._full_screen = next(filter(None, map(wants_screen, running)), "")
        return bool(self._full_screen)

    def _reply(self, status: int) -> Reply:
        process_tree.reap()
        background = [(pid, _name_of(pid)) for pid in process_tree.descendants(os.getpid())]
        if background and self._output_open:
            self._kept.open_file()
        head, tail = self._kept.ends()
        return Reply(
            end=self._end,
            full_screen=self._full_screen,
            status=status,
            total=self._kept.total,
            head=len(head),
            tail=len(tail),
            file=self._kept.file,
            in_file=self._kept.in_file,
            background=background,
        )

    def _tell(self) -> float:
        """Tell the last lines when there are new ones and it is time; seconds until the next look."""
        now = time.monotonic()
        if self._told == self._kept.total:
            return _LONGEST_POLL_S
        if now < self._tell_at:
            return self._tell_at - now
        self._tell_at, self._told = now + TELL_S, self._kept.total
        tail = b"\n".join(self._kept.last(TOLD_BYTES).rstrip(b"\n").split(b"\n")[-TOLD_LINES:])
        frame = json.dumps(Printed(printed=len(tail))).encode() + b"\n" + tail
        with contextlib.suppress(OSError):  # a caller that does not keep up misses one
            sent = self._call.send(frame, socket.MSG_DONTWAIT)
            self._call.sendall(frame[sent:])
        return _LONGEST_POLL_S

    def _read(self) -> None:
        """Take what is in the pipe, in one go: a poll for each piece would cost as much as the piece."""
        for _ in range(_BURST if self._output_open else 0):
            try:
                size = os.readv(self._output, [self._buffer])
            except BlockingIOError:
                return
            if not size:
                self._output_open = False
                self._poll.unregister(self._output)
                return
            self._kept.add(self._buffer[:size])

    def _has_ended(self) -> bool:
        self._status = process_tree.reap().statuses.get(self._command)
        return self._status is not None


def be_runner(host: int, calls: socket.socket, tell_taken: int) -> NoReturn:
    """Live a runner's life, in a fork of the host: wait for one call, tell that it was taken, serve it."""
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
        watch.send(reply)
        watch.until_alone()


def _name_of(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return "ended"
