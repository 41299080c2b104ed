"""The advertised tools: plain, sorted, small, and the same bytes whoever builds them."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from actors.catalog.builtin import TOOLS
from actors.catalog.surface import advertised, input_schema
from actors.conversation import Conversation, encode_head, encode_system, encode_user
from actors.prompts.system_message import system_message
from actors.tools.tool import ToolInput

ROOT = Path(__file__).parent.parent
NAMES = [
    "ask_user",
    "bash_exec",
    "browse_url",
    "delegate",
    "list_files",
    "mkdir",
    "patch",
    "read_file",
    "ripgrep",
    "rm",
    "rmdir",
    "update_plan",
    "websearch",
]
PLAIN_WORDS = {"type", "description", "enum", "items", "properties", "required"}
FIRST_REQUEST_LIMIT = 12 * 1024


class Inner(ToolInput):
    """Must not be told."""

    name: Annotated[str, Field(description="Its name.", pattern="^[a-z]+$", max_length=9)]
    kind: Literal["only"] = "only"


class Outer(ToolInput):
    """Must not be told either."""

    items: list[Inner]
    choice: Annotated[Literal["a", "b"] | None, Field(description="Which one.")] = None
    count: Annotated[int, Field(ge=1, le=5)] = 3
    inner: Annotated[Inner | None, Field(description="The outer word wins.")] = None


def test_input_schema_keeps_to_the_plain_subset() -> None:
    inner = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "Its name."},
            "kind": {"type": "string", "enum": ["only"]},
        },
        "required": ["name"],
    }
    assert input_schema(Outer) == {
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": inner},
            "choice": {"type": "string", "enum": ["a", "b"], "description": "Which one."},
            "count": {"type": "integer"},
            "inner": inner | {"description": "The outer word wins."},
        },
        "required": ["items"],
    }


def test_input_of_several_types_is_refused() -> None:
    class Torn(ToolInput):
        either: int | str

    with pytest.raises(ValueError, match=r"Torn\.either may be of several types"):
        input_schema(Torn)


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two tools are named"):
        advertised([*TOOLS, TOOLS[0]])


@pytest.fixture
def array() -> bytes:
    return advertised(TOOLS)


def functions(array: bytes) -> list[dict[str, Any]]:
    entries = json.loads(array)
    assert all(set(entry) == {"type", "function"} and entry["type"] == "function" for entry in entries)
    return [entry["function"] for entry in entries]


def test_the_tools_of_the_contract_are_advertised_by_name(array: bytes) -> None:
    assert [function["name"] for function in functions(array)] == NAMES


def test_every_tool_and_every_input_is_described(array: bytes) -> None:
    for function in functions(array):
        assert function["description"]
        assert function["parameters"]["type"] == "object"


def words(schema: Any) -> Iterator[str]:
    """Every keyword of a schema; names of properties are none."""
    if isinstance(schema, dict):
        for key, value in schema.items():
            yield key
            for inner in value.values() if key == "properties" else [value]:
                yield from words(inner)


@pytest.mark.report("PROV-19")
def test_advertised_schemas_hold_nothing_a_grammar_compiler_refuses(array: bytes) -> None:
    for function in functions(array):
        assert set(words(function["parameters"])) <= PLAIN_WORDS


@pytest.mark.report("CACHE-02")
def test_array_is_the_same_bytes_in_every_process(array: bytes) -> None:
    code = (
        "import hashlib; from actors.catalog.builtin import TOOLS;"
        "from actors.catalog.surface import advertised as array;"
        "print(hashlib.sha256(array(TOOLS)).hexdigest())"
    )
    for seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
        assert run.stdout.strip() == hashlib.sha256(array).hexdigest()


@pytest.mark.report("CACHE-02")
def test_order_of_the_tools_does_not_matter(array: bytes) -> None:
    assert advertised(reversed(TOOLS)) == array


def test_first_request_stays_small(array: bytes, tmp_path: Path) -> None:
    head = encode_head("gpt-5.5", array, {"stream": True, "stream_options": {"include_usage": True}})
    system = encode_system(system_message(tmp_path).text)
    body = Conversation(head, [system, encode_user("What does this repository do?")]).body()
    assert len(body) <= FIRST_REQUEST_LIMIT
