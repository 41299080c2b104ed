"""What takes secrets out of texts: by value in every form they take, by shape, whole and in pieces."""

import asyncio
import base64
import json
import logging
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable
from typing import Final
from urllib.parse import quote, quote_plus

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.conversation import Conversation, encode_head
from actors.provider.interface import ProviderError
from actors.secrets.redacted import RedactedProvider
from actors.secrets.redactor import RedactedStream, Redactor
from ipc.logs import SafeFormatter
from ipc.messages import (
    AskRaised,
    ModelAnswer,
    ReasoningDelta,
    RetryScheduled,
    StreamEvent,
    TextDelta,
    ToolCall,
)
from ipc.secret_text import MARK, without_secrets

KEY = "sk-canary-0123456789abcdef"
ODD = 'p4ss/w"ord+\\ü&=%'

SECRETS = st.text(st.characters(codec="utf-8", exclude_characters="[]"), min_size=20, max_size=40).map(
    lambda text: f"7{text}"
)


# --- by value ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("secret", [KEY, ODD, "0123456789/+abc"])
@pytest.mark.parametrize(
    "written",
    [
        str,
        json.dumps,
        lambda text: json.dumps(text, ensure_ascii=False),
        lambda text: json.dumps(text).replace("/", "\\/"),
        lambda text: quote(text, safe=""),
        quote,
        quote_plus,
        lambda text: base64.b64encode(text.encode()).decode(),
        lambda text: base64.b64encode(f"user:{text}".encode()).decode(),
        lambda text: base64.urlsafe_b64encode(f"me:{text}\n".encode()).decode(),
        lambda text: base64.b64encode(f"{text}{text}".encode()).decode(),
    ],
)
def test_secret_is_taken_out_in_every_form_it_takes(secret: str, written: object) -> None:
    form = written(secret)  # type: ignore[operator]
    text = Redactor([secret]).content(f"before {form} behind")
    assert text.startswith("before ")
    assert text.endswith(" behind")
    assert MARK in text
    core = form.strip('"=')
    assert core not in text
    left = text.removeprefix("before ").removesuffix(" behind").replace(MARK, "")
    assert not any(core[at : at + 8] in left for at in range(len(core) - 7) if len(core) > 8)


@pytest.mark.parametrize("word", ["ollama", "none", "sk-1234", "lm-studio", "sk-no-key-required", "EMPTY"])
def test_what_is_a_key_in_name_only_stays_in_what_a_model_reads(word: str) -> None:
    redactor = Redactor([word])
    assert redactor.content(f"use {word} here") == f"use {word} here"
    assert redactor.report(f"use {word} here") == f"use {MARK} here"


def test_short_secret_is_taken_out_as_a_word_of_its_own() -> None:
    assert Redactor(["none"]).report("none, nonesuch and none.") == f"{MARK}, nonesuch and {MARK}."


def test_without_secrets_nothing_changes() -> None:
    text = "a" * 100
    assert Redactor([]).content(text) is text
    assert Redactor(["", "abc"]).report("abc or not") == "abc or not"


def test_no_representation_shows_a_secret() -> None:
    assert KEY not in repr(Redactor([KEY]))


@given(SECRETS, st.text(), st.text())
def test_whatever_a_secret_is_made_of_no_message_holds_it(secret: str, before: str, behind: str) -> None:
    redactor = Redactor([secret])
    fact = AskRaised(ask_id="1", kind="approval", tool="patch", title=before, body=before + secret + behind)
    clean = redactor.struct(fact)
    assert secret not in clean.body
    assert secret.encode() not in msgspec.msgpack.encode(clean)
    assert redactor.content(clean.body) == clean.body or secret in MARK + behind + before


ESCAPES: Final = (
    str,
    lambda character: f"\\u{ord(character):04x}",
    lambda character: f"\\u{ord(character):04X}",
    lambda character: json.dumps(character)[1:-1].replace("/", "\\/"),
)
"""How JSON may write a character, as far as each is read back as it was."""


@given(
    st.sampled_from([KEY, "0123456789/+abc", 'p4ss/w"ord+ü&=%']),
    st.lists(st.sampled_from(ESCAPES), min_size=1),
    st.integers(0, 2),
    st.text(max_size=8),
)
def test_whatever_way_arguments_escape_a_secret_it_is_not_in_what_they_mean(
    secret: str, ways: list[Callable[[str], str]], depth: int, beside: str
) -> None:
    plain = [json.dumps(character)[1:-1] if character == '"' else character for character in secret]
    written = "".join(
        other if (other := ways[at % len(ways)](character)) != character else plain[at]
        for at, character in enumerate(secret)
    )
    arguments = f'{{"é{json.dumps(beside)[1:-1]}": ["x{written}y"]}}'
    for _ in range(depth):
        arguments = json.dumps({"items": arguments})
    meant: object = Redactor([secret]).arguments(arguments)
    for _ in range(depth):
        meant = json.loads(str(meant))["items"]
    ((value,),) = json.loads(str(meant)).values()
    assert value == f"x{MARK}y"


