"""Fewer parts of a result than its server gives, and the schema of what is left.

The new schema asks for less than the old one wherever it is in doubt: whatever is left of a right result is right.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from awf.application.gateway.composition.budget import Budget
from awf.application.gateway.composition.document import MISSING, listed, mapped, resolve
from awf.application.gateway.composition.known_fields import unknown
from awf.application.gateway.composition.paths import parse_path
from awf.application.gateway.composition.problem import invalid_override
from awf.application.gateway.composition.schema_parts import merged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from awf.application.gateway.composition.problem import CompositionProblem

__all__ = ["Selection", "selected_result", "selected_schema", "selection_of"]

# What may not hold any more when parts of an object or array are left out.
_DOUBTFUL = frozenset(
    {"not", "if", "then", "else", "dependentSchemas", "dependentRequired", "dependencies", "minProperties"}
    | {
        "propertyNames",
        "unevaluatedProperties",
        "unevaluatedItems",
        "const",
        "enum",
        "uniqueItems",
        "contains",
    }
    | {
        "minContains",
        "maxContains",
        "patternProperties",
        "default",
        "examples",
        "$dynamicRef",
        "$recursiveRef",
    }
)


class Selection:
    """What to keep of one value: all of it, or some fields, or something of each item."""

    __slots__ = ("all", "each", "fields")

    def __init__(self) -> None:
        self.all = False
        self.fields: dict[str, Selection] = {}
        self.each: Selection | None = None


def selection_of(
    texts: Sequence[str], schema: Mapping[str, Any] | None
) -> tuple[Selection | None, list[CompositionProblem]]:
    if not texts:
        return None, []
    root = Selection()
    problems: list[CompositionProblem] = []
    for at, text in enumerate(texts):
        origin = f"output_fields[{at}]"
        try:
            path = parse_path(text)
        except ValueError as reason:
            hint = "Write a path such as temperature, location.lat or items[].id."
            problems.append(invalid_override(origin, f"“{text}” is not a path to a field: {reason}.", hint))
            continue
        found = unknown(origin, text, path, schema, is_value=True) if schema is not None else None
        if found:
            problems.append(found)
            continue
        level = root
        for step in path:
            if step is None:
                level.each = level.each or Selection()
                level = level.each
            else:
                level = level.fields.setdefault(step, Selection())
        level.all = True
    return root, problems


def selected(value: Any, selection: Selection) -> Any:
    """Values that are neither object nor array have no parts: they stay."""
    if selection.all:
        return value
    if isinstance(value, dict):
        fields = selection.fields
        return {name: selected(item, fields[name]) for name, item in value.items() if name in fields}
    if isinstance(value, list):
        return [] if selection.each is None else [selected(item, selection.each) for item in value]
    return value


def selected_schema(schema: dict[str, Any], selection: Selection) -> dict[str, Any]:
    made = _Projection(schema).part(schema, selection)
    return made if isinstance(made, dict) else {"type": "object"}


class _Projection:
    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._budget = Budget()

    def part(self, schema: Any, selection: Selection) -> Any:
        if selection.all or not isinstance(schema, dict):
            return schema
        self._budget.spend()
        return self._made(schema, selection)

    def _made(self, schema: dict[str, Any], selection: Selection) -> Any:
        made = {key: value for key, value in schema.items() if key not in _DOUBTFUL}
        self._fields(made, selection)
        self._items(made, selection)
        variants = [
            self.part(branch, selection) for key in ("anyOf", "oneOf") for branch in listed(made, key)
        ]
        if variants and "anyOf" in made and "oneOf" in made:
            variants = []  # either list may be the wider one
        made.pop("oneOf", None)  # with parts left out, more than one variant may fit
        made.pop("anyOf", None)
        if variants:
            made["anyOf"] = variants
        if listed(made, "allOf"):
            made["allOf"] = [self.part(branch, selection) for branch in made["allOf"]]
        target = resolve(self._document, made.pop("$ref", None))
        inlined = self.part(target, selection) if target is not MISSING else None
        if not isinstance(inlined, dict):
            return made
        return merged(inlined, made, is_document=target is self._document)

    def _fields(self, made: dict[str, Any], selection: Selection) -> None:
        properties, required = mapped(made, "properties"), listed(made, "required")
        if properties:
            made["properties"] = {
                name: self.part(schema, selection.fields[name])
                for name, schema in properties.items()
                if name in selection.fields
            }
        if required:
            made["required"] = [name for name in required if name in selection.fields]
            if not made["required"]:
                del made["required"]
        if any(not inner.all for inner in selection.fields.values()) and mapped(made, "additionalProperties"):
            del made["additionalProperties"]

    def _items(self, made: dict[str, Any], selection: Selection) -> None:
        for key in ("items", "additionalItems", "prefixItems"):
            if selection.each is None:
                made.pop(key, None)
            elif isinstance(made.get(key), list):
                made[key] = [self.part(part, selection.each) for part in made[key]]
            elif key in made:
                made[key] = self.part(made[key], selection.each)
        if selection.each is None:
            made.pop("minItems", None)


def selected_result(result: dict[str, Any], selection: Selection) -> dict[str, Any]:
    """The structured content, and every text that repeats it, reduced to what is wanted."""
    if "structuredContent" not in result:
        return result
    whole = result["structuredContent"]
    kept = selected(whole, selection)
    repeats = [(whole, kept)]
    if isinstance(whole, dict) and isinstance(kept, dict) and whole.keys() == {"result"}:
        # Servers wrap what is no object like this, and repeat it without the wrapping.
        repeats.append((whole["result"], kept.get("result")))
    content = result.get("content")
    made = {**result, "structuredContent": kept}
    if isinstance(content, list):
        made["content"] = [_block(block, repeats) for block in content]
    return made


def _block(block: Any, repeats: Sequence[tuple[Any, Any]]) -> Any:
    if not isinstance(block, dict) or block.get("type") != "text" or not isinstance(block.get("text"), str):
        return block
    text = block["text"]
    try:
        value = json.loads(text)
    except ValueError:
        return block
    for whole, kept in repeats:
        if value == whole:
            return {**block, "text": json.dumps(kept, ensure_ascii=False, indent=2 if "\n" in text else None)}
    return block
