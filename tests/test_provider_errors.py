"""Errors of the wire: their code, what they say, what they never say."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.provider import errors

URL = "http://localhost:1234/v1/chat/completions"


def said(message: str, code: str = "") -> Any:
    return {"error": {"message": message, "code": code, "type": "some_error"}}


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (400, said("bad thing"), "bad_request"),
        (400, said("too long", "context_length_exceeded"), "context_length_exceeded"),
        (400, said("This model's maximum context length is 8192 tokens"), "context_length_exceeded"),
        (400, said("the request exceeds the available context size"), "context_length_exceeded"),
        (413, "Payload Too Large", "context_length_exceeded"),
        (401, said("Incorrect API key"), "unauthorized"),
        (403, said("no"), "forbidden"),
        (404, said("The model `x` does not exist", "model_not_found"), "model_not_found"),
        (404, "<html><body>nginx</body></html>", "not_found"),
        (429, said("too many tokens per minute"), "rate_limited"),
        (429, said("You exceeded your current quota", "insufficient_quota"), "rate_limited"),
        (500, said("Too many tokens, please wait before trying again."), "server_error"),
        (503, said("too many tokens"), "server_error"),
        (500, said("too many tokens in the prompt"), "context_length_exceeded"),
        (307, "", "bad_request"),
        (500, "", "server_error"),
        (529, {"detail": "overloaded"}, "server_error"),
    ],
)
def test_every_status_has_its_code_and_says_what_to_do(status: int, body: Any, code: str) -> None:
    error = errors.from_status(status, errors.read_detail(body), URL)
    assert error.code == code
    assert URL in error.message
    assert error.next_step


@pytest.mark.parametrize(
    ("body", "window"),
    [
        (said("This model's maximum context length is 8192 tokens. However, you sent 9001 tokens."), 8192),
        ({"error": {"message": "request exceeds the available context size", "n_ctx": 4096}}, 4096),
        (said("request (9001 tokens) exceeds the available context size (4096 tokens), try more"), 4096),
        (said("prompt is too long: 205,001 tokens > 200,000 maximum"), 200_000),
        (
            said("This model's maximum prompt length is 131072 but you sent 140000."),
            131_072,
        ),
        (
            said("Input token count (2) exceeds the maximum number of tokens allowed (1048576)."),
            1_048_576,
        ),
        (said("too large for model with 32768 maximum context length"), 32_768),
        (said("The model is loaded with context length of only 4096 tokens, which is not enough"), 4096),
        (said("Your input exceeds the context window of this model."), 0),
        (
            said("Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)"),
            262_144,
        ),
        (said("model max length exceeded, max length:8192"), 8192),
        (
            said("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]"),
            30_720,
        ),
        (said("Prompt exceeds max length", "1261"), 0),
        (
            said("`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 8000 `inputs` tokens"),
            8193,
        ),
        (said("prompt token count of 130000 exceeds the limit of 128000"), 128_000),
        (said("litellm.ContextWindowExceededError: litellm.BadRequestError"), 0),
        (said("The input (10000 tokens) is longer than the model's context length (8192 tokens)."), 8192),
        (said("Input tokens exceed the configured limit of 272000 tokens."), 272_000),
        (said("Please reduce the length. Current length is 9000 while limit is 8192"), 8192),
        (said("invalid params, context window exceeds limit (2013)"), 0),
        ({"error": "The context length is exceeded: maximum context length 4096"}, 4096),
        (said("maximum context length is 99999999999999999999999 tokens"), 0),
        (said("maximum context length is 1 token"), 0),
        ({"error": {"message": "exceeds the context size", "n_ctx": None}}, 0),
    ],
)
def test_the_window_is_read_where_the_server_names_it(body: Any, window: int) -> None:
    error = errors.from_status(400, errors.read_detail(body), URL)
    assert (error.code, error.window) == ("context_length_exceeded", window)


@pytest.mark.parametrize(
    "message",
    [
        "Invalid prompt: 'Explain what a context window is' was flagged",
        "'What is the maximum context length?' was flagged as potentially violating our usage policy",
        "Range of max_tokens should be [1, 8192]",
        "tools[0]: unknown parameter context_size",
    ],
)
def test_words_that_only_mention_the_context_are_not_about_its_length(message: str) -> None:
    assert errors.from_status(400, errors.read_detail(said(message)), URL).code == "bad_request"


def test_a_limit_of_the_answer_that_is_too_large_is_told_with_the_setting() -> None:
    words = "max_tokens is too large: 99999. This model supports at most 4096 completion tokens"
    assert "max_output_tokens" in errors.from_status(400, errors.read_detail(said(words)), URL).next_step


def test_a_status_in_words_is_a_status() -> None:
    busy = {"error": {"message": "too many tokens", "code": "429"}}
    assert errors.from_stream(busy, URL).code == "rate_limited"
    assert errors.from_stream({"error": {"message": "oops", "code": "9" * 5_000}}, URL).code == "server_error"


def test_the_servers_own_words_are_told_but_no_page_of_html() -> None:
    assert "overloaded" in errors.from_status(503, errors.read_detail({"detail": "overloaded"}), URL).message
    assert "nginx" not in errors.from_status(502, errors.read_detail("<html>nginx</html>"), URL).message


def test_a_missing_key_is_told_apart_from_a_wrong_one() -> None:
    detail = errors.read_detail(said("nope"))
    assert "none is set" in errors.from_status(401, detail, URL, has_key=False).message
    assert "none is set" not in errors.from_status(401, detail, URL, has_key=True).message


def test_a_redirect_names_its_target() -> None:
    error = errors.from_status(307, errors.read_detail(""), URL, location="https://other.test/v1")
    assert "https://other.test/v1" in error.message


def test_what_a_server_says_is_one_bounded_line() -> None:
    message = errors.from_status(500, errors.read_detail(said("a\nb " * 5000)), URL).message
    assert len(message) < 700
    assert "\n" not in message


KEYS = st.sampled_from(["error", "message", "code", "type", "detail", "status"])
BODY = st.recursive(st.none() | st.text() | st.integers(), lambda x: st.dictionaries(KEYS, x) | st.lists(x))


@settings(max_examples=60, deadline=None)
@given(BODY)
def test_no_body_breaks_the_reading_of_an_error(body: Any) -> None:
    for status in (400, 404, 429, 500):
        assert errors.from_status(status, errors.read_detail(body), URL).message
    assert errors.from_stream({"error": body}, URL).message


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (404, "The model `gpt-9` does not exist or you do not have access to it."),
        (404, "model 'qwen9' not found, try pulling it first"),
        (400, "gpt-9 is not a valid model ID"),
        (400, "Invalid model: mistral-huge"),
        (422, "model_not_found"),
    ],
)
def test_a_model_that_is_not_there_is_told_as_such_whatever_the_status(status: int, message: str) -> None:
    assert errors.from_status(status, errors.read_detail(said(message)), URL).code == "model_not_found"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"detail": [{"loc": ["body", "messages", 2], "msg": "Field required"}]}, "Field required"),
        ({"object": "error", "message": {"detail": [{"msg": "Extra inputs"}]}}, "Extra inputs"),
        (
            {"error": {"message": "Provider returned error", "metadata": {"raw": "too many roles"}}},
            "too many roles",
        ),
    ],
)
def test_words_are_found_where_fastapi_mistral_and_openrouter_put_them(body: Any, words: str) -> None:
    error = errors.from_status(400, errors.read_detail(body), URL)
    assert words in error.message
    assert words in error.said


@pytest.mark.parametrize(
    ("said_of_tool", "name"),
    [
        ("tools[1].function: bad", "patch"),
        ("tools.0: bad", "rm"),
        ("tools[9]: bad", ""),
        ("12 tools", ""),
        ("", ""),
    ],
)
def test_a_tool_is_named_by_its_place(said_of_tool: str, name: str) -> None:
    assert errors.tool_in_question(said_of_tool, ["rm", "patch"]) == name
