"""A server's tool and an override become what agents see, and a plan for its calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.gateway.composition.budget import TooLargeError
from awf.application.gateway.composition.call_plan import CallPlan
from awf.application.gateway.composition.problem import invalid_override
from awf.domain.mirroring import mirrored_parameters

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.application.gateway.composition.edits import Edits
    from awf.application.gateway.composition.problem import CompositionProblem
    from awf.domain.override import ToolOverride

__all__ = ["Composed", "compose"]


class Composed(msgspec.Struct, frozen=True):
    definition: dict[str, Any] | None  # None: not published, as the override says or because it is wrong
    plan: CallPlan
    problems: tuple[CompositionProblem, ...] = ()


def compose(tool: Mapping[str, Any], override: ToolOverride | None) -> Composed:
    """What a server says of a tool is never changed in place, and what nobody asked to change is passed on as it is."""
    definition = dict(tool)
    name = definition.get("name", "")
    schema = definition.get("inputSchema")
    mirrored = _mirrored(schema)
    if override is None:
        _describe(definition, name)
        return Composed(definition, CallPlan(mirrored=mirrored))
    if not override.enabled:
        return Composed(None, CallPlan(refusal=f"The tool “{name}” is not offered here."))
    try:
        return _overridden(definition, override, mirrored)
    except (RecursionError, TooLargeError):
        message = (
            f"The schema of “{name}” is nested too deeply, or multiplies itself, so it cannot be changed."
        )
        problem = invalid_override("", message, "Remove the override, or do not offer the tool.")
        return _unusable(name, [problem])


def _overridden(
    definition: dict[str, Any], override: ToolOverride, mirrored: dict[tuple[str, ...], str]
) -> Composed:
    from awf.application.gateway.composition.output import selection_of

    name = override.rename or definition.get("name", "")
    output = definition.get("outputSchema")
    selection, problems = selection_of(override.output_fields, output if isinstance(output, dict) else None)
    edits, found = _input(definition, override)
    problems = [*found, *problems]
    if problems:
        return _unusable(name, problems)
    if selection is not None and isinstance(output, dict):
        from awf.application.gateway.composition.definitions import tidied
        from awf.application.gateway.composition.output import selected_schema

        definition["outputSchema"] = tidied(selected_schema(output, selection), output)
    _label(definition, override, name)
    schema = definition.get("inputSchema")
    plan = CallPlan(edits, mirrored=mirrored, selection=selection, visible=lambda: _names(schema))
    return Composed(definition, plan)


def _unusable(name: str, problems: list[CompositionProblem]) -> Composed:
    """Nothing is published, and nothing is sent: what the override was to keep back stays back."""
    refusal = f"The tool “{name}” is not available: its override in the gateway's configuration is wrong."
    return Composed(None, CallPlan(refusal=refusal), tuple(problems))


def _mirrored(schema: Any) -> dict[tuple[str, ...], str]:
    try:
        return mirrored_parameters(schema)
    except ValueError:
        return {}  # whoever speaks to the server drops such a tool, in the era that knows the headers


def _label(definition: dict[str, Any], override: ToolOverride, name: str) -> None:
    definition["name"] = name
    if override.title is not None:
        definition["title"] = override.title
    if override.description is not None:
        definition["description"] = override.description
    _describe(definition, name)
    if override.annotations:
        given = definition.get("annotations")
        definition["annotations"] = {**(given if isinstance(given, dict) else {}), **override.annotations}


def _describe(definition: dict[str, Any], name: str) -> None:
    """Clients and the conformance suite want a description, though the protocol does not."""
    if not definition.get("description"):
        definition["description"] = name


def _input(
    definition: dict[str, Any], override: ToolOverride
) -> tuple[Edits | None, list[CompositionProblem]]:
    if not (override.hide_fields or override.defaults or override.rename_fields or override.enum):
        return None, []
    from awf.application.gateway.composition.definitions import tidied
    from awf.application.gateway.composition.edits import edits_of
    from awf.application.gateway.composition.ensuring import ensure_objects
    from awf.application.gateway.composition.narrowing import narrowed
    from awf.application.gateway.composition.reshaping import Reshaping

    given = definition.get("inputSchema")
    original: dict[str, Any] = given if isinstance(given, dict) else {"type": "object"}
    edits, problems = edits_of(override, original)
    schema = original
    for text, values in override.enum.items():
        schema, problem = narrowed(schema, text, values, edits)
        problems += [problem] if problem else []
        schema = tidied(schema, original) if schema is not original else schema
    if problems:
        return edits, problems
    ensure_objects(edits, schema)
    reshaping = Reshaping(schema)
    made = reshaping.made(edits)
    if made is not original:
        definition["inputSchema"] = {"type": "object", **tidied(made, schema)}
    return edits, list(reshaping.problems)


def _names(schema: Any) -> frozenset[str]:
    """The names of fields anywhere in a schema."""
    found: set[str] = set()
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            if isinstance(part.get("properties"), dict):
                found.update(part["properties"])
            waiting += part.values()
    return frozenset(found)
