"""What a legal plan is: every rule alone, all of them together."""

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.plan import rules as plan_rules
from actors.plan.rules import check, check_stored, dropped, normalize, normalize_plan, one_line
from ipc.messages import PlanItem, PlanProblem
from tests.fakes.any_plans import any_items, legal_items
from tests.fakes.plans import plan, step


def broken(*items: PlanItem, reason: str = "why", previous: tuple[PlanItem, ...] = ()) -> list[str]:
    return [problem.rule for problem in check(reason, normalize(items), previous)]


def only(*items: PlanItem, previous: tuple[PlanItem, ...] = ()) -> PlanProblem:
    (problem,) = check("why", normalize(items), previous)
    return problem


# --- normalization -----------------------------------------------------------------------------------------


def test_one_line_fields_lose_their_line_ends() -> None:
    (item,) = normalize(
        [step(" a\n", title="one\r\n  two\u2028three", next_action="\n go \n", details=" x\r\ny ")]
    )
    assert (item.id, item.title, item.next_action, item.details) == ("a", "one two three", "go", "x\ny")


def test_empty_and_repeated_entries_are_dropped() -> None:
    (item,) = normalize([step("a", dependencies=("b", " ", "b "), evidence=("", "x\ny", "x y"))])
    assert (item.dependencies, item.evidence) == (("b",), ("x y",))


@given(any_items)
def test_normalizing_twice_changes_nothing(items: tuple[PlanItem, ...]) -> None:
    assert normalize(normalize(items)) == normalize(items)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_line_never_holds_a_line_end(text: str) -> None:
    line = one_line(text)
    assert line == line.strip()
    assert len(line.splitlines()) <= 1
    assert one_line(line) == line
    assert re.sub(r"\s", "", line) == re.sub(r"\s", "", text)


def test_a_long_run_of_blanks_costs_linear_time() -> None:
    assert len(one_line("a" + " " * 1_000_000 + "b")) == 1_000_002


# --- what is legal -----------------------------------------------------------------------------------------


@given(legal_items(), any_items)
def test_a_valid_list_is_accepted_whatever_the_earlier_plan_says(
    items: tuple[PlanItem, ...], previous: tuple[PlanItem, ...]
) -> None:
    known = {item.title for item in items}
    assert broken(*items, previous=tuple(item for item in previous if item.title not in known)) == []
    assert broken(previous=previous) == []


@given(any_items, any_items)
def test_any_input_is_judged_within_bounds(
    items: tuple[PlanItem, ...], previous: tuple[PlanItem, ...]
) -> None:
    problems = check("why", normalize(items), normalize(previous))
    assert len(problems) <= plan_rules.MAX_PROBLEMS + 1
    for problem in problems:
        assert problem.item
        assert problem.rule
        assert problem.message
        assert problem.fix


# --- each rule ---------------------------------------------------------------------------------------------


def test_an_empty_reason_is_refused() -> None:
    assert broken(reason="") == ["empty_reason"]


def test_an_overlong_reason_is_refused() -> None:
    assert broken(reason="x" * (plan_rules.MAX_REASON + 1)) == ["too_long"]


def test_twenty_items_are_legal_and_one_more_is_not() -> None:
    items = [step(f"s{number}") for number in range(21)]
    assert broken(*items[:20]) == []
    assert broken(*items) == ["too_many_items"]


def test_a_used_id_is_refused_and_its_first_user_named() -> None:
    problem = only(step("a"), step("b"), step("a", title="Another"))
    assert (problem.rule, problem.item) == ("duplicate_id", 'item 3 (id "a")')
    assert "item 1" in problem.message


@pytest.mark.parametrize("item_id", ["step 1", "-a", "schön", "a/b", "a\x1bb"])
def test_a_malformed_id_is_refused(item_id: str) -> None:
    assert broken(step(item_id, title="t")) == ["malformed_id"]


@pytest.mark.parametrize("item_id", ["a", "run-tests", "1.2", "A_b", "x" * plan_rules.MAX_ID])
def test_a_readable_id_is_legal(item_id: str) -> None:
    assert broken(step(item_id, title="t")) == []


def test_an_empty_id_is_refused() -> None:
    assert broken(step(" ")) == ["missing_id"]


def test_an_empty_title_is_refused() -> None:
    assert broken(step("a", title="\n")) == ["empty_title"]


