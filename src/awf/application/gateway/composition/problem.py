"""What is wrong with an override, said of its own field. Whoever knows the file adds the place."""

from __future__ import annotations

import msgspec

__all__ = ["CompositionProblem", "hidden_required", "invalid_override", "unknown_field"]


class CompositionProblem(msgspec.Struct, frozen=True):
    field: str  # within the override, such as `hide_fields[1]` or `defaults.station_id`
    message: str
    hint: str
    code: str


def unknown_field(field: str, message: str, hint: str) -> CompositionProblem:
    return CompositionProblem(field, message, hint, "USER.GATEWAY.UNKNOWN_FIELD")


def hidden_required(field: str, message: str, hint: str) -> CompositionProblem:
    return CompositionProblem(field, message, hint, "USER.GATEWAY.HIDDEN_REQUIRED")


def invalid_override(field: str, message: str, hint: str) -> CompositionProblem:
    return CompositionProblem(field, message, hint, "USER.GATEWAY.INVALID_OVERRIDE")
