"""A strict Chat Completions server on loopback that plays a script and records every request.

    with ScriptedServer([call("list_files", {"path": "."}), say("Done.")]) as server:
        ...                      # point the client at server.base_url
        server.assert_done()

As a program: `python -m tests.fakes.scripted_server SCRIPT.json [--record FILE] [--port N]` prints its base
URL, serves until its standard input ends, writes one JSON line a request to FILE and exits with 1 when a
rule was broken or a step is left.
"""

import argparse
import json
import os
import select
import socket
import ssl
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.fakes import chat_rules
from tests.fakes.apis import CHAT, Api
from tests.fakes.chat_request import Request, read_request
from tests.fakes.chat_script import (
    Drop,
    Raw,
    Stall,
    Step,
    Wait,
    call,
    calls,
    chunks,
    comment,
    drop,
    from_json,
    gate,
    parent,
    say,
    stall,
    status,
    subagent,
)

__all__ = [
    "Request",
    "ScriptedServer",
    "Step",
    "call",
    "calls",
    "chunks",
    "comment",
    "drop",
    "gate",
    "parent",
    "say",
    "stall",
    "status",
    "subagent",
]

STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"
RESET = struct.pack("ii", 1, 0)


class ScriptedServer:
    """Plays steps, each once: a request takes the first unplayed step whose `when` accepts it.

    `otherwise` makes the response when no step is left; without it, such a request is a violation. With an
    `api_key`, a request without it gets 401. `strict=False` skips the checks of the history. What `refuse`
    makes of a request is sent instead of a step, and noted in `refused`. `pages`: what a GET of a path gets.
    """

    def __init__(
        self,
        steps: Iterable[Step] = (),
        *,
        otherwise: Callable[[Request], Step] | None = None,
        api_key: str | None = None,
        strict: bool = True,
        prefix: str = "/v1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
        api: Api = CHAT,
        refuse: Callable[[Request], Step | None] = lambda _: None,
        pages: Mapping[str, bytes] | None = None,
        key_header: str = "authorization",
    ) -> None:
        self.requests: list[Request] = []
        self.violations: list[str] = []
        self.connections = 0
        self._steps = list(steps)
        self._otherwise = otherwise
        self._api_key = api_key
        self._strict = strict
        self._prefix = prefix
        self._api = api
        self.refused: list[Request] = []
        self.looked_up: list[str] = []
        self._refusal = refuse
        self.pages = {f"{prefix}/models": b'{"object":"list","data":[{"id":"scripted"}]}', **(pages or {})}
        self._key_header = key_header
        self._gates: dict[str, int] = {}
        self._open: dict[socket.socket, threading.Thread] = {}
        self._changed = threading.Condition()
        self._listener = socket.create_server(("127.0.0.1", port), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self._tls = tls
        self.base_url = f"http{'s' if tls else ''}://127.0.0.1:{self.port}{prefix}"
        threading.Thread(target=self._accept, daemon=True, name="scripted-server").start()

    # --- for the test --------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close()

    def add(self, *steps: Step) -> None:
        """Put more steps behind the script."""
        with self._changed:
            self._steps += steps

    def open(self, name: str) -> None:
        """Let every response pass that waits at this gate, now or later."""
        os.eventfd_write(self._gate(name), 1)

    def wait(self, ready: Callable[["ScriptedServer"], object], timeout_s: float = 10.0) -> None:
        """Block until something that was recorded makes `ready` true; `TimeoutError` past the deadline."""
        with self._changed:
            if not self._changed.wait_for(lambda: ready(self), timeout_s):
                raise TimeoutError(f"not within {timeout_s} s; {self.describe()}")

    def wait_for_requests(self, count: int, timeout_s: float = 10.0) -> None:
        """Block until so many completion requests have arrived."""
        self.wait(lambda server: len(server.requests) >= count, timeout_s)

    @property
    def unplayed(self) -> Sequence[Step]:
        return self._steps

    def assert_done(self) -> None:
        """Fail when a rule was broken, a request was unexpected or a step was never asked for."""
        assert not self.violations, f"{self.violations}; {self.describe()}"
        assert not self._steps, f"steps never asked for: {self._steps}; {self.describe()}"

    def describe(self) -> str:
        """What came in so far, for the text of a failure."""
        lines = [
            f"request {r.number}: {len(r.data.get('messages', ()))} messages, last "
            f"{str(r.data.get('messages', [None])[-1])[:200]}"
            for r in self.requests
        ]
        return "\n".join(lines or ["no request came"])

    def close(self) -> None:
        """End every connection and wait until what was sent is recorded."""
        serving = dict(self._open)
        for sock in (self._listener, *serving):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self._listener.close()
        for thread in serving.values():
            thread.join(5.0)

    # --- one thread a connection ----------------------------------------------------------------------------

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections += 1
            thread = threading.Thread(target=self._serve, args=(sock, self.connections), daemon=True)
            self._open[sock] = thread
            thread.start()

    def _serve(self, sock: socket.socket, connection: int) -> None:
        plain = sock
        try:
            if self._tls:
                sock = self._tls.wrap_socket(sock, server_side=True)
            with sock, sock.makefile("rb") as reader:
                while request := read_request(reader, connection):
                    if not self._answer(sock, request):
                        break
        except (OSError, ValueError):
            pass
        finally:
            del self._open[plain]

    def _answer(self, sock: socket.socket, request: Request) -> bool:
        """Send the response; False when the connection must end."""
        if refused := self._refuse(request):
            code, message = refused
            body = json.dumps(
                {"error": {"message": message, "type": "invalid_request_error", "code": None}}
            ).encode()
            return self._send_plain(sock, request, Step(status=code, body=body))
        if request.method == "GET":
            with self._changed:
                self.looked_up.append(request.path)
                self._changed.notify_all()
            return self._send_plain(sock, request, Step(body=self.pages[_bare(request.path)]))
        if refusal := self._refusal(request):
            self.refused.append(request)
            return self._send_plain(sock, request, refusal)
        with self._changed:
            self.requests.append(request)
            request.number = len(self.requests)
            step = self._take(request)
            self._changed.notify_all()
        if step is None:
            self._violate(f"unexpected request {request.number}")
            return self._send_plain(
                sock, request, Step(status=400, body=b'{"error":{"message":"no step is left"}}')
            )
        request.step = step
        if step.status == 200:
            return self._stream(sock, request, step)
        return self._send_plain(sock, request, step) if step.status else self._break(sock, step.after_part)

    def _refuse(self, request: Request) -> tuple[int, str] | None:
        """Status and message for what no step should answer."""
        if "//" in request.path:
            return 404, self._violate(f"no such path: {request.path}")
        sent = request.headers.get(self._key_header, "")
        if self._api_key and sent.removeprefix("Bearer ") != self._api_key:
            return 401, f"Incorrect API key provided: {sent.removeprefix('Bearer ')}."
        if request.method == "GET" and _bare(request.path) in self.pages:
            return None
        if (request.method, _bare(request.path)) != ("POST", f"{self._prefix}{self._api.path}"):
            return 404, self._violate(f"no such path: {request.method} {request.path}")
        try:
            request.data = chat_rules.parse(request.body)
            if self._strict:
                self._api.check(request.data)
            request.messages = self._api.messages(request.data)
        except chat_rules.RuleError as broken:
            return 400, self._violate(str(broken))
        return None

    def _take(self, request: Request) -> Step | None:
        for position, step in enumerate(self._steps):
            if step.when is None or step.when(request):
                return self._steps.pop(position)
        return self._otherwise(request) if self._otherwise else None

    def _send_plain(self, sock: socket.socket, request: Request, step: Step) -> bool:
        headers = {"Content-Type": "application/json", "Content-Length": str(len(step.body)), **step.headers}
        lines = [f"HTTP/1.1 {step.status} Scripted", *(f"{k}: {v}" for k, v in headers.items()), "", ""]
        self._finish(request, sock, "\r\n".join(lines).encode() + step.body)
        return step.after_part is None

    def _stream(self, sock: socket.socket, request: Request, step: Step) -> bool:
        held = [STREAM_HEAD]
        for part in self._api.render(step, request.number, request.data):
            if isinstance(part, Raw):
                if part.data:  # an empty chunk would end the response
                    held.append(b"%x\r\n%b\r\n" % (len(part.data), part.data))
                continue
            sock.sendall(b"".join(held))
            held = []
            if isinstance(part, Drop):
                return self._break(sock, part)
            if not self._hold(sock, part):
                with self._changed:
                    request.aborted_at = time.monotonic()
                    self._changed.notify_all()
                return False
        self._finish(request, sock, b"".join([*held, LAST_CHUNK]))
        return True

    def _hold(self, sock: socket.socket, part: Wait | Stall) -> bool:
        """Wait at a gate or for the client to leave; False when it left."""
        poll = select.poll()
        poll.register(sock, select.POLLIN | select.POLLRDHUP)
        if isinstance(part, Wait):
            poll.register(self._gate(part.name), select.POLLIN)
        every_s = part.comment_every_s if isinstance(part, Stall) else None
        while True:
            ready = {fd for fd, _ in poll.poll(None if every_s is None else every_s * 1000)}
            if sock.fileno() in ready:
                return False
            if ready:
                return True
            sock.sendall(b"7\r\n: ...\n\n\r\n")

    def _break(self, sock: socket.socket, part: object) -> bool:
        if isinstance(part, Drop) and part.reset:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        return False

    def _finish(self, request: Request, sock: socket.socket, last: bytes) -> None:
        # Taken before the client can act on the bytes: it may be faster than this thread comes back.
        now = time.monotonic()
        sock.sendall(last)
        with self._changed:
            request.finished_at = now
            self._changed.notify_all()

    def _violate(self, message: str) -> str:
        with self._changed:
            self.violations.append(message)
            self._changed.notify_all()
        return message

    def _gate(self, name: str) -> int:
        with self._changed:
            if name not in self._gates:
                self._gates[name] = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
            return self._gates[name]


def _bare(path: str) -> str:
    """A path without its query."""
    return path.partition("?")[0]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("script", type=Path)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--loose", action="store_true", help="skip the checks of the history")
    given = parser.parse_args()
    steps = [from_json(item) for item in json.loads(given.script.read_text(encoding="utf-8"))]
    with ScriptedServer(steps, port=given.port, strict=not given.loose) as server:
        print(server.base_url, flush=True)
        sys.stdin.read()
        server.close()
        if given.record:
            lines = [r.as_json() + "\n" for r in server.requests]
            given.record.write_text("".join(lines), encoding="utf-8")
        for message in (*server.violations, *(f"step never asked for: {s}" for s in server.unplayed)):
            print(message, file=sys.stderr)
        return 1 if server.violations or server.unplayed else 0


if __name__ == "__main__":
    sys.exit(main())
