"""The plan in the real program: checked evidence, broken calls, two sessions in one workspace, a bad file."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actors.plan.file import NAME
from tests.fakes.chat_script import Step, call, calls, gate, say
from tests.fakes.fido import Finished, Home, Run, home, openai_environment
from tests.fakes.scripted_server import ScriptedServer


@pytest.fixture
def at() -> Iterator[Home]:
    with home() as made:
        yield made


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "place"
    folder.mkdir()
    (folder / "a.py").write_text("def main():\n    print(1)\n", encoding="utf-8")
    return folder


class Session:
    """One session of the real program and the model that answers it."""

    def __init__(self, at: Home, workspace: Path, name: str = "s-1") -> None:
        self.at, self.workspace, self.name = at, workspace, name
        self.server = ScriptedServer()

    def begin(self, *steps: Step) -> Run:
        self.server.add(*steps)
        words = ["--session", self.name, "--mode", "yolo", "--output-format", "stream-json", "go"]
        return Run(self.at, self.workspace, *words, **openai_environment(self.server.base_url))

    def play(self, *steps: Step) -> Finished:
        done = self.begin(*steps).finish()
        assert done.status == 0, done
        self.server.assert_done()
        return done

    def last_result(self) -> dict[str, Any]:
        """The newest tool result that the model was sent."""
        messages = self.server.requests[-1].messages
        content = next(message["content"] for message in reversed(messages) if message["role"] == "tool")
        return json.loads(content)  # type: ignore[no-any-return]


@pytest.fixture
def session(at: Home, workspace: Path) -> Iterator[Session]:
    made = Session(at, workspace)
    with made.server:
        yield made


@pytest.fixture
def other(at: Home, workspace: Path) -> Iterator[Session]:
    made = Session(at, workspace, "s-2")
    with made.server:
        yield made


def item(item_id: str, *evidence: str, **changes: Any) -> dict[str, Any]:
    status = (
        {"status": "done", "evidence": evidence} if evidence else {"status": "pending", "next_action": "go"}
    )
    return {"id": item_id, "title": f"Title of {item_id}", **status, **changes}


def update(*items: Any, reason: str = "why") -> Step:
    return call("update_plan", {"reason": reason, "items": items})


def verdicts(result: dict[str, Any]) -> dict[str, str]:
    assert "error" not in result, result
    return {
        entry: verdict
        for each in result["items"]
        for entry, verdict in zip(each["evidence"], each["verdicts"], strict=True)
    }


def test_evidence_is_verified_when_the_session_really_did_it(session: Session, other: Session) -> None:
    session.play(
        calls(
            [
                call("bash_exec", {"command": "test -f a.py && grep -c main a.py"}),
                call("bash_exec", {"command": "grep nothing a.py"}),
                call("read_file", {"path": "a.py"}),
            ]
        ),
        update(item("a", "test -f a.py: it is there", "grep nothing a.py", "a.py:2", "a.py:3", "npm test")),
        say("done"),
    )
    assert verdicts(session.last_result()) == {
        "test -f a.py: it is there": "verified",
        "grep nothing a.py": "claimed",
        "a.py:2": "verified",
        "a.py:3": "claimed",
        "npm test": "claimed",
    }
    again = item("b", "`grep -c main a.py` finds one")
    session.play(update(again), say("after a restart"))
    assert verdicts(session.last_result()) == {"`grep -c main a.py` finds one": "verified"}
    other.play(update(again, item("c", "grep -c main a.py")), say("another session"))
    assert verdicts(other.last_result()) == {
        "`grep -c main a.py` finds one": "verified",
        "grep -c main a.py": "claimed",
    }
    assert other.last_result()["session"] == "s-2"


def test_a_file_that_a_command_made_is_evidence(session: Session) -> None:
    session.play(
        call("bash_exec", {"command": "echo n > made.txt"}),
        update(item("a", "made.txt", "made.txt:1", "made.txt:7", "other.txt")),
        say("done"),
    )
    assert verdicts(session.last_result()) == {
        "made.txt": "verified",
        "made.txt:1": "verified",
        "made.txt:7": "claimed",
        "other.txt": "claimed",
    }


def test_a_model_that_sends_a_result_back_gains_nothing_by_it(session: Session) -> None:
    boast = item("a", "npm test", verdicts=["verified"])
    echo = {
        "version": 1,
        "revision": 7,
        "updatedAt": "x",
        "reason": "why",
        "session": "s-9",
        "items": [boast],
    }
    session.play(call("update_plan", echo), say("done"))
    result = session.last_result()
    assert (verdicts(result), result["revision"], result["session"]) == ({"npm test": "claimed"}, 1, "s-1")
    assert len(result["notes"]) == 1


@pytest.mark.parametrize("damage", ["]", ",,}"])
def test_a_call_with_a_stray_sign_gets_an_error_with_its_place_and_the_session_goes_on(
    session: Session, damage: str
) -> None:
    arguments = json.dumps({"reason": "why", "items": [item("a")]})
    broken = arguments + damage if damage == "]" else arguments[:-1] + damage
    session.play(call("update_plan", broken), update(item("a")), say("done"))
    first, second = (
        json.loads(message["content"])
        for message in session.server.requests[-1].messages
        if message["role"] == "tool"
    )
    assert first["error"]["code"] == "bad_arguments"
    assert "(byte " in first["error"]["message"]
    assert second["revision"] == 1


@pytest.mark.parametrize("tail", ['"go",}]}', '"go"},]}', '"go"}],}'])
def test_one_trailing_comma_in_a_call_is_ignored_and_said_and_the_history_has_the_plan(
    session: Session, tail: str
) -> None:
    sent = f'{{"reason":"why","items":[{{"id":"a","title":"[,]","status":"pending","next_action":{tail}'
    session.play(call("update_plan", sent), say("done"))
    result = session.last_result()
    assert (result["items"][0]["title"], len(result["notes"])) == ("[,]", 1)
    assert "trailing comma" in result["notes"][0]
    (made,) = session.server.requests[-1].messages[-2]["tool_calls"]
    assert json.loads(made["function"]["arguments"])["items"][0]["id"] == "a"


def test_a_change_by_another_session_is_refused_with_the_current_plan_in_full(
    session: Session, other: Session
) -> None:
    waiting = session.begin(
        update(item("ours")),
        Step(parts=(gate("changed"),), calls=update(item("ours", "a.py")).calls),
        update(item("ours", "a.py"), item("theirs", details="d" * 600)),
        say("done"),
    )
    session.server.wait_for_requests(2, 30)
    other.play(update(item("theirs", details="d" * 600)), say("other"))
    theirs = json.loads((session.workspace / NAME).read_text(encoding="utf-8"))
    session.server.open("changed")
    assert waiting.finish().status == 0
    session.server.assert_done()
    refused = json.loads(session.server.requests[2].messages[-1]["content"])
    assert [problem["rule"] for problem in refused["error"]["problems"]] == ["stale_plan"]
    assert refused["plan"] == theirs
    assert theirs["session"] == "s-2"
    assert [each["id"] for each in session.last_result()["items"]] == ["ours", "theirs"]


@pytest.mark.parametrize("way", ["link", "place/../place/."])
def test_one_workspace_has_one_plan_by_whatever_path_it_is_reached(session: Session, way: str) -> None:
    session.play(update(item("a")), say("done"))
    link = session.workspace.parent / "link"
    link.symlink_to(session.workspace)
    words = ["--workspace", str(link) if way == "link" else f"{session.workspace.parent}/{way}"]
    session.server.add(say("seen"))
    environment = openai_environment(session.server.base_url)
    done = Run(
        session.at, session.workspace.parent, *words, "--session", "s-1", "go on", **environment
    ).finish()
    assert done.status == 0, done
    assert [each["id"] for each in session.last_result()["items"]] == ["a"]


@pytest.mark.parametrize("damage", ["newer", "link"])
def test_a_bad_plan_file_is_told_and_kept_aside_and_the_session_goes_on(
    session: Session, damage: str
) -> None:
    path = session.workspace / NAME
    if damage == "newer":
        path.write_text('{"version":2,"steps":[]}', encoding="utf-8")
    else:
        path.symlink_to("a.py")
    before = path.lstat()
    done = session.play(update(item("a")), say("done"))
    (kept,) = session.workspace.glob(f"{NAME}.bad-*")
    assert (kept.lstat().st_ino, kept.lstat().st_size) == (before.st_ino, before.st_size)
    told = [event for event in done.events() if kept.name in json.dumps(event)]
    assert len(told) == 1, done
    assert json.loads(path.read_text(encoding="utf-8"))["items"][0]["id"] == "a"
    assert (session.workspace / "a.py").read_text(encoding="utf-8").startswith("def main")
