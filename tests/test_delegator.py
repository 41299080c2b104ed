"""Delegations from the parent's side, against workers that do what no worker may."""

import asyncio
import json
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from actors.conversation import Conversation
from actors.delegation.activity import DETAIL_LIMIT, Activity
from actors.delegation.check import CHECK_S
from actors.delegation.course import Course
from actors.delegation.delegator import END_S
from actors.delegation.problems import CANCELLED, INSTEAD, OF_THE_WORKER
from actors.delegation.relay import EXTRA_REQUESTS
from actors.delegation.warm_worker import newest_worker
from actors.delegation.witness import MAX_TEXTS
from actors.delegation.wording import HAND_IN
from actors.process_tree import children
from actors.provider.interface import ProviderError
from actors.sandbox.quarters import MAILBOX
from actors.settings.tables import Delegation
from ipc.messages import NoticeRaised, Problem, StreamEvent, SubagentActivityChanged, TextDelta, Usage
from tests.fakes.delegation_scene import LONG_MS, SHORT_MS, Answering, Lingering, Scene, delegate, worker
from tests.fakes.launch import DEADLINE_S, Watched
from tests.fakes.models import Step, conversation
from tests.fakes.places import run_place
from tests.fakes.worker_parent import calls, result, says


def play(
    tmp_path: Path, behaviour: str, timeout_ms: int, *steps: Step, limits: Delegation | None = None
) -> tuple[dict[str, Any], Scene]:
    with worker(tmp_path, behaviour, *steps, limits=limits) as (scene, process):
        made = asyncio.run(scene.delegate(timeout_ms))
        if behaviour != "honest":
            process.wait(DEADLINE_S)  # it served, so it is ended, whatever it wants
    identity = made["identity"]
    assert identity == {"role": "subagent", "agent_id": identity["agent_id"], "parent_role": "main"}
    last = scene.activities[-1]
    assert (last.agent_id, last.active) == (identity["agent_id"], False)
    assert scene.conversation.open_calls == ["d", "r"]
    return made, scene


def test_a_delegation_extends_the_parents_request_and_brings_a_result(tmp_path: Path) -> None:
    before = conversation().body().removesuffix(b"]}")
    made, scene = play(tmp_path, "honest", LONG_MS, says("", calls("list_files")), says(result()))
    assert (made["status"], made["summary"]) == ("completed", "MIT.")
    assert len(scene.scripted.bodies) == 2
    for body in scene.scripted.bodies:
        assert body.startswith(before + b",")
        before = body.removesuffix(b"]}")
    phases = [fact.phase for fact in scene.activities]
    assert phases[0] == "starting"
    assert {"reasoning", "list_files", "reviewing"} <= set(phases)
    assert phases[-1] == "completed"


def test_a_delegation_whose_time_is_short_is_asked_for_what_it_has(tmp_path: Path) -> None:
    steps = says("I see MIT.", calls("list_files")), "Now I", says(result("MIT, I think."))
    made, scene = play(tmp_path, "honest", SHORT_MS, *steps)
    assert (made["status"], made["error"]["code"]) == ("partial", "timeout")
    assert made["summary"] == "MIT, I think."
    assert HAND_IN in json.loads(scene.scripted.bodies[-1])["messages"][-1]["content"]
    assert scene.activities[-1].phase == "partial"
    assert scene.activities[-1].elapsed_ms < SHORT_MS


def test_a_last_message_that_is_being_written_is_not_asked_for_again(tmp_path: Path) -> None:
    made, scene = play(tmp_path, "honest", SHORT_MS, says("It is MIT."), '{"summary')
    assert (made["status"], made["error"]["code"]) == ("partial", "timeout")
    assert len(scene.scripted.bodies) == 2


def test_a_delegation_out_of_time_keeps_what_was_said(tmp_path: Path) -> None:
    steps = says("I see MIT.", calls("list_files")), "Now I", "It may be"
    made, scene = play(tmp_path, "honest", SHORT_MS, *steps)
    assert (made["status"], made["error"]["code"]) == ("partial", "timeout")
    assert "It may be" in made["summary"]
    assert len(scene.scripted.bodies) == len(steps)


