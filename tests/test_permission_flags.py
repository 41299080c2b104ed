"""`--allow` and `--deny`: what each form means, and that the page about it is true."""

import re
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.permissions.grants import LONGEST_LINE, grant_for
from actors.permissions.place_rules import PathRule
from actors.permissions.policy import Verdict, decide
from actors.permissions.subject import Subject
from actors.settings.layers import SettingsError
from actors.settings.permission_flags import from_flags
from actors.settings.settings import Settings, load
from actors.tools.tool import Effect
from ipc.terminal_text import clean_line
from tests.fakes.places import short_directory

PAGE = (Path(__file__).parent.parent / "docs" / "permissions.md").read_text(encoding="utf-8")
EFFECTS: dict[str, Effect] = {
    "bash_exec": "execute",
    "patch": "write",
    "browse_url": "web",
    "websearch": "web",
}


def loaded(folder: Path, text: str = "", **flags: object) -> Settings:
    config = folder / "fido" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(text, encoding="utf-8")
    return load(flags, {"XDG_CONFIG_HOME": str(folder)}, folder)


def verdict(settings: Settings, tool: str, subject: Subject) -> Verdict:
    return decide(tool, EFFECTS[tool], mode="agent", rules=settings.permissions.rules, subject=subject)


@pytest.mark.parametrize(
    ("flag", "table", "name"),
    [
        ("patch", "tools", "patch"),
        (" patch ", "tools", "patch"),
        ("bash_exec(git diff *)", "commands", "git diff *"),
        ("bash_exec( ls )", "commands", "ls"),
        ("bash_exec(make && ls (x))", "command_lines", "make && ls (x)"),
        ("patch(docs/**)", "paths", "docs/**"),
        ("rm (*.md)", "paths", "*.md"),
        ("browse_url(docs.python.org)", "hosts", "docs.python.org"),
    ],
)
def test_each_form_of_a_flag_has_its_table(flag: str, table: str, name: str) -> None:
    assert from_flags({"allow": [flag]}) == {table: {name: "allow"}}


def test_a_denial_is_stronger_than_a_yes_and_a_denied_line_has_to_be_a_command() -> None:
    assert from_flags({"allow": ["rm"], "deny": ["rm"]}) == {"tools": {"rm": "deny"}}
    assert from_flags({"deny": ["bash_exec(a; b)"]}) == {"commands": {"a; b": "deny"}}


@pytest.mark.parametrize(
    ("flag", "word"),
    [
        ("bash", "unknown tool"),
        ("websearch(x)", "unknown tool"),
        ("patch(/etc/**)", "glob over paths"),
        ("patch(./../x)", "glob over paths"),
        ("patch(a/./b)", "glob over paths"),
        ("patch(.//b)", "glob over paths"),
        ("patch(a[)", "no glob"),
        ("browse_url(https://a.org/)", "no host"),
        ("browse_url(a.org:80)", "no host"),
        ("browse_url(*.2.3.4)", "no host"),
        ("browse_url(1.2.3.256)", "no host"),
        ("browse_url(*)(*)", "no host"),
        ("bash_exec(python *)", "any program"),
    ],
)
def test_a_flag_that_means_nothing_is_refused_with_the_reason(tmp_path: Path, flag: str, word: str) -> None:
    with pytest.raises(SettingsError, match=word):
        loaded(tmp_path, allow=[flag])


COMMANDS = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=40)
SUBJECTS = st.one_of(
    st.tuples(
        st.just("bash_exec"), st.builds(Subject, command=COMMANDS, folder=st.sampled_from(["", "a b"]))
    ),
    st.tuples(
        st.just("browse_url"), st.builds(Subject, host=st.sampled_from(["a.org", "[::1]", "127.0.0.1"]))
    ),
    st.tuples(st.sampled_from(["patch", "websearch"]), st.just(Subject())),
)
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=9)
ASKED_PATHS = st.lists(NAMES.filter(lambda name: name not in (".", "..")), min_size=1, max_size=3).map(
    "/".join
)


@given(SUBJECTS)
def test_the_flag_that_a_refusal_names_allows_the_very_same_call(call: tuple[str, Subject]) -> None:
    tool, subject = call
    if not subject.command.strip() and tool == "bash_exec":
        return
    grant = grant_for(tool, subject)
    assert grant is not None
    assert len(grant.flag) < 5 * LONGEST_LINE
    assert clean_line(grant.flag, 5 * LONGEST_LINE) == grant.flag  # it comes through a terminal as it is
    if not grant.flag:
        return
    with short_directory() as folder:
        option, *flags = shlex.split(grant.flag)
        assert (option, len(flags)) == ("--allow", 1)
        assert verdict(loaded(folder, allow=flags), tool, subject).answer == "allow"


@given(ASKED_PATHS)
def test_the_flag_and_the_setting_for_a_path_mean_this_path_and_no_other(path: str) -> None:
    grant = grant_for("patch", Subject(paths=(path,)), by_rule=True)
    assert (grant is None) == bool(set("*{}") & set(path))
    if grant is None:
        return
    rule = PathRule.parse(grant.setting, "allow")
    assert rule.means(path)
    assert not rule.means(f"sub/{path}")
    assert not rule.means(f"{path}/sub")
    if grant.flag:
        _, flag = shlex.split(grant.flag)
        assert from_flags({"allow": [flag]}) == {"paths": {grant.setting: "allow"}}


def test_the_examples_of_the_page_are_true(tmp_path: Path) -> None:
    rules, kept = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    settings = loaded(tmp_path, rules)
    assert loaded(tmp_path, kept.replace("/home/me/project", str(tmp_path))).permissions.command_lines
    settings = loaded(tmp_path, rules)
    for command, answer in {
        "git status": "allow", "git status; git diff": "allow", "git status > x": "ask",
        "sudo git push": "deny",
        "git -C dir push": "deny", "git statusfoo": "ask", "git status -s": "ask", 'eval "$X"': "ask",
    }.items():  # fmt: skip
        assert verdict(settings, "bash_exec", Subject(command=command)).answer == answer
    for path, answer in {
        "docs/a/b": "allow", "docs/a.lock": "ask", "src/a": "ask", "Makefile": "deny", "a/Makefile": "ask",
    }.items():  # fmt: skip
        assert verdict(settings, "patch", Subject(paths=(path,))).answer == answer
    for host, answer in {"docs.python.org": "allow", "a.internal.example.org": "deny"}.items():
        assert verdict(settings, "browse_url", Subject(host=host)).answer == answer
    for flag in re.findall(r"`--allow ('[^']*'|\w+)`", PAGE):
        loaded(tmp_path, allow=shlex.split(flag))
