"""No text makes a pattern of the screen think for long: what is drawn was written by others."""

import importlib
import inspect
import pkgutil
import re
import signal
from collections.abc import Iterator
from itertools import product
from types import FrameType
from typing import NamedTuple

import pytest

import ui
from ipc import terminal_text

LONG = 3_000
"""Signs of a hostile line: what is quadratic takes 0.1 s, what is worse is never done."""
MOST_S = 0.5
PARTS = [
    *(
        "a",
        "A",
        "0",
        " ",
        "\t",
        "\n",
        "-",
        "*",
        "+",
        "_",
        "`",
        "~",
        "|",
        ":",
        ".",
        "/",
        "\\",
        "[",
        "]",
        "(",
        ")",
        "<",
    ),
    *("#", "=", "@", ",", "é", "漢", "\u0301", "\u200d", "\ufe0f", "\u202e", "❤"),
    *(
        "- ",
        "-  ",
        "1. ",
        "1.",
        "a ",
        " \n",
        ":-",
        "-|",
        ": -",
        "a.",
        "a:",
        "a@",
        "://",
        "](",
        "**",
        "@@ -1",
        "\x1b[",
    ),
    *("1 of 2 done", "… 1,000 lines left out\n", "https://", "https://a.b/", "❤\ufe0f", "❤\u200d", "a\u0301"),
]
ENDS = ["", "x", "\n", "`x", " |x"]


class Pattern(NamedTuple):
    pattern: re.Pattern[str]
    searched: bool
    """Whether it is looked for anywhere in a text, and not at a place alone."""


def patterns() -> Iterator[tuple[str, Pattern]]:
    """Every pattern that a module of the screen has, and those by which text is cleaned."""
    modules = [importlib.import_module(found.name) for found in pkgutil.walk_packages(ui.__path__, "ui.")]
    for module in [*modules, terminal_text]:
        code = inspect.getsource(module)
        for name, value in vars(module).items():
            if isinstance(value, str) and re.search(rf"(\bre\.\w+|_compiled)\({name}\b", code):
                yield f"{module.__name__}.{name}", Pattern(re.compile(value), searched=True)
            elif isinstance(value, re.Pattern) and isinstance(value.pattern, str):
                searched = re.search(rf"\b{name}\.(search|sub|split|findall|finditer)\(", code)
                yield f"{module.__name__}.{name}", Pattern(value, searched is not None)


PATTERNS = {
    **dict(patterns()),
    "terminal_text._stacks": Pattern(terminal_text._stacks(terminal_text._MARK_BLOCKS), searched=True),
    "terminal_text._stacks high": Pattern(
        terminal_text._stacks(terminal_text._HIGH_MARK_BLOCKS), searched=True
    ),
}


def too_long(_: int, __: FrameType | None) -> None:
    raise TimeoutError


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_takes_its_time_for_no_hostile_line(name: str) -> None:
    pattern, searched = PATTERNS[name]
    before = signal.signal(signal.SIGVTALRM, too_long)
    try:
        for part, end in product(PARTS, ENDS):
            line = part * (LONG // len(part)) + end
            signal.setitimer(signal.ITIMER_VIRTUAL, MOST_S)  # the time of this process, whatever others do
            try:
                pattern.match(line)
                pattern.fullmatch(line)
                if searched:
                    pattern.sub("", line)
            except TimeoutError:
                pytest.fail(f"{name} does not come to an end with {part!r} and {end!r}")
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def test_all_patterns_are_known() -> None:
    modules = {name.rpartition(".")[0].rpartition(".")[2] for name in PATTERNS}
    assert modules >= {"pieces", "links", "unfinished", "diff", "tools", "completion", "terminal_text"}
