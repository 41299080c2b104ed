"""What the file tools say to a model: plain, short, and forgiving where nothing is lost."""

from typing import Any

import pytest
from pydantic import ValidationError

from actors.tools.ask_user import AskUser
from actors.tools.browse_url import BrowseUrl
from actors.tools.list_files import ListFiles
from actors.tools.mkdir import Mkdir
from actors.tools.patch import Patch
from actors.tools.read_file import ReadFile
from actors.tools.ripgrep import Ripgrep
from actors.tools.rm import Rm
from actors.tools.rmdir import Rmdir
from actors.tools.tool import description
from actors.tools.websearch import Websearch

CONTRACT = {
    AskUser: "question options?",
    BrowseUrl: "url",
    ListFiles: "path? glob? depth?",
    Mkdir: "path",
    Patch: "path old_text new_text replace_all?",
    ReadFile: "path offset? limit?",
    Ripgrep: "pattern path? glob? ignore_case? context? max_results?",
    Rm: "path",
    Rmdir: "path recursive?",
    Websearch: "query",
}
REFUSED_BY_GRAMMARS = {"$ref", "$defs", "anyOf", "oneOf", "allOf", "pattern", "format", "const"}


def keys(schema: Any) -> set[str]:
    if isinstance(schema, dict):
        return set(schema).union(*map(keys, schema.values()))
    return set().union(*map(keys, schema)) if isinstance(schema, list) else set()


@pytest.mark.parametrize("tool", CONTRACT, ids=lambda tool: tool.name)
def test_inputs_are_those_of_the_contract(tool: Any) -> None:
    schema = tool.input.model_json_schema()
    told = [name if name in schema.get("required", ()) else name + "?" for name in schema["properties"]]
    assert told == CONTRACT[tool].split()


@pytest.mark.parametrize("tool", CONTRACT, ids=lambda tool: tool.name)
def test_inputs_need_nothing_that_grammar_compilers_refuse(tool: Any) -> None:
    schema = tool.input.model_json_schema()
    schema["properties"] = list(schema["properties"].values())
    assert not keys(schema) & REFUSED_BY_GRAMMARS


@pytest.mark.parametrize("tool", CONTRACT, ids=lambda tool: tool.name)
def test_descriptions_are_short(tool: Any) -> None:
    assert 0 < len(description(tool.name).encode()) <= 350


def test_null_means_not_given_and_unknown_fields_are_refused() -> None:
    assert ReadFile.input.model_validate({"path": "a", "offset": None, "limit": "5"}).limit == 5
    with pytest.raises(ValidationError, match="path"):
        ReadFile.input.model_validate({"path": None})
    with pytest.raises(ValidationError, match="file_path"):
        ReadFile.input.model_validate({"path": "a", "file_path": "b"})
