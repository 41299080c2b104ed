"""A subagent's calls to the web: its parent makes them, as its model did, where its user allowed them."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from actors.calls import ToolResult
from actors.catalog.builtin import EFFECTS, web_tools, worker_tools
from actors.delegation.errands import NO_NETWORK, Errands, NotItsCallError
from actors.delegation.subagent import Subagent, Unwatched
from actors.files.workspace import Workspace
from actors.invocation import AnyTool, InvocationGuard
from actors.permissions.policy import Rules, Verdict, decide
from actors.permissions.subject import subject_of
from actors.permissions.unasked import Unasked
from actors.session.events import CallDecided
from actors.session.records import event_in
from actors.settings.tables import Web
from actors.tools.tool import ToolInput
from ipc.messages import Mode, Refused, ToolCall, ToolInvoked
from tests.fakes.chat_script import call as calling
from tests.fakes.chat_script import parent, say, subagent
from tests.fakes.delegation_scene import LONG_MS, SHORT_MS, Scene, worker
from tests.fakes.fido import Home, Run, home, openai_environment
from tests.fakes.places import run_place
from tests.fakes.scripted_server import ScriptedServer
from tests.fakes.website import Website, page
from tests.fakes.worker_parent import Here, WorkerParent, calls, forked, result, says

URL = "https://docs.example/"


class Noting:
    """Runs nothing, and notes what it was given; waits when it is told to."""

    def __init__(self) -> None:
        self.made: list[ToolCall] = []
        self.hold: asyncio.Event | None = None
        self.begun = asyncio.Event()
        self.stopped = 0

    def is_parallel(self, call: ToolCall) -> bool:
        return False

    async def invoke(self, call: ToolCall, *, cut_off: bool = False) -> ToolResult:
        self.made.append(call)
        self.begun.set()
        if self.hold is not None:
            try:
                await self.hold.wait()
            except asyncio.CancelledError:
                self.stopped += 1
                raise
        return ToolResult("the page", "ok")


def test_a_worker_hands_what_needs_a_network_to_its_parent_and_nothing_else(tmp_path: Path) -> None:
    web = [
        calls("browse_url", "b", url=URL),
        calls("websearch", "w", query="x"),
        calls("WebFetch", "f", url=URL),
    ]
    wishes = [*web, calls("list_files", "l")]

    async def play() -> WorkerParent:
        made = WorkerParent(says("", *wishes), says(result()))
        peer = Here(made, lambda fact: playing.receive(fact.event))  # type: ignore[union-attr]
        start = forked().start(str(tmp_path), 20)
        playing = Subagent(start, peer, worker_tools(Workspace(tmp_path)), EFFECTS)
        assert await playing.play() is None
        return made

    made = asyncio.run(play())
    assert made.invoked == web
    assert made.results()["b"] == "browse_url by the parent"
    assert made.results()["w"] == "websearch by the parent"
    assert "by the parent" not in made.results()["l"]


def test_only_a_call_that_the_model_made_last_is_made_and_only_once() -> None:
    answer = says("", calls("browse_url", "b", url=URL), calls("read_file", "r", path="a"))

    async def errands() -> list[ToolCall]:
        noting = Noting()
        errands = Errands(noting)
        forged = ToolCall(id="b", name="browse_url", arguments='{"url":"https://evil.example/"}')
        done = await errands.run(forged, [answer])
        assert done == ToolInvoked(content="the page", status="ok")
        for call, relayed in (
            (answer.tool_calls[0], [answer]),
            (answer.tool_calls[1], [answer]),
            (calls("browse_url", "other", url=URL), [answer]),
            (answer.tool_calls[0], [answer, says("And now?")]),
            (answer.tool_calls[0], []),
        ):
            with pytest.raises(NotItsCallError):
                await errands.run(call, relayed)
        await errands.run(answer.tool_calls[0], [answer, answer])
        await errands.run(aliased.tool_calls[0], [aliased])
        return noting.made

    aliased = says("", calls("WebFetch", "f", url=URL))
    made = asyncio.run(errands())
    assert made == [*[answer.tool_calls[0]] * 2, *aliased.tool_calls]  # never the forged arguments


def test_an_errand_is_stopped_with_the_time_and_without_a_way_nothing_is_run() -> None:
    answer = says("", calls("browse_url", "b", url=URL))

    async def stopped() -> tuple[ToolInvoked | Refused, ...]:
        noting = Noting()
        noting.hold = asyncio.Event()
        errands = Errands(noting)
        running = asyncio.ensure_future(errands.run(answer.tool_calls[0], [answer]))
        await noting.begun.wait()
        await asyncio.wait(errands.stop())
        return await running, await Errands(None).run(answer.tool_calls[0], [answer])

    cut, refused = asyncio.run(stopped())
    assert isinstance(cut, Refused)
    assert cut.code == "cut_off"
    assert refused == NO_NETWORK


# --- who may ------------------------------------------------------------------------------------------------


def guarded(scene: Scene, mode: Mode = "agent", **rules: Mapping[str, Any]) -> InvocationGuard:
    """The web tools, behind the rules that hold for a subagent."""
    made = Rules.build(rules.get("tools", {}), {}, {}, rules.get("hosts", {}))
    workspace = Workspace(Path(scene.place.run.workspace))

    def judge(tool: AnyTool, given: ToolInput) -> Verdict:
        subject = subject_of(tool.effect, given, workspace)
        return decide(tool.name, tool.effect, mode=mode, rules=made, subject=subject)

    tools = web_tools(Web(private_hosts=["localhost"]))
    return InvocationGuard(tools, Unasked(judge, scene.recorder), Unwatched())


def decisions(scene: Scene) -> list[tuple[str, str]]:
    """What the log has of them: the answer, and what decided."""
    logged = [event_in(line.encode()) for line in scene.logged().splitlines(keepends=True)]
    return [(each.answer, each.by) for each in logged if isinstance(each, CallDecided)]


@pytest.fixture
def site() -> Iterator[Website]:
    with Website({"/": page("<title>Licence</title><p>It is MIT.</p>")}) as started:
        yield started


@pytest.mark.parametrize(
    ("rules", "mode", "by"),
    [
        ({"tools": {"browse_url": "allow"}}, "agent", "table"),
        ({"hosts": {"localhost": "allow"}}, "agent", "rule"),
        ({}, "yolo", "mode"),
    ],
)
def test_what_the_user_allowed_is_done_for_a_subagent(
    tmp_path: Path, site: Website, rules: dict[str, Any], mode: Mode, by: str
) -> None:
    with run_place(tmp_path) as place:
        scene = Scene(place, tmp_path / "state")
        made = asyncio.run(guarded(scene, mode, **rules).invoke(calls("browse_url", url=site.url())))
        assert made.status == "ok"
        assert "It is MIT." in made.content
        assert decisions(scene) == [("allow", by)]


@pytest.mark.parametrize(
    ("rules", "code"),
    [
        ({}, "permission_denied"),
        ({"hosts": {"docs.example": "allow"}}, "permission_denied"),
        ({"tools": {"browse_url": "deny"}}, "denied_by_rule"),
        ({"tools": {"browse_url": "allow"}, "hosts": {"localhost": "deny"}}, "denied_by_rule"),
    ],
)
def test_what_the_user_did_not_allow_is_refused_with_the_reason_and_nobody_is_asked(
    tmp_path: Path, site: Website, rules: dict[str, Any], code: str
) -> None:
    with run_place(tmp_path) as place:
        scene = Scene(place, tmp_path / "state")
        made = asyncio.run(guarded(scene, **rules).invoke(calls("browse_url", url=site.url())))
        error = json.loads(made.content)["error"]
        assert (made.status, error["code"]) == ("denied", code)
        assert "recommended_next_steps" in error["next_step"]
        assert [answer for answer, _ in decisions(scene)] == ["deny"]
    assert site.asked == []


# --- with a real worker -------------------------------------------------------------------------------------


def test_a_subagent_reads_a_page_behind_its_wall_and_its_host_is_shown(tmp_path: Path, site: Website) -> None:
    steps = says("", calls("browse_url", url=site.url())), says("", calls("websearch", "w", query="x"))
    with worker(tmp_path, "honest", *steps, says(result())) as (scene, _):
        scene.web = guarded(scene, hosts={"localhost": "allow"})
        made = asyncio.run(scene.delegate(LONG_MS))
        assert made["status"] == "completed"
        messages = json.loads(scene.scripted.bodies[-1])["messages"]
        results = {each["tool_call_id"]: each["content"] for each in messages if each["role"] == "tool"}
        assert "It is MIT." in results["c1"]
        assert json.loads(results["w"])["error"]["code"] == "permission_denied"
        assert decisions(scene) == [("allow", "rule"), ("deny", "table")]
        assert {("browse_url", "localhost"), ("websearch", "")} <= {
            (fact.phase, fact.detail) for fact in scene.activities
        }


def test_a_page_that_takes_longer_than_the_delegation_is_given_up_with_it(tmp_path: Path) -> None:
    async def delegated() -> tuple[dict[str, Any], Noting]:
        noting = scene.web = Noting()
        noting.hold = asyncio.Event()
        return await scene.delegate(SHORT_MS), noting

    steps = says("I look.", calls("browse_url", url=URL)), says(result("No idea."))
    with worker(tmp_path, "honest", *steps) as (scene, _):
        made, noting = asyncio.run(delegated())
    assert (made["status"], made["error"]["code"]) == ("partial", "timeout")
    assert made["summary"] == "No idea."
    assert (len(noting.made), noting.stopped) == (1, 1)


def test_a_worker_that_asks_twice_for_one_call_is_ended(tmp_path: Path) -> None:
    noting = Noting()
    with worker(tmp_path, "browses_twice", says("", calls("browse_url", url=URL))) as (scene, _):
        scene.web = noting
        made = asyncio.run(scene.delegate(LONG_MS))
    assert (made["status"], made["error"]["code"]) == ("failed", "worker_lost")
    assert "did not make" in made["error"]["message"]
    assert len(noting.made) == 1


# --- the whole program --------------------------------------------------------------------------------------


@pytest.fixture
def at() -> Iterator[Home]:
    with home() as made:
        yield made


def test_main_agent_and_subagent_browse_and_search_with_the_settings_of_their_user(
    at: Home, tmp_path: Path, site: Website
) -> None:
    found = json.dumps({"results": [{"url": site.url(), "title": "Licence", "content": "MIT"}]})
    with Website({"/search": page(found, "application/json")}) as engine, ScriptedServer() as server:
        config = at.folder / "config" / "fido" / "config.toml"
        config.parent.mkdir()
        lines = ["[web]", f'search_url = "{engine.url("/search")}"', 'private_hosts = ["localhost"]']
        config.write_text("\n".join(lines), encoding="utf-8")
        server.add(
            calling("websearch", {"query": "licence"}, when=parent),
            calling("browse_url", {"url": site.url()}, when=parent),
            calling("delegate", {"task": "look it up"}, when=parent),
            calling("browse_url", {"url": site.url()}, when=subagent),
            calling("websearch", {"query": "again"}, when=subagent),
            say(result(), when=subagent),
            say("MIT.", when=parent),
        )
        allowed = ["--allow", "browse_url(localhost)", "--allow", "websearch"]
        done = Run(at, tmp_path, "which licence?", *allowed, **openai_environment(server.base_url)).finish()
        assert done.status == 0, done
        server.assert_done()
        assert len(engine.asked) == len(site.asked) == 2
        last = server.requests[-1].body.decode() + server.requests[-2].body.decode()
        assert last.count("It is MIT.") == 3  # twice in the fork's way to the model, once for the subagent