@pytest.mark.parametrize(
    ("behaviour", "why"),
    [
        ("dies", "ended"),
        ("refuses", "refused the task"),
        ("smuggles", "not a conversation"),
        ("forgets", "does not extend the fork"),
        ("quotes", "not a conversation"),
        ("misnames", "not a conversation"),
        ("invents", "did not give"),
        ("browses", "did not make"),
        ("impersonates", "another delegation"),
        ("floods", "flooded"),
    ],
)
def test_a_worker_that_fails_is_a_normal_failed_result_at_once(
    tmp_path: Path, behaviour: str, why: str
) -> None:
    made, scene = play(tmp_path, behaviour, LONG_MS)
    assert (made["status"], made["error"]["code"]) == ("failed", "worker_lost")
    assert why in made["error"]["message"]
    assert made["summary"]
    assert scene.scripted.bodies == []


def test_a_worker_that_says_it_did_what_it_may_not_is_ended(tmp_path: Path) -> None:
    made, scene = play(tmp_path, "forges", LONG_MS, says("", calls("rm", path="LICENSE")))
    assert (made["status"], made["error"]["code"]) == ("failed", "worker_lost")
    assert len(scene.scripted.bodies) == 1


def test_a_worker_that_dies_while_the_model_answers_leaves_what_was_said(tmp_path: Path) -> None:
    made, _ = play(tmp_path, "dies_streaming", LONG_MS, "I see that it is")
    assert made["error"]["code"] == "worker_lost"


def test_a_worker_that_does_not_end_is_ended_at_the_deadline(tmp_path: Path) -> None:
    async def all_of(scenes: list[Scene]) -> list[dict[str, Any]]:
        return await asyncio.gather(*(scene.delegate(SHORT_MS) for scene in scenes))

    with ExitStack() as stack:
        workers = [
            stack.enter_context(worker(tmp_path / behaviour, behaviour))
            for behaviour in ("ignores_term", "hangs", "silent", "garbage")
        ]
        made = asyncio.run(all_of([scene for scene, _ in workers]))
        for _, process in workers:
            process.wait(DEADLINE_S)
    for each in made:
        assert (each["status"], each["error"]["code"]) == ("failed", "timeout")
    for scene, _ in workers:
        assert scene.activities[-1].elapsed_ms < 10 * SHORT_MS
        for fact in scene.activities:
            assert len(fact.phase) <= DETAIL_LIMIT
            assert len(fact.detail) <= DETAIL_LIMIT
            assert not set(fact.phase + fact.detail) & set("\x1b\x07\u202e\n")
        assert len(scene.activities) == 2
        assert newest_worker(scene.place) is None


def test_a_model_that_falls_silent_in_a_delegation_is_given_up(tmp_path: Path) -> None:
    made, scene = play(tmp_path, "honest", LONG_MS, "I see MIT", limits=Delegation(idle_ms=1_000))
    assert (made["status"], made["summary"]) == ("partial", "I see MIT")
    assert made["error"] == {"code": "timeout", "message": "The subagent's model was silent for too long."}
    assert any("silent for 1 s." in each for each in made["uncertainties"])
    assert len(scene.scripted.bodies) == 1


def test_an_answer_that_does_not_come_to_its_end_in_a_delegation_is_given_up(tmp_path: Path) -> None:
    limits = Delegation(request_ms=1_000)
    made, _ = play(tmp_path, "honest", LONG_MS, says("Look.", calls("list_files")), "I see", limits=limits)
    assert made["error"]["code"] == "timeout"
    assert "took too long" in made["error"]["message"]


def test_a_subagent_whose_request_is_too_long_makes_room_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "LICENSE").write_text("MIT License\n" * 2_000, encoding="utf-8")
    too_long = ProviderError("context_length_exceeded", "Too long.")
    reads = says("I read.", calls("read_file", path="LICENSE"))
    made, scene = play(tmp_path, "honest", LONG_MS, reads, too_long, says(result()))
    assert (made["status"], made["summary"]) == ("completed", "MIT.")
    first, refused, shorter = map(len, scene.scripted.bodies)
    assert first < shorter < refused


def test_a_subagent_that_has_no_room_left_hands_in_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "LICENSE").write_text("MIT License\n" * 2_000, encoding="utf-8")
    too_long = ProviderError("context_length_exceeded", "Too long.")
    reads = says("It may be MIT.", calls("read_file", path="LICENSE"))
    made, _ = play(tmp_path, "honest", LONG_MS, reads, too_long, too_long)
    assert (made["status"], made["error"]["code"]) == ("partial", "context_length_exceeded")
    assert "It may be MIT." in made["summary"]


