"""`update_plan`: what a model may send, what it gets back, and how it learns what was wrong."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.catalog.surface import input_schema
from actors.plan.delivery import plan_result
from actors.plan.input import RESULT_FIELDS, ItemInput, UpdatePlanInput
from actors.plan.rules import check, normalize, one_line
from actors.tools.tool import Invocation, ToolFailure, ToolOutput, description
from actors.tools.update_plan import UpdatePlan
from ipc.messages import Plan, PlanItem, PlanRefused, PlanStored
from tests.fakes.any_plans import legal_items
from tests.fakes.plans import plan, step


class Plans:
    """A plan client with the rules behind it and no process."""

    def __init__(self, current: Plan) -> None:
        self.current = current
        self.seen: int | None = None

    async def get(self) -> Plan:
        return self.current

    async def replace(self, reason: str, items: tuple[PlanItem, ...]) -> PlanStored | PlanRefused:
        reason, items = one_line(reason), normalize(items)
        if problems := check(reason, items, self.current.items):
            return PlanRefused(problems=problems, plan=self.current)
        self.current = Plan(revision=self.current.revision + 1, updated_at="now", reason=reason, items=items)
        return PlanStored(plan=self.current)


BEFORE = plan(step("first"), step("second"), revision=4)


def call(arguments: Any, current: Plan = BEFORE) -> ToolOutput:
    tool = UpdatePlan(Plans(current))
    return asyncio.run(tool.run(tool.input.model_validate(arguments), Invocation("call-1")))


def told(arguments: Any, current: Plan = BEFORE) -> dict[str, Any]:
    return json.loads(call(arguments, current).content)  # type: ignore[no-any-return]


def problems(arguments: Any) -> list[dict[str, str]]:
    output = call(arguments)
    result = json.loads(output.content)
    assert not output.ok
    assert list(result) == ["error", "plan"]
    assert list(result["error"]) == ["code", "message", "problems", "next_step"]
    assert result["error"]["code"] == "plan_refused"
    assert result["plan"]["revision"] == BEFORE.revision
    assert all(list(problem) == ["item", "rule", "message", "fix"] for problem in result["error"]["problems"])
    return result["error"]["problems"]  # type: ignore[no-any-return]


def sent(item_id: str, **changes: Any) -> dict[str, Any]:
    return {
        "id": item_id,
        "title": f"Title of {item_id}",
        "status": "pending",
        "next_action": "go",
        **changes,
    }


# --- results ---------------------------------------------------------------------------------------------


def test_every_successful_tool_response_contains_the_complete_normalized_plan() -> None:
    output = call(
        {"reason": " why ", "items": [sent("first", details="d"), sent("second", evidence=["x", ""])]}
    )
    assert output.ok
    assert json.loads(output.content) == {
        "version": 1,
        "revision": 5,
        "updatedAt": "now",
        "reason": "why",
        "session": "",
        "items": [
            {
                "id": "first",
                "title": "Title of first",
                "status": "pending",
                "details": "d",
                "dependencies": [],
                "next_action": "go",
                "evidence": [],
                "verdicts": [],
            },
            {
                "id": "second",
                "title": "Title of second",
                "status": "pending",
                "details": "",
                "dependencies": [],
                "next_action": "go",
                "evidence": ["x"],
                "verdicts": ["claimed"],
            },
        ],
    }


@settings(max_examples=40)
@given(legal_items())
def test_result_is_never_shortened_and_the_same_plan_is_the_same_bytes(items: tuple[PlanItem, ...]) -> None:
    arguments = {"reason": "why", "items": [sent(item.id, details="x" * 600) for item in items]}
    first, second = call(arguments, plan()), call(arguments, plan())
    assert first.content == second.content
    assert [item["id"] for item in json.loads(first.content)["items"]] == [item.id for item in items]
    assert first.content.count("x" * 600) == len(items)


def test_steps_that_are_left_out_are_named() -> None:
    assert told({"reason": "why", "items": [sent("second")]})["dropped"] == ["first"]
    assert "dropped" not in told({"reason": "why", "items": [sent("second"), sent("first"), sent("third")]})


def test_the_person_sees_progress_and_not_the_plan() -> None:
    done = sent("first", status="done", evidence=["pytest -q"])
    output = call({"reason": "why", "items": [done, sent("second", status="in_progress", title="Check it")]})
    assert output.display == "1 of 2 done, now: Check it"


def test_a_store_that_stays_away_is_a_failure_of_the_call() -> None:
    class Away(Plans):
        async def get(self) -> Plan:
            raise ToolFailure("plan_store_away", "The plan store does not answer.")

    tool = UpdatePlan(Away(BEFORE))
    with pytest.raises(ToolFailure, match="does not answer"):
        asyncio.run(tool.run(tool.input.model_validate({"reason": "r", "items": []}), Invocation("c")))


# --- refusals --------------------------------------------------------------------------------------------


def test_several_steps_in_progress_are_refused_with_the_rule_and_the_plan_that_holds() -> None:
    running = [sent("first", status="in_progress"), sent("second", status="in_progress")]
    (problem,) = problems({"reason": "why", "items": running})
    assert (problem["rule"], problem["item"]) == ("second_in_progress", 'item 2 (id "second")')


def test_one_answer_names_every_fault_with_item_field_received_and_allowed_values() -> None:
    items = [
        sent("a"),
        sent("b"),
        sent("c", status="finished"),
        sent("d", extra=1),
        sent("e", title="  "),
        {"title": "no id", "status": "pending", "next_action": "go"},
        sent("g", dependencies="a", evidence=[1]),
        "not an object",
        sent("i", next_action=""),
    ]
    found = {(problem["item"], problem["rule"]): problem["message"] for problem in problems({"items": items})}
    assert found.keys() == {
        ("plan", "empty_reason"),
        ('item 3 (id "c")', "unknown_status"),
        ('item 4 (id "d")', "unknown_field"),
        ('item 5 (id "e")', "empty_title"),
        ("item 6", "missing_id"),
        ('item 7 (id "g")', "wrong_type"),
        ("item 8", "wrong_type"),
        ('item 9 (id "i")', "missing_next_action"),
    }
    status = found['item 3 (id "c")', "unknown_status"]
    assert all(word in status for word in ('"finished"', '"pending"', '"in_progress"', '"blocked"', '"done"'))
    assert '"extra"' in found['item 4 (id "d")', "unknown_field"]
    assert "next_action" in found['item 4 (id "d")', "unknown_field"]


def test_a_refusal_shows_the_plan_that_holds_and_that_counts_as_seen() -> None:
    plans = Plans(BEFORE)
    tool = UpdatePlan(plans)
    asyncio.run(tool.run(tool.input.model_validate({"items": 7}), Invocation("call-1")))
    assert plans.seen == BEFORE.revision


def test_the_second_attempt_built_from_the_refusal_succeeds() -> None:
    items = [sent("first", status="started"), sent("second", status="done", evidence=[]), sent("x", title="")]
    for problem in problems({"reason": "why", "items": items}):
        item = items[int(problem["item"].split()[1]) - 1]
        match problem["rule"]:
            case "unknown_status":
                item["status"] = "in_progress"
            case "missing_evidence":
                item["evidence"] = ["pytest -q"]
            case "empty_title":
                item["title"] = "Something"
            case rule:
                pytest.fail(f"an unexpected problem: {rule}")
    assert call({"reason": "why", "items": items}).ok


def test_a_runaway_call_gets_a_short_refusal() -> None:
    output = call({"reason": "why", "items": [{"id": number, "status": "x" * 9000} for number in range(500)]})
    assert len(output.content) < 30_000


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inner: (
    st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["id", "title", "status", "items"]), inner)
), max_leaves=12))  # fmt: skip
def test_any_json_gets_an_answer(value: Any) -> None:
    for arguments in (
        {"reason": "why", "items": value},
        {"reason": value, "items": [value]},
        {"items": value},
    ):
        output = call(arguments)
        assert output.ok == ("error" not in json.loads(output.content))


# --- leniency --------------------------------------------------------------------------------------------


def test_items_as_a_json_text_are_decoded_and_that_is_said() -> None:
    result = told({"reason": "why", "items": json.dumps([sent("first"), sent("second")])})
    assert [item["id"] for item in result["items"]] == ["first", "second"]
    assert "JSON text" in result["notes"][0]


@pytest.mark.parametrize(
    "text",
    [
        '[{"id":"first","title":"[,]","status":"pending","next_action":"go"},]',
        '[{"id":"first","title":"[,]","status":"pending","next_action":"go", } ]',
        '[{"id":"first","title":"[,]","status":"done","evidence":["\\",}",]}]',
    ],
)
def test_one_trailing_comma_is_ignored_and_that_is_said(text: str) -> None:
    result = told({"reason": "why", "items": text})
    assert result["items"][0]["title"] == "[,]"
    assert any("trailing comma" in note for note in result["notes"])


@pytest.mark.parametrize("text", ["[%s", "[%s,,]", "[%s]]", "[,]", "[%s,] trailing", "{%s}", '"[%s]"', ""])
def test_what_is_not_certain_is_not_guessed(text: str) -> None:
    items = text.replace("%s", json.dumps(sent("first")))
    (problem,) = problems({"reason": "why", "items": items})
    assert (problem["item"], problem["rule"]) == ("plan", "wrong_type")


def test_a_hostile_text_costs_linear_time() -> None:
    for text in ('"' + '\\"' * 200_000, "[" * 200_000, "," * 200_000, "[" + " " * 200_000 + ","):
        problems({"reason": "why", "items": text})


def test_null_means_left_out() -> None:
    result = told({"reason": "why", "items": [sent("first", details=None, evidence=None), sent("second")]})
    assert (result["items"][0]["details"], result["items"][0]["evidence"]) == ("", [])
    rules = [problem["rule"] for problem in problems({"reason": None, "items": [sent("a", status=None)]})]
    assert rules == ["empty_reason", "missing_field"]


def test_a_result_that_is_sent_back_is_a_plan_and_sets_nothing_by_it() -> None:
    item = sent("first", status="done", evidence=["pytest -q"])
    result = told({"reason": "why", "items": [item]})
    result["items"][0]["verdicts"] = ["verified"]
    for arguments in (result, result | {"items": json.dumps(result["items"])}):
        again = told(arguments | {"note": "restored", "revision": 99, "session": "another"})
        assert again["items"][0]["verdicts"] == ["claimed"]
        assert (again["revision"], again["session"]) == (5, "")
        assert "version, revision, updatedAt, session" in again["notes"][-1]
        assert "items[].verdicts" in again["notes"][-1]
        assert [note for note in again["notes"] if "Ignored" in note] == again["notes"][-1:]


def test_an_echo_hides_no_fault() -> None:
    arguments = {"version": 1, "items": [sent("first", verdicts=["verified"], verdict="verified")], "plan": 1}
    told_of = {(problem["item"], problem["rule"]) for problem in problems(arguments)}
    assert told_of == {
        ("plan", "empty_reason"),
        ("plan", "unknown_field"),
        ('item 1 (id "first")', "unknown_field"),
    }


def test_everything_that_only_a_result_has_counts_as_an_echo() -> None:
    result = json.loads(plan_result(BEFORE, dropped=["x"], notes=["y"], note="z"))
    assert set(result) - set(UpdatePlanInput.model_fields) == set(RESULT_FIELDS)


def test_a_strict_input_gets_no_notes() -> None:
    assert "notes" not in told({"reason": "why", "items": [sent("first")]})


# --- the advertised form ---------------------------------------------------------------------------------


def test_description_says_what_a_model_must_know() -> None:
    text = " ".join(description("update_plan").split())
    for fact in (
        "Replace the workspace todo list and return its complete normalized state",
        "model-visible source of truth for the current plan",
        "full version, updatedAt, reason, and every item with its ID, title, status, details, dependencies, "
        "next action, and evidence",
        "delivered in the tool result, not interpolated into the initial system prompt",
        "does not change the cached system-prompt prefix",
        "Use it at milestones, preserve existing IDs, and keep exactly zero or one in_progress item",
    ):
        assert fact in text


def keywords(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        for key, value in schema.items():
            yield key
            yield from keywords(value)


def test_schema_is_plain_and_names_the_statuses() -> None:
    schema = input_schema(UpdatePlanInput)
    assert schema["required"] == ["reason", "items"]
    item = schema["properties"]["items"]["items"]
    assert item["required"] == ["id", "title", "status"]
    assert item["properties"]["status"]["enum"] == ["pending", "in_progress", "blocked", "done"]
    assert list(item["properties"]) == list(ItemInput.model_fields)
    assert not {"$ref", "$defs", "anyOf", "oneOf", "pattern", "default"} & set(keywords(schema))


def values(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Everything the advertised schema allows, with any selection of the optional fields."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema["type"]:
        case "string":
            return st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
        case "array":
            return st.lists(values(schema["items"]), max_size=3)
        case _:
            fields = {name: values(inner) for name, inner in schema["properties"].items()}
            required = {name: fields.pop(name) for name in schema["required"]}
            return st.fixed_dictionaries(required, optional=fields)


SCHEMA = input_schema(UpdatePlanInput)


@given(values(SCHEMA))
def test_schema_and_validator_agree_on_everything_advertised(arguments: dict[str, Any]) -> None:
    reading = UpdatePlanInput.model_validate(arguments).reading
    assert reading.faults == ()
    assert reading.notes == ()
    assert len(reading.items) == len(arguments["items"])
    for item, given_item in zip(reading.items, arguments["items"], strict=True):
        for name, value in given_item.items():
            assert getattr(item, name) == (tuple(value) if isinstance(value, list) else value)


@given(st.text(max_size=12), st.sampled_from(["id", "title", "status"]))
def test_validator_takes_nothing_the_schema_does_not_advertise(word: str, field: str) -> None:
    item = SCHEMA["properties"]["items"]["items"]
    if word not in item["properties"]["status"]["enum"]:
        given_input = {"reason": "r", "items": [sent("a", status=word)]}
        assert [fault.rule for fault in UpdatePlanInput.model_validate(given_input).reading.faults] == [
            "unknown_status"
        ]
    if word not in item["properties"] and word != "verdicts":
        given_input = {"reason": "r", "items": [sent("a", **{word: "x"})]}
        assert [fault.rule for fault in UpdatePlanInput.model_validate(given_input).reading.faults] == [
            "unknown_field"
        ]
    without = sent("a")
    del without[field]
    (fault,) = UpdatePlanInput.model_validate({"reason": "r", "items": [without]}).reading.faults
    assert f"{field} is missing" in fault.message
