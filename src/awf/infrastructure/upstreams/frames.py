"""Messages as bytes and back. Plain values: what we do not know passes unharmed."""

from __future__ import annotations

import json
from typing import Any

import msgspec

__all__ = ["error_reply", "messages_in", "notification", "reply", "request"]

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def request(number: int, method: str, params: dict[str, Any]) -> bytes:
    return _encode({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def notification(method: str, params: dict[str, Any] | None = None) -> bytes:
    return _encode({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})})


def reply(number: Any, result: dict[str, Any]) -> bytes:
    return _encode({"jsonrpc": "2.0", "id": number, "result": result})


def error_reply(number: Any, code: int, message: str, data: Any = None) -> bytes:
    error = {"code": code, "message": message, **({} if data is None else {"data": data})}
    return _encode({"jsonrpc": "2.0", "id": number, "error": error})


def messages_in(data: bytes) -> list[dict[str, Any]] | None:
    """The messages of one frame; several when it is a batch. None when it is not JSON-RPC at all."""
    try:
        value = _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = _leniently(data)
    except RecursionError:
        return None
    found = value if isinstance(value, list) else [value]
    return found if found and all(map(_is_message, found)) else None


def _is_message(item: Any) -> bool:
    if not isinstance(item, dict):
        return False
    return isinstance(item["method"], str) if "method" in item else "id" in item


def _leniently(data: bytes) -> Any:
    """Some servers cut text in the middle of an emoji, or write NaN. Mend that rather than lose the answer."""
    try:
        value = json.loads(data, parse_constant=lambda _: None)
        text = json.dumps(value, ensure_ascii=False)
        return _decode(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    except (ValueError, RecursionError):
        return None
