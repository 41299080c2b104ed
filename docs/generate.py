"""Fills the generated parts of the pages from the code: `make docs`; a test says when one has gone stale."""

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Literal, get_args, get_origin

import msgspec
from pydantic import BaseModel

import actors.settings.settings as settings_module
import actors.settings.tables as tables_module
import ipc.messages as messages_module
from actors.catalog.builtin import TOOLS
from actors.catalog.surface import input_schema
from actors.commands.arguments import COMMANDS, parser_for
from actors.provider.servers.dialects import DIALECTS, GENERIC, Dialect
from actors.provider.wires.wire import PLAIN
from actors.session.events import AnyEvent
from actors.settings.settings import ENVIRONMENT, WORKSPACE_MAY_SET, Settings
from actors.settings.tables import Table
from actors.tools.tool import description
from ui import key_names
from ui.keys import BINDINGS, EDITING, LOCAL_COMMANDS

DOCS: Final = Path(__file__).parent
PAGES: Final = (*sorted(DOCS.glob("*.md")), DOCS.parent / "README.md")
_PART: Final = re.compile(r"(<!-- begin (\w+) -->\n).*?(<!-- end \2 -->)", re.DOTALL)


def main() -> int:
    """Write every page again."""
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


def filled(text: str) -> str:
    """The page with its generated parts as the code says now."""
    return _PART.sub(lambda part: f"{part[1]}{PARTS[part[2]]()}\n{part[3]}", text)


# --- what the source says ----------------------------------------------------------------------------


class Field:
    """A field as its class declares it, with the line below it."""

    def __init__(self, node: ast.AnnAssign, doc: str) -> None:
        self.name = ast.unparse(node.target)
        self.type = ast.unparse(node.annotation)
        self.default = None if node.value is None else ast.unparse(node.value)
        self.doc = doc


def fields_of(module: ModuleType) -> dict[str, list[Field]]:
    """Fields of every class of a module, in order."""
    tree = ast.parse(inspect.getsource(module))
    return {node.name: list(_fields(node)) for node in tree.body if isinstance(node, ast.ClassDef)}


def _fields(node: ast.ClassDef) -> Iterator[Field]:
    for statement, below in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(statement, ast.AnnAssign) and not ast.unparse(statement.target).startswith("_"):
            told = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
            yield Field(statement, str(below.value.value) if told else "")  # type: ignore[union-attr]


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


# --- messages ----------------------------------------------------------------------------------------

_GROUPS: Final = {
    "Command": "Commands: imperative, exactly one reply each, before the caller's deadline",
    "Reply": "Replies: the one answer to a command",
    "Fact": "Facts: past tense, numbered by their publisher, never answered",
    "Stream": "Stream events: what a model streams, inside `ModelStreamed` and `ModelCompleted`",
    "Value": "Values: parts of messages, never sent alone",
}


def messages() -> str:
    """Every message and value with every field."""
    fields = fields_of(messages_module)
    classes = [getattr(messages_module, name) for name in fields]
    parts = [f"Protocol version: {messages_module.PROTOCOL_VERSION}."]
    for kind, title in _GROUPS.items():
        parts.append(f"## {title}")
        parts += [_message(struct, fields[struct.__name__]) for struct in classes if _kind(struct) == kind]
    parts += ["## Words", table(["type", "one of"], _words())]
    return "\n\n".join(parts)


def _kind(struct: type[msgspec.Struct]) -> str | None:
    """Which group a class belongs to; none for the groups themselves."""
    names = {base.__name__ for base in struct.__mro__[1:]}
    if "Value" in names:
        return "Stream" if struct.__struct_config__.tag else "Value"
    return next((kind for kind in ("Command", "Reply", "Fact") if kind in names), None)


def events() -> str:
    """Every event of a session's log."""
    rows = ([f"`{each.__name__}`", inspect.cleandoc(each.__doc__ or "")] for each in get_args(AnyEvent))
    return table(["event", "says"], rows)


def _words() -> Iterator[list[str]]:
    for name, value in vars(messages_module).items():
        if get_origin(value) is Literal:
            yield [f"`{name}`", ", ".join(f"`{word}`" for word in get_args(value))]


def _message(struct: type[msgspec.Struct], fields: list[Field]) -> str:
    text = f"### `{struct.__name__}`\n\n{inspect.cleandoc(struct.__doc__ or '')}"
    if not fields:
        return text
    rows = ([f"`{f.name}`", f"`{f.type}`", _default(f), f.doc] for f in fields)
    return f"{text}\n\n{table(['field', 'type', 'default', 'meaning'], rows)}"


def _default(field: Field) -> str:
    return "" if field.default is None else f"`{field.default}`"


# --- settings and commands ---------------------------------------------------------------------------


def settings() -> str:
    """Every key of a settings file."""
    fields = fields_of(tables_module) | fields_of(settings_module)
    rows = _setting_rows(Settings, fields)
    return table(["key", "default", "workspace file may set it", "meaning"], rows)


def _setting_rows(
    model: type[BaseModel], fields: dict[str, list[Field]], prefix: str = ""
) -> Iterator[list[str]]:
    for field in fields[model.__name__]:
        inner = _table_named(field.type)
        if inner is not None:
            yield from _setting_rows(inner, fields, f"{prefix}{field.name}.")
            continue
        key = prefix + field.name
        allowed = {True: "yes", False: "no"}[key.partition(".")[0] in WORKSPACE_MAY_SET]
        default = model.model_fields[field.name].get_default(call_default_factory=True, validated_data={})
        shown = "" if default is None or model.model_fields[field.name].is_required() else f"`{default!r}`"
        yield [f"`{key}`", shown, "`plan` only" if key == "mode" else allowed, field.doc]


