"""A request as the scripted server read it from the socket."""

import base64
import json
import time
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from tests.fakes.chat_script import Step


@dataclass
class Request:
    """One request as it came, and when. Times are `time.monotonic()`; 0.0 means: did not happen."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    connection: int
    """Counts the server's connections from 1: two requests with one number shared a connection."""
    began_at: float
    """The first byte was read."""
    arrived_at: float
    """The last byte was read."""
    number: int = 0
    """Counts the completion requests from 1."""
    finished_at: float = 0.0
    """The last byte of the response was handed to the kernel."""
    aborted_at: float = 0.0
    """The client was seen to have left before the end of the response."""
    step: Step | None = None
    data: dict[str, Any] = field(default_factory=dict)
    """The decoded body."""
    messages: list[dict[str, Any]] = field(default_factory=list)
    """Its history, as a chat has it."""

    @property
    def is_subagent(self) -> bool:
        return any(map(_is_bootstrap, self.messages))

    def extends(self, earlier: "Request") -> bool:
        """Tell whether this body is the earlier one, byte for byte, with more messages behind it."""
        return self.body.startswith(earlier.body.removesuffix(b"]}"))

    def as_json(self) -> str:
        """One line for a record file; the key is left out."""
        return json.dumps(
            {
                "number": self.number,
                "connection": self.connection,
                "headers": {k: v for k, v in self.headers.items() if k != "authorization"},
                "body_base64": base64.b64encode(self.body).decode(),
                "is_subagent": self.is_subagent,
                "began_at": self.began_at,
                "arrived_at": self.arrived_at,
                "finished_at": self.finished_at,
                "aborted_at": self.aborted_at,
            }
        )


def _is_bootstrap(message: dict[str, Any]) -> bool:
    content = message.get("content")
    if message.get("role") != "tool" or not isinstance(content, str) or not content.startswith("{"):
        return False
    try:
        return bool(json.loads(content).get("type") == "subagent_bootstrap")
    except ValueError:
        return False


def read_request(reader: BinaryIO, connection: int) -> Request | None:
    """Read one request; null at the end of the connection."""
    first = reader.read(1)
    began_at = time.monotonic()
    if not first:
        return None
    method, path, _ = (first + reader.readline()).decode("latin-1").split(" ", 2)
    headers: dict[str, str] = {}
    while (line := reader.readline().rstrip(b"\r\n")) != b"":
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    if headers.get("transfer-encoding", "") == "chunked":
        body = _read_chunked(reader)
    else:
        body = reader.read(int(headers.get("content-length", "0")))
    return Request(method, path, headers, body, connection, began_at, time.monotonic())


def _read_chunked(reader: BinaryIO) -> bytes:
    out = []
    while size := int(reader.readline().split(b";")[0], 16):
        out.append(reader.read(size))
        reader.readline()
    while reader.readline().strip():
        pass
    return b"".join(out)
