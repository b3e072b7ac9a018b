"""JSON values as the protocol carries them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from awf.infrastructure.plugins.connection import CallFailed

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["decode_object", "decode_values", "encode_value", "encode_values"]


def encode_value(what: str, value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise CallFailed("UNSENDABLE", f"{what} cannot be written as JSON: {error}") from None


def encode_values(what: str, values: Mapping[str, Any]) -> dict[str, bytes]:
    return {name: encode_value(f"{what} '{name}'", value) for name, value in values.items()}


def decode_values(what: str, values: Mapping[str, bytes]) -> dict[str, Any]:
    return {name: _decoded(f"{what} '{name}'", data) for name, data in sorted(values.items())}


def decode_object(what: str, data: bytes) -> dict[str, Any]:
    """A JSON object; nothing at all is an empty one."""
    value = _decoded(what, data) if data else {}
    if not isinstance(value, dict):
        raise CallFailed("GARBAGE", f"{what} is not a JSON object")
    return value


def _decoded(what: str, data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        shown = data[:60].decode("utf-8", "replace")
        raise CallFailed("GARBAGE", f"{what} is not JSON ({error}): {shown}") from None
