"""One message of every type of the vocabulary as it goes over the wire, with every field there is."""

from typing import Any, assert_never

from msgspec import inspect

from ipc.messages import AnyMessage

Wire = dict[str, Any]


def one_of_each() -> list[Wire]:
    """Payloads as plain values, with their tags."""
    return [_value(inspect.type_info(struct)) for struct in AnyMessage.__args__]


def wrong_for(value: Any) -> Any:
    """A value of another type than this one."""
    return 7 if isinstance(value, str | list | dict | bool | None) else "seven"


def _value(kind: Any) -> Any:
    match kind:
        case inspect.StructType():
            fields = {field.encode_name: _value(field.type) for field in kind.fields}
            tag = {kind.tag_field: kind.tag} if kind.tag_field else {}
            return tag | fields
        case inspect.UnionType():
            return _value(next(one for one in kind.types if not isinstance(one, inspect.NoneType)))
        case inspect.LiteralType():
            return kind.values[0]
        case inspect.VarTupleType() | inspect.ListType():
            return []
        case inspect.TupleType():
            return [_value(one) for one in kind.item_types]
        case inspect.DictType():
            return {}
        case inspect.StrType():
            return "text"
        case inspect.BytesType():
            return b"bytes"
        case inspect.MemoryViewType():
            return memoryview(b"bytes")
        case inspect.BoolType():
            return True
        case inspect.IntType():
            return 3
        case inspect.FloatType():
            return 0.5
        case _:
            assert_never(kind)
