"""The pages are true: parts are fresh, links lead somewhere, examples work, tables say what happens."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.commands.arguments import parser_for, split
from actors.headless import EXIT_STATUS, NEEDED_APPROVAL
from actors.headless_output import StreamPrinter
from actors.settings.settings import load
from docs.generate import PAGES, filled
from ipc.messages import (
    MessageDelta,
    NoticeRaised,
    PlanChanged,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)
from tests.fakes.facts import PLAN, activity, finished, session, usage

ROOT = Path(__file__).parent.parent
WRITTEN = (*PAGES, ROOT / "CONTRIBUTING.md")
RUNNING = (ROOT / "docs" / "running.md").read_text(encoding="utf-8")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_page_says_what_the_code_says(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert filled(text) == text, "stale; run: make docs"


@pytest.mark.parametrize("page", WRITTEN, ids=name_of)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#\s]+)", text)
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not missing


@pytest.mark.parametrize("page", WRITTEN, ids=name_of)
def test_files_that_a_page_names_exist(page: Path) -> None:
    named = re.findall(r"`((?:actors|ipc|ui|tests|docs)/[\w./-]+\.\w+)`", page.read_text(encoding="utf-8"))
    assert not [name for name in named if not (ROOT / name).exists()]


def test_make_targets_named_in_the_pages_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {
        name for page in WRITTEN for name in re.findall(r"`make ([a-z]+)", page.read_text(encoding="utf-8"))
    }
    assert {"setup", "demo", "test", "run", "check", "bench", "docs", "help", "faults"} <= targets
    assert named <= targets
    assert {"demo", "test"} <= named


def examples() -> Iterator[str]:
    """Lines of code blocks that call `fido`."""
    for page in PAGES:
        for block in re.findall(
            r"^```\w*\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
        ):
            yield from (line for line in block.splitlines() if re.match(r"fido( |$)", line))


@pytest.mark.parametrize("line", sorted(set(examples())))
def test_example_on_a_page_is_a_command_that_fido_understands(line: str) -> None:
    command, words = split(shlex.split(line, comments=True)[1:])
    parser_for(command).understand(words)


def test_example_of_settings_can_be_loaded(tmp_path: Path) -> None:
    example = re.search(r"^```toml\n(.*?)^```", RUNNING, re.DOTALL | re.MULTILINE)
    assert example
    file = tmp_path / "fido" / "config.toml"
    file.parent.mkdir()
    file.write_text(example[1], encoding="utf-8")
    settings = load({}, {"XDG_CONFIG_HOME": str(tmp_path)}, tmp_path)
    assert settings.permissions.commands["git push *"] == "deny"


def rows(head: str) -> dict[str, str]:
    """The table of the page below a line: first cell to second."""
    lines = RUNNING[RUNNING.index(head) :].splitlines()[2:]
    cells = [line.strip("| ").split(" | ") for line in lines[: lines.index("")]]
    return {cell[0].strip("`"): cell[1] for cell in cells}


def test_table_of_stream_json_says_what_is_printed() -> None:
    lines: list[bytes] = []
    printer = StreamPrinter(lines.append)
    for fact in (
        session(),
        TurnStarted(turn=1, prompt="x"),
        MessageDelta(turn=1, kind="text", text="x"),
        ToolStarted(call_id="c", name="n", summary="s"),
        ToolFinished(call_id="c", name="n", status="ok", duration_ms=1, display=""),
        PlanChanged(plan=PLAN),
        activity("reasoning"),
        usage(),
        NoticeRaised(level="info", message="m"),
    ):
        printer.show(fact)
    printer.finish(finished())
    printed = {object_["type"]: list(object_)[1:] for object_ in map(json.loads, lines)}
    told = {
        kind: re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", fields))
        for kind, fields in rows("| type | fields |").items()
    }
    assert told == printed


def test_table_of_exit_statuses_says_what_is_returned() -> None:
    told = rows("| exit status | means |")
    assert told[str(EXIT_STATUS["completed"])] == "completed"
    assert "failed" in told[str(EXIT_STATUS["failed"])]
    assert "limit" in told[str(EXIT_STATUS["limit"])]
    assert "approval" in told[str(NEEDED_APPROVAL)]
    assert {told["130"], told["143"]} == {"SIGINT", "SIGTERM"}


def test_every_rule_that_can_refuse_a_plan_has_its_line() -> None:
    sources = [*(ROOT / "actors" / "plan").glob("*.py"), ROOT / "actors" / "plan_store.py"]
    code = "".join(path.read_text(encoding="utf-8") for path in sources)
    found = re.findall(r'(?:rule=|Finding\(\s*|rule, message = |_MISSING\.get\(field, )"(\w+)"', code)
    page = (ROOT / "docs" / "sessions.md").read_text(encoding="utf-8")
    table = page[page.index("| rule | says |") : page.index("Where the meaning is certain")]
    assert set(re.findall(r"`(\w+)`", table)) == set(found)