def test_an_unknown_dependency_is_refused_with_the_ids_there_are() -> None:
    problem = only(step("a", dependencies=("c",)), step("b"))
    assert problem.rule == "unknown_dependency"
    assert '"c"' in problem.message
    assert '"a", "b"' in problem.message


def test_a_dependency_on_itself_is_refused_once() -> None:
    assert broken(step("a", dependencies=("a",), status="in_progress")) == ["self_dependency"]


def test_a_circle_is_refused_with_its_members() -> None:
    problem = only(
        step("a", dependencies=("c",)),
        step("b", dependencies=("a",)),
        step("c", dependencies=("b",)),
        step("d"),
    )
    assert problem.rule == "cyclic_dependency"
    assert all(f'"{name}"' in problem.message for name in "abc")
    assert '"d"' not in problem.message


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=30))
def test_following_the_fix_of_every_circle_leaves_none(edges: list[tuple[int, int]]) -> None:
    needs: dict[int, set[int]] = {number: set() for number in range(8)}
    for one, other in edges:
        if one != other:
            needs[one].add(other)

    def items() -> tuple[PlanItem, ...]:
        return tuple(step(f"n{n}", dependencies=tuple(f"n{m}" for m in sorted(needs[n]))) for n in needs)

    for problem in check("why", items(), ()):
        assert problem.rule == "cyclic_dependency"
        removed, owner = re.findall(r'"n(\d)"', problem.fix)
        needs[int(owner)].remove(int(removed))
    assert broken(*items()) == []


def test_a_second_item_in_progress_is_refused_and_both_are_named() -> None:
    problem = only(step("a", status="in_progress"), step("b"), step("c", status="in_progress"))
    assert (problem.rule, problem.item) == ("second_in_progress", 'item 3 (id "c")')
    assert 'item 1 (id "a")' in problem.message


def test_an_item_in_progress_waits_for_what_it_depends_on() -> None:
    running = step("b", status="in_progress", dependencies=("a",))
    assert broken(step("a"), running) == ["unmet_dependency"]
    assert broken(step("a", status="done"), running) == []


@pytest.mark.parametrize("status", ["pending", "in_progress", "blocked"])
def test_what_is_not_done_says_what_happens_next(status: str) -> None:
    problem = only(step("a", status=status, next_action=" "))
    assert problem.rule == "missing_next_action"
    assert status in problem.message


def test_done_needs_evidence_and_no_next_action() -> None:
    assert broken(step("a", status="done", evidence=(" ",))) == ["missing_evidence"]
    assert broken(step("a", status="done", next_action="")) == []


@pytest.mark.parametrize(
    ("field", "limit"),
    [
        ("id", plan_rules.MAX_ID),
        ("title", plan_rules.MAX_TITLE),
        ("details", plan_rules.MAX_DETAILS),
        ("next_action", plan_rules.MAX_NEXT_ACTION),
    ],
)
def test_a_field_is_refused_one_character_past_its_limit(field: str, limit: int) -> None:
    assert broken(step("a", **{field: "x" * limit})) == []
    problem = only(step("a", **{field: "x" * (limit + 1)}))
    assert problem.rule == "too_long"
    assert field in problem.message
    assert str(limit) in problem.message


def test_evidence_is_bounded_in_number_and_length() -> None:
    entries = tuple(f"check {number}" for number in range(plan_rules.MAX_EVIDENCE + 1))
    assert broken(step("a", evidence=entries)) == ["too_much_evidence"]
    assert broken(step("a", evidence=("x" * (plan_rules.MAX_EVIDENCE_TEXT + 1),))) == ["too_long"]


def test_a_known_title_under_a_new_id_is_refused_with_the_id_to_keep() -> None:
    problem = only(step("verify", title="Run the tests"), previous=(step("tests", title="Run the tests"),))
    assert (problem.rule, problem.item) == ("changed_id", 'item 1 (id "verify")')
    assert 'Keep the id "tests"' in problem.fix


