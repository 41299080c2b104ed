"""How many tokens the model takes: a person's word, the server's, or a guess that gives way."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from actors.compaction.window import ASSUMED_WINDOW, Gauge, Window
from actors.provider.direct import DirectProvider
from actors.provider.servers.dialects import named
from actors.provider.servers.lookout import look_out
from actors.provider.servers.served import nearest_names, read_models, window_of
from actors.session.log import SessionLog
from actors.session.recorder import Recorder
from ipc.messages import AnyFact, ModelAnswer, NoticeRaised, Usage, UsageReported
from tests.fakes.asking import collect, play
from tests.fakes.compacting import LONG, Session, near_the_window, says
from tests.fakes.compacting import play as play_session
from tests.fakes.fido import Run, home, openai_environment
from tests.fakes.scripted_server import ScriptedServer, gate, say
from tests.fakes.session_events import HEADER, SYSTEM, fold


def test_a_setting_counts_more_than_what_a_list_says() -> None:
    window = Window(8_000)
    window.told(128_000)
    assert (window.tokens, window.known) == (8_000, 8_000)


def test_a_refusal_counts_more_than_anything() -> None:
    for window in (Window(128_000), Window()):
        window.refused(4_096, 9_000)
        window.told(64_000)
        assert window.known == 4_096


def test_a_guess_from_a_refusal_is_not_raised_by_a_list() -> None:
    window = Window()
    window.refused(0, 30_000)
    assert (window.tokens, window.known, window.is_assumed) == (30_000, 0, False)
    window.told(64_000)
    assert window.known == 30_000


@pytest.mark.report("PROV-21")
def test_nobody_knows_and_much_is_assumed() -> None:
    window = Window()
    assert (window.tokens, window.known, window.is_assumed) == (ASSUMED_WINDOW, 0, True)


@pytest.mark.report("PROV-21")
def test_a_session_in_an_unknown_window_is_not_called_too_long() -> None:
    session = near_the_window(says("done"), window=0)
    assert play_session(session).status == "completed"
    assert not session.facts


@pytest.mark.report("PROV-21")
def test_a_compaction_in_an_assumed_window_says_so_once() -> None:
    session = Session([says("summary"), says("one"), says("summary"), says("two")], window=0)
    for text in ("one", "two"):
        session.plays("read it", "Read.", LONG * 14)
        session.prompt(text)
        assert play_session(session).status == "completed"
    assert len(session.compactions) == 2
    (warning,) = [fact for fact in session.facts if isinstance(fact, NoticeRaised)]
    assert warning.level == "warning"
    assert f"{ASSUMED_WINDOW:,}" in warning.message
    assert "context_window" in warning.message


@pytest.mark.report("PROV-21")
def test_what_can_not_be_made_smaller_is_not_summed_up_again_and_again() -> None:
    session = Session([says("one"), says("two")], window=4_000)
    session.prompt("word " * 4_000)
    assert play_session(session).status == "completed"
    session.prompt("go on")
    assert play_session(session).status == "completed"
    assert [fact for fact in session.finished if fact.method == "summary"] == []


# --- what servers say ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        None,
        3,
        "text",
        [],
        {},
        {"data": None},
        {"data": [None, 3, {}]},
        {"data": [{"id": 3, "context_length": "x"}]},
    ],
)
def test_a_list_of_any_shape_does_no_harm(body: object) -> None:
    assert window_of(read_models(body), "m") == 0


@pytest.mark.parametrize("tokens", [0, -1, 100, 1 << 40, True, "4096"])
def test_a_number_that_is_no_window_is_none(tokens: object) -> None:
    assert window_of(read_models({"data": [{"id": "m", "context_length": tokens}]}), "m") == 0


def test_the_window_of_one_model_is_not_that_of_another() -> None:
    models = read_models(
        {"data": [{"id": "a", "context_length": 1_000}, {"id": "b", "context_length": 2_000}]}
    )
    assert [window_of(models, name) for name in ("a", "b", "c")] == [1_000, 2_000, 0]


def test_the_nearest_names_come_first_and_some_in_any_case() -> None:
    names = ["gpt-5.5", "gpt-5.5-mini", "o7", "whisper"]
    assert nearest_names(names, "GPT5.5")[0] == "gpt-5.5"
    assert nearest_names(names, "zzz") == ("gpt-5.5", "gpt-5.5-mini", "o7")
    assert nearest_names([], "x") == ()


PS = {"models": [{"name": "m", "context_length": 4_096}]}


def test_a_window_that_is_known_of_a_loaded_model_alone_is_asked_again_behind_the_first_answer() -> None:
    told: list[int] = []
    pages = {"/v1/models": b'{"data":[{"id":"m"}]}', "/api/ps": b'{"models":[]}'}

    async def work(provider: DirectProvider) -> None:
        looking = asyncio.ensure_future(look_out(provider, "m", told.append, again=True))
        await asyncio.to_thread(server.wait, lambda s: "/api/ps" in s.looked_up)
        assert not told
        server.pages["/api/ps"] = json.dumps(PS).encode()
        await collect(provider)
        await asyncio.wait_for(looking, 10)

    with ScriptedServer([say("a")], pages=pages) as server:
        play(work, server.base_url, key=None, dialect=named("ollama"))
        server.assert_done()
    assert told == [4_096]


@pytest.mark.parametrize("page", [b"", b"<html>", b'{"error": "no"}', b"[" * 100_000])
def test_a_server_that_tells_nothing_is_left_alone(page: bytes) -> None:
    told: list[int] = []
    work: Callable[[DirectProvider], Awaitable[None]] = lambda provider: look_out(provider, "m", told.append)  # noqa: E731
    with ScriptedServer(pages={"/v1/models": page}) as server:
        play(work, server.base_url, key=None)
    with ScriptedServer(prefix="/other") as server:
        play(work, server.base_url.replace("/other", "/v1"), key=None)
    play(work, server.base_url, key=None)
    assert told == []


# --- the whole of it ----------------------------------------------------------------------------------------


@pytest.mark.report("PROV-14")
def test_without_usage_an_estimate_drives_the_gauge(tmp_path: Path) -> None:
    told: list[AnyFact] = []
    log = SessionLog.create(tmp_path, "s-1", HEADER, SYSTEM)
    recorder = Recorder(log, told.append, None, history=fold([HEADER, SYSTEM]))
    window, session = Window(), Session()
    session.prompt(LONG)
    recorder.gauge = Gauge(window, lambda: session.compactor.tokens(session.conversation))
    recorder.on_stream(ModelAnswer(text="no usage"))
    window.told(32_000)
    recorder.on_stream(ModelAnswer(text="usage", usage=Usage(prompt_tokens=9_000)))
    log.close()
    first, last = [fact for fact in told if isinstance(fact, UsageReported)]
    assert 7_000 < first.context_tokens < 10_000
    assert (first.context_window, last.context_window) == (0, 32_000)
    assert last.context_tokens == 9_000


def test_a_run_asks_for_the_window_beside_its_first_request(tmp_path: Path) -> None:
    with ScriptedServer([say([gate("asked"), "done"])]) as server, home() as at:
        running = Run(at, tmp_path, "go", **openai_environment(server.base_url))
        server.wait(lambda s: s.looked_up)
        server.open("asked")
        done = running.finish()
        server.assert_done()
    assert (done.status, done.out) == (0, "done\n")
    assert server.looked_up == ["/v1/models"]
