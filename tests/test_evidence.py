"""Evidence: what is verified, what is only claimed, and that nobody can talk himself into a verdict."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.plan.evidence import judge, relevant
from actors.session.commands import canonical
from ipc.messages import Deed, PlanItem, Verdict
from tests.fakes.any_plans import any_items
from tests.fakes.plans import step

DEEDS = (
    Deed(kind="command", subject="pytest -q"),
    Deed(kind="command", subject="ruff check ."),
    Deed(kind="command", subject="go vet ./..."),
    Deed(kind="command", subject="mypy", ok=False),
    Deed(kind="file", subject="src/app.py", first_line=10, last_line=60),
    Deed(kind="file", subject="src/app.py", first_line=90),
    Deed(kind="file", subject="Makefile", first_line=1, last_line=20),
    Deed(kind="file", subject="with blank.txt"),
)


def verdict(entry: str, *deeds: Deed, before: str = "") -> Verdict:
    previous = [step("a", status="done", evidence=(entry,), verdicts=(before,))] if before else []
    (item,) = judge([step("a", status="done", evidence=(entry,))], previous, deeds or DEEDS)
    return item.verdicts[0]


@pytest.mark.parametrize(
    "entry",
    [
        "pytest -q",
        "  pytest   -q ",
        "pytest '-q'",
        "$ pytest -q",
        "`pytest -q`",
        "pytest -q: 12 passed, 2 skipped",
        "pytest -q (exit 0)",
        "pytest -q - green",
        "pytest -q — green",
        "pytest -q -> 12 passed",
        "pytest -q → 12 passed",
        "pytest -q passed",
        "pytest -q 12 passed",
        "pytest -q exits 0",
        "Ran `pytest -q`: all green",
        "`pytest -q` and `ruff check .` pass",
        "``pytest -q``",
    ],
)
def test_a_command_that_was_run_and_succeeded_is_verified(entry: str) -> None:
    assert verdict(entry) == "verified"


@pytest.mark.parametrize(
    "entry",
    [
        "src/app.py",
        "src/app.py:10",
        "./src/app.py:60",
        "src/app.py:95",
        "src/app.py:42-50 adds the guard, and raises",
        "src/app.py:42:7",
        "src/app.py#L42",
        "src/app.py lines 12-20",
        "added a guard to src/app.py:42",
        "guard added (src/app.py:42)",
        "src/app.py:12 and src/app.py:20",
        "Makefile",
        "see Makefile:3",
        "`src/app.py:42` has it",
        "`with blank.txt:7`",
        "`pytest -q` and `src/app.py:42`",
        "pytest -q: see src/app.py:42",
    ],
)
def test_a_file_that_was_seen_at_that_line_is_verified(entry: str) -> None:
    assert verdict(entry) == "verified"


@pytest.mark.parametrize(
    "entry",
    [
        "tests pass",
        "pytest",
        "pytest -q tests/test_app.py",
        "pytest -q --lf",
        "pytest -q -- -x",
        "npm test",
        "`npm test`",
        "frob",
        "frob -x: ok",
        "src/app.py:9",
        "src/app.py:55-70",
        "src/other.py:1",
        "app.py:42",
        "12:30",
        "https://example.org/index.html",
    ],
)
def test_what_the_session_never_did_is_claimed(entry: str) -> None:
    assert verdict(entry) == "claimed"


@pytest.mark.parametrize(
    "entry",
    [
        "`pytest -q` and `npm test` pass",
        "pytest -q: 12 passed, npm test: ok",
        "pytest -q: 12 passed; then frob --all",
        "pytest -q && npm test",
        "go vet ./..., go test ./...",
        "src/app.py:42, src/other.py:1",
        "`src/app.py:42` and `src/app.py:70`",
        "pytest -q in tests/a.py",
        "lint src/app.py:42",
        "mypy src/app.py",
        "frob -x src/app.py:42",
    ],
)
def test_one_name_that_does_not_hold_leaves_the_whole_entry_claimed(entry: str) -> None:
    assert verdict(entry) == "claimed"


@pytest.mark.parametrize("entry", ["mypy", "`mypy`: clean", "mypy: clean", "`pytest -q` and `mypy` pass"])
def test_a_command_whose_last_run_failed_is_claimed_also_when_it_was_verified(entry: str) -> None:
    assert verdict(entry, before="verified") == "claimed"


def test_what_another_session_verified_stays_so_while_item_and_text_are_the_same() -> None:
    assert verdict("npm test", before="verified") == "verified"
    assert verdict("npm test", before="claimed") == "claimed"
    old = step("a", status="done", evidence=("npm test",), verdicts=("verified",))
    for now in (
        step("b", status="done", evidence=("npm test",)),
        step("a", status="done", evidence=("npm  t",)),
    ):
        assert judge([now], [old], DEEDS)[0].verdicts == ("claimed",)


def test_a_failed_call_shows_nothing_of_a_file() -> None:
    assert verdict("src/app.py", Deed(kind="file", subject="src/app.py", ok=False)) == "claimed"


# --- whatever comes ----------------------------------------------------------------------------------------

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="`"), min_size=1, max_size=12)
TEXTS = st.lists(
    st.sampled_from(
        ["pytest -q", "`", "`mypy`", "src/app.py:42", ": ", ", ", " and ", "-x", "a.py", "\0", "$ "]
    )
    | st.text(max_size=4)
).map("".join)
ANY_DEEDS = st.lists(
    st.builds(
        Deed,
        kind=st.sampled_from(["command", "file"]),
        subject=TEXTS,
        ok=st.booleans(),
        first_line=st.integers(0, 99),
        last_line=st.integers(0, 99),
    ),
    max_size=6,
)
ITEMS = st.lists(
    st.builds(
        step,
        st.sampled_from("ab"),
        status=st.just("done"),
        evidence=st.lists(TEXTS, max_size=3).map(tuple),
        verdicts=st.lists(st.sampled_from(["verified", "claimed"]), max_size=3).map(tuple),
    ),
    max_size=3,
)


@given(ITEMS, ITEMS | any_items, ANY_DEEDS)
def test_every_entry_has_a_verdict_and_judging_again_changes_none(
    items: list[PlanItem], previous: list[PlanItem], deeds: list[Deed]
) -> None:
    judged = judge(items, previous, deeds)
    assert [item.evidence for item in judged] == [item.evidence for item in items]
    assert all(len(item.verdicts) == len(item.evidence) for item in judged)
    assert judge(judged, previous, deeds) == judged
    assert judge(items, previous, relevant(items, deeds)) == judged


def test_only_deeds_that_the_evidence_may_be_about_are_relevant() -> None:
    items = [step("a", evidence=("'pytest' -q", "app.py:42"))]
    assert [deed.subject for deed in relevant(items, DEEDS)] == ["pytest -q", "src/app.py", "src/app.py"]
    assert relevant([step("a")], DEEDS) == ()


@given(ITEMS, ANY_DEEDS)
def test_verdicts_that_are_sent_count_for_nothing(items: list[PlanItem], deeds: list[Deed]) -> None:
    boasting = [step(item.id, evidence=item.evidence, verdicts=("verified",) * 3) for item in items]
    modest = [step(item.id, evidence=item.evidence, verdicts=()) for item in items]
    assert judge(boasting, [], deeds) == judge(modest, [], deeds)
    assert all(v == "claimed" for item in judge(boasting, [], []) for v in item.verdicts)


COMMANDS = st.lists(st.text("abz-/", min_size=2, max_size=6), min_size=1, max_size=4)


@given(
    COMMANDS.map(" ".join),
    st.lists(COMMANDS.map(" ".join), max_size=3),
    st.sampled_from(["{}", "`{}`", "$ {}", "{}: 12 passed", "{} (ok)", "Ran `{}`, all pass"]),
)
def test_a_command_that_was_never_run_is_never_verified(command: str, ran: list[str], form: str) -> None:
    others = [
        Deed(kind="command", subject=canonical(each)) for each in ran if canonical(each) != canonical(command)
    ]
    entry = form.replace("{}", command)
    assert verdict(entry, *(others or DEEDS)) == "claimed"
    assert verdict(entry, *others, Deed(kind="command", subject=canonical(command))) == "verified"


def test_the_longest_plan_and_the_fullest_ledger_cost_little_time() -> None:
    entry = ("tool " + ", x" * 80)[:240]
    items = [step(f"s{n}", evidence=tuple(f"{entry[:-4]}{n:02}{m:02}" for m in range(10))) for n in range(20)]
    deeds = [Deed(kind="command", subject=f"tool {number}" + ", x" * 100) for number in range(1000)]
    started = time.process_time()
    judge(items, items, deeds)
    assert time.process_time() - started < 2