@pytest.mark.parametrize(
    ("items", "fixes"),
    [
        ({"b": "One", "a": "Two"}, {"b": '"a"', "a": '"b"'}),
        ({"a": "Two"}, {"a": '"b"'}),
        ({"b": "One", "c": "Two"}, {"b": '"a"', "c": '"b"'}),
        ({"a": "New", "b": "One", "c": "Two"}, {"a": "its own", "b": '"a"', "c": '"b"'}),
        ({"A": " oNe", "b": "t W o"}, {"A": '"a"'}),
        ({"a": "ONE", "c": "two\u3000 "}, {"c": '"b"'}),
        ({"a": "One", "c": "Two, again"}, {}),
    ],
)
def test_a_known_title_keeps_its_id_whoever_bears_it_now(
    items: dict[str, str], fixes: dict[str, str]
) -> None:
    previous = (step("a", title="One"), step("b", title="Two"))
    found = check("why", normalize(step(item_id, title=items[item_id]) for item_id in items), previous)
    assert {problem.rule for problem in found} <= {"changed_id"}
    for problem, (item_id, fix) in zip(found, fixes.items(), strict=True):
        assert f'(id "{item_id}")' in problem.item
        assert fix in problem.fix


def test_an_id_that_is_used_twice_is_told_once() -> None:
    assert broken(step("a", title="One"), step("a", title="New"), previous=(step("a", title="One"),)) == [
        "duplicate_id"
    ]


def test_a_title_that_either_plan_has_twice_tells_nothing_of_an_id() -> None:
    twins = (step("a", title="Same"), step("b", title="same "))
    assert broken(step("c", title="Same"), previous=twins) == []
    assert broken(*twins, previous=(step("c", title="Same"),)) == []


TITLES = st.sampled_from(["One", "one", "Two", " two", "Three", "Four", "Five"])


@given(legal_items(), legal_items(), st.data())
def test_following_the_fix_of_every_changed_id_leaves_a_legal_plan(
    items: tuple[PlanItem, ...], previous: tuple[PlanItem, ...], data: st.DataObject
) -> None:
    def titled(each: tuple[PlanItem, ...]) -> tuple[PlanItem, ...]:
        return normalize(msgspec.structs.replace(item, title=data.draw(TITLES)) for item in each)

    items, previous = titled(items), titled(previous)
    new_ids = {item.id: item.id for item in items}
    for problem in check("why", items, previous):
        assert problem.rule == "changed_id"
        position = int(problem.item.split()[1])
        kept = re.match(r'Keep the id "(.+?)"', problem.fix)
        new_ids[items[position - 1].id] = kept[1] if kept else f"own-{position}-of-this-step"
    followed = [
        msgspec.structs.replace(
            item, id=new_ids[item.id], dependencies=tuple(new_ids[other] for other in item.dependencies)
        )
        for item in items
    ]
    assert broken(*followed, previous=previous) == []


# --- refusals ----------------------------------------------------------------------------------------------


def test_one_refusal_names_everything_that_is_wrong() -> None:
    rules = broken(
        step("a", status="in_progress", title=""),
        step("a", status="in_progress", dependencies=("x",)),
        step("c!", status="done", evidence=()),
        reason="",
    )
    assert sorted(rules) == [
        "duplicate_id",
        "empty_reason",
        "empty_title",
        "malformed_id",
        "missing_evidence",
        "second_in_progress",
        "unknown_dependency",
    ]


def test_twenty_items_that_break_every_rule_are_told_of_each_in_full() -> None:
    items = [
        step("a", status="in_progress", title="t" * 121, next_action="", dependencies=("a", f"x{number}"))
        for number in range(20)
    ]
    found = check("", normalize(items), ())
    assert len(found) == 1 + 19 + 20 + 20 + 19 + 20 + 20
    assert len({(problem.item, problem.rule) for problem in found}) == len(found)
    assert "more_problems" not in {problem.rule for problem in found}


def test_a_runaway_plan_is_refused_in_few_words() -> None:
    items = [step("", title="", next_action="", dependencies=("x" * 5000,)) for _ in range(500)]
    problems = check("", normalize(items), ())
    assert problems[-1].rule == "more_problems"
    assert sum(len(problem.message) + len(problem.fix) for problem in problems) < 20_000


def test_dropped_items_are_named_in_the_order_they_had() -> None:
    assert dropped((step("b"),), (step("c"), step("b"), step("a"))) == ("c", "a")


def test_a_stored_plan_may_lack_its_reason_but_breaks_no_other_rule() -> None:
    good = plan(step("a"))
    assert check_stored(normalize_plan(type(good)(reason="  ", items=good.items))) == ()
    assert [problem.rule for problem in check_stored(plan(step("a"), step("a")))] == ["duplicate_id"]
