"""A web site on loopback: answers from a table, and remembers what it was asked."""

import http.server
import ssl
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self


@dataclass(frozen=True)
class Answer:
    body: bytes | Iterable[bytes] = b""
    type: str = "text/html; charset=utf-8"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Asked:
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""


def page(text: str, type: str = "text/html; charset=utf-8", **more: int) -> Answer:  # noqa: A002
    return Answer(text.encode(), type, **more)


def redirect(location: str, status: int = 302) -> Answer:
    return Answer(b"elsewhere", status=status, headers={"Location": location, "Set-Cookie": "a=1"})


class Website:
    """Serves while the context is open; a path that is not in the table is not there."""

    def __init__(
        self,
        pages: Mapping[str, Answer] | Callable[[str], Answer],
        *,
        address: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.asked: list[Asked] = []
        site = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(
                    Asked(self.path, {name.lower(): text for name, text in self.headers.items()})
                )
                path = self.path.partition("?")[0]
                missing = Answer(b"<h1>Nothing here</h1>", status=404)
                answer = pages(self.path) if callable(pages) else pages.get(path, missing)
                self.send_response(answer.status)
                if answer.type:
                    self.send_header("Content-Type", answer.type)
                for name, text in answer.headers.items():
                    self.send_header(name, text)
                self.end_headers()
                pieces = [answer.body] if isinstance(answer.body, bytes) else answer.body
                try:
                    for piece in pieces:
                        self.wfile.write(piece)
                except OSError:
                    pass  # the client has seen enough

            def log_message(self, *_: object) -> None: ...

        self._server = http.server.ThreadingHTTPServer((address, port), Handler)
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self.scheme = "https" if tls else "http"

    def url(self, path: str = "/", host: str = "localhost") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
