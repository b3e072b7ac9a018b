"""References in a schema that was changed: they still mean what they meant, and nothing unused is carried along."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.application.gateway.composition.document import MISSING, mapped, resolve

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["tidied"]

_DATA = frozenset({"enum", "const", "default", "examples"})
_STORES = ("$defs", "definitions")
_OF_THE_DOCUMENT = frozenset({"$schema", "$id", "$defs", "definitions"})
_OTHER_REFERENCES = ("$dynamicRef", "$recursiveRef", "$anchor", "$dynamicAnchor")


def tidied(changed: dict[str, Any], original: dict[str, Any]) -> dict[str, Any]:
    return _without_unused(_with_kept_targets(changed, original), original)


def _with_kept_targets(changed: dict[str, Any], original: dict[str, Any]) -> dict[str, Any]:
    """A reference into a part that was changed gets its own copy of what it referred to."""
    moved: dict[str, str] = {}
    while True:
        new = {
            reference: target
            for reference in dict.fromkeys(_references(changed))
            if reference not in moved.values()
            and (target := resolve(original, reference)) is not MISSING
            and resolve(changed, reference) is not target
            and resolve(changed, reference) != target
        }
        if not new:
            return changed
        store = dict(mapped(changed, "$defs"))
        for reference, target in new.items():
            name = _free_name(reference, store)
            moved[reference] = f"#/$defs/{name}"
            store[name] = _bare(target) if target is original else target
        changed = {
            **_redirected(changed, moved),
            "$defs": {n: _redirected(s, moved) for n, s in store.items()},
        }


def _free_name(reference: str, store: Mapping[str, Any]) -> str:
    base = "".join(c for c in reference.rsplit("/", 1)[-1] if c.isalnum() or c == "_") or "whole"
    name, number = base, 2
    while name in store:
        name, number = f"{base}_{number}", number + 1
    return name


def _bare(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key not in _OF_THE_DOCUMENT}


def _references(part: Any) -> Iterator[str]:
    waiting = [part]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += part
        elif isinstance(part, dict):
            if isinstance(part.get("$ref"), str):
                yield part["$ref"]
            waiting += [value for key, value in part.items() if key not in _DATA or isinstance(value, dict)]


def _redirected(part: Any, moved: Mapping[str, str]) -> Any:
    """A copy with other references; parts without any stay the same objects."""
    if isinstance(part, list):
        items = [_redirected(item, moved) for item in part]
        return items if any(a is not b for a, b in zip(items, part, strict=True)) else part
    if not isinstance(part, dict):
        return part
    new = {key: _redirected(value, moved) for key, value in part.items()}
    if isinstance(new.get("$ref"), str) and new["$ref"] in moved:
        new["$ref"] = moved[new["$ref"]]
    return new if any(new[key] is not part[key] for key in new) else part


def _without_unused(changed: dict[str, Any], original: dict[str, Any]) -> dict[str, Any]:
    """What only changed parts used goes; what nobody used before is the server's own affair and stays."""
    if not any(store in changed for store in _STORES) or _refers_otherwise(original):
        return changed
    gone = _used(original) - _used(changed)
    for store in _STORES:
        kept = {name: part for name, part in mapped(changed, store).items() if (store, name) not in gone}
        if len(kept) < len(mapped(changed, store)):
            changed = {key: value for key, value in changed.items() if key != store} | (
                {store: kept} if kept else {}
            )
    return changed


def _refers_otherwise(part: Any) -> bool:
    if isinstance(part, list):
        return any(map(_refers_otherwise, part))
    return isinstance(part, dict) and (
        any(isinstance(part.get(key), str) for key in _OTHER_REFERENCES)
        or any(map(_refers_otherwise, part.values()))
    )


def _used(document: dict[str, Any]) -> set[tuple[str, str]]:
    """The definitions that are reachable from outside of the stores."""
    found: set[tuple[str, str]] = set()
    waiting: list[Any] = [{key: value for key, value in document.items() if key not in _STORES}]
    while waiting:
        for reference in _references(waiting.pop()):
            head, store, name = ([*reference.split("/", 3)[:3], "", ""])[:3]
            name = name.replace("~1", "/").replace("~0", "~")
            if reference == "#":
                continue
            if head == "#" and store in _STORES and (store, name) not in found:
                found.add((store, name))
                waiting.append(mapped(document, store).get(name))
    return found
