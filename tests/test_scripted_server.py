"""The scripted server: what it plays, what it records, what it refuses."""

import http.client
import json
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.scripted_server import (
    ScriptedServer,
    Step,
    call,
    calls,
    drop,
    gate,
    parent,
    say,
    stall,
    status,
    subagent,
)

USER = {"role": "user", "content": "hello"}
MADE = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
ASKED = {"role": "assistant", "content": None, "tool_calls": [MADE, {**MADE, "id": "c2"}]}
FIRST = {"role": "tool", "tool_call_id": "c1", "content": "one"}
SECOND = {"role": "tool", "tool_call_id": "c2", "content": "two"}
BOOTSTRAP = {**FIRST, "content": '{"type":"subagent_bootstrap"}'}


def body(*messages: Any, **more: Any) -> bytes:
    options = {"model": "m", "stream": True, "stream_options": {"include_usage": True}}
    return json.dumps({**options, **more, "messages": list(messages)}).encode()


def post(
    connection: http.client.HTTPConnection, sent: bytes, path: str = "/v1/chat/completions"
) -> tuple[int, str]:
    connection.request("POST", path, sent, {"Content-Type": "application/json"})
    response = connection.getresponse()
    return response.status, response.read().decode()


def events(text: str) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    return [line if line == "[DONE]" else json.loads(line) for line in lines]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as started:
        yield started


@pytest.fixture
def connection(server: ScriptedServer) -> Iterator[http.client.HTTPConnection]:
    made = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    yield made
    made.close()


def test_a_step_is_played_as_a_stream_with_usage_and_done(
    server: ScriptedServer, connection: http.client.HTTPConnection
) -> None:
    server.add(say(["Hel", "lo"], reasoning="hm"))
    code, text = post(connection, body(USER))
    got = events(text)
    deltas = [c["delta"] for e in got[:-1] for c in e["choices"]]
    assert code == 200
    assert deltas == [{"reasoning_content": "hm"}, {"content": "Hel"}, {"content": "lo"}, {}]
    assert got[-2]["choices"] == []
    assert got[-2]["usage"]["prompt_tokens"] == 100
    assert got[-1] == "[DONE]"
    server.assert_done()


def test_requests_are_recorded_with_bytes_times_and_connection(
    server: ScriptedServer, connection: http.client.HTTPConnection
) -> None:
    server.add(say("a"), say("b"))
    first, second = body(USER), body(USER, {"role": "assistant", "content": "a"}, USER)
    post(connection, first)
    post(connection, second)
    server.wait(lambda s: s.requests[-1].finished_at)
    one, two = server.requests
    assert (one.body, two.body) == (first, second)
    assert one.connection == two.connection == 1
    assert one.began_at <= one.arrived_at <= one.finished_at <= two.began_at
    assert two.extends(one)


def test_steps_are_picked_by_who_asks(server: ScriptedServer, connection: http.client.HTTPConnection) -> None:
    server.add(say("for the child", when=subagent), say("for the parent", when=parent))
    assert "for the parent" in post(connection, body(USER))[1]
    assert "for the child" in post(connection, body(USER, ASKED, BOOTSTRAP, SECOND))[1]
    server.assert_done()


def test_a_gate_holds_the_response_until_it_is_opened(
    server: ScriptedServer, connection: http.client.HTTPConnection
) -> None:
    server.add(say(["before", gate("go"), "after"]))
    connection.request("POST", "/v1/chat/completions", body(USER), {})
    response = connection.getresponse()
    assert "before" in response.read1().decode()
    assert not select.select([connection.sock], [], [], 0)[0]
    server.open("go")
    assert "after" in response.read().decode()


def test_a_client_that_leaves_a_stall_is_recorded(
    server: ScriptedServer, connection: http.client.HTTPConnection
) -> None:
    server.add(stall("half"))
    connection.request("POST", "/v1/chat/completions", body(USER), {})
    response = connection.getresponse()
    assert "half" in response.read1().decode()
    response.close()
    connection.close()
    server.wait(lambda s: s.requests[0].aborted_at)


@pytest.mark.parametrize("step", [drop(), drop("half"), drop("half", reset=False)])
def test_a_drop_ends_the_connection_early(
    server: ScriptedServer, connection: http.client.HTTPConnection, step: Step
) -> None:
    server.add(step)
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        post(connection, body(USER))


def test_an_error_status_keeps_the_connection_and_its_headers(
    server: ScriptedServer, connection: http.client.HTTPConnection
) -> None:
    server.add(status(429, {"Retry-After": "2"}), say("fine"))
    connection.request("POST", "/v1/chat/completions", body(USER), {})
    response = connection.getresponse()
    response.read()
    assert (response.status, response.headers["Retry-After"]) == (429, "2")
    assert post(connection, body(USER))[0] == 200
    assert server.connections == 1


