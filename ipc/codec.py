"""Messages to frames and back; pure. One message is one frame."""

from typing import Any, Final

import msgspec

from ipc.endpoints import FRAME_LIMIT
from ipc.errors import LocalFault, RemoteFault
from ipc.messages import PROTOCOL_VERSION, AnyMessage


class Envelope(msgspec.Struct, frozen=True, array_like=True):
    """What every frame carries in front of its message. Later versions may only add fields at the end."""

    version: int
    """`PROTOCOL_VERSION` of the sender."""
    id: int
    """Number of a command, unique for its sender's connection; 0 for replies and facts."""
    parent: int
    """Id of the command that a reply answers; else 0."""
    sender: str
    """The sending actor's name."""
    epoch: str
    """One life of a publisher; empty for commands and replies."""
    seq: int
    """Number of a fact within its epoch, from 1; else 0."""


class _Tag(msgspec.Struct, frozen=True):
    type: str


class _Frame(Envelope, frozen=True):
    """An envelope and its message, decoded in one go."""

    payload: AnyMessage


class _Undecoded(Envelope, frozen=True):
    """An envelope whose message may be anything."""

    payload: msgspec.Raw


_encode = msgspec.msgpack.Encoder().encode
_frame = msgspec.msgpack.Decoder(_Frame).decode
_undecoded = msgspec.msgpack.Decoder(_Undecoded).decode
_payload = msgspec.msgpack.Decoder(AnyMessage).decode
_NOT_DECODED = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
_tag = msgspec.msgpack.Decoder(_Tag).decode
_TAGS: Final = frozenset(struct.__struct_config__.tag for struct in AnyMessage.__args__)


def encode(
    message: AnyMessage,
    *,
    sender: str,
    id: int = 0,  # noqa: A002 - the field's name on the wire
    parent: int = 0,
    epoch: str = "",
    seq: int = 0,
    limit: int = FRAME_LIMIT,
) -> bytes:
    """Encode one message. Raises `LocalFault` when the frame would be over `limit` bytes."""
    try:
        frame = _encode((PROTOCOL_VERSION, id, parent, sender, epoch, seq, message))
    except UnicodeEncodeError:
        frame = _encode(
            (PROTOCOL_VERSION, id, parent, sender, epoch, seq, _sound(msgspec.to_builtins(message)))
        )
    if len(frame) > limit:
        raise LocalFault(f"{type(message).__name__} is {len(frame):,} bytes; the limit is {limit:,}")
    return frame


def _sound(value: Any) -> Any:
    """Replace lone surrogates, as they come from file names that are no UTF-8; no encoder takes them."""
    match value:
        case str():
            return value.encode(errors="replace").decode()
        case dict():
            return {key: _sound(each) for key, each in value.items()}
        case list() | tuple():
            return [_sound(each) for each in value]
        case _:
            return value


def decode(frame: bytes, *, limit: int = FRAME_LIMIT) -> tuple[Envelope, AnyMessage]:
    """Decode one frame. Raises `RemoteFault`, with the command's id as far as it can be read."""
    if len(frame) > limit:
        raise RemoteFault("too_large", f"a frame of {len(frame):,} bytes is over the limit of {limit:,}")
    try:
        envelope = _frame(frame)
    except _NOT_DECODED as error:
        raise _fault(frame) from error
    if envelope.version != PROTOCOL_VERSION:
        raise _fault(frame)
    return envelope, envelope.payload


def _fault(frame: bytes) -> RemoteFault:
    """Say what is wrong with a frame that did not decode."""
    try:
        envelope = _undecoded(frame)
    except _NOT_DECODED as error:
        return RemoteFault("bad_frame", f"not an envelope: {error}")
    code, message = _reason(envelope)
    return RemoteFault(code, message, command_id=envelope.id, parent=envelope.parent)


def _reason(envelope: _Undecoded) -> tuple[str, str]:
    if envelope.version != PROTOCOL_VERSION:
        versions = f"protocol version {envelope.version} was sent, this process speaks {PROTOCOL_VERSION}"
        return "wrong_version", versions
    try:
        _payload(envelope.payload)
    except _NOT_DECODED as error:
        return _payload_reason(envelope.payload, error)
    return "bad_frame", "not a frame"


def _payload_reason(payload: msgspec.Raw, error: Exception) -> tuple[str, str]:
    try:
        tag = _tag(payload).type
    except _NOT_DECODED:
        return "bad_message", f"not a message: {error}"
    if tag not in _TAGS:
        return "unknown_message", f"there is no message {tag[:80]!r}"
    return "bad_message", f"{tag}: {error}"
