"""The advertised tools array: sorted, plain, encoded once, the same bytes in every mode and run."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import msgspec
from pydantic import BaseModel

from actors.tools.tool import description

_KEPT = ("type", "description", "enum", "items", "properties", "required")
"""What every server's grammar compiler understands; limits and patterns are checked when a call comes."""


class Advertised(Protocol):
    """What the array needs from a tool, a class or an instance."""

    @property
    def name(self) -> str: ...
    @property
    def input(self) -> type[BaseModel]: ...


def advertised(tools: Iterable[Advertised]) -> bytes:
    """Encode the `tools` array of every request.

    Raises `ValueError` for two tools of one name, or an input that has no plain schema.
    """
    entries = {}
    for tool in sorted(tools, key=lambda tool: tool.name):
        if tool.name in entries:
            raise ValueError(f"two tools are named {tool.name}")
        entries[tool.name] = {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": description(tool.name),
                "parameters": input_schema(tool.input),
            },
        }
    return msgspec.json.encode(list(entries.values()))


def input_schema(model: type[BaseModel]) -> dict[str, Any]:
    """JSON schema of a tool's input in the plain subset: references inlined, null and titles dropped."""
    schema = model.model_json_schema()
    plain = _plain(schema, schema.get("$defs", {}), model.__name__)
    plain.pop("description", None)
    return plain


def _plain(schema: Mapping[str, Any], definitions: Mapping[str, Any], where: str) -> dict[str, Any]:
    schema = _resolved(schema, definitions, where)
    kept = {key: schema[key] for key in _KEPT if key in schema}
    if "const" in schema:
        kept["enum"] = [schema["const"]]
    if "items" in kept:
        kept["items"] = _plain(kept["items"], definitions, f"{where}[]")
    if "properties" in kept:
        kept["properties"] = {
            name: _plain(entry, definitions, f"{where}.{name}") for name, entry in kept["properties"].items()
        }
    if "type" not in kept:
        raise ValueError(f"{where} has no plain JSON type: {schema}")
    return kept


def _resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Follow a reference, and take the one branch of `X | None`; the outer description wins."""
    outer = {key: schema[key] for key in ("description",) if key in schema}
    branches = [branch for branch in schema.get("anyOf", ()) if branch.get("type") != "null"]
    if len(branches) > 1:
        raise ValueError(f"{where} may be of several types, which grammar compilers refuse")
    if branches:
        return _resolved(branches[0], definitions, where) | outer
    if "$ref" in schema:
        target = definitions[str(schema["$ref"]).rpartition("/")[2]]
        inner = {key: value for key, value in target.items() if key != "description"}
        return _resolved(inner, definitions, where) | outer
    return dict(schema)
