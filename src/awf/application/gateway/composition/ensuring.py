"""Objects that are made when a call leaves them out, so that a value inside them is sent all the same.

A default such as `filter.tenant` is meant for every call, also for one without any `filter`. The object is made where
the schema lets it hold the injected values alone; where it needs something only the agent can give, leaving it out
stays what it was. Anything that is not plainly an object in a plain object is left as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.application.gateway.composition.document import (
    admits,
    applied,
    declarations,
    fields_at,
    listed,
    mapped,
)
from awf.application.gateway.composition.edits import levels

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.application.gateway.composition.edits import Edits
    from awf.application.gateway.composition.paths import Path

__all__ = ["ensure_objects"]

_UNIONS = frozenset({"anyOf", "oneOf"})
_NOT_PLAIN = frozenset(
    {"not", "if", "then", "else", "dependentSchemas", "dependencies", "dependentRequired", "propertyNames"}
    | {"minProperties", "maxProperties", "patternProperties", "const", "enum", "$dynamicRef", "$recursiveRef"}
)


def ensure_objects(root: Edits, document: Mapping[str, Any]) -> None:
    for path, level in levels(root):  # inner ones first: an outer one may need an inner one to be made
        for name, child in level.fields.items():
            if (
                _injects(child)
                and _may_appear(path, name, document)
                and _completes((*path, name), child, document)
            ):
                level.ensured.add(name)


def _injects(child: Edits) -> bool:
    return bool(child.ensured) or any(child.always_sent(name) for name in child.removed)


def _may_appear(path: Path, name: str, document: Mapping[str, Any]) -> bool:
    for parent in fields_at(path, document):
        for part in applied(parent, document):
            declares = name in mapped(part, "properties")
            if part.keys() & (_NOT_PLAIN | _UNIONS):
                return False
            if not declares and part.get("additionalProperties", True) is not True:
                return False
    return True


def _completes(path: Path, child: Edits, document: Mapping[str, Any]) -> bool:
    """Whether an object of nothing but injected values is a right one."""
    for schema in fields_at(path, document):
        for part in applied(schema, document):
            if not admits(part, "object"):
                continue  # the `null` of an optional object
            if part.keys() & _NOT_PLAIN or not all(child.always_sent(n) for n in listed(part, "required")):
                return False
            if any(not _one_object(listed(part, key), document) for key in part.keys() & _UNIONS):
                return False
    return all(
        declarations(schema, name, document) for schema in fields_at(path, document) for name in child.ensured
    )


def _one_object(branches: list[Any], document: Mapping[str, Any]) -> bool:
    taking = [
        branch for branch in branches if all(admits(part, "object") for part in applied(branch, document))
    ]
    return len(taking) == 1
