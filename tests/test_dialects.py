"""Each known server, as strict as it is known to be: its dialect speaks to it, another one learns to."""

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from actors.conversation import Conversation, encode_head, encode_user
from actors.provider.direct import DirectProvider
from actors.provider.servers.dialects import DIALECTS, dialect_of, named
from actors.provider.servers.served import window_of
from actors.provider.wires.chat import ChatWire
from actors.settings.addresses import normalize_base_url
from ipc.messages import Level, ModelAnswer
from tests.fakes.asking import KEY, collect, play
from tests.fakes.chat_script import Reasoning, Text
from tests.fakes.scripted_server import ScriptedServer, call, calls, say
from tests.fakes.strict_servers import STRICT, Strict

THINKS = "I had better look first."
TOOLS = json.dumps(
    [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}
        for name in ("list_files", "read_file")
    ]
).encode()
READ_A = call("read_file", {"path": "a"}, id="call_0000000000000001")
LIST = call("list_files", {}, id="call_0000000000000002")
STEPS = (
    replace(calls([READ_A, LIST]), parts=(Reasoning(THINKS),)),
    say("There are two."),
    replace(call("read_file", {"path": "b"}, id="Abc123xyz"), parts=(Reasoning(THINKS), Text("Now b."))),
    say("After all that, done."),
)


class Talk:
    """A session as a turn loop would lead it, with what cancelled turns leave behind."""

    def __init__(self) -> None:
        head = encode_head("m", TOOLS, {"stream": True, "stream_options": {"include_usage": True}})
        self.conversation = Conversation(head, [b'{"role":"system","content":"s"}'])
        self.told: list[str] = []
        self.answers: list[ModelAnswer] = []

    def tell(self, level: Level, message: str) -> None:
        self.told.append(message)

    async def ask(self, provider: DirectProvider) -> ModelAnswer:
        events = [event async for event in provider.stream(self.conversation)]
        answer = events[-1]
        assert isinstance(answer, ModelAnswer)
        self.answers.append(answer)
        self.conversation.append_answer(answer)
        for one in answer.tool_calls:
            self.conversation.append_result(one.id, f"result of {one.name}")
        return answer

    async def lead(self, provider: DirectProvider) -> None:
        """Two prompts in a row, an answer with two calls, a prompt right behind results, one more call."""
        self.conversation.append(encode_user("cancelled before it was answered"))
        self.conversation.append(encode_user("look"))
        await self.ask(provider)
        await self.ask(provider)
        self.conversation.append(encode_user("and b?"))
        await self.ask(provider)
        self.conversation.append(encode_user("stop that; sum it up"))
        await self.ask(provider)


def named_by(strict: Strict) -> str:
    return strict.dialect


def lead(strict: Strict, dialect: str) -> tuple[Talk, ScriptedServer]:
    talk = Talk()
    with ScriptedServer(
        STEPS, api=strict.api, refuse=strict.refuse, api_key=KEY, key_header=strict.key_header
    ) as server:
        play(talk.lead, server.base_url, dialect=named(dialect), wire=ChatWire(1_000), tell=talk.tell)
        server.assert_done()
    return talk, server


def reasoning_of(request: dict[str, Any], name: str) -> list[str]:
    return [message.get(name) for message in request["messages"] if message.get("tool_calls")]


@pytest.mark.report("PROV-06")
@pytest.mark.report("PROV-09")
@pytest.mark.report("PROV-18")
@pytest.mark.parametrize("strict", STRICT, ids=named_by)
def test_a_dialect_speaks_to_its_server_as_that_wants_it(strict: Strict) -> None:
    talk, server = lead(strict, strict.dialect)
    assert len(server.refused) == len(talk.told) == strict.lessons, talk.told
    assert talk.answers[-1].text == "After all that, done."
    if not strict.lessons:
        assert all(later.extends(earlier) for earlier, later in pairwise(server.requests))
    for request in server.requests:
        assert request.data.get("max_tokens", request.data.get("max_completion_tokens")) == 1_000
    if strict.demands:
        assert reasoning_of(server.requests[-1].data, strict.demands) == [THINKS, THINKS]
    elif not strict.takes:
        assert "reasoning" not in server.requests[-1].body.decode()


