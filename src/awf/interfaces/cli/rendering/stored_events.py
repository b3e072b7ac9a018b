from __future__ import annotations

import functools
from typing import Any, Union

import msgspec

from awf.domain.events import EVENT_TYPES, Event, Stamped

__all__ = ["stamped_from"]


@functools.cache
def _any_event() -> Any:
    return Union[EVENT_TYPES]  # noqa: UP007  built from a tuple


def stamped_from(fields: dict[str, Any]) -> Stamped | None:
    """The event that `event_fields` wrote; None for one that this version does not know."""
    try:
        event: Event = msgspec.convert(fields, _any_event())
    except msgspec.ValidationError:
        return None
    return Stamped(
        str(fields.get("run_id", "")), int(fields.get("seq", 0)), float(fields.get("time", 0)), event
    )
