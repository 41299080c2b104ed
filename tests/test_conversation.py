"""The encoded history: bytes that never move, calls that never stay open."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.conversation import Conversation, encode_head, encode_system, encode_user
from ipc.messages import ModelAnswer, ToolCall
from tests.fakes.models import calls, conversation


def test_a_body_is_one_request_as_servers_read_it() -> None:
    head = encode_head("m", b'[{"type":"function"}]', {"stream": True})
    body = Conversation(head, [encode_system("s"), encode_user("u")]).body()
    assert json.loads(body) == {
        "model": "m",
        "stream": True,
        "tools": [{"type": "function"}],
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
    }


@given(st.lists(st.text(), min_size=1, max_size=20))
def test_every_body_extends_every_earlier_one(texts: list[str]) -> None:
    history, earlier = conversation(), []
    for number, text in enumerate(texts):
        earlier.append(history.body().removesuffix(b"]}"))
        history.append_answer(calls(f"read:{number}", text=text))
        history.append_result(str(number), text)
    assert all(history.body().startswith(body) for body in earlier)


def test_a_request_with_an_open_call_can_not_be_built() -> None:
    history = conversation()
    history.append_answer(calls("read:1", "read:2"))
    with pytest.raises(ValueError, match="1, 2"):
        history.body()
    with pytest.raises(ValueError, match="without a result"):
        history.append(encode_user("next"))


def test_results_are_taken_in_the_order_of_the_calls_alone() -> None:
    history = conversation()
    history.append_answer(calls("read:1", "read:2"))
    with pytest.raises(ValueError, match="no result is due for 2"):
        history.append_result("2", "")
    history.append_result("1", "")
    with pytest.raises(ValueError, match="no result is due for 1"):
        history.append_result("1", "")


def test_the_tail_is_what_came_behind_the_fork() -> None:
    history = conversation()
    fork = Conversation(history.head, history.messages, fork_count=len(history))
    fork.append(encode_user("later in the fork"))
    assert b"later in the fork" not in history.body()
    assert fork.tail == (encode_user("later in the fork"),)


def test_an_answer_of_calls_alone_has_null_content() -> None:
    history = conversation()
    call = ToolCall(id="1", name="read", arguments='{"a":1}')
    message = json.loads(history.append_answer(ModelAnswer(tool_calls=(call,))))
    assert message["content"] is None
    assert message["tool_calls"][0] == {
        "id": "1",
        "type": "function",
        "function": {"name": "read", "arguments": '{"a":1}'},
    }


@given(st.text(st.characters(exclude_categories=[])))
def test_any_text_is_sent_as_valid_utf8(text: str) -> None:
    decoded = json.loads(encode_user(text).decode("utf-8"))
    assert decoded["content"] == text.encode("utf-8", "replace").decode("utf-8")