@pytest.mark.report("PROV-06")
@pytest.mark.report("PROV-09")
@pytest.mark.report("PROV-18")
@pytest.mark.parametrize("strict", [one for one in STRICT if one.key_header == "authorization"], ids=named_by)
def test_a_server_that_nobody_knows_teaches_its_dialect_by_its_refusals(strict: Strict) -> None:
    talk, server = lead(strict, "generic")
    assert len(server.refused) == len(talk.told) <= 5
    assert len(set(talk.told)) == len(talk.told)
    if strict.demands:
        assert reasoning_of(server.requests[-1].data, strict.demands) == [THINKS, THINKS]


@pytest.mark.parametrize("strict", STRICT, ids=named_by)
def test_the_window_is_what_the_server_says_of_the_model(strict: Strict) -> None:
    async def look(provider: DirectProvider) -> int:
        return window_of(await provider.models(), "m")

    with ScriptedServer(api_key=KEY, pages=strict.get_pages("/v1"), key_header=strict.key_header) as server:
        assert play(look, server.base_url, dialect=named(strict.dialect)) == strict.window
        server.assert_done()


# --- which one it is ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("https://api.openai.com/v1", "openai"),
        ("https://API.OpenAI.com./v1/", "openai"),
        ("https://eu.api.openai.com/v1", "openai"),
        ("https://api.openai.com.evil.example/v1", "generic"),
        ("https://evilapi.openai.com.example/v1", "generic"),
        ("https://acme.openai.azure.com/openai/deployments/gpt?api-version=2024-10-21", "azure"),
        ("https://acme.openai.azure.com", "azure"),
        ("https://acme.openai.azure.us/openai/v1", "azure"),
        ("https://generativelanguage.googleapis.com/v1beta/openai/", "gemini"),
        ("https://us-central1-aiplatform.googleapis.com/v1/projects/p/endpoints/openapi", "gemini"),
        ("https://openrouter.ai/api/v1", "openrouter"),
        ("https://api.deepseek.com", "deepseek"),
        ("https://api.moonshot.ai/v1", "moonshot"),
        ("https://api.mistral.ai/v1", "mistral"),
        ("https://api.groq.com/openai/v1", "groq"),
        ("https://api.x.ai/v1", "xai"),
        ("https://api.together.xyz/v1", "together"),
        ("http://localhost:11434", "ollama"),
        ("http://0.0.0.0:11434", "ollama"),
        ("http://127.0.0.1:8080/v1", "llama.cpp"),
        ("http://[::1]:8000/v1", "vllm"),
        ("http://localhost:1234/v1", "lmstudio"),
        ("http://10.0.0.7:8000/v1", "generic"),
        ("http://localhost:4000/v1", "generic"),
    ],
)
def test_a_server_is_known_by_its_address(given: str, name: str) -> None:
    assert dialect_of(normalize_base_url(given)).name == name


def test_a_setting_counts_more_than_the_address() -> None:
    assert dialect_of("https://api.openai.com/v1", "vllm").name == "vllm"
    assert dialect_of("http://10.0.0.7:8000/v1", "llama.cpp").name == "llama.cpp"


def test_every_dialect_but_the_generic_one_has_a_strict_server() -> None:
    assert {strict.dialect for strict in STRICT} == {dialect.name for dialect in DIALECTS} - {"generic"}


@pytest.mark.report("CFG-02")
@pytest.mark.parametrize("prefix", ["/openai/v1", "/openai/deployments/gpt"])
def test_azure_gets_its_version_behind_and_its_key_in_a_header_of_its_own(prefix: str) -> None:
    with ScriptedServer([say("a")], prefix=prefix, api_key=KEY, key_header="api-key") as server:
        url = normalize_base_url(f"{server.base_url}/chat/completions?api-version=2024-10-21")

        async def work(provider: DirectProvider) -> None:
            await collect(provider)
            await provider.models()

        play(work, url, dialect=named("azure"))
        server.assert_done()
    (request,) = server.requests
    assert request.path == f"{prefix}/chat/completions?api-version=2024-10-21"
    assert server.looked_up == [f"{prefix}/models?api-version=2024-10-21"]
    assert "authorization" not in request.headers


def test_headers_of_a_person_are_sent_with_every_request() -> None:
    with ScriptedServer([say("a")], api_key=KEY) as server:
        play(collect, server.base_url, headers={"X-Team": "blue", "User-Agent": "mine"})
        server.assert_done()
    assert server.requests[0].headers["x-team"] == "blue"
    assert server.requests[0].headers["user-agent"] == "mine"
