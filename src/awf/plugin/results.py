"""What functions give back, as it goes over the wire."""

from __future__ import annotations

import dataclasses
import enum
import json
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

from awf.plugin.values import Outcome

__all__ = ["json_bytes", "json_text", "outcome_of", "plain_items"]


def outcome_of(value: Any) -> Outcome:
    """A text is the output; an object is the data, and its JSON the output; nothing is nothing."""
    if isinstance(value, Outcome):
        return dataclasses.replace(value, data=_object(value.data))
    if value is None:
        return Outcome(success=True)
    if isinstance(value, str):
        return Outcome(success=True, output=str(value))
    if isinstance(value, Mapping) or _is_record(value):
        data = _object(value)
        return Outcome(success=True, output=json_text(data), data=data)
    plain = json.loads(json_text(value))
    return Outcome(success=True, output=json_text(plain), data={"result": plain})


def json_text(value: Any) -> str:
    """Raises `TypeError` that says what in it cannot be JSON."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_plain)
    except ValueError as error:  # not a number, or it contains itself
        raise TypeError(f"The result cannot be written as JSON: {error}.") from error


def json_bytes(value: Any) -> bytes:
    # A lone surrogate (from a file name, say) has no UTF-8; JSON can say it with an escape.
    text = json_text(value)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(json.loads(text)).encode("ascii")


def plain_items(value: Any) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        return [value]
    return list(value)


def _object(value: Any) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json_text(dict(value) if isinstance(value, Mapping) else value))
    return plain


def _is_record(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _plain(value: Any) -> Any:
    if _is_record(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    if isinstance(value, pathlib.PurePath):
        return str(value)
    raise TypeError(
        f"The result holds a {type(value).__name__}, which cannot be written as JSON. "
        "Return a string, a dict, a list or a dataclass of plain values."
    )
