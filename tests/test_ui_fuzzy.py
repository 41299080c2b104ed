"""Files found by some letters of their path: what people mean comes first, and it is there at once."""

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ui.composer.fuzzy import MOST, Paths, marks

FILES = sorted(
    [
        "Makefile", "README.md", "actors/plan/rules.py", "actors/undo/state_machine.py", "docs/composer.md",
        "readme/x.txt", "state/a/b.py", "state/a/c.py", "straße/größe.txt", "tests/test_ui_state.py",
        "ui/UIComposer.tsx", "ui/app.py", "ui/composer/completion.py", "ui/composer/composer.py",
        "ui/state.py", "ui/widgets/plan_panel.py",
    ]
)  # fmt: skip
FRAME_S = 0.016


def paths_of(files: list[str]) -> Paths:
    paths = Paths()
    for _ in paths.take(files):
        pass
    return paths


def many(count: int) -> list[str]:
    """The files of a large workspace: a tenth as many folders."""
    chance = random.Random(1)
    words = ["app", "core", "ui", "widget", "composer", "screen", "state", "test", "parse", "model", "view"]
    folders = ["/".join(chance.choices(words, k=chance.randint(1, 6))) for _ in range(count // 10)]
    names = {
        f"{chance.choice(folders)}/{chance.choice(words)}_{chance.choice(words)}{number}.py"
        for number in range(count)
    }
    return sorted(names)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("state", "ui/state.py"),
        ("rules", "actors/plan/rules.py"),
        ("panel", "ui/widgets/plan_panel.py"),
        ("readme", "README.md"),
        ("README", "README.md"),
        ("make", "Makefile"),
        ("größe", "straße/größe.txt"),
        ("ui/st", "ui/state.py"),
        ("uicomp", "ui/UIComposer.tsx"),
        ("undo/st", "actors/undo/state_machine.py"),
        ("cmpl", "ui/composer/completion.py"),
    ],
)
def test_what_is_meant_comes_first(query: str, first: str) -> None:
    assert paths_of(FILES).find(query)[0] == first


def test_nothing_that_lacks_a_letter_is_found() -> None:
    assert paths_of(FILES).find("zqx") == []
    assert paths_of([]).find("") == []


def test_without_letters_a_folder_shows_what_it_holds_folders_first() -> None:
    paths = paths_of(FILES)
    assert paths.find("ui/") == [
        "ui/composer/", "ui/widgets/", "ui/app.py", "ui/state.py", "ui/UIComposer.tsx",
    ]  # fmt: skip
    assert paths.find("")[:2] == ["actors/", "docs/"]
    assert {"Makefile", "README.md", "straße/", "ui/"} <= set(paths.find(""))
    assert paths.find("ui/composer/") == ["ui/composer/completion.py", "ui/composer/composer.py"]


@pytest.mark.parametrize("name", ["a\x1b[2J", "a\u202eb", "a\tb", "a\nb", "z\u200b"])
def test_a_name_that_would_look_like_another_is_not_offered(name: str) -> None:
    assert paths_of(sorted(["plain", name, f"{name}/x"])).find("") == ["plain"]


def test_the_letters_that_were_meant_are_known_those_of_the_name_if_it_has_them_all() -> None:
    (lit,) = marks("state", ["state/ui/state.py"])
    assert lit == frozenset(range(9, 14))
    (lit,) = marks("ui/s", ["ui/state.py"])
    assert lit == frozenset(range(4))
    (lit,) = marks("größe", ["straße/größe.txt"])
    assert lit == frozenset(range(7, 12))
    assert marks("", ["a"]) == [frozenset()]


def test_fifty_thousand_files_are_searched_within_a_frame() -> None:
    paths = paths_of(many(50_000))
    times = []
    for query in ("u", "ui", "uic", "uicomp", "ets", "state1", "zqx", "", "app/", "core/plan") * 3:
        begun = time.perf_counter()
        found = paths.find(query)
        times.append(time.perf_counter() - begun)
        assert len(found) <= MOST
    assert sorted(times)[len(times) // 2] < FRAME_S


def test_a_list_is_taken_in_pieces_that_leave_room_for_keys() -> None:
    files, paths, pieces = many(20_000), Paths(), 0
    for _ in paths.take(files):
        pieces += 1
        assert paths.find("ui") == []  # until the last piece the list before it holds
    assert pieces > 5
    assert paths.find("ui")


LETTERS = st.text("ab ._Éß漢\u0301\u202e\x1b\ud800\"'\\🙂", min_size=1, max_size=5)
FILE = st.lists(LETTERS, min_size=1, max_size=3).map("/".join)


@settings(max_examples=150, deadline=None)
@given(files=st.lists(FILE, max_size=12), query=FILE | st.text(max_size=300) | FILE.map(lambda it: f"{it}/"))
def test_any_names_and_any_query_are_taken(files: list[str], query: str) -> None:
    found = paths_of(sorted(set(files))).find(query)
    assert len(set(found)) == len(found)
    for path, lit in zip(found, marks(query, found), strict=True):
        assert all(0 <= at < len(path) for at in lit)