@pytest.mark.parametrize("arguments", ['{"a": "\\u00e9\\u0073k-canary \\/ \\n"}', "{", "\\u", "\\ud83d"])
def test_arguments_without_a_secret_stay_as_they_were_sent(arguments: str) -> None:
    assert Redactor([KEY]).arguments(arguments) is arguments


@pytest.mark.parametrize(
    "text", ["\\" * 300_000 + "/", "\\u0073" * 50_000, "s\\u006b" + "\\" * 300_000 + "u"]
)
def test_no_arguments_hold_a_turn_up(text: str) -> None:
    begun = time.monotonic()
    Redactor([KEY]).arguments(f"{json.dumps(KEY).replace('s', chr(92) + 'u0073')}{text}")
    assert time.monotonic() - begun < 3


# --- in pieces ---------------------------------------------------------------------------------------------


def fed(redactor: Redactor, pieces: list[str]) -> list[str]:
    stream = RedactedStream(redactor)
    return [*(stream.feed(piece) for piece in pieces), stream.end()]


@given(
    st.lists(st.text("ab1c", min_size=20, max_size=23), min_size=1, max_size=3),
    st.lists(st.one_of(st.text("ab1c", max_size=30), st.integers(0, 2), st.just("x")), max_size=12),
    st.lists(st.integers(1, 30), min_size=1, max_size=40),
)
def test_pieces_come_out_as_the_whole_would(
    secrets: list[str], parts: list[str | int], cuts: list[int]
) -> None:
    redactor = Redactor(secrets)
    whole = "".join(secrets[part % len(secrets)] if isinstance(part, int) else part for part in parts)
    pieces: list[str] = []
    at = 0
    while at < len(whole):
        size = cuts[len(pieces) % len(cuts)]
        pieces.append(whole[at : at + size])
        at += size
    assert "".join(fed(redactor, pieces)) == redactor.content(whole)


def test_only_what_may_begin_a_secret_is_held_back() -> None:
    out = fed(Redactor([KEY]), ["hello", " sk-cab", " sk-can", "ary", "-0123456789abcdef!", " sk-"])
    assert out == ["hello", " sk-cab", " ", "", f"{MARK}!", " ", "sk-"]


# --- what a server sends -----------------------------------------------------------------------------------


class Says:
    """A provider that yields what it is given, and raises an error where it is one."""

    def __init__(self, *events: StreamEvent | ProviderError) -> None:
        self._events = events

    async def stream(self, conversation: Conversation) -> AsyncGenerator[StreamEvent, None]:
        for event in self._events:
            if isinstance(event, ProviderError):
                raise event
            yield event


def heard(*events: StreamEvent | ProviderError, said: list[StreamEvent] | None = None) -> list[StreamEvent]:
    """What comes past the redaction; `said` has it also where an error ends it."""
    out = [] if said is None else said

    async def whole() -> None:
        provider = RedactedProvider(Says(*events), Redactor([KEY]))
        async for event in provider.stream(Conversation(encode_head("m", b"[]", {}), [])):
            out.append(event)

    asyncio.run(whole())
    return out


def test_answer_of_a_server_that_knows_the_key_holds_it_nowhere() -> None:
    first, last = KEY[:9], KEY[9:]
    events = heard(
        ReasoningDelta(text=f"I see {first}"),
        TextDelta(text=f"The key is {first}"),
        ReasoningDelta(text=last),
        TextDelta(text=f"{last}. And sk-"),
        RetryScheduled(attempt=2, delay_s=0.1, reason=f"401 for {KEY}"),
        ModelAnswer(
            text=f"The key is {KEY}. And sk-",
            reasoning=f"I see {KEY}",
            tool_calls=(ToolCall(id=KEY, name=KEY, arguments=json.dumps({"path": KEY})),),
            finish_reason=KEY,
            echo=json.dumps({"reasoning_content": KEY}),
        ),
    )
    assert KEY not in repr(events)
    answer = events[-1]
    assert isinstance(answer, ModelAnswer)
    assert answer.text == "".join(event.text for event in events if isinstance(event, TextDelta))
    assert answer.reasoning == "".join(event.text for event in events if isinstance(event, ReasoningDelta))
    assert json.loads(answer.tool_calls[0].arguments) == {"path": MARK}
    assert json.loads(answer.echo) == {"reasoning_content": MARK}


def test_error_of_a_server_is_told_without_the_key_and_behind_what_it_had_said() -> None:
    said: list[StreamEvent] = []
    error = ProviderError("unauthorized", f"no: {KEY}", f"not {quote(KEY)}", window=7, status=401)
    with pytest.raises(ProviderError) as caught:
        heard(TextDelta(text="a sk-can"), error, said=said)
    assert "".join(event.text for event in said if isinstance(event, TextDelta)) == "a sk-can"
    told = caught.value
    assert (told.message, told.next_step, told.window, told.status) == (f"no: {MARK}", f"not {MARK}", 7, 401)


