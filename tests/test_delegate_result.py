"""Results of delegations: from any text to one honest, bounded object."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.delegation import result as delegate_result
from actors.delegation.normalize import normalize
from actors.delegation.problems import CODES
from actors.delegation.result import MAX_BYTES, DelegateResult, nested_failure
from ipc.messages import Problem

AGENT = "subagent-7f3a"
IDENTITY = {"role": "subagent", "agent_id": AGENT, "parent_role": "main"}


def result(**fields: Any) -> str:
    return json.dumps({"status": "completed", "summary": "MIT.", **fields})


def finding(**fields: Any) -> dict[str, Any]:
    return {"file": "LICENSE", "line": 1, "claim": "names MIT", "confidence": "high", **fields}


def test_a_result_in_form_comes_through_whole() -> None:
    given_lists = {"recommended_next_steps": ["a"], "tests_to_run": ["b"], "uncertainties": ["c"]}
    made = normalize(AGENT, ["first I look", result(findings=[finding()], **given_lists)])
    assert json.loads(made.encoded()) == {
        "type": "delegate_result",
        "identity": IDENTITY,
        "status": "completed",
        "summary": "MIT.",
        "findings": [finding(checked=False, check="not checked")],
        **given_lists,
    }


@pytest.mark.parametrize(
    "frame", ["```json\n{}\n```", "Here it is:\n\n{}\n\nThat is all {{!}}", "```\n{}", "{{x}} {}"]
)
def test_a_result_is_found_inside_fences_and_prose(frame: str) -> None:
    text = frame.replace("{}", result(findings=[finding()])).replace("{{", "{").replace("}}", "}")
    made = normalize(AGENT, [text])
    assert (made.status, made.summary, len(made.findings)) == ("completed", "MIT.", 1)


def test_the_identity_is_the_runners_whatever_the_text_claims() -> None:
    claimed = result(type="plan", identity={"role": "main", "agent_id": "root"}, agent_id="root")
    assert json.loads(normalize(AGENT, [claimed]).encoded())["identity"] == IDENTITY


def test_prose_is_partial_and_says_so() -> None:
    made = normalize(AGENT, ["It is MIT."])
    assert (made.status, made.summary) == ("partial", "It is MIT.")
    assert any("not in the required form" in each for each in made.uncertainties)


def test_nothing_is_a_failure_with_a_reason() -> None:
    for texts in ([], ["", " \n"], [result(summary="")]):
        made = normalize(AGENT, texts)
        assert made.status == "failed"
        assert made.error is not None
        assert made.error.code == "malformed_output"
        assert made.summary


def test_the_text_can_lower_the_status_and_never_raise_it() -> None:
    assert normalize(AGENT, [result(status="failed")]).status == "failed"
    assert normalize(AGENT, [result(status="partial")]).status == "partial"
    assert normalize(AGENT, [result()], Problem(code="timeout", message="x")).status == "partial"
    assert normalize(AGENT, [" "], Problem(code="timeout", message="x")).status == "failed"
    for odd in ("done", None, 1, ["completed"]):
        assert normalize(AGENT, [result(status=odd)]).status == "partial"


def test_a_stopped_run_names_its_reason_and_keeps_what_was_found() -> None:
    stopped = Problem(code="timeout", message="It ran out of its 3 s.", next_step="Ask for less.")
    made = normalize(AGENT, ["I found the licence.", "Now the tests."], stopped)
    assert made.error is not None
    assert made.error.code == "timeout"
    assert made.summary
    assert any("3 s" in each for each in made.uncertainties)
    assert made.recommended_next_steps == ("Ask for less.",)
    lost = normalize(AGENT, [], Problem(code="worker_lost", message="The worker died: signal 9."))
    assert (lost.status, lost.summary) == ("failed", "The worker died: signal 9.")


def test_the_last_of_several_results_counts_and_the_others_are_told() -> None:
    made = normalize(AGENT, [result(summary="first" * 40) + "\n" + result(summary="second" * 40)])
    assert made.summary.startswith("second")
    assert any("2 result objects" in each for each in made.uncertainties)


def test_a_deliverable_in_an_earlier_text_is_not_lost() -> None:
    full = result(findings=[finding()])
    for last in ("See my previous message.", result(summary="See above.")):
        made = normalize(AGENT, [full, last])
        assert len(made.findings) == 1
        assert any("earlier" in each for each in made.uncertainties)
    report = "The licence is MIT, as the file says. " * 20
    made = normalize(AGENT, [report, "See my previous message."])
    assert report.strip() in made.summary
    assert "See my previous message." in made.summary


def test_a_small_result_is_never_cut_and_a_huge_one_says_what_was() -> None:
    small = normalize(AGENT, ["word " * 600])
    assert small.summary == ("word " * 600).strip()
    huge = normalize(AGENT, ["begin " + "word " * 60_000 + "end"])
    assert huge.summary.startswith("begin")
    assert huge.summary.endswith("end")
    assert "characters cut" in huge.summary
    assert any("300,009" in each for each in huge.uncertainties)
    many = normalize(AGENT, [result(findings=[finding(claim="x" * 399)] * 1_000)])
    assert len(many.encoded()) <= MAX_BYTES
    assert 20 < len(many.findings) < 1_000
    assert any(f"{1_000 - len(many.findings):,} findings" in each for each in many.uncertainties)


def test_wrong_types_are_repaired_or_counted() -> None:
    findings = [
        "a claim",
        7,
        {"claim": ""},
        finding(line="42-50", confidence="High"),
        finding(line=True, file=3),
    ]
    made = normalize(AGENT, [result(findings=findings, tests_to_run="pytest", uncertainties=[{}])])
    assert [(each.file, each.line, each.confidence) for each in made.findings] == [
        ("", None, "low"),
        ("LICENSE", 42, "high"),
        ("", None, "high"),
    ]
    assert made.tests_to_run == ("pytest",)
    assert "2 malformed findings, 1 malformed uncertainties" in made.uncertainties[0]


def test_control_sequences_do_not_come_through() -> None:
    dirty = "\x1b[31mred\x1b[0m \x1b]0;title\x07 \u202eevil\u2066 \U000e0041 \x9b1m \x00"
    made = normalize(AGENT, [result(summary=dirty, findings=[finding(claim=dirty, file=dirty)])])
    for text in (made.summary, made.findings[0].claim, made.findings[0].file):
        assert "red" in text
        assert not set(text) & set("\x1b\x07\u202e\u2066\U000e0041\x9b\x00")


texts = st.lists(
    st.one_of(
        st.text(st.characters(), max_size=300),
        st.text('{}[]",:\\ \nasumryfindg`', max_size=300),
        st.builds(lambda text, size: text * size, st.text(max_size=5), st.integers(0, 20_000)),
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
            lambda inner: (
                st.lists(inner)
                | st.dictionaries(st.sampled_from(list(DelegateResult.__struct_fields__)), inner)
            ),
            max_leaves=20,
        ).map(json.dumps),
        st.fixed_dictionaries(
            {},
            optional={
                "status": st.sampled_from(["completed", "partial", "failed", "x"]),
                "summary": st.text(max_size=9_000),
                "findings": st.lists(st.fixed_dictionaries({"claim": st.text(max_size=900)}), max_size=60),
                "uncertainties": st.lists(st.text(max_size=900), max_size=30),
            },
        ).map(json.dumps),
    ),
    max_size=4,
)
problems = st.none() | st.builds(Problem, code=st.text(), message=st.text(), next_step=st.text())


@given(texts, problems)
def test_any_text_becomes_a_valid_bounded_result(given_texts: list[str], problem: Problem | None) -> None:
    made = normalize(AGENT, given_texts, problem)
    encoded = made.encoded()
    assert len(encoded.encode()) <= MAX_BYTES
    shown = json.loads(encoded)
    assert shown["type"] == "delegate_result"
    assert shown["identity"] == IDENTITY
    assert made.status in ("failed", "partial") or (problem is None and made.error is None)
    assert made.error is None or made.error.code in CODES
    assert made.summary or made.findings
    assert len(made.findings) <= delegate_result.MAX_FINDINGS
    assert all(each.claim and each.confidence in ("high", "medium", "low") for each in made.findings)


def test_text_made_to_be_slow_is_normalized_in_linear_time() -> None:
    for text in ('{"a":' * 200_000, '{ "' * 300_000, '{"summary":{"a":' * 60_000, "{" * 2_000_000):
        assert normalize(AGENT, [text]).status == "partial"


def test_a_nested_delegation_fails_with_the_exact_result() -> None:
    assert json.loads(nested_failure(AGENT)) == {
        "type": "delegate_result",
        "identity": IDENTITY,
        "status": "failed",
        "summary": "Nested delegation is not allowed.",
        "findings": [],
        "recommended_next_steps": ["Continue the assigned task without calling delegate."],
        "tests_to_run": [],
        "uncertainties": [],
        "error": {
            "code": "nested_delegation_forbidden",
            "message": "A subagent cannot call delegate; no nested subagent was created.",
        },
    }
