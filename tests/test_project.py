"""What holds the project in shape: who may import whom, how long a file may be, what is pinned."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("actors", "ipc", "ui")
SOURCES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
ACTORS = {f"actors.{name}" for name in ("supervisor", "parent", "plan_store", "worker", "headless")}
HOMES = {
    "zmq": ("ipc/channel.py",),
    "openai": ("actors/provider/direct.py",),
    "urwid": ("ui/",),
    "markdown_it": ("ui/transcript/",),
    "pygments": ("ui/transcript/",),
}
"""Who alone may import a package."""
LONG_FOR_A_REASON = {"ipc/messages.py": "one file is the whole vocabulary"}


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def module_of(path: Path) -> str:
    return name_of(path).removesuffix(".py").replace("/", ".")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports_of(path: Path) -> Iterator[str]:
    """Every module that a file names in an import, lazy ones included."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)} imports relatively"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def refusal(path: Path, imported: str) -> str:
    """Why this import may not be, or nothing."""
    room, other = name_of(path).partition("/")[0], imported.partition(".")[0]
    allowed = {"ipc": {"ipc"}, "ui": {"ui", "ipc"}, "actors": {"actors", "ipc"}}[room]
    if other in ROOMS and other not in allowed:
        return f"{room} may not import {other}"
    if not name_of(path).startswith(HOMES.get(other, ("",))):
        return f"{other} has its home in {HOMES[other]}"
    if imported in ACTORS - {module_of(path)}:
        if module_of(path) in ACTORS:
            return "an actor never imports another actor"
        if "tools" in path.parts:
            return "a tool never imports an actor"
    return ""


def test_imports_go_one_way() -> None:
    assert not [
        f"{name_of(path)} imports {imported}: {why}"
        for path in SOURCES
        for imported in imports_of(path)
        if (why := refusal(path, imported))
    ]


@pytest.mark.parametrize("module", ["actors.cli", "actors.supervisor", "actors.guard"])
def test_way_to_the_first_frame_imports_nothing_heavy(module: str) -> None:
    heavy = {"pydantic", "openai", "urwid", "httpx2"}
    code = f"import {module}, sys; print(*({heavy} & set(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=30, check=True
    )
    assert run.stdout.split() == []


def too_long(files: Iterable[Path], most: int) -> dict[str, int]:
    lines = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    return {name: count for name, count in lines.items() if count > most and name not in LONG_FOR_A_REASON}


def test_modules_are_short_enough_to_read() -> None:
    assert not too_long(SOURCES, 400)


def test_test_files_are_short_enough_to_find_a_test_in() -> None:
    assert not too_long(TESTS, 600)


def test_files_open_with_one_line_that_says_what_lives_there() -> None:
    opening = re.compile(r"[^\n]+(\n\n.*)?", re.DOTALL)
    files = [path for path in (*SOURCES, *TESTS) if path.stat().st_size]
    assert not [
        name_of(path) for path in files if not opening.fullmatch(ast.get_docstring(tree_of(path)) or "")
    ]


def test_no_module_has_a_name_that_says_nothing() -> None:
    empty = {"utils", "util", "helpers", "helper", "common", "base", "manager", "misc"}
    assert not [name_of(path) for path in (*SOURCES, *TESTS) if path.stem in empty]


def test_no_package_file_hides_the_real_packages_from_the_tests() -> None:
    assert not list((ROOT / "tests").rglob("__init__.py"))


def leaves_the_encoding_to_the_locale(call: ast.Call) -> bool:
    """Whether a call reads or writes text in whatever encoding the machine has."""
    function = call.func
    named = {word.arg: ast.unparse(word.value) for word in call.keywords}
    constants = [argument.value for argument in call.args if isinstance(argument, ast.Constant)]
    mode = next(iter(constants), named.get("mode", "r"))
    if "encoding" in named or "utf-8" in constants or (isinstance(mode, str) and "b" in mode):
        return False
    if isinstance(function, ast.Name):
        return function.id == "open"
    if not isinstance(function, ast.Attribute):
        return False
    if function.attr == "open":
        # `Path.open` takes a mode or nothing; others of that name take a thing to open.
        modes = [str(getattr(argument, "value", "-")) for argument in call.args]
        return all(re.fullmatch("[rwxat+]+", mode) for mode in modes) and not call.keywords
    return function.attr in {"read_text", "write_text"}


def calls_in(path: Path) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call))


def test_text_files_are_opened_with_their_encoding() -> None:
    assert not [
        f"{name_of(path)}:{call.lineno}"
        for path in (*SOURCES, *TESTS)
        for call in calls_in(path)
        if leaves_the_encoding_to_the_locale(call)
    ]


def test_tests_wait_for_events_and_never_sleep() -> None:
    assert not [
        f"{name_of(path)}:{call.lineno}"
        for path in TESTS
        for call in calls_in(path)
        if ast.unparse(call.func) == "time.sleep"
    ]


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, timeout=30, check=True
    ).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def test_no_file_names_a_package_index_or_a_machine_of_ours() -> None:
    here = re.escape(f"{ROOT}/")
    forbidden = re.compile(rf"pypi\.(org|python)|--(extra-)?index-url|--find-links|{here}")
    found = [
        f"{name_of(path)}: {hit[0]}"
        for path in tracked()
        if path != Path(__file__)
        and (hit := forbidden.search(path.read_text(encoding="utf-8", errors="replace")))
    ]
    assert not found


def test_no_promise_is_left_in_the_code() -> None:
    marker = re.compile(r"#\s*(TODO|FIXME|XXX|HACK)\b|NotImplementedError")
    assert not [name_of(path) for path in SOURCES if marker.search(path.read_text(encoding="utf-8"))]


def test_procfile_starts_actors_that_exist() -> None:
    lines = (ROOT / "Procfile").read_text(encoding="utf-8").splitlines()
    assert [line.split(": ") for line in lines] == [
        [name, f"fido actor {name}"] for name in ("plan_store", "parent", "worker")
    ]
    assert all((ROOT / "actors" / f"{line.partition(':')[0]}.py").exists() for line in lines)


# --- requirements ------------------------------------------------------------------------------------


def pins(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-build.txt", "requirements-dev.txt"])
def test_requirements_are_pinned_and_nothing_else(name: str) -> None:
    for package, version in pins(name).items():
        assert re.fullmatch(r"[A-Za-z0-9_.-]+", package)
        assert re.fullmatch(r"[0-9][0-9.]*", version)


def test_no_package_is_pinned_to_two_versions() -> None:
    files = [pins(f"requirements{kind}.txt") for kind in ("", "-build", "-dev")]
    for package in {package for file in files for package in file}:
        assert len({file[package] for file in files if package in file}) == 1


def test_every_dependency_of_the_project_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    pinned = {name.lower().replace("_", "-") for name in pins("requirements.txt")}
    named = {re.split(r"[<>=]", entry)[0] for entry in project["project"]["dependencies"]}
    assert named <= pinned
    assert {re.split(r"[<>=]", entry)[0] for entry in project["build-system"]["requires"]} <= set(
        pins("requirements-build.txt")
    )
