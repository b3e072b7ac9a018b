"""JSON Schema checks, behind one small class: the library may change, its users may not notice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.infrastructure.json_schemas.plain_objects import plain_objects

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["RustJsonSchemas"]


_TOO_DEEP = (
    "Recursion limit reached"  # when it says what is wrong: to find out it follows values as deep as they are
)


class RustJsonSchemas:
    def problem_with(self, schema: Mapping[str, Any]) -> str:
        import jsonschema_rs

        try:
            jsonschema_rs.validator_for(dict(schema), retriever=_no_retrieval)
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
            return _first_line(error)
        return ""

    def misfits(self, schema: Mapping[str, Any], value: Any) -> list[str]:
        return self.checker(schema)(value)

    def checker(self, schema: Mapping[str, Any]) -> Callable[[Any], list[str]]:
        """The same for many values. Raises `ValueError` for a bad schema."""
        import jsonschema_rs

        try:
            validator = jsonschema_rs.validator_for(dict(schema), retriever=_no_retrieval)
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError) as error:
            raise ValueError(_first_line(error)) from error

        surely_fits = plain_objects(schema)

        def misfits(value: Any) -> list[str]:
            try:
                if (surely_fits is not None and surely_fits(value)) or validator.is_valid(value):
                    return []
                found = validator.iter_errors(value)
                return [f"{_pointer(one.instance_path)}{_first_line(one)}" for one in found]
            except ValueError as error:
                if str(error) != _TOO_DEEP:
                    raise
                return ["it does not fit, and is nested too deeply to say where"]

        return misfits


def _no_retrieval(address: str) -> Any:
    """A schema may come from anywhere; what it points to is not fetched for it."""
    raise ValueError(f"{address} lies outside the schema and is not fetched")


def _pointer(path: Any) -> str:
    parts = [str(part) for part in path]
    return f"{'.'.join(parts)}: " if parts else ""


def _first_line(error: Exception) -> str:
    return str(getattr(error, "message", "") or error).split("\n", 1)[0]