def _table_named(annotation: str) -> type[BaseModel] | None:
    found = getattr(tables_module, annotation.removesuffix(" | None"), None)
    return found if isinstance(found, type) and issubclass(found, Table) else None


def environment() -> str:
    """Every variable that sets something."""
    return table(["variable", "sets"], ([f"`{name}`", f"`{key}`"] for name, key in ENVIRONMENT))


def commands() -> str:
    """Every command."""
    rows = ([f"`{_form(name)}`", command.help] for name, command in COMMANDS.items())
    return table(["command", "does"], rows)


def _form(name: str) -> str:
    return " ".join(f"fido {name} {COMMANDS[name].form}".split())


def flags() -> str:
    """The common flags, then those of each command."""
    common = {action.option_strings[-1] for action in parser_for("attach").actions() if action.option_strings}
    rows = [["all", *row] for row in _flag_rows("attach", set())]
    for name in COMMANDS:
        rows += [[f"`fido {name}`".replace(" `", "`"), *row] for row in _flag_rows(name, common)]
    return table(["command", "flag", "does"], rows)


def _flag_rows(name: str, without: set[str]) -> Iterator[list[str]]:
    for action in parser_for(name).actions():
        if action.option_strings and action.option_strings[-1] not in without:
            value = action.metavar or "|".join(map(str, action.choices or ()))
            yield [f"`{f'{action.option_strings[-1]} {value}'.strip()}`", action.help or ""]


def tools() -> str:
    """Every tool with what the model is told."""
    return "\n\n".join(map(_tool, sorted(TOOLS, key=lambda tool: str(tool.name))))


def _tool(tool: type[Any]) -> str:
    schema = input_schema(tool.input)
    required = schema.get("required", ())
    rows = (
        [f"`{name}`", _schema_type(entry), "yes" if name in required else "no", entry.get("description", "")]
        for name, entry in schema["properties"].items()
    )
    told = "\n".join(f"> {line}".rstrip() for line in description(tool.name).splitlines())
    inputs = table(["input", "type", "required", "what the model is told"], rows)
    return f"### `{tool.name}`\n\nEffect: {tool.effect}.\n\n{told}\n\n{inputs}"


def _schema_type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{word}`" for word in schema["enum"])
    if schema["type"] == "array":
        return f"list of {_schema_type(schema['items'])}"
    if "properties" in schema:
        return (
            "{"
            + ", ".join(f"`{name}`: {_schema_type(inner)}" for name, inner in schema["properties"].items())
            + "}"
        )
    return str(schema["type"])


def keys() -> str:
    """Every key and every local command of the screen."""
    rows = [[binding.shown, binding.help] for binding in BINDINGS]
    rows += [[", ".join(map(key_names.shown, names)), text] for names, text in EDITING]
    rows += [[f"`{name}`", text] for name, text in LOCAL_COMMANDS.items()]
    return table(["key or command", "does"], rows)


def dialects() -> str:
    """Every known server, how it is found, and in what it differs."""
    rows = (
        [f"`{one.name}`", _found_at(one), "; ".join(_differences(one)) or "nothing"]
        for one in DIALECTS
        if one is not GENERIC
    )
    return table(["`provider`", "found at", "differs in"], rows)


def _found_at(dialect: Dialect) -> str:
    hosts = [f"`{host}`" for host in dialect.hosts]
    return ", ".join(hosts + ([f"port {dialect.port} of this machine"] if dialect.port else []))


def _differences(dialect: Dialect) -> Iterator[str]:
    quirks = dialect.quirks
    if dialect.key_header != "Authorization":
        yield f"key in `{dialect.key_header}`"
    if quirks.limit_name != PLAIN.limit_name:
        yield f"`{quirks.limit_name}`"
    if not quirks.stream_usage:
        yield "no `stream_options`"
    if quirks.call_content != PLAIN.call_content:
        yield f"{quirks.call_content} content of calls"
    if quirks.echo:
        yield f"`{quirks.echo}` goes back"
    if quirks.extras:
        yield "`extra_content` of calls goes back"
    if quirks.alternating:
        yield "roles in turn"
    if quirks.short_ids:
        yield "ids of nine characters"
    if quirks.text_calls:
        yield "calls as text are read"


def files() -> str:
    """Every module with the line that says what lives there."""
    root = DOCS.parent
    parts = []
    for room in ("ipc", "actors", "ui"):
        modules = [path for path in sorted((root / room).rglob("*.py")) if path.stat().st_size]
        rows = ([f"`{path.relative_to(root / room)}`", _first_line(path)] for path in modules)
        parts.append(f"### `{room}/`\n\n{table(['file', 'what lives there'], rows)}")
    return "\n\n".join(parts)


def _first_line(path: Path) -> str:
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]


PARTS: Final[dict[str, Callable[[], str]]] = {
    "messages": messages,
    "events": events,
    "settings": settings,
    "environment": environment,
    "commands": commands,
    "flags": flags,
    "files": files,
    "keys": keys,
    "tools": tools,
    "dialects": dialects,
}


if __name__ == "__main__":
    sys.exit(main())
