"""Fido's own files and words are UTF-8, whatever the locale of the person is."""

import ast
import os
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.fakes.chat_script import call, calls, say
from tests.fakes.fido import Run, home, openai_environment
from tests.fakes.scripted_server import ScriptedServer

ROOT: Final = Path(__file__).parents[1]
SOURCES: Final = sorted(
    path for name in ("actors", "ipc", "ui", "docs") for path in (ROOT / name).rglob("*.py")
)
TEXT_ARGUMENTS: Final = {"text", "universal_newlines", "errors"}
WORDS: Final = "Grüße, 日本語 😀"


@pytest.mark.report("CFG-05")
def test_no_text_is_read_or_written_in_the_encoding_of_the_locale() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and _by_locale(node)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ("open(path)", True),
        ("open(path, 'w')", True),
        ("open(path, mode='a')", True),
        ("os.fdopen(fd)", True),
        ("path.read_text()", True),
        ("path.write_text(text)", True),
        ("path.open()", True),
        ("path.open('w')", True),
        ("subprocess.run(line, text=True)", True),
        ("subprocess.Popen(line, universal_newlines=True)", True),
        ("io.TextIOWrapper(raw)", True),
        ("logging.FileHandler(path)", True),
        ("NamedTemporaryFile('w')", True),
        ("open(path, 'rb')", False),
        ("open(path, encoding='utf-8')", False),
        ("os.open(path, os.O_RDONLY)", False),
        ("path.open('rb')", False),
        ("path.read_text('utf-8')", False),
        ("path.read_text(encoding='utf-8')", False),
        ("path.read_bytes()", False),
        ("subprocess.run(line)", False),
        ("subprocess.run(line, text=True, encoding='utf-8')", False),
    ],
)
def test_the_rule_tells_text_from_bytes(code: str, wrong: bool) -> None:
    (node,) = (each for each in ast.walk(ast.parse(code)) if isinstance(each, ast.Call))
    assert _by_locale(node) is wrong


def _by_locale(node: ast.Call) -> bool:
    """Whether a call opens text and leaves it to the locale what its bytes are."""
    named = {keyword.arg: keyword.value for keyword in node.keywords}
    if "encoding" in named or None in named:
        return False
    whole = ast.unparse(node.func)
    name = whole.rpartition(".")[2]
    match name:
        case "open" if whole not in ("open", "io.open"):
            mode = _mode(node, 0)  # of other things than a path the first argument is none
            return mode is not None and set(mode) <= set("rwaxt+")
        case "open" | "fdopen":
            return "b" not in (_mode(node, 1) or "")
        case "NamedTemporaryFile" | "TemporaryFile":
            return "b" not in (_mode(node, 0) or "b")
        case "read_text":
            return not node.args
        case "write_text":
            return len(node.args) < 2
        case "TextIOWrapper" | "FileHandler" | "RotatingFileHandler" | "getpreferredencoding":
            return True
        case "run" | "Popen" | "check_output" | "call" | "check_call":
            return bool(TEXT_ARGUMENTS & set(named))
        case _:
            return False


def _mode(node: ast.Call, place: int) -> str | None:
    """The mode that a call names by that argument: empty when it names none, null when it is worked out."""
    given = [keyword.value for keyword in node.keywords if keyword.arg == "mode"] or node.args[
        place : place + 1
    ]
    if not given:
        return ""
    mode = given[0]
    return mode.value if isinstance(mode, ast.Constant) and isinstance(mode.value, str) else None


@pytest.fixture(scope="module")
def latin_1(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a person whose locale is not UTF-8; for Python a plain `C` is."""
    folder = tmp_path_factory.mktemp("locales")
    made = subprocess.run(
        ["localedef", "-i", "en_US", "-f", "ISO-8859-1", str(folder / "en_US.ISO-8859-1")],
        capture_output=True,
        timeout=60,
        check=False,
    )
    if made.returncode > 1:  # 1 stands for warnings
        pytest.skip("this system can not make a locale")
    return {"LC_ALL": "en_US.ISO-8859-1", "LOCPATH": str(folder)}


@pytest.mark.report("CFG-05")
@pytest.mark.parametrize("locale", ["C", "latin_1"])
def test_every_word_arrives_whole_in_every_locale(
    locale: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Settings, instructions, prompt, file names, file contents, answer."""
    environ = {"LC_ALL": "C"} if locale == "C" else request.getfixturevalue("latin_1")
    workspace = tmp_path / WORDS
    workspace.mkdir()
    for name in ("AGENTS.md", f"{WORDS}.md"):
        (workspace / name).write_text(f"{WORDS}\n", encoding="utf-8")
    with home() as at, ScriptedServer() as server:
        settings = at.folder / "config" / "fido" / "config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(f'model = "{WORDS}"\n', encoding="utf-8")
        reads = [call("list_files", {}), call("ripgrep", {"pattern": "日本"})]
        reads.append(call("bash_exec", {"command": f"printf '%s\\n' '{WORDS}' >made"}))
        edit = call("patch", {"path": f"{WORDS}.md", "old_text": "Grüße", "new_text": "Öl"})
        server.add(calls(reads), edit, say(WORDS))
        provider = openai_environment(server.base_url, "sk-1")
        done = Run(at, workspace, WORDS, "--mode", "yolo", **environ, **provider).finish()
        assert (done.status, done.out) == (0, f"{WORDS}\n"), done
        first, last = (os.fsdecode(server.requests[at].body) for at in (0, -1))
    assert first.count(WORDS) >= 4
    assert last.count(f"{WORDS}.md") >= 3
    assert (workspace / "made").read_text(encoding="utf-8") == f"{WORDS}\n"
    assert (workspace / f"{WORDS}.md").read_text(encoding="utf-8") == "Öl, 日本語 😀\n"
