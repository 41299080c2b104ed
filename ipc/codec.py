"""Messages to frames and back; pure. One message is one frame."""

from typing import Final

import msgspec

from ipc.errors import LocalFault, RemoteFault
from ipc.messages import PROTOCOL_VERSION, AnyMessage

FRAME_LIMIT: Final = 64 * 1024 * 1024
"""Largest frame in bytes, unless the settings say otherwise."""


class Envelope(msgspec.Struct, frozen=True, array_like=True):
    """What every frame carries around its payload. Later versions may only add fields at the end."""

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
    payload: msgspec.Raw
    """One encoded message."""


class _Tag(msgspec.Struct, frozen=True):
    type: str


_encode = msgspec.msgpack.Encoder().encode
_envelope = msgspec.msgpack.Decoder(Envelope).decode
_payload = msgspec.msgpack.Decoder(AnyMessage).decode
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
    payload = msgspec.Raw(_encode(message))
    frame = _encode(Envelope(PROTOCOL_VERSION, id, parent, sender, epoch, seq, payload))
    if len(frame) > limit:
        raise LocalFault(f"{type(message).__name__} is {len(frame):,} bytes; the limit is {limit:,}")
    return frame


def decode(frame: bytes, *, limit: int = FRAME_LIMIT) -> tuple[Envelope, AnyMessage]:
    """Decode one frame. Raises `RemoteFault`, with the command's id as far as it can be read."""
    if len(frame) > limit:
        raise RemoteFault("too_large", f"a frame of {len(frame):,} bytes is over the limit of {limit:,}")
    try:
        envelope = _envelope(frame)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise RemoteFault("bad_frame", f"not an envelope: {error}") from error
    if envelope.version != PROTOCOL_VERSION:
        raise RemoteFault(
            "wrong_version",
            f"protocol version {envelope.version} was sent, this process speaks {PROTOCOL_VERSION}",
            command_id=envelope.id,
        )
    try:
        return envelope, _payload(envelope.payload)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise _payload_fault(envelope, error) from error


def _payload_fault(envelope: Envelope, error: Exception) -> RemoteFault:
    try:
        tag = _tag(envelope.payload).type
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return RemoteFault("bad_message", f"not a message: {error}", command_id=envelope.id)
    if tag not in _TAGS:
        return RemoteFault("unknown_message", f"there is no message {tag[:80]!r}", command_id=envelope.id)
    return RemoteFault("bad_message", f"{tag}: {error}", command_id=envelope.id)