@pytest.mark.parametrize("behaviour", ["lies", "refuses", "quotes", "misnames"])
def test_no_word_of_a_worker_reaches_result_bar_or_log(tmp_path: Path, behaviour: str) -> None:
    timeout_ms = 1_000 if behaviour == "lies" else LONG_MS  # what is no frame ends nothing
    made, scene = play(tmp_path, behaviour, timeout_ms)
    assert (made["type"], made["status"]) == ("delegate_result", "failed")
    told = json.dumps(made, ensure_ascii=False) + repr(scene.activities) + scene.logged()
    assert not set(told) & set("\x1b\x07\u202e")
    for word in ("hunter2", "evil", "\\u001b", "\\x1b"):
        assert word not in told


@pytest.mark.parametrize(
    ("behaviour", "code", "said"),
    [
        ("claims", "out_of_memory", ""),
        ("claims_early", "out_of_memory", "I see"),
        ("quits", "worker_lost", "I look."),
    ],
)
def test_what_only_a_worker_can_know_is_believed_and_no_more(
    tmp_path: Path, behaviour: str, code: str, said: str
) -> None:
    steps: dict[str, Step] = {"claims_early": said, "quits": says(said, calls("list_files"))}
    made, _ = play(tmp_path, behaviour, LONG_MS, *[steps[behaviour]] if said else [])
    assert made["error"]["code"] == code, made
    if said:
        assert (made["status"], made["summary"]) == ("partial", said)


def test_ten_megabytes_become_a_bounded_result_that_says_so(tmp_path: Path) -> None:
    made, _ = play(tmp_path, "honest", LONG_MS, says("word " * 2_000_000), says("no"))
    assert made["status"] == "partial"
    assert f"{10_000_002 - MAX_TEXTS:,} characters before this were not kept" in made["summary"]
    assert any("characters cut" in each or "longest earlier" in each for each in made["uncertainties"])


def test_the_first_of_two_ends_is_the_end(tmp_path: Path) -> None:
    made, _ = play(tmp_path, "twice", LONG_MS)
    assert made["error"]["code"] == next(iter(OF_THE_WORKER))


@pytest.mark.parametrize("said", ["", "I see"])
def test_a_cancelled_delegation_takes_its_worker_with_it_and_has_its_result(
    tmp_path: Path, said: str
) -> None:
    async def cancelled(scene: Scene, host: int) -> dict[str, Any]:
        delegating = asyncio.ensure_future(scene.delegate(LONG_MS))
        async with asyncio.timeout(DEADLINE_S):
            await scene.scripted.waiting.wait()
        (pid,) = children(host)
        with Watched(pid) as busy:
            delegating.cancel()
            made = await delegating
            assert busy.ends_within()
        return made

    with worker(tmp_path, "honest", said) as (scene, host):
        made = asyncio.run(cancelled(scene, host.pid))
    assert made["error"]["code"] == "cancelled"
    assert made["error"]["message"] == CANCELLED.message
    assert made["status"] == ("partial" if said else "failed")
    assert not said or made["summary"] == said
    assert scene.activities[-1].phase == "cancelled"
    assert '"code":"cancelled"' in scene.logged()


def test_a_cancel_waits_for_no_slow_connection_and_counts_what_was_paid_and_nothing_later(
    tmp_path: Path,
) -> None:
    async def cancelled(scene: Scene, model: Lingering) -> tuple[dict[str, Any], float]:
        await scene.ready()
        delegating = asyncio.ensure_future(delegate(scene.delegator()))
        try:
            async with asyncio.timeout(DEADLINE_S):
                await model.answered.wait()
                delegating.cancel()
                began = time.monotonic()
                made = await delegating
                seconds = time.monotonic() - began
                before = scene.logged(), len(scene.facts)
                model.let_go.set()
                await model.went_on.wait()
                await asyncio.sleep(0)
            assert (scene.logged(), len(scene.facts)) == before
        finally:
            scene.close()
        return made, seconds

    with worker(tmp_path, "honest") as (scene, _):
        scene.provider = model = Lingering()
        made, seconds = asyncio.run(cancelled(scene, model))
    assert (made["status"], made["error"]["code"], made["summary"]) == ("partial", "cancelled", "I see MIT.")
    assert seconds < 2 * END_S + 0.3
    assert scene.activities[-1].usage.prompt_tokens == 7
    assert scene.logged().count('"UsageRecorded"') == 1


