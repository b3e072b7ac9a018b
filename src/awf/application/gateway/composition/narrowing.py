"""Fewer values for an argument than its server takes. Only ever stricter, so what is right stays right upstream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.application.gateway.composition.budget import Budget
from awf.application.gateway.composition.document import MISSING, fields_at, listed, resolve
from awf.application.gateway.composition.holding import holds, same
from awf.application.gateway.composition.known_fields import unknown
from awf.application.gateway.composition.paths import EACH, parse_path
from awf.application.gateway.composition.problem import invalid_override
from awf.application.gateway.composition.schema_parts import accepts, merged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.application.gateway.composition.edits import Edits
    from awf.application.gateway.composition.paths import Path
    from awf.application.gateway.composition.problem import CompositionProblem

__all__ = ["narrowed"]

_DEEP_ENOUGH = 3


def narrowed(
    document: dict[str, Any], text: str, values: list[Any], edits: Edits
) -> tuple[dict[str, Any], CompositionProblem | None]:
    origin = f"enum.{text}"
    try:
        path = parse_path(text)
    except ValueError as reason:
        hint = "Write a path such as units, options.units or tags[]."
        return document, invalid_override(origin, f"“{text}” is not a path to a field: {reason}.", hint)
    problem = (
        unknown(origin, text, path, document)
        or _hidden(origin, text, path, edits)
        or _wrong_values(origin, text, values, fields_at(path, document), document)
    )
    if problem is not None:
        return document, problem
    made = _Narrowing(document, values).part(document, path, ())
    if made is None or made is False:
        message = (
            f"The values of “{text}” cannot be limited: not every variant of the tool's schema names it."
        )
        return document, invalid_override(origin, message, "Remove the entry.")
    return made, None


def _hidden(origin: str, text: str, path: Path, edits: Edits) -> CompositionProblem | None:
    level: Edits | None = edits
    for step in path:
        if level is None:
            return None
        if step is not None and step in level.removed:
            message = f"“{text}” is hidden by {level.removed[step].origin}, so agents choose no value for it."
            return invalid_override(origin, message, "Remove one of the two.")
        level = level.each if step is None else level.fields.get(step)
    return None


def _wrong_values(
    origin: str, text: str, values: list[Any], schemas: list[Any], document: Mapping[str, Any]
) -> CompositionProblem | None:
    if not values:
        return invalid_override(origin, f"No value is left for “{text}”.", "List at least one value.")
    for value in values:
        if any(holds(schema, value, document) is not False for schema in schemas):
            continue
        message = f"{value!r} is not a value that the tool takes for “{text}”."
        lists = any(isinstance(s, dict) and s.get("type") == "array" for s in schemas)
        hint = f"Write {text}[] to limit the items of the list." if lists else _allowed(schemas, document)
        return invalid_override(origin, message, hint)
    return None


def _allowed(schemas: list[Any], document: Mapping[str, Any]) -> str:
    for schema in schemas:
        target = (
            resolve(document, schema["$ref"]) if isinstance(schema, dict) and "$ref" in schema else schema
        )
        if isinstance(target, dict) and isinstance(target.get("enum"), list):
            return f"It takes: {', '.join(map(str, target['enum']))}."
        if isinstance(target, dict) and "type" in target:
            return f"It takes values of type {target['type']}."
    return "Use values that its schema allows."


class _Narrowing:
    """Each method gives the new part, False when no value is left for it, or None when it cannot be limited there."""

    def __init__(self, document: dict[str, Any], values: list[Any]) -> None:
        self.document, self.values = document, values
        self._budget = Budget()

    def part(self, schema: Any, path: Path, within: tuple[int, ...]) -> Any:
        if not path:
            return self._limited(schema)
        if not isinstance(schema, dict) or id(schema) in within:
            return None
        self._budget.spend()
        within = (*within, id(schema))
        attempts = (self._declared, self._referred, self._all_of, self._variants)
        made = (attempt(schema, path, within) for attempt in attempts)
        return next((each for each in made if each is not None), None)

    def _limited(self, schema: Any, depth: int = 0) -> Any:
        values = [value for value in self.values if holds(schema, value, self.document) is not False]
        if not values:
            return False
        if not isinstance(schema, dict):
            return {"enum": values}
        if depth > _DEEP_ENOUGH:  # further in, it is only a matter of looks
            return schema
        made = {**schema, "enum": values}
        for key in ("anyOf", "oneOf"):
            limits = [self._limited(each, depth + 1) for each in listed(schema, key)]
            if limits:
                made[key] = [limited for limited in limits if limited is not False]
        target = resolve(self.document, schema.get("$ref"))
        if isinstance(target, dict) and isinstance(limited := self._limited(target, depth + 1), dict):
            del made["$ref"]
            made = merged(limited, made, is_document=target is self.document)
        # A client that fills in a default would send a value that is not allowed any more.
        if "default" in made and not any(same(made["default"], value) for value in values):
            del made["default"]
        return made

    def _declared(self, schema: dict[str, Any], path: Path, _within: tuple[int, ...]) -> Any:
        step, key = path[0], "items" if path[0] is EACH else "properties"
        holder = schema.get(key)
        if not isinstance(holder, dict) or (step is not EACH and step not in holder):
            return None
        made = self.part(holder if step is None else holder[step], path[1:], ())
        if made is None:
            return None
        if step is None:
            return {**schema, key: made}
        if made is False and step in listed(schema, "required"):
            return False
        return {**schema, key: {**holder, step: made}}

    def _referred(self, schema: dict[str, Any], path: Path, within: tuple[int, ...]) -> Any:
        target = resolve(self.document, schema.get("$ref"))
        made = None if target is MISSING else self.part(target, path, within)
        if not isinstance(made, dict):
            return made
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return merged(made, rest, is_document=target is self.document)

    def _all_of(self, schema: dict[str, Any], path: Path, within: tuple[int, ...]) -> Any:
        for at, branch in enumerate(listed(schema, "allOf")):
            made = self.part(branch, path, within)
            if made is not None:
                return made and {**schema, "allOf": [*schema["allOf"][:at], made, *schema["allOf"][at + 1 :]]}
        return None

    def _variants(self, schema: dict[str, Any], path: Path, within: tuple[int, ...]) -> Any:
        """Every variant has to be limited, or the value that is not wanted passes through the one that was not."""
        kind = "array" if path[0] is EACH else "object"
        for key in ("anyOf", "oneOf"):
            branches = schema.get(key)
            if not isinstance(branches, list):
                continue
            made = [
                self.part(each, path, within) if accepts(each, kind, self.document) else each
                for each in branches
            ]
            if any(each is None for each in made):
                continue
            left = [each for each in made if each is not False]
            return {**schema, key: left} if left else False
        return None
