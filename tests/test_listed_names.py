"""Names of files: whatever a listing prints can be sent back, as it is printed or as it is meant."""

import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.calls import argument_object, is_cut_off, sendable
from actors.files.workspace import Workspace
from actors.tools.list_files import ListFiles
from actors.tools.read_file import ReadFile
from actors.tools.ripgrep import Ripgrep
from actors.tools.rm import Rm
from ipc.messages import ToolCall
from tests.fakes.calling import call, refusal
from tests.fakes.snapshots import NOTHING_KEPT

NAMES = st.one_of(
    st.binary(min_size=1, max_size=12),
    st.text(st.sampled_from("aé\\\"'n\nu:1 \udcff\u202e"), min_size=1, max_size=8).map(os.fsencode),
).filter(lambda name: not (set(name) & {0, ord("/")}) and name not in (b".", b"..", b".git"))


def _sent(arguments: str) -> dict[str, object]:
    return argument_object(ToolCall(id="1", name="read_file", arguments=arguments))


@settings(max_examples=40, deadline=None)
@given(name=NAMES)
def test_any_name_that_a_listing_prints_can_be_read(name: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = os.fsencode(folder)
        with open(root + b"/" + name, "wb") as file:
            file.write(b"needle\n")
        workspace = Workspace(Path(folder))
        printed = call(ListFiles(workspace)).content.split("\n")[1].removeprefix("7 ")
        assert call(Ripgrep(workspace), pattern="needle").content == f"{printed}:1: needle"
        meant = printed if printed[0] != '"' else json.loads(printed)
        for path in (meant, printed):
            given_back = _sent(json.dumps({"path": path}))
            assert call(ReadFile(workspace), **given_back).content.startswith("1\tneedle\n")
        again = sendable(ToolCall(id="1", name="read_file", arguments=json.dumps({"path": meant})))
        assert call(ReadFile(workspace), **_sent(again.arguments)).content.startswith("1\tneedle\n")


def test_what_is_there_is_meant_before_what_it_could_be_printed_for(tmp_path: Path) -> None:
    (tmp_path / "a\\u0062").write_text("literal\n", encoding="utf-8")
    (tmp_path / "ab").write_text("other\n", encoding="utf-8")
    assert call(ReadFile(Workspace(tmp_path)), path="a\\u0062").content.startswith("1\tliteral")


def test_a_name_as_it_is_printed_leads_to_nothing_outside_or_closed(tmp_path: Path) -> None:
    root = tmp_path / "w"
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "config").touch()
    (tmp_path / "out").touch()
    workspace = Workspace(root)
    assert refusal(ReadFile(workspace), path='"../out"').code == "outside_workspace"
    assert refusal(ReadFile(workspace), path="\\u002e./out").code == "outside_workspace"
    assert refusal(Rm(workspace, NOTHING_KEPT), path='".git/config"').code == "protected_path"


@pytest.mark.parametrize("half", ["\\udcff", "\\uD800", "\\ud800x", "\\ude00\\ud83d"])
def test_half_of_a_pair_is_taken_and_goes_back_such_that_a_strict_server_reads_it(half: str) -> None:
    arguments = f'{{"path":"a{half}","emoji":"\\ud83d\\ude00","plain":"\\\\udcff"}}'
    assert _sent(arguments) == json.loads(arguments)
    again = sendable(ToolCall(id="1", name="read_file", arguments=arguments)).arguments
    read = json.loads(again)
    assert json.dumps(read, ensure_ascii=False).encode()
    assert read["path"] == f"a{half}"
    assert read["emoji"] == "😀"
    assert read["plain"] == "\\udcff"


@pytest.mark.parametrize(
    "tail", [', "b": NaN}', ', "b": 1e999}', ", }", ', "b": "\t"}', "} {}", ', "b": 01}']
)
def test_half_of_a_pair_makes_nothing_else_acceptable(tail: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        _sent(f'{{"a":"x"{tail}')
    with pytest.raises(ValueError, match=r"."):
        _sent(f'{{"a":"\\udcff"{tail}')


def test_arguments_with_half_of_a_pair_can_be_cut_off_too() -> None:
    assert is_cut_off('{"path":"\\udcff')
