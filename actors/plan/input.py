"""What a model may send as a plan: one definition for schema and validator, and words for every fault."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final, Self, get_args

import msgspec
from pydantic import (
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import ErrorDetails

from actors.calls import without_trailing_comma
from actors.plan.rules import MAX_ITEMS, label, shown
from actors.tools.tool import ToolInput
from ipc.messages import PlanItem, PlanProblem, PlanStatus

STATUSES: Final[tuple[PlanStatus, ...]] = get_args(PlanStatus)
_EXPECTED: Final = {"string_type": "a string", "tuple_type": "a list", "model_type": "an object"}
_MISSING: Final = {"id": "missing_id", "title": "empty_title", "reason": "empty_reason"}
"""Rules that say the same of an empty field."""
_VERDICTS: Final = "verdicts"
RESULT_FIELDS: Final = ("version", "revision", "updatedAt", "session", "dropped", "notes", "note")
"""What a result has beside reason and items."""
_UNKNOWN: Final = "?"
"""Stands for a value that is at fault already and shall break no rule on top."""


class ItemInput(ToolInput):
    """One step as the model sends it."""

    id: Annotated[str, Field(description="Short, readable, kept for good: run-tests")]
    title: Annotated[str, Field(description="One line")]
    status: PlanStatus
    details: str = ""
    dependencies: Annotated[tuple[str, ...], Field(description="Ids that come first")] = ()
    next_action: Annotated[str, Field(description="Required unless done")] = ""
    evidence: Annotated[
        tuple[str, ...],
        Field(description="Required when done: a command as run, a file:line; checked against what was done"),
    ] = ()


class Reading(msgspec.Struct, frozen=True):
    """What was understood of a plan."""

    reason: str = ""
    """With faults: as far as it can be read."""
    items: tuple[PlanItem, ...] = ()
    """With faults: as far as they can be read."""
    faults: tuple[PlanProblem, ...] = ()
    """Why this is no plan at all; empty when the rules alone may judge it."""
    notes: tuple[str, ...] = ()
    """What was read leniently, for the model."""


class UpdatePlanInput(ToolInput):
    """A whole plan as the model sends it; one with faults is taken, too, so that the tool can tell them."""

    takes_mended: ClassVar[bool] = True
    reason: Annotated[str, Field(description="Why the plan changes, one line")]
    items: Annotated[tuple[ItemInput, ...], Field(description=f"All steps in order, at most {MAX_ITEMS}")]
    _reading: Reading = PrivateAttr(Reading())

    @property
    def reading(self) -> Reading:
        """The plan, or what is wrong with it."""
        return self._reading

    @model_validator(mode="wrap")
    @classmethod
    def _read(cls, data: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        data, notes = _decoded(data, info.context or ())
        try:
            given = handler(data)
            items = tuple(msgspec.convert(item, PlanItem, from_attributes=True) for item in given.items)
            reading = Reading(given.reason, items, notes=notes)
        except ValidationError as error:
            given = cls.model_construct(reason="", items=())
            faults = tuple(_fault(each, data) for each in error.errors(include_url=False))
            reading = Reading(*_draft(data), faults, notes)
        given._reading = reading  # noqa: SLF001 - an instance of this very class
        return given


# --- leniency: only where the meaning is certain ---------------------------------------------------------


def _decoded(data: Any, before: Iterable[str]) -> tuple[Any, tuple[str, ...]]:
    """The input with what is certain put right, and a note for each thing that was, also `before`."""
    notes = list(before)
    if not isinstance(data, Mapping):
        return data, tuple(notes)
    items = data.get("items")
    if isinstance(items, str):
        data = {**data, "items": _from_text(items, notes)}
    return _without_echo(data, notes), tuple(notes)


def _without_echo(data: Mapping[str, Any], notes: list[str]) -> Mapping[str, Any]:
    """The input without what only a result has; a model that sends one back sets nothing by it."""
    items = data.get("items")
    echoed = [name for name in RESULT_FIELDS if name in data]
    if isinstance(items, list) and any(isinstance(item, dict) and _VERDICTS in item for item in items):
        echoed.append(f"items[].{_VERDICTS}")
        items = [_without(item, [_VERDICTS]) if isinstance(item, dict) else item for item in items]
    if not echoed:
        return data
    notes.append(f"Ignored, since only a result has them: {', '.join(echoed)}; send reason and items alone.")
    return {**_without(data, echoed), "items": items} if "items" in data else _without(data, echoed)


def _without(fields: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in names}


def _from_text(text: str, notes: list[str]) -> Any:
    """The list in a JSON text, without one trailing comma; the text itself when it holds none."""
    repaired = without_trailing_comma(text)
    try:
        items = msgspec.json.decode(repaired)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return text
    if not isinstance(items, list):
        return text
    notes.append("items came as a JSON text and was decoded; send a list.")
    if repaired != text:
        notes.append("A trailing comma in items was ignored.")
    return items


# --- faults ------------------------------------------------------------------------------------------------


def _fault(error: ErrorDetails, data: Any) -> PlanProblem:
    """One fault of form as a problem of the plan."""
    path, received = error["loc"], shown(error["input"])
    where, model = "plan", UpdatePlanInput.model_fields.keys()
    if len(path) > 1 and path[0] == "items" and isinstance(path[1], int):
        raw = data["items"][path[1]]
        where = label(path[1], _id_of(raw) if isinstance(raw, dict) else "")
        path, model = path[2:], ItemInput.model_fields.keys()
    field = "".join(f"[{part}]" if isinstance(part, int) else f"{part}" for part in path) or "the item"
    match error["type"]:
        case "missing":
            rule, message = _MISSING.get(field, "missing_field"), f"{field} is missing"
            fix = f"Add {field}."
        case "extra_forbidden":
            rule, message = "unknown_field", f"{shown(field)} is unknown; allowed are {', '.join(model)}"
            fix = "Remove it, or use the field that was meant."
        case "literal_error":
            allowed = ", ".join(map(shown, STATUSES))
            rule, message = "unknown_status", f"{field}: received {received}; allowed are {allowed}"
            fix = "Use one of the allowed words."
        case kind:
            expected = _EXPECTED.get(kind, error["msg"])
            rule, message = "wrong_type", f"{field}: received {received}; allowed is {expected}"
            fix = f"Send {field} as {expected}."
    return PlanProblem(item=where, rule=rule, message=message, fix=fix)


def _draft(data: Any) -> tuple[str, tuple[PlanItem, ...]]:
    """What can be read of a plan with faults, so that its other problems are told in the same answer."""
    if not isinstance(data, Mapping):
        return _UNKNOWN, ()
    raw_items = data.get("items")
    items = raw_items if isinstance(raw_items, list) else []
    drafts = tuple(_draft_item(raw, number) for number, raw in enumerate(items, 1))
    return _text(data.get("reason", ""), _UNKNOWN), drafts


def _draft_item(raw: Any, number: int) -> PlanItem:
    if not isinstance(raw, dict):
        raw = {"id": f"unreadable-item-{number}", "title": _UNKNOWN}
    raw = {name: value for name, value in raw.items() if value is not None}
    status = next((word for word in STATUSES if word == raw.get("status")), None)
    evidence = tuple(_texts(raw.get("evidence", []), _UNKNOWN))
    return PlanItem(
        id=_id_of(raw),
        title=_text(raw.get("title", ""), _UNKNOWN),
        status=status or "done",
        details=_text(raw.get("details", ""), ""),
        dependencies=tuple(_texts(raw.get("dependencies", []))),
        next_action=_text(raw.get("next_action", ""), _UNKNOWN),
        evidence=evidence if status else (_UNKNOWN,),
    )


def _id_of(raw: dict[str, Any]) -> str:
    given = raw.get("id", "")
    return given if isinstance(given, str) else shown(given)


def _text(value: Any, otherwise: str) -> str:
    return value if isinstance(value, str) else otherwise


def _texts(value: Any, otherwise: str = "") -> Iterator[str]:
    """The strings of a list; `otherwise` for what is none, or for what is no list."""
    for entry in value if isinstance(value, list) else [None]:
        yield _text(entry, otherwise)
