"""JSON Schema checks, behind one small class: the library may change, its users may not notice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RustJsonSchemas"]


class RustJsonSchemas:
    def problem_with(self, schema: Mapping[str, Any]) -> str:
        import jsonschema_rs

        try:
            jsonschema_rs.validator_for(dict(schema))
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
            return _first_line(error)
        return ""

    def misfits(self, schema: Mapping[str, Any], value: Any) -> list[str]:
        import jsonschema_rs

        validator = jsonschema_rs.validator_for(dict(schema))
        return [
            f"{_pointer(error.instance_path)}{_first_line(error)}" for error in validator.iter_errors(value)
        ]


def _pointer(path: Any) -> str:
    parts = [str(part) for part in path]
    return f"{'.'.join(parts)}: " if parts else ""


def _first_line(error: Exception) -> str:
    return str(getattr(error, "message", "") or error).split("\n", 1)[0]
