"""A model server that spoils three answers in ten, in every way that servers are known to.

Rules
-----
Every turn has a course: some rounds of calls, then its answer. A request gets the next step of the course,
right or spoiled. What comes of a spoiled step is one of: it is `right` all the same, it is sent `again`, it
costs the model a `round`, it is an answer that is `told` of, or it `ends` the turn. The course goes on only
behind what arrived whole.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from tests.fakes.chat_request import Request
from tests.fakes.chat_script import Step, call, calls, say
from tests.fakes.spoiling import SPOILINGS, Spoiling

RATE: Final = 0.3
SLOW: Final = 1
"""How often each way that takes time is met at most; the limit is long, as a busy machine is slow, too."""
SUMMARY: Final = "A summary of what was done."
SUMMARY_WANTED: Final = "This is a request of Fido"


@dataclass
class Course:
    """What one turn should bring, and what became of it."""

    number: int
    left: list[Step]
    changes: Mapping[str, str]
    """Files that the turn makes when all of its calls arrive."""
    spoiled: list[Spoiling | None] = field(default_factory=list)
    """For each request: how its answer went wrong; null: it was right."""
    arrived: int = 0
    """Calls that arrived whole."""

    def __str__(self) -> str:
        ways = ", ".join(how.name if how else "right" for how in self.spoiled)
        return f"turn {self.number}: {ways}; {len(self.left)} steps left"

    @property
    def answer(self) -> str:
        return f"The answer to wish {self.number} is {self.number * self.number}; äöü € 🐕."

    @property
    def last(self) -> Spoiling | None:
        """What went wrong with the newest answer."""
        return self.spoiled[-1]


class Chaos:
    """Gives a `ScriptedServer` its answers: `ScriptedServer(otherwise=chaos.answer)`."""

    def __init__(self, seed: int, ways: Sequence[Spoiling] = SPOILINGS) -> None:
        self.rate = RATE
        self.met: dict[str, int] = {}
        """How often each way to go wrong was met."""
        self._dice = Random(seed)
        self._ways = ways
        self._deck: list[Spoiling] = []
        self.course = self.begin(0)

    def begin(self, number: int) -> Course:
        """Make the course of the next turn."""
        dice, files, steps = self._dice, dict[str, str](), list[Step]()
        for n in range(dice.choice([0, 1, 1, 2, 3])):
            made = [self._call(f"{number}-{n}-{each}", files) for each in range(dice.choice([1, 1, 2]))]
            steps.append(calls(made, text=dice.choice(["", "I look."])))
        self.course = Course(number, steps, files)
        self.course.left.append(say(self.course.answer, reasoning=dice.choice(["", "Hm."])))
        return self.course

    def answer(self, request: Request) -> Step:
        """The next step of the course, right or spoiled."""
        if SUMMARY_WANTED in str(request.messages[-1]["content"]):
            return say(SUMMARY)
        course, dice = self.course, self._dice
        step = course.left[0]
        how = None
        if dice.random() < self.rate:
            how = self._deal(step)
        course.spoiled.append(how)
        if how is None or how.effect == "right":
            course.arrived += len(step.calls)
            if len(course.left) > 1:
                del course.left[0]
        return step if how is None else how.spoil(step, dice)

    def _deal(self, step: Step) -> Spoiling:
        """The next way to go wrong: none comes again before all others that suit have come."""
        if not any(how.suits(step) for how in self._deck):
            fresh = [how for how in self._ways if not how.is_slow or self.met.get(how.name, 0) < SLOW]
            self._deck += self._dice.sample(fresh, len(fresh))
        how = next(how for how in self._deck if how.suits(step))
        self._deck.remove(how)
        self.met[how.name] = self.met.get(how.name, 0) + 1
        return how

    def _call(self, name: str, files: dict[str, str]) -> Step:
        kind = self._dice.randrange(5)
        if kind == 0:
            return call("read_file", {"path": "seed.txt"})
        if kind == 1:
            return call("ripgrep", {"pattern": "ä+", "path": "seed.txt"})
        if kind == 2:
            item: dict[str, Any] = {
                "id": "wish",
                "title": f"Wish {name}",
                "status": "in_progress",
                "next_action": "Go on.",
            }
            return call("update_plan", {"reason": f"wish {name}", "items": [item]})
        files[f"{name}.txt"] = text = f"made for {name}: ä€🐕\n" * self._dice.choice([1, 20])
        return call("patch", {"path": f"{name}.txt", "old_text": "", "new_text": text})
