"""Permissions: which call is allowed, asked or denied, whatever it is about."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.catalog.builtin import EFFECTS
from actors.permissions.command_rules import Answer
from actors.permissions.grants import Grant, grant_for
from actors.permissions.place_rules import HostRule
from actors.permissions.policy import DEFAULT_TABLE, Rules, Verdict, decide
from actors.permissions.subject import Subject
from actors.web.urls import host_of
from ipc.messages import Mode

TOOLS = st.sampled_from(sorted(DEFAULT_TABLE))
ANSWERS = st.sampled_from(get_args(Answer))
MODES = st.sampled_from(get_args(Mode))
RULES = st.builds(
    Rules.build,
    st.dictionaries(TOOLS, ANSWERS),
    st.dictionaries(st.sampled_from(["git status", "ls *", "rm *"]), ANSWERS),
    st.dictionaries(st.sampled_from(["docs/**", "*.md", "src/a.py"]), ANSWERS),
    st.dictionaries(st.sampled_from(["docs.python.org", "*.python.org", "*"]), ANSWERS),
    st.dictionaries(st.sampled_from(["git status; ls", "ls"]), ANSWERS),
)
SUBJECTS = {
    "bash_exec": st.builds(
        Subject, command=st.sampled_from(["git status", "ls", "rm -rf .", "git status; ls", "a $(b)", "'"])
    ),
    "browse_url": st.builds(Subject, host=st.sampled_from(["docs.python.org", "example.org", "", "::1"])),
    "patch": st.builds(
        Subject,
        paths=st.sampled_from([("docs/a.md",), ("a.py",), ("a", "docs/a")]),
        with_content=st.booleans(),
    ),
}
GRANTS = st.frozensets(
    st.builds(
        Grant, st.sampled_from(["tools", "hosts", "command_lines"]), st.sampled_from(["patch", "ls", "rm"])
    )
)


@st.composite
def judged(draw: st.DrawFn) -> tuple[str, Subject]:
    tool = draw(TOOLS)
    return tool, draw(SUBJECTS.get(tool, st.just(Subject())))


def main(tool: str, mode: Mode = "agent", rules: Rules | None = None, **about: str) -> Verdict:
    subject = Subject(**about)  # type: ignore[arg-type]
    return decide(tool, EFFECTS[tool], mode=mode, rules=rules or Rules(), subject=subject)


def changing(
    rules: Rules, *paths: str, tool: str = "patch", mode: Mode = "agent", below: bool = False
) -> Verdict:
    subject = Subject(paths=paths, with_content=below)
    return decide(tool, "write", mode=mode, rules=rules, subject=subject)


def test_the_default_table_covers_every_tool() -> None:
    assert set(DEFAULT_TABLE) == set(EFFECTS)


@pytest.mark.parametrize("tool", sorted(EFFECTS))
def test_by_default_changes_and_the_web_are_asked_and_all_else_is_allowed(tool: str) -> None:
    asked = EFFECTS[tool] in ("write", "execute", "web")
    assert main(tool).answer == ("ask" if asked else "allow")


@given(judged(), RULES, GRANTS)
def test_plan_mode_lets_nothing_change(
    call: tuple[str, Subject], rules: Rules, grants: frozenset[Grant]
) -> None:
    tool, subject = call
    verdict = decide(tool, EFFECTS[tool], mode="plan", rules=rules, grants=grants, subject=subject)
    if EFFECTS[tool] in ("write", "execute"):
        assert verdict.answer == "deny"


@given(judged(), MODES, RULES, GRANTS)
def test_what_is_not_allowed_says_why_and_what_a_person_denies_stays_denied(
    call: tuple[str, Subject], mode: Mode, rules: Rules, grants: frozenset[Grant]
) -> None:
    tool, subject = call
    verdict = decide(tool, EFFECTS[tool], mode=mode, rules=rules, grants=grants, subject=subject)
    if rules.tools[tool] == "deny":
        assert verdict.answer == "deny"
    if verdict.answer == "deny":
        assert verdict.code
        assert verdict.message
        assert verdict.next_step


@given(judged(), MODES, RULES)
def test_a_yes_for_the_session_covers_the_very_call_it_was_given_for(
    call: tuple[str, Subject], mode: Mode, rules: Rules
) -> None:
    tool, subject = call
    verdict = decide(tool, EFFECTS[tool], mode=mode, rules=rules, subject=subject)
    if verdict.answer == "ask" and verdict.grant is not None:
        again = decide(tool, EFFECTS[tool], mode=mode, rules=rules, grants={verdict.grant}, subject=subject)
        assert (again.answer, again.by) == ("allow", "grant")


def test_yolo_allows_all_by_default_and_nothing_is_told_in_plan_mode_but_changes() -> None:
    assert {main(tool, "yolo").answer for tool in EFFECTS} == {"allow"}
    denied = {tool for tool in EFFECTS if main(tool, "plan").answer == "deny"}
    assert denied == {"bash_exec", "mkdir", "patch", "rm", "rmdir"}
    assert main("patch", "plan").code == "denied_by_mode"


def test_a_tool_in_no_table_is_denied_in_every_mode() -> None:
    for mode in get_args(Mode):
        verdict = decide("teleport", "read", mode=mode, rules=Rules())
        assert (verdict.answer, verdict.code) == ("deny", "not_in_table")


def test_a_grant_covers_the_tool_or_the_very_command_in_its_folder() -> None:
    grants = {Grant("tools", "patch"), Grant("command_lines", "make test")}

    def answer(tool: str, command: str = "", folder: str = "") -> Answer:
        subject = Subject(command=command, folder=folder)
        return decide(tool, EFFECTS[tool], mode="agent", rules=Rules(), grants=grants, subject=subject).answer

    assert answer("patch") == "allow"
    assert answer("mkdir") == "ask"
    assert answer("bash_exec", "make test") == "allow"
    assert answer("bash_exec", "make  test") == "ask"
    assert answer("bash_exec", "make test && rm -rf .") == "ask"
    assert answer("bash_exec", "make test", "sub") == "ask"
    denied = Rules.build({"patch": "deny"}, {})
    assert decide("patch", "write", mode="agent", rules=denied, grants=grants).answer == "deny"


def test_a_path_rule_means_what_is_changed_and_where_that_leads() -> None:
    rules = Rules.build({}, {}, {"docs/**": "allow", "docs/secret/**": "deny", "*.lock": "ask"})
    assert changing(rules, "docs/a/b.md").answer == "allow"
    assert changing(rules, "src/a.py").answer == "ask"
    assert changing(rules, "docs/secret/x").answer == "deny"
    assert changing(rules, "docs/a.lock").answer == "ask"
    assert changing(rules, "docs/link", "src/a.py").answer == "ask"
    assert changing(rules, "docs/link", "docs/secret/x").answer == "deny"
    assert changing(rules, "docs/secret/x", mode="yolo").answer == "deny"
    assert changing(Rules.build({"patch": "deny"}, {}, {"docs/**": "allow"}), "docs/a").answer == "deny"


def test_a_folder_goes_only_where_all_that_is_in_it_may() -> None:
    rules = Rules.build({"rmdir": "allow"}, {}, {"a/b/secret/*": "deny", "**/*.key": "ask", "x/**": "allow"})
    assert changing(rules, "a", tool="rmdir").answer == "allow"
    for folder in ("a", "a/b", "a/b/secret"):
        assert changing(rules, folder, tool="rmdir", below=True).answer == "deny"
    assert changing(rules, "other", tool="rmdir", below=True).answer == "ask"
    top = Rules.build({"rmdir": "allow"}, {}, {"./Makefile": "deny", "./a/b": "deny"})
    assert changing(top, "sub", tool="rmdir", below=True).answer == "allow"
    assert changing(top, "Makefile", tool="rmdir", below=True).answer == "deny"
    assert changing(top, "a", tool="rmdir", below=True).answer == "deny"
    assert changing(top, "a/c", tool="rmdir", below=True).answer == "allow"


def test_a_yes_where_a_rule_asks_for_a_path_is_for_this_path_alone() -> None:
    rules = Rules.build({"patch": "allow"}, {}, {"*.lock": "ask"})
    verdict = changing(rules, "a.lock")
    assert verdict.grant == Grant("paths", "./a.lock")
    kept = Rules.build({"patch": "allow"}, {}, {"*.lock": "ask", "./a.lock": "allow"})
    assert [changing(kept, path).answer for path in ("a.lock", "sub/a.lock")] == ["allow", "ask"]
    every = decide("patch", "write", mode="agent", rules=rules, grants={Grant("tools", "patch")},
                   subject=Subject(paths=("b.lock",)))  # fmt: skip
    assert every.answer == "ask"
    assert changing(rules, "[x]?.lock").grant == Grant("paths", "./[[]x][?].lock")
    assert changing(rules, "{a}.lock").grant is None
    assert changing(rules, "a*.lock").grant is None
    assert changing(rules, "a.lock", "b.lock").grant is None


def test_a_host_rule_means_a_host_or_all_below_a_domain_and_never_a_part_of_a_name() -> None:
    rules = Rules.build({}, {}, {}, {"*.python.org": "allow", "bugs.python.org": "ask", "*": "deny"})
    narrow = Rules.build({}, {}, {}, {"python.org": "allow", "*.python.org": "allow"})
    assert main("browse_url", rules=narrow, host="docs.python.org").answer == "allow"
    assert main("browse_url", rules=narrow, host="python.org").answer == "allow"
    for host in ("evilpython.org", "python.org.evil.com", "evil.com", ""):
        assert main("browse_url", rules=narrow, host=host).answer == "ask"
    assert main("browse_url", "yolo", rules, host="docs.python.org").answer == "deny"


@pytest.mark.parametrize(
    ("rule", "url"),
    [
        ("bücher.de", "http://bücher.de/"), ("BÜCHER.de.", "http://xn--bcher-kva.de/"),
        ("xn--bcher-kva.de", "http://Bücher.de./"), ("*.bücher.de", "http://a.bücher.de"),
        ("ｅxample.org", "http://example.org"), ("1.2.3.4", "http://0x1020304/"),
        ("127.1", "http://127.0.0.1:80/"),
        ("2130706433", "http://127.0.0.1"), ("0x7f.1", "http://127.0.0.1"), ("0177.0.0.1", "http://127.1"),
        ("[0:0:0:0:0:0:0:1]", "http://[::1]/"), ("::1", "http://[0::1]/"), ("[::ABCD]", "http://[::abcd]"),
        ("1.2.3.4", "http://[::ffff:1.2.3.4]"), ("1.2.3.4", "http://[64:ff9b::102:304]/"),
        ("1.2.3.4", "http://[2002:0102:0304::1]"), ("[::ffff:1.2.3.4]", "http://1.2.3.4"),
        ("[::ffff:1.2.3.4]", "http://[64:ff9b::1.2.3.4]"),
    ],
)  # fmt: skip
def test_a_denied_host_is_denied_however_the_rule_and_the_url_write_it(rule: str, url: str) -> None:
    rules = Rules.build({"browse_url": "allow"}, {}, {}, {rule: "deny"})
    assert host_of(url)
    assert main("browse_url", rules=rules, host=host_of(url)).answer == "deny"


@given(st.one_of(st.text(max_size=20), st.sampled_from(["1.2.3", "[::1]", "a.b.", "ß.de", "١.2"])))
def test_a_rule_for_a_host_is_read_just_as_a_url_with_it_is(text: str) -> None:
    host = host_of(f"http://{text}/")
    if host and not set(text) & set("/?#:@[]%*") and text == text.strip():
        assert HostRule.parse(text, "allow").means(host)
    elif host and text.startswith("["):
        assert HostRule.parse(text, "deny").means(host)


def test_a_yes_for_an_address_is_for_this_address_alone() -> None:
    rules = Rules.build({}, {}, {}, {"1.2.3.4": "allow", "*.org": "allow"})
    assert main("browse_url", rules=rules, host="1.2.3.4").answer == "allow"
    assert main("browse_url", rules=rules, host="a.org").answer == "allow"
    for host in ("[::ffff:102:304]", "[64:ff9b::102:304]", "[2002:102:304::1]", "org"):
        assert main("browse_url", rules=rules, host=host).answer == "ask"


def test_a_yes_in_a_folder_is_no_yes_for_the_line_that_looks_like_it() -> None:
    def answer(grant: Grant | None, command: str, folder: str = "") -> Answer:
        subject, grants = Subject(command=command, folder=folder), {grant} if grant else set()
        return decide(
            "bash_exec", "execute", mode="agent", rules=Rules(), grants=grants, subject=subject
        ).answer

    for command in ("make & rm -rf build", "make; }; rm -rf build; {", "a || b", "make\nrm x", "make # }"):
        grant = grant_for("bash_exec", Subject(command=command, folder="sub"))
        assert answer(grant, command, "sub") == "allow"
        assert answer(grant, command) == "ask"
        assert answer(grant, f"cd sub && {command}") == "ask"
        kept = Rules.build({}, {}, {}, {}, {f"cd sub && {command}": "allow"})
        assert main("bash_exec", rules=kept, command=command, folder="sub").answer == "ask"
    plain = Rules.build({}, {}, {}, {}, {"cd sub && make": "allow"})
    assert main("bash_exec", rules=plain, command="make", folder="sub").answer == "allow"


def test_only_what_the_shell_skips_is_left_out_of_a_line() -> None:
    def named(command: str) -> str:
        grant = grant_for("bash_exec", Subject(command=command))
        return grant.name if grant else ""

    assert named(" make\n") == "make"
    for command in ("\u00a0make", "make\u2003", "touch a\\ ", "touch a\\\n"):
        assert named(command) == command


def test_a_whole_line_is_allowed_just_as_it_is_written() -> None:
    rules = Rules.build({}, {"rm *": "deny"}, {}, {}, {"make && ls > x": "allow", "make; rm x": "allow"})
    assert main("bash_exec", rules=rules, command="make && ls > x").answer == "allow"
    assert main("bash_exec", rules=rules, command="make && ls > y").answer == "ask"
    assert main("bash_exec", rules=rules, command="make; rm x").answer == "deny"
    assert main("bash_exec", rules=rules, command="make && ls > x", folder="sub").answer == "ask"


@pytest.mark.parametrize(
    ("tool", "subject", "words", "flag"),
    [
        ("patch", Subject(paths=("a",)), "every patch in this workspace", "--allow patch"),
        ("websearch", Subject(), "every websearch", "--allow websearch"),
        ("browse_url", Subject(host="a.org"), "browse_url on a.org", "--allow 'browse_url(a.org)'"),
        ("bash_exec", Subject(command=" git  status\n"), "`git  status`", "--allow 'bash_exec(git  status)'"),
        ("bash_exec", Subject(command="ls *"), "`ls *`", ""),
        ("bash_exec", Subject(command="ls -- *", folder="sub"), "`ls -- *` in sub", ""),
        ("bash_exec", Subject(command="ls\nls"), "`ls ⏎ ls`", ""),
        ("bash_exec", Subject(command="ls\tx"), "`ls x`", ""),
        ("bash_exec", Subject(command="ls \u202ex"), "`ls \u202ex`", ""),
        ("bash_exec", Subject(command="ls > x", folder="a b"), "`ls > x` in a b", ""),
        (
            "bash_exec", Subject(command="ls x", folder="a b"), "`ls x` in a b",
            "--allow 'bash_exec(cd '\"'\"'a b'\"'\"' && ls x)'",
        ),
        ("bash_exec", Subject(command="x" * 300), "`" + "x" * 199 + "…`", ""),
    ],
)  # fmt: skip
def test_a_grant_says_what_it_covers_and_the_flag_for_the_same(
    tool: str, subject: Subject, words: str, flag: str
) -> None:
    grant = grant_for(tool, subject)
    assert grant is not None
    assert (grant.words, grant.flag) == (words, flag)


def test_a_url_or_a_command_that_is_none_can_not_be_granted() -> None:
    assert grant_for("browse_url", Subject()) is None
    assert grant_for("bash_exec", Subject(folder="sub")) is None
    assert grant_for("bash_exec", Subject(command=" \n")) is None
