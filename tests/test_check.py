"""What of a finding can be checked without a model, and that no file can hold the check up."""

import asyncio
import os
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.delegation.check import MAX_FILE_BYTES, check_findings
from actors.delegation.normalize import normalize
from actors.delegation.result import CHECK_BYTES, MAX_BYTES, DelegateResult, Finding, Identity
from actors.files.workspace import Workspace

CODE = """import re


def parse(text):
    return tokenize(text)


def tokenize(text):
    return re.split(text)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.py").write_text(CODE, encoding="utf-8")
    return folder


def result(*findings: Finding) -> DelegateResult:
    return DelegateResult(Identity(agent_id="subagent-1"), "completed", "x", findings, (), (), ())


def checked(root: Path, file: str, line: int | None, claim: str, **more: Any) -> tuple[bool, str]:
    made = asyncio.run(check_findings(result(Finding(file, line, claim, "high")), Workspace(root), **more))
    (finding,) = made.findings
    assert (finding.file, finding.line, finding.claim) == (file, line, claim)
    return finding.checked, finding.check


@pytest.mark.parametrize(
    ("line", "claim"),
    [
        (4, "`parse` is the entry"),
        (4, "`parse()` is the entry"),
        (5, "it calls `tokenize(text)`"),
        (4, "`a.py` defines `parse`"),
        (1, "`import re` and `re`"),
        (5, "it ends with `return   tokenize(…`"),
    ],
)
def test_a_quote_that_stands_on_its_line_is_checked(root: Path, line: int, claim: str) -> None:
    assert checked(root, "a.py", line, claim) == (True, f"what the claim quotes stands on line {line}")


@pytest.mark.parametrize(
    ("file", "line", "claim", "why"),
    [
        ("a.py", 4, "`tokenize` is here", "`tokenize` is not on line 4: it stands on lines 5, 8"),
        ("a.py", 4, "`parse` calls `tokenize`", "`tokenize` is not on line 4: it stands on lines 5, 8"),
        ("a.py", 4, "`missing` is here", "`missing` is not on line 4: it stands nowhere in the file"),
        ("a.py", 1, "`r` is here", "`r` is not on line 1: it stands nowhere in the file"),
        ("a.py", 99, "`parse` is here", "the file has 9 lines; `parse` stands on line 4"),
        ("a.py", 99, "something", "the file has 9 lines"),
        ("a.py", None, "`parse`", "the file exists, but no line was named; `parse` stands on line 4"),
        ("a.py", 4, "it parses", "line 4 exists, but the claim quotes nothing that could stand on it"),
        ("", 4, "`parse`", "not checked: it names no file"),
        ("b.py", 4, "`parse`", "not checked: There is no b.py in the workspace."),
        (".", 4, "`parse`", "not checked: . is a folder."),
        ("../x", 4, "`parse`", "outside the workspace"),
        ("/etc/passwd", 1, "`root`", "outside the workspace"),
        ("a\0b", 1, "`root`", "NUL"),
    ],
)
def test_what_does_not_hold_is_told_with_its_reason(
    root: Path, file: str, line: int | None, claim: str, why: str
) -> None:
    holds, told = checked(root, file, line, claim)
    assert not holds
    assert why in told


def test_a_link_that_leads_out_of_the_workspace_is_not_followed(root: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("token\n", encoding="utf-8")
    (root / "link").symlink_to(tmp_path / "secret")
    (root / "folder").symlink_to(tmp_path)
    (root / "inside").symlink_to("a.py")
    for name in ("link", "folder/secret"):
        holds, told = checked(root, name, 1, "`token`")
        assert not holds
        assert "outside the workspace" in told
    assert checked(root, "inside", 4, "`parse`")[0]


def test_what_is_no_file_neither_blocks_nor_acts(root: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "zero").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as bound:
        here = os.open(root, os.O_RDONLY)
        bound.bind(f"/proc/self/fd/{here}/socket")
        os.close(here)
        for name, kind in (("pipe", "a named pipe"), ("socket", "a socket"), ("zero", "outside")):
            holds, told = checked(root, name, 1, "`x`")
            assert not holds
            assert kind in told


def test_a_huge_file_is_looked_at_as_far_as_is_quick(root: Path) -> None:
    with open(root / "huge", "wb") as file:
        file.write(b"needle\n" + b"\n" * MAX_FILE_BYTES + b"behind\n")
        file.truncate(4 << 30)
    started = time.monotonic()
    assert checked(root, "huge", 1, "`needle`")[0]
    assert "nowhere" in checked(root, "huge", MAX_FILE_BYTES // 2, "`behind`")[1]
    assert "lines" in checked(root, "huge", 999_999_999, "`behind`")[1]
    assert time.monotonic() - started < 6


def test_a_binary_file_is_told_as_one(root: Path) -> None:
    (root / "x.bin").write_bytes(bytes(range(256)) * 40)
    (root / "x.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 40)
    assert checked(root, "x.bin", 1, "`x`") == (False, "not checked: it is a binary file")
    assert checked(root, "x.png", 1, "`x`") == (False, "not checked: it is a PNG image")


def test_a_text_in_another_encoding_is_read_as_it_is(root: Path) -> None:
    for codec in ("utf-8-sig", "utf-16", "latin-1"):
        (root / "text").write_bytes("first\r\nüber `x`\r\n".encode(codec))
        assert checked(root, "text", 2, "says `über`")[0], codec


def test_what_is_too_slow_stays_unchecked_and_says_so(root: Path) -> None:
    holds, told = checked(root, "a.py", 4, "`parse`", within_s=0.0)
    assert (holds, told) == (False, "not checked: reading the files took too long")


def test_a_check_that_is_out_of_time_goes_on_with_nothing(root: Path) -> None:
    (root / "lines").write_bytes(b"\n" * MAX_FILE_BYTES)
    findings = [Finding("lines", MAX_FILE_BYTES // 2 + n, f"`x{n}`", "low") for n in range(40)]
    started = time.monotonic()
    made = asyncio.run(check_findings(result(*findings), Workspace(root), 0.1))  # waits for its thread, too
    assert time.monotonic() - started < 2
    assert {each.check for each in made.findings} == {"not checked: reading the files took too long"}


def test_the_name_of_the_file_need_not_stand_in_it(root: Path) -> None:
    (root / "src").mkdir()
    (root / "src" / "b.py").write_text(CODE, encoding="utf-8")
    for name in ("src/b.py", "b.py"):
        assert checked(root, "src/b.py", 4, f"`{name}` defines `parse`")[0]
    assert not checked(root, "src/b.py", 4, "`c.py` defines `parse`")[0]


def test_a_result_without_findings_comes_back_as_it_is(root: Path) -> None:
    given_result = result()
    assert asyncio.run(check_findings(given_result, Workspace(root))) is given_result


@given(
    st.lists(
        st.builds(
            Finding,
            file=st.sampled_from(["a.py", "", "b.py", "/etc/passwd"]) | st.text(max_size=20),
            line=st.none() | st.integers(1, 10**9),
            claim=st.text(st.sampled_from("`parse \n()ü\x1b"), max_size=400),
            confidence=st.just("low"),
        ),
        max_size=5,
    )
)
def test_any_finding_is_checked_in_bounds(findings: list[Finding]) -> None:
    made = asyncio.run(check_findings(result(*findings), Workspace(Path(__file__).parent)))
    assert len(made.findings) == len(findings)
    for finding in made.findings:
        assert finding.check
        assert len(DelegateResult.encoded(result(finding))) < MAX_BYTES
        assert len(finding.check.encode()) <= CHECK_BYTES


def test_a_full_result_stays_within_its_bounds_when_its_findings_are_checked(root: Path) -> None:
    name = "ü" * 120
    claim = f"`{name}` " + "x" * 300
    findings = [{"file": "a.py", "line": 4, "claim": claim}] * 300
    text = '{"summary": "' + "word " * 2_000 + f'", "findings": {findings!r}}}'.replace("'", '"')
    normalized = normalize("subagent-1", [text])
    assert len(normalized.findings) > 10
    made = asyncio.run(check_findings(normalized, Workspace(root)))
    assert len(made.encoded().encode()) <= MAX_BYTES
    assert all("is not on line 4" in each.check or each.check.endswith("…") for each in made.findings)
