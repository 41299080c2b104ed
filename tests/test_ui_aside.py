"""Languages of code are loaded while the screen goes on."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from ipc.messages import MessageDelta
from tests.fakes.facts import session
from tests.fakes.screen import Desktop
from ui.aside import aside
from ui.transcript import code


def test_work_is_done_in_a_thread_and_what_follows_it_in_the_loop() -> None:
    async def run() -> list[str]:
        told, over = list[str](), asyncio.Event()
        names = (lambda: told.append("then " + threading.current_thread().name), over.set)
        aside(asyncio.get_running_loop(), names[1])(
            lambda: told.append("work " + threading.current_thread().name), names[0]
        )
        await asyncio.wait_for(over.wait(), 10)
        return told

    assert asyncio.run(run()) == ["work aside", f"then {threading.main_thread().name}"]


def test_a_loop_that_has_ended_hears_nothing_more() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    worked = threading.Event()
    aside(loop, worked.clear)(worked.set, worked.clear)
    assert worked.wait(10)


@pytest.fixture
def waiting() -> Iterator[list[code.Work]]:
    """What is to be done until a language is loaded, and nobody does it."""
    languages = code.LANGUAGES
    load, known = languages.load, dict(languages._lexers)
    left = list[code.Work]()
    languages._lexers.clear()
    languages.load = lambda work, then: left.extend((work, then))
    yield left
    languages.load = load
    languages._lexers.update(known)


def test_code_is_plain_until_its_language_is_loaded_and_then_drawn_anew(waiting: list[code.Work]) -> None:
    said = MessageDelta(turn=1, kind="text", text="```python\ndef f():\n    pass\n```\n\nend")
    desk = Desktop().tell(session(), said)
    assert desk.roles_of("def f") == {None}
    for work in waiting:
        work()
    assert "c_keyword" in desk.roles_of("def f")