def test_a_delegation_that_is_cancelled_again_while_it_ends_still_has_its_one_result(tmp_path: Path) -> None:
    async def cancelled(scene: Scene, model: Lingering) -> dict[str, Any]:
        await scene.ready()
        delegating = asyncio.ensure_future(delegate(scene.delegator()))
        try:
            async with asyncio.timeout(DEADLINE_S):
                await model.answered.wait()
                for _ in range(3):
                    delegating.cancel()
                    await asyncio.wait({delegating}, timeout=END_S / 20)
                return await delegating
        finally:
            scene.close()

    with worker(tmp_path, "honest") as (scene, _):
        scene.provider = model = Lingering()
        made = asyncio.run(cancelled(scene, model))
        assert made["error"]["code"] == "cancelled"
        assert [fact.active for fact in scene.activities].count(False) == 1
        assert scene.logged().count('"DelegationEnded"') == 1
        scene.provider = Answering()
        assert asyncio.run(scene.delegate(LONG_MS))["status"] == "completed"


def test_a_cancel_while_the_findings_are_looked_up_leaves_them_unchecked(tmp_path: Path) -> None:
    (tmp_path / "large.txt").write_text("word\n" * 1_600_000, encoding="utf-8")
    found = [
        {"file": "large.txt", "line": 1_500_000 + line, "claim": f"`word{line}`", "confidence": "low"}
        for line in range(40)
    ]

    async def cancelled(scene: Scene) -> tuple[dict[str, Any], float]:
        pid = await scene.ready()
        with Watched(pid) as busy:
            delegating = asyncio.ensure_future(delegate(scene.delegator()))
            await asyncio.to_thread(busy.ends_within)  # what is left is to look them up
            delegating.cancel()
            began = time.monotonic()
            try:
                return await delegating, time.monotonic() - began
            finally:
                scene.close()

    with worker(tmp_path, "honest", says(result(findings=found))) as (scene, _):
        made, seconds = asyncio.run(cancelled(scene))
    assert (made["status"], len(made["findings"])) == ("completed", 40)
    assert not any(finding["checked"] for finding in made["findings"])
    assert seconds < CHECK_S / 2
    assert [fact.active for fact in scene.activities].count(False) == 1


def test_a_wait_for_a_worker_that_outlasts_the_time_of_a_delegation_is_out_of_time(tmp_path: Path) -> None:
    async def without_worker(scene: Scene) -> dict[str, Any]:
        try:
            return await delegate(scene.delegator(), 1_000)
        finally:
            scene.close()

    with run_place(tmp_path) as place:
        made = asyncio.run(without_worker(Scene(place, tmp_path / "state")))
    assert (made["status"], made["error"]["code"]) == ("failed", "timeout")
    assert "1 s" in made["error"]["message"]


def test_no_agent_id_of_the_session_comes_again(tmp_path: Path) -> None:
    with worker(tmp_path, "honest", says(result()), says(result())) as (scene, _):
        first = asyncio.run(scene.delegate(LONG_MS))["identity"]["agent_id"]
        assert scene.recorder.agent_ids == {first}
        for number in range(0x10000):  # as after a restart: the log tells of all that are this short
            scene.recorder.agent_ids.add(f"subagent-{number:04x}")
        second = asyncio.run(scene.delegate(LONG_MS))["identity"]["agent_id"]
    assert len(second) > len(first)


def test_a_fault_of_ours_in_a_request_ends_the_delegation_at_once(tmp_path: Path) -> None:
    class Broken:
        async def stream(self, conversation: Conversation) -> AsyncGenerator[StreamEvent, None]:
            yield TextDelta(text="I see")
            raise AssertionError("hunter2")

    with worker(tmp_path, "honest") as (scene, _):
        scene.provider = Broken()
        made = asyncio.run(scene.delegate(LONG_MS))
    assert (made["status"], made["error"]["code"], made["summary"]) == ("partial", "internal_error", "I see")
    assert "hunter2" not in json.dumps(made)


