"""An HTTP server without manners: each request is answered by bytes that the test makes up."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterable
from typing import Self

SSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


class RawServer:
    """Answers request number n (from 0) with what `respond(n)` yields, then hangs up.

    An empty piece waits until the client has left. A request is there when `until` was read.
    """

    def __init__(self, respond: Callable[[int], Iterable[bytes]], until: bytes = b"\r\n\r\n") -> None:
        self._respond = respond
        self._until = until
        self._number = 0
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self.base_url = f"http://127.0.0.1:{self.port}/v1"
        threading.Thread(target=self._serve, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                link, _ = self._listener.accept()
                threading.Thread(target=self._answer, args=(link, self._number), daemon=True).start()
                self._number += 1

    def _answer(self, link: socket.socket, number: int) -> None:
        with link, contextlib.suppress(OSError):
            head = b""
            while self._until not in head:
                if not (piece := link.recv(65536)):
                    return
                head += piece
            for piece in self._respond(number):
                if piece:
                    link.sendall(piece)
                else:
                    while link.recv(65536):
                        pass
