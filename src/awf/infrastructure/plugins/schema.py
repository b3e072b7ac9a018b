"""What a plugin says of an operation → the JSON Schema that models and validators understand.

What cannot be expressed is a reason to refuse the operation: an input that silently lost its type or default would
mislead whoever calls it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from awf.domain.ports.plugins import Operation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["SaidInput", "SaidOperation", "SaidOutput", "operation_of"]

TYPES = ("string", "integer", "number", "boolean", "array", "object")
_FORMATS = {"url": "uri"}  # `email` and whatever else already are names of JSON Schema formats


class SaidInput(Protocol):
    """The fields of the protocol's InputSchema."""

    name: str
    type: str
    required: bool
    default: str
    description: str
    validation: str
    items: str
    properties: str

    @property
    def enum(self) -> Sequence[str]: ...


class SaidOutput(Protocol):
    name: str
    type: str
    description: str


class SaidOperation(Protocol):
    name: str
    description: str
    read_only: bool

    @property
    def inputs(self) -> Iterable[SaidInput]: ...
    @property
    def outputs(self) -> Iterable[SaidOutput]: ...


class _Refused(Exception):  # noqa: N818  becomes the operation's refusal
    pass


def operation_of(said: SaidOperation, problem_with: Callable[[dict[str, Any]], str]) -> Operation:
    """`problem_with` says what is wrong with a JSON Schema that the plugin wrote itself."""
    try:
        input_schema, output_schema = _inputs(said.inputs, problem_with), _outputs(said.outputs)
    except _Refused as reason:
        return Operation(
            name=said.name, description=said.description, read_only=said.read_only, refusal=str(reason)
        )
    return Operation(
        name=said.name,
        description=said.description,
        input_schema=input_schema,
        output_schema=output_schema,
        read_only=said.read_only,
    )


def _inputs(said: Iterable[SaidInput], problem_with: Callable[[dict[str, Any]], str]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    required: list[str] = []
    for one in said:
        if not one.name:
            raise _Refused("an input has no name")
        if one.name in properties:
            raise _Refused(f"the input '{one.name}' is declared twice")
        properties[one.name] = _input(one)
        wrong = problem_with(properties[one.name]) if one.items or one.properties else ""
        if wrong:
            raise _Refused(f"the input '{one.name}' has a schema that is not valid: {wrong}")
        if one.required:
            required.append(one.name)
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = sorted(required)
    # What the operation does not know it would ignore, and whoever sent it would not learn of the mistake.
    schema["additionalProperties"] = False
    return schema


def _input(said: SaidInput) -> dict[str, Any]:
    where = f"the input '{said.name}'"
    if said.type not in TYPES:
        raise _Refused(f"{where} has {_type_words(said.type)}; there are {', '.join(TYPES)}")
    schema: dict[str, Any] = {"type": said.type}
    if said.description:
        schema["description"] = said.description
    if said.validation:
        _only_for(where, said.type, "string", "validation", said.validation)
        schema["format"] = _FORMATS.get(said.validation, said.validation)
    if said.items:
        _only_for(where, said.type, "array", "items", said.items)
        schema["items"] = _items(where, said.items)
    if said.properties:
        _only_for(where, said.type, "object", "properties", said.properties)
        schema["properties"] = _properties(where, said.properties)
    if said.enum:
        schema["enum"] = [_value(where, said.type, text, "the choice") for text in said.enum]
    if said.default:
        schema["default"] = _default(where, said, schema)
    return schema


def _type_words(name: str) -> str:
    return f"the unknown type '{name}'" if name else "no type"


def _only_for(where: str, have: str, need: str, field: str, text: str) -> None:
    if have != need:
        raise _Refused(f"{where} is of type {have}, and '{field}: {_cut(text)}' is for type {need}")


def _default(where: str, said: SaidInput, schema: dict[str, Any]) -> Any:
    value = _value(where, said.type, said.default, "the default")
    if "enum" in schema and value not in schema["enum"]:
        raise _Refused(f"{where} has the default {_cut(said.default)}, which is not one of its choices")
    return value


def _items(where: str, text: str) -> dict[str, Any]:
    if text in TYPES:
        return {"type": text}
    schema = _json(text)
    if not isinstance(schema, dict):
        raise _Refused(f"{where} has items that are neither a JSON Schema nor a type: {_cut(text)}")
    return schema


def _properties(where: str, text: str) -> dict[str, Any]:
    schema = _json(text)
    if not isinstance(schema, dict) or not all(isinstance(value, dict | bool) for value in schema.values()):
        raise _Refused(f"{where} has properties that are not JSON Schemas by name: {_cut(text)}")
    return schema


def _value(where: str, wanted: str, text: str, what: str) -> Any:
    """JSON first. A string may also be bare: `abc`, and `5` too, which as JSON is not a string."""
    value = _json(text)
    if _is_a(wanted, value):
        return value
    if wanted == "string":
        return text
    raise _Refused(f"{where} is of type {wanted}, and {what} {_cut(text)} is not")


def _is_a(wanted: str, value: Any) -> bool:
    if isinstance(value, bool):
        return wanted == "boolean"
    kinds: dict[str, tuple[type, ...]] = {
        "string": (str,),
        "integer": (int,),
        "number": (int, float),
        "array": (list,),
        "object": (dict,),
    }
    return isinstance(value, kinds.get(wanted, ()))


_NOT_JSON = object()


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return _NOT_JSON


def _outputs(said: Iterable[SaidOutput]) -> dict[str, Any] | None:
    properties: dict[str, Any] = {}
    for one in said:
        if not one.name or one.name in properties:
            raise _Refused(
                f"the output '{one.name}' is declared twice" if one.name else "an output has no name"
            )
        if one.type and one.type not in TYPES:
            raise _Refused(
                f"the output '{one.name}' has {_type_words(one.type)}; there are {', '.join(TYPES)}"
            )
        schema = {"type": one.type, "description": one.description}
        properties[one.name] = {key: value for key, value in schema.items() if value}
    return {"type": "object", "properties": properties} if properties else None


def _cut(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}…"
