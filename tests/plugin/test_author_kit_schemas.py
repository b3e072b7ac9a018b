"""Type hints become schemas, arguments are held to them, and what cannot be said is refused at once."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, NewType, NotRequired, Optional, TypedDict, Union

import pytest

from awf.infrastructure.json_schemas.schemas import RustJsonSchemas
from awf.infrastructure.plugins.schema import operation_of as host_reading
from awf.plugin import Param, Plugin, PluginDefinitionError
from awf.plugin.testing import call
from awf.plugin.wire import operation_message


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Point:
    x: int
    y: Annotated[int, "how high"] = 0
    tags: list[str] = field(default_factory=list)


class Options(TypedDict):
    depth: int
    glob: NotRequired[Annotated[str, "which files"]]


class Loop(TypedDict):
    inner: Loop


def seen_by_models(function, **options) -> dict[str, Any]:
    """The input schema as AWF's host makes it from what the kit says."""
    plugin = Plugin("sample")
    plugin.operation(**options)(function)
    (operation,) = plugin.operations.values()
    read = host_reading(operation_message(operation), RustJsonSchemas().problem_with)
    assert read.refusal == ""
    return read.input_schema


def given(function, **inputs):
    plugin = Plugin("sample")
    plugin.operation(function)
    return call(plugin, function.__name__, **inputs)


def test_simple_hints_become_types_and_what_has_no_default_is_required():
    def op(a: str, b: int, c: float, d: bool, e: list, f: dict, g: Path) -> None: ...

    schema = seen_by_models(op)
    kinds = {name: said["type"] for name, said in schema["properties"].items()}
    assert kinds == {
        "a": "string", "b": "integer", "c": "number", "d": "boolean", "e": "array", "f": "object", "g": "string",
    }  # fmt: skip
    assert schema["required"] == ["a", "b", "c", "d", "e", "f", "g"]


def test_defaults_choices_descriptions_and_formats_are_told():
    def op(
        a: str = "x",
        b: Literal["left", "right"] = "left",
        c: Colour = Colour.BLUE,
        d: Level = Level.HIGH,
        e: Annotated[str, Param(description="where", format="url")] = "https://example.org/",
        f: Annotated[int, "how many"] = 5,
        g: Optional[str] = None,  # noqa: UP045
        h: list[int] = [1, 2],
    ) -> None: ...

    schema = seen_by_models(op)
    assert "required" not in schema
    assert schema["properties"] == {
        "a": {"type": "string", "default": "x"},
        "b": {"type": "string", "enum": ["left", "right"], "default": "left"},
        "c": {"type": "string", "enum": ["red", "blue"], "default": "blue"},
        "d": {"type": "integer", "enum": [1, 2], "default": 2},
        "e": {"type": "string", "description": "where", "format": "uri", "default": "https://example.org/"},
        "f": {"type": "integer", "description": "how many", "default": 5},
        "g": {"type": "string"},
        "h": {"type": "array", "items": {"type": "integer"}, "default": [1, 2]},
    }


def test_an_optional_parameter_without_a_default_may_be_left_out():
    def op(a: str | None, b: Literal["x", None]) -> str:  # noqa: PYI061
        return f"{a} {b}"

    assert "required" not in seen_by_models(op)
    assert given(op).error == ""
    assert given(op).output == "None None"
    assert given(op, a=None, b="x").output == "None x"


def test_records_are_objects_with_properties():
    def op(point: Point, options: Options, points: list[Point], sizes: dict[str, int]) -> None: ...

    properties = seen_by_models(op)["properties"]
    assert properties["point"]["properties"] == {
        "x": {"type": "integer"},
        "y": {"type": "integer", "default": 0, "description": "how high"},
        "tags": {"type": "array", "items": {"type": "string"}},
    }
    assert properties["point"]["description"] == "Required: x."
    assert properties["options"]["description"] == "Required: depth."
    assert properties["points"]["items"]["required"] == ["x"]
    assert properties["points"]["items"]["additionalProperties"] is False
    assert properties["sizes"]["description"] == 'Each value: {"type": "integer"}.'


