"""A model whose turns touch everything: plan, shell, subagent. One answer of a turn can be held or broken."""

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.fakes.chat_request import Request
from tests.fakes.chat_script import Drop, Stall, Step, Wait, call, calls, chunks, say, status
from tests.fakes.player import DAEMONS

REQUESTS = 8
"""Of a turn in which nothing happens: five of the parent, three of the subagent in their midst."""
COMMAND_AT = 2
"""The request whose answer runs the command."""
COMMAND = "env -i setsid sleep 1006 &\n" + DAEMONS.replace("sleep 1005", ": < gate")
"""Daemons that do all to get away, then a wait until somebody opens the named pipe `gate` for writing."""
FINDINGS = [{"file": "a.py", "line": 1, "claim": "`print` is called", "confidence": "high"}]
RESULT = json.dumps({"status": "completed", "summary": "It prints one.", "findings": FINDINGS})

Trouble = Callable[[Step], Step]
TROUBLES: dict[str, Trouble] = {
    "the server hangs up before it answers": lambda _: Step(status=0, after_part=Drop(reset=False)),
    "the server resets the connection before it answers": lambda _: Step(status=0, after_part=Drop()),
    "the server's answer is cut off": lambda step: replace(step, after_part=Drop(reset=False)),
    "the server resets the connection within its answer": lambda step: replace(step, after_part=Drop()),
    "the server stalls within its answer": lambda step: replace(step, after_part=Stall()),
    "the server is busy": lambda _: status(429, {"Retry-After": "0"}),
    "the server fails": lambda _: status(503),
    "the server sends garbage": lambda _: chunks("{", b"\xff\x00 no event\n\n"),
}


class EventfulModel:
    """Plays the turns; `ScriptedServer(otherwise=model.answer)`."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        """Set when the marked request of the turn has come."""
        self._asked = 0
        self._marked = 0
        self._spoil: Trouble | None = None

    def mark(self, request: int, spoil: Trouble | None = None) -> None:
        """Begin a turn; its nth request sets `reached`, and `spoil` makes its answer from the usual one."""
        self.reached.clear()
        self._asked, self._marked, self._spoil = 0, request, spoil

    def answer(self, request: Request) -> Step:
        """What the model says to a request."""
        self._asked += 1
        step = _of_subagent(request) if request.is_subagent else _of_parent(request)
        if self._asked != self._marked:
            return step
        self.reached.set()
        return self._spoil(step) if self._spoil else step


def held(gate: str) -> Trouble:
    """Hold an answer in its midst until the server opens the gate."""
    return lambda step: replace(step, parts=(*step.parts, Wait(gate)))


def _of_parent(request: Request) -> Step:
    number = request.number
    match rounds(request, "user"):
        case 0 | 3:
            item = {"id": "a", "title": "Work", "status": "in_progress", "next_action": "go on"}
            return call("update_plan", {"reason": f"request {number}", "items": [item]}, text="I plan. ")
        case 1:
            command = {"command": f"echo {number} >> ran\n{COMMAND}"}
            return call("bash_exec", command, id=f"run-{number}", text="I run it. ")
        case 2:
            return call("delegate", {"task": "What does a.py print?"}, text="I ask. ")
        case _:
            return say(f"Done with {number}.")


def _of_subagent(request: Request) -> Step:
    match rounds(request, "tool", "subagent_bootstrap"):
        case 0:
            return call("read_file", {"path": "a.py"}, text="I look. ")
        case 1:
            return calls([call("list_files", {}), call("ripgrep", {"pattern": "print"})], text="I search. ")
        case _:
            return say(RESULT)


def rounds(request: Request, role: str, text: str = "") -> int:
    """How many answers stand behind the last message of a role with a text in it."""
    messages = request.messages
    last = max(n for n, m in enumerate(messages) if m["role"] == role and text in m["content"])
    return sum(m["role"] == "assistant" and not _restores_plan(m) for m in messages[last:])


def _restores_plan(message: dict[str, Any]) -> bool:
    """Whether Fido itself has put this call in, so that the model sees the plan of an earlier turn."""
    calls = [one["function"] for one in message.get("tool_calls", ())]
    return [one["name"] for one in calls] == ["update_plan"] and "reason" not in calls[0]["arguments"]
