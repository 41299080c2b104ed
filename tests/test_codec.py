"""Frames: what is refused, and how."""

import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ipc import codec
from ipc.errors import LocalFault, RemoteFault
from ipc.messages import (
    PROTOCOL_VERSION,
    AnyMessage,
    NoticeRaised,
    Ping,
    Plan,
    PlanChanged,
    PlanItem,
    StartTurn,
)
from tests.fakes.any_message import one_of_each, wrong_for
from tests.fakes.fault_table import Fault

EXAMPLES: list[AnyMessage] = [
    Ping(),
    StartTurn(prompt="fix\nit 🐕"),
    PlanChanged(plan=Plan(revision=3, items=(PlanItem(id="a", title="A", status="done"),))),
    NoticeRaised(level="info", message=""),
]


@pytest.mark.parametrize("message", EXAMPLES, ids=lambda message: type(message).__name__)
def test_a_message_comes_back_as_it_was_sent(message: AnyMessage) -> None:
    frame = codec.encode(message, sender="client", id=7, epoch="e", seq=9)
    envelope, decoded = codec.decode(frame)
    assert decoded == message
    assert (envelope.id, envelope.sender, envelope.epoch, envelope.seq) == (7, "client", "e", 9)


@pytest.mark.fault(52, says="a frame of any bytes")
@given(st.binary(max_size=300))
def test_any_bytes_are_decoded_or_refused(frame: bytes) -> None:
    with contextlib.suppress(RemoteFault):
        codec.decode(frame)


@given(st.sampled_from(EXAMPLES), st.data())
def test_a_frame_with_any_byte_changed_is_decoded_or_refused(
    message: AnyMessage, data: st.DataObject
) -> None:
    frame = bytearray(codec.encode(message, sender="client", id=1))
    frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(RemoteFault):
        codec.decode(bytes(frame))


@pytest.mark.parametrize("message", EXAMPLES, ids=lambda message: type(message).__name__)
def test_a_frame_cut_anywhere_is_refused(message: AnyMessage) -> None:
    frame = codec.encode(message, sender="client", id=1)
    for end in range(len(frame)):
        with pytest.raises(RemoteFault):
            codec.decode(frame[:end])


@pytest.mark.fault(52, says="a frame nested a hundred thousand deep")
def test_nesting_of_any_depth_is_refused_not_fatal() -> None:
    deep = b"\x91" * 100_000 + b"\xc0"
    with pytest.raises(RemoteFault):
        codec.decode(deep)
    payload = msgspec.msgpack.encode([1, 1, 0, "client", "", 0])
    with pytest.raises(RemoteFault):
        codec.decode(b"\x97" + payload[1:] + b"\x82\xa4type\xa4Ping\xa1x" + deep)


def test_a_later_version_may_add_fields_to_the_envelope_and_is_told_its_version() -> None:
    frame = msgspec.msgpack.encode([2, 5, 0, "client", "", 0, {"type": "Ping"}, "new", "fields"])
    with pytest.raises(RemoteFault) as caught:
        codec.decode(frame)
    assert caught.value.code == "wrong_version"
    assert caught.value.command_id == 5


def test_a_name_that_is_no_utf8_is_sent_with_question_marks() -> None:
    message = NoticeRaised(level="info", message="caf\udce9")
    assert codec.decode(codec.encode(message, sender="parent"))[1] == NoticeRaised(
        level="info", message="caf?"
    )
    plan = PlanChanged(
        plan=Plan(items=(PlanItem(id="a", title="\ud800", status="done", evidence=("\udfff",)),))
    )
    sent = codec.decode(codec.encode(plan, sender="plan_store"))[1]
    assert sent == PlanChanged(
        plan=Plan(items=(PlanItem(id="a", title="?", status="done", evidence=("?",)),))
    )


def test_the_limit_is_the_same_for_sending_and_receiving() -> None:
    message = StartTurn(prompt="x" * 100)
    frame = codec.encode(message, sender="client")
    assert codec.decode(frame, limit=len(frame))[1] == message
    with pytest.raises(RemoteFault, match="over the limit"):
        codec.decode(frame, limit=len(frame) - 1)
    with pytest.raises(LocalFault, match="the limit is"):
        codec.encode(message, sender="client", limit=len(frame) - 1)


def refusal(payload: object) -> RemoteFault:
    with pytest.raises(RemoteFault) as caught:
        codec.decode(msgspec.msgpack.encode([PROTOCOL_VERSION, 5, 0, "client", "", 0, payload]))
    return caught.value


@pytest.mark.fault(52, says="a field of a message is missing, mistyped or unknown")
@pytest.mark.parametrize("payload", one_of_each(), ids=lambda payload: payload["type"])
def test_every_field_of_every_message_is_checked_and_the_refusal_names_it(
    payload: dict[str, object], fault: Fault
) -> None:
    frame = msgspec.msgpack.encode([PROTOCOL_VERSION, 5, 0, "client", "", 0, payload])
    _, message = codec.decode(frame)
    needed = {field.encode_name for field in msgspec.structs.fields(message) if field.required}
    bad: dict[str, dict[str, object]] = {"surprise": payload | {"surprise": 1}}
    for name in payload.keys() - {"type"}:
        bad[name] = payload | {name: wrong_for(payload[name])}
        if name in needed:
            bad[f"{name} "] = {key: value for key, value in payload.items() if key != name}
    for name, wrong in bad.items():
        with fault.attempt():
            error = refusal(wrong)
            assert (error.code, error.command_id) == ("bad_message", 5)
            assert name.strip() in error.message
            assert str(payload["type"]) in error.message