REFUSED = {
    "a result is missing": (USER, ASKED, FIRST),
    "a result is missing in the middle": (USER, ASKED, FIRST, USER),
    "results are in the wrong order": (USER, ASKED, SECOND, FIRST),
    "a result comes twice": (USER, ASKED, FIRST, FIRST, SECOND),
    "a result without a call": (USER, FIRST),
    "an assistant says nothing": (USER, {"role": "assistant", "content": ""}),
    "an assistant says null": (USER, {"role": "assistant", "content": None}),
    "an unknown role": (USER, {"role": "function", "content": "x"}),
    "an unknown field": (USER, {"role": "assistant", "content": "x", "reasoning_content": "y"}),
    "arguments that are no JSON": (
        USER,
        {**ASKED, "tool_calls": [{**MADE, "function": {"name": "x", "arguments": ""}}]},
        FIRST,
    ),
    "arguments that are no object": (
        USER,
        {**ASKED, "tool_calls": [{**MADE, "function": {"name": "x", "arguments": "null"}}]},
        FIRST,
    ),
    "two calls with one id": (USER, {**ASKED, "tool_calls": [MADE, MADE]}, FIRST, FIRST),
    "an empty list of calls": (USER, {"role": "assistant", "content": "x", "tool_calls": []}),
}


@pytest.mark.parametrize("messages", REFUSED.values(), ids=REFUSED.keys())
def test_a_history_that_strict_servers_refuse_is_refused_and_counted(
    server: ScriptedServer, connection: http.client.HTTPConnection, messages: tuple[Any, ...]
) -> None:
    server.add(say("never"))
    code, text = post(connection, body(*messages))
    assert code == 400
    assert json.loads(text)["error"]["message"] == server.violations[0]
    with pytest.raises(AssertionError):
        server.assert_done()


@pytest.mark.parametrize(
    ("sent", "path", "code"),
    [
        (b'{"model":"m\xff"}', "/v1/chat/completions", 400),
        (body(USER, surprise=1), "/v1/chat/completions", 400),
        (body(USER), "/v1//chat/completions", 404),
        (body(USER), "/chat/completions", 404),
    ],
)
def test_a_request_that_is_wrong_outside_its_history_is_refused(
    server: ScriptedServer, connection: http.client.HTTPConnection, sent: bytes, path: str, code: int
) -> None:
    assert post(connection, sent, path)[0] == code
    assert server.violations


def test_a_complete_history_is_taken(server: ScriptedServer, connection: http.client.HTTPConnection) -> None:
    server.add(say("fine"))
    tools = [{"type": "function", "function": {"name": "read_file", "parameters": {}}}]
    assert post(connection, body(USER, ASKED, FIRST, SECOND, USER, tools=tools))[0] == 200
    server.assert_done()


def test_unexpected_requests_and_steps_left_over_fail_loudly(
    server: ScriptedServer, connection: http.client.HTTPConnection
) -> None:
    assert post(connection, body(USER))[0] == 400
    with pytest.raises(AssertionError, match="unexpected request"):
        server.assert_done()
    with ScriptedServer([say("left over")]) as other, pytest.raises(AssertionError, match="never asked for"):
        other.assert_done()


def test_a_wrong_key_gets_401() -> None:
    with ScriptedServer([say("x")], api_key="right") as server:
        made = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        assert post(made, body(USER))[0] == 401
        made.close()


def test_the_program_plays_a_script_file_and_writes_its_record(tmp_path: Path) -> None:
    script, record = tmp_path / "script.json", tmp_path / "record.jsonl"
    script.write_text(
        json.dumps([{"calls": [{"name": "list_files", "arguments": "{}"}]}, {"say": "end"}]), encoding="utf-8"
    )
    command = [sys.executable, "-m", "tests.fakes.scripted_server", str(script), "--record", str(record)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        host, port = process.stdout.readline().strip().removeprefix("http://").removesuffix("/v1").split(":")
        made = http.client.HTTPConnection(host, int(port), timeout=10)
        assert "list_files" in post(made, body(USER))[1]
        assert "end" in post(made, body(USER))[1]
        made.close()
        assert process.stdin
        process.stdin.close()
        assert process.wait(10) == 0
    lines = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    assert [line["number"] for line in lines] == [1, 2]
    assert all(line["finished_at"] >= line["arrived_at"] for line in lines)


@pytest.mark.parametrize("dialect", ["standard", "no_index", "two_entries", "same_index", "whole", "no_id"])
def test_every_dialect_carries_the_whole_arguments(
    server: ScriptedServer, connection: http.client.HTTPConnection, dialect: Any
) -> None:
    server.add(calls([call("a", {"x": "y" * 60}), call("b", {"z": 1})], dialect=dialect))
    got = events(post(connection, body(USER))[1])[:-1]
    entries = [e for event in got for c in event["choices"] for e in c["delta"].get("tool_calls", ())]
    text = "".join(e["function"].get("arguments", "") for e in entries)
    assert text == json.dumps({"x": "y" * 60}) + json.dumps({"z": 1})


def test_closing_the_server_frees_a_stalled_client(
    server: ScriptedServer, connection: http.client.HTTPConnection
) -> None:
    server.add(stall())
    connection.request("POST", "/v1/chat/completions", body(USER), {})
    response = connection.getresponse()
    server.close()
    with pytest.raises((ConnectionError, http.client.IncompleteRead)):
        response.read()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port), 1)