def test_a_docstring_describes_the_operation_and_its_parameters():
    def op(name: str, times: int = 1, other: Annotated[str, "wins"] = "") -> str:
        """Greet somebody.

        More about it.

        Args:
            name: who it is
                and more of that
            times (int): how often
            other: loses

        Returns:
            The greeting.
        """

    plugin = Plugin("sample")
    plugin.operation(op)
    told = operation_message(plugin.operations["op"])
    assert told.description == "Greet somebody.\n\nMore about it.\n\nReturns:\n    The greeting."
    assert [one.description for one in told.inputs] == ["who it is and more of that", "how often", "wins"]
    assert [(one.name, one.type) for one in told.outputs] == [("output", "string")]


def test_the_decorator_can_name_and_describe():
    plugin = Plugin("sample")

    @plugin.operation(name="kubectl-get", description="Look", read_only=True)
    def op() -> Point: ...

    told = operation_message(plugin.operations["kubectl-get"])
    assert (told.name, told.description, told.read_only) == ("kubectl-get", "Look", True)
    assert [(one.name, one.type, one.description) for one in told.outputs] == [
        ("x", "integer", ""), ("y", "integer", "how high"), ("tags", "array", ""),
    ]  # fmt: skip


class Opaque:
    pass


def no_hint(a): ...
def union(a: Union[int, str]): ...  # noqa: UP007
def everything(a: Any): ...
def opaque(a: Opaque): ...
def raw(a: bytes): ...
def many(*a: str): ...
def keywords(**a: str): ...
def positional(a: str, /): ...
def fixed_tuple(a: tuple[int, str]): ...
def number_keys(a: dict[int, str]): ...
def mixed(a: Literal["x", 1]): ...
def circle(a: Loop): ...
def inner(a: list[Opaque]): ...
def bad_format(a: Annotated[int, Param(format="url")]): ...
def bad_default(a: int = "five"): ...
def odd_choice(a: Literal["x"] = "y"): ...
def odd_default(a: list = [Opaque()]): ...
def unknown(a: Nowhere): ...  # noqa: F821


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (no_hint, "no type hint"),
        (union, "more than one type"),
        (everything, "Any cannot be used"),
        (opaque, "Opaque cannot be said"),
        (raw, "bytes cannot be said"),
        (many, "come by name"),
        (keywords, "come by name"),
        (positional, "come by name"),
        (fixed_tuple, "fixed length"),
        (number_keys, "keys of an object are strings"),
        (mixed, "all strings or all numbers"),
        (circle, "contains itself"),
        (inner, "Opaque cannot be said"),
        (bad_format, "for strings only"),
        (bad_default, "does not fit"),
        (odd_choice, "does not fit"),
        (odd_default, "cannot be written as JSON"),
        (unknown, "Nowhere"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_a_schema_cannot_say_is_refused_with_function_and_parameter(function, reason):
    with pytest.raises(PluginDefinitionError) as raised:
        Plugin("sample").operation(function)
    assert reason in str(raised.value)
    assert f"operation '{function.__name__}'" in str(raised.value)
    assert function is unknown or "parameter 'a'" in str(raised.value)


def test_names_that_cannot_be_and_names_that_are_taken_are_refused():
    with pytest.raises(PluginDefinitionError, match="name of a plugin"):
        Plugin("My Plugin")
    plugin = Plugin("sample")
    with pytest.raises(PluginDefinitionError, match="name of an operation"):
        plugin.operation(name="has space")(lambda: None)
    plugin.operation(name="twice")(lambda: None)
    with pytest.raises(PluginDefinitionError, match="'twice' already"):
        plugin.operation(name="twice")(lambda: None)
    with pytest.raises(PluginDefinitionError, match="name of a step type"):
        plugin.step_type("a b")(lambda: None)
    with pytest.raises(PluginDefinitionError, match=r"'step..failed' is not an event type.*@plugin\.on"):
        plugin.on("step..failed")
    with pytest.raises(PluginDefinitionError, match="No event type"):
        plugin.on()


def test_a_decorator_without_its_parentheses_is_not_lost_in_silence():
    plugin = Plugin("sample")
    with pytest.raises(PluginDefinitionError, match=r"function 'union'.*@plugin\.step_type\("):
        plugin.step_type(union)
    with pytest.raises(PluginDefinitionError, match=r"function 'union'.*@plugin\.on\("):
        plugin.on(union)


UserId = NewType("UserId", int)


def test_a_new_type_is_what_it_stands_for_and_notes_within_optionals_count():
    def op(
        user: UserId, site: Annotated[str, Param(description="where", format="url")] | None = None
    ) -> dict:
        return {"user": user}

    assert seen_by_models(op)["properties"] == {
        "user": {"type": "integer"},
        "site": {"type": "string", "description": "where", "format": "uri"},
    }
    assert given(op, user="7").data == {"user": 7}
    assert "expected a URL" in given(op, user=7, site="here").error


def test_functions_that_ask_for_what_is_not_there_are_refused():
    plugin = Plugin("sample")
    with pytest.raises(
        PluginDefinitionError, match=r"step type 'x', parameter 'state'.*config, inputs, step"
    ):
        plugin.step_type("x")(lambda state: None)
    with pytest.raises(PluginDefinitionError, match="one parameter"):
        plugin.validator(lambda: None)
    with pytest.raises(PluginDefinitionError, match="one parameter"):
        plugin.on("*")(lambda a, b: None)
    plugin.configure(lambda config: None)
    with pytest.raises(PluginDefinitionError, match="already"):
        plugin.configure(lambda config: None)


def test_arguments_arrive_as_the_hints_say():
    def op(point: Point, colour: Colour, level: Level, path: Path, names: set[str], options: Options) -> dict:
        assert isinstance(point, Point)
        assert isinstance(colour, Colour)
        assert isinstance(path, Path)
        assert names == {"a", "b"}
        return {"x": point.x, "y": point.y, "level": level.name, "options": options}

    came = given(
        op, point={"x": 1}, colour="blue", level=2, path="a/b", names=["a", "b", "a"], options={"depth": 3}
    )
    assert came.error == ""
    assert came.data == {"x": 1, "y": 0, "level": "HIGH", "options": {"depth": 3}}


@pytest.mark.parametrize(
    ("value", "kind", "seen"),
    [
        ("12", int, 12),
        (" -3 ", int, -3),
        (4.0, int, 4),
        ("2.5", float, 2.5),
        (3, float, 3.0),
        ("true", bool, True),
        ("False", bool, False),
    ],
)
def test_a_text_that_says_a_value_exactly_is_taken(value, kind, seen):
    def op(a: kind) -> dict:
        return {"a": a}

    op.__annotations__["a"] = kind
    assert given(op, a=value).data == {"a": seen}


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (3, str, "a string"),
        (True, int, "an integer"),
        (1.5, int, "an integer"),
        ("1.5", int, "an integer"),
        ("+-1", int, "an integer"),
        ("²", int, "an integer"),
        ("nan", float, "a finite number"),
        (True, float, "a number"),
        ([], float, "a number"),
        (1, bool, "true or false"),
        ("yes", bool, "true or false"),
        ("a", list, "a list"),
        ([], dict, "an object"),
        (None, str, "a string"),
        ("green", Colour, 'one of "red", "blue"'),
        (3, Colour, 'one of "red", "blue"'),
    ],
)
def test_what_does_not_fit_is_refused_before_the_function_runs(value, kind, expected):
    def op(a: str) -> None:
        raise AssertionError("it ran")

    op.__annotations__["a"] = kind
    came = given(op, a=value)
    assert not came.success
    assert came.error == f"op: a: expected {expected}, got {json.dumps(value, ensure_ascii=False)}"


def test_everything_wrong_is_told_at_once_with_its_place():
    def op(namespace: str, point: Point, names: list[int]) -> None: ...

    came = given(op, nmespace="x", point={"x": "one", "z": 1}, names=[1, "b"])
    assert came.error == (
        "op: nmespace is not known; did you mean namespace?; namespace is missing; "
        'point.z is not known; known: x, y, tags; point.x: expected an integer, got "one"; '
        'names[1]: expected an integer, got "b"'
    )


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("url", "https://example.org/a?b=c", "example.org"),
        ("uri", "mailto:a@example.org", "no scheme"),
        ("email", "a@example.org", "a at example.org"),
        ("date", "2026-02-28", "2026-02-30"),
        ("date-time", "2026-01-31T12:00:00Z", "noon"),
        ("uuid", "6f1c1e9e-5a0e-4d0c-9a52-0d5d3f6f2f10", "6f1c"),
        ("hostname", "anything goes", None),
    ],
)
def test_formats_are_checked_where_they_are_known(name, good, bad):
    def op(a: str) -> str:
        return a

    op.__annotations__["a"] = Annotated[str, Param(format=name)]
    assert given(op, a=good).output == good
    if bad is not None:
        assert f"got {json.dumps(bad)}" in given(op, a=bad).error