# --- by shape ----------------------------------------------------------------------------------------------

SHAPES = [
    ("Incorrect API key provided: sk-proj-abcdefghijklmnopqrst.", "abcdefghijklmnopqrst"),
    ("sk-ant-api03-AbCdEfGhIjKlMnOpQr", "AbCdEfGhIjKlMnOpQr"),
    ("token ghp_abcdefghijklmnopqrstuvwxyz012345", "abcdefghijklmnop"),
    ("AKIAIOSFODNN7EXAMPLE", "IOSFODNN7EXAMPLE"),
    ("Authorization: Bearer abc.def", "abc.def"),
    ("authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
    ("{'Authorization': 'Bearer hush', 'Accept': '*/*'}", "hush"),
    ("[(b'x-api-key', b'hush'), (b'accept', b'*/*')]", "hush"),
    ('{"X-Portkey-Api-Key":"hush"}', "hush"),
    ('said {\\"api_key\\": \\"hush\\"}', "hush"),
    ('api_key = "hush"', "hush"),
    ("Set-Cookie: session=hush; Path=/; HttpOnly", "hush"),
    ("headers: {'set-cookie': 'session=hush'}", "hush"),
    ("GET https://me:hush@proxy.test:3128/x", "hush"),
    ("https://api.test/v1?api_key=hush&model=m", "hush"),
    ("https://search.test/?q=x&token=hush", "hush"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\nhush\n-----END OPENSSH PRIVATE KEY-----", "hush"),
    ("cut -----BEGIN RSA PRIVATE KEY-----\nhush", "hush"),
    ("jwt eyJhbGciOiJIUzI1.eyJzdWIiOiJodXNo.c2ln", "eyJzdWIiOiJodXNo"),
]


@pytest.mark.report("SEC-02")
@pytest.mark.parametrize(("text", "secret"), SHAPES)
def test_what_looks_like_a_secret_is_in_no_report(text: str, secret: str) -> None:
    clean = without_secrets(text)
    assert secret not in clean
    assert MARK in clean


@pytest.mark.parametrize(
    "text",
    [
        "Check OPENAI_API_KEY or FIDO_API_KEY; `fido doctor` tests them.",
        "No connection to http://localhost:11434/v1/chat/completions: refused.",
        "ssh://git@host.test/a/b and mail a@b.test, a sk-learn pipeline",
        "api_key: is no string",
        "The server wants a key and none is set (401 from https://h.test/v1?api-version=2024-10-21).",
        "/home/me/.config/fido/config.toml: headers: has to be a table",
        "token limit 4096; max_tokens=8",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert without_secrets(text) == text


def test_redacting_twice_changes_nothing() -> None:
    for text, _ in SHAPES:
        once = without_secrets(text)
        assert without_secrets(once) == once


@given(st.text())
def test_any_text_can_be_redacted_twice(text: str) -> None:
    once = without_secrets(text)
    assert without_secrets(once) == once


@pytest.mark.parametrize(
    "text",
    ["a", "eyJ", "://", "api_key", "x-", "?a", "cookie:", "sk-", "password", "-----BEGIN PRIVATE KEY-----"],
)
def test_no_text_holds_a_log_line_up(text: str) -> None:
    started = time.monotonic()
    without_secrets(text * (200_000 // len(text)))
    assert time.monotonic() - started < 5


def test_nothing_that_a_process_writes_of_its_own_crash_holds_a_secret() -> None:
    program = (
        "import threading, warnings; from ipc import logs; logs.begin('debug')\n"
        "def fail(): raise ValueError('sk-thread-0123456789abcdef')\n"
        "thread = threading.Thread(target=fail); thread.start(); thread.join()\n"
        "warnings.warn('sk-warning-0123456789abcdef')\n"
        "class Bad:\n    def __del__(self): raise ValueError('sk-unraisable-0123456789abcdef')\n"
        "Bad()\n"
        "raise ValueError('sk-uncaught-0123456789abcdef')\n"
    )
    run = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, timeout=30, check=False
    )
    assert run.returncode == 1
    assert run.stderr.count(MARK) >= 4
    assert "0123456789abcdef" not in run.stderr


def test_log_line_and_its_traceback_hold_no_secret() -> None:
    formatter = SafeFormatter(Redactor([KEY, "none"]).report)
    try:
        raise ValueError(f"refused {KEY} at https://me:hush@h.test")
    except ValueError:
        raised = sys.exc_info()
    record = logging.LogRecord("a", 40, "f", 1, "sent %s", ({"Cookie": "hush"},), raised)
    line = formatter.format(record)
    assert "ValueError: refused" in line
    assert KEY not in line.replace("{KEY}", "")
    assert "hush" not in line.split("ValueError: refused")[1]