def test_a_fault_of_ours_around_a_delegation_is_a_normal_result_and_ends_its_bar(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with worker(tmp_path, "honest", says(result())) as (scene, _):
        scene.fault = AssertionError("hunter2")
        made = asyncio.run(scene.delegate(LONG_MS))
        assert (made["status"], made["error"]["code"]) == ("failed", "internal_error")
        assert not scene.activities[-1].active
        assert "AssertionError" in caplog.text
        assert "hunter2" not in caplog.text + json.dumps(made) + scene.logged()
        scene.fault = None
        assert asyncio.run(scene.delegate(LONG_MS))["status"] == "completed"


@pytest.mark.parametrize(("phase", "queued"), [("completed", 2), ("cancelled", 0)])
def test_nobody_waits_behind_a_cancelled_delegation(phase: str, queued: int) -> None:
    told: list[SubagentActivityChanged] = []
    activity = Activity("subagent-7f3a", 2, Course(), told.append)
    activity.show("starting", "")
    activity.end(phase, "", Usage())
    assert [(fact.active, fact.queued) for fact in told] == [(True, 2), (False, queued)]


def test_what_a_person_can_do_about_a_run_directory_is_a_notice_and_not_for_the_model(tmp_path: Path) -> None:
    with run_place(tmp_path) as place:
        shutil.rmtree(place.workers_directory)
        scene = Scene(place, tmp_path / "state")

        async def without_directory() -> dict[str, Any]:
            try:
                return await delegate(scene.delegator())
            finally:
                scene.close()

        made = asyncio.run(without_directory())
    assert made["error"]["code"] == "worker_lost"
    assert made["error"]["message"].endswith("was removed by another program.")
    assert "Start Fido" not in json.dumps(made)
    (notice,) = (fact for fact in scene.facts if isinstance(fact, NoticeRaised))
    assert "Start Fido again" in notice.message


def test_a_worker_asks_the_model_once_at_a_time(tmp_path: Path) -> None:
    made, scene = play(tmp_path, "asks_at_once", LONG_MS, "thinking")
    assert "ended before its model did" in made["error"]["message"]
    assert made["summary"] == "thinking"
    assert len(scene.scripted.bodies) == 1


def test_a_worker_asks_the_model_no_more_often_than_its_rounds(tmp_path: Path) -> None:
    most = Delegation().max_tool_rounds + EXTRA_REQUESTS
    made, scene = play(tmp_path, "asks_for_ever", LONG_MS, *[says("")] * (most + 1))
    assert (made["status"], made["error"]["code"]) == ("failed", "max_rounds")
    assert len(scene.scripted.bodies) == most


def test_an_answer_that_nobody_takes_is_a_clear_refusal(tmp_path: Path) -> None:
    with worker(tmp_path, "asks_for_ever", says("a word")) as (scene, _):
        scene.peer_is_gone = True
        made = asyncio.run(scene.delegate(LONG_MS))
    assert (made["status"], made["summary"]) == ("partial", "a word")


def test_nobody_is_asked_where_delegation_is_barred(tmp_path: Path) -> None:
    barred = Problem(code="sandbox_unavailable", message="There is no wall here.", next_step="Set sandbox.")
    with run_place(tmp_path) as place:
        scene = Scene(place, tmp_path / "state", barred=barred)
        made = asyncio.run(scene.delegate(LONG_MS))
    assert (made["status"], made["error"]["code"]) == ("failed", "sandbox_unavailable")
    assert made["recommended_next_steps"] == [INSTEAD["sandbox_unavailable"]]
    assert "Set sandbox." not in json.dumps(made)
    assert [fact.phase for fact in scene.activities] == ["starting", "failed"]


def test_a_planted_name_leads_to_no_process_but_a_worker(tmp_path: Path) -> None:
    with run_place(tmp_path) as place, ExitStack() as stack:
        for number, (words, own_session) in enumerate(
            (
                ([], True),
                (["actors.worker", tmp_path / "another"], True),
                (["actors.parent", place.directory], True),
                (["actors.worker", place.directory], False),
            )
        ):
            line = [sys.executable, "-I", "-c", "input()", *map(str, words)]
            starting = subprocess.Popen(line, stdin=subprocess.PIPE, start_new_session=own_session)
            process = stack.enter_context(starting)  # the end of its input is its own
            folder = place.workers_directory / f"w-{number}-{process.pid}"
            folder.mkdir()
            (folder / MAILBOX).touch()
        place.no_wall.touch()
        assert newest_worker(place) is None
