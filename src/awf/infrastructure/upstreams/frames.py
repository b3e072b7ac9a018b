"""Messages as bytes and back. Plain values: what we do not know passes unharmed."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from awf.domain.mcp import Verbatim

__all__ = ["error_reply", "messages_in", "notification", "plain_answer", "reply", "request"]

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class _Answer(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """What nearly every message of a server is. Whatever else one says makes it another kind of message."""

    id: int
    result: msgspec.Raw
    jsonrpc: str = ""


_decode_answer = msgspec.json.Decoder(_Answer).decode


def request(number: int, method: str, params: dict[str, Any]) -> bytes:
    return _encode({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def notification(method: str, params: dict[str, Any] | None = None) -> bytes:
    return _encode({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})})


def reply(number: Any, result: dict[str, Any]) -> bytes:
    return _encode({"jsonrpc": "2.0", "id": number, "result": result})


def error_reply(number: Any, code: int, message: str, data: Any = None) -> bytes:
    error = {"code": code, "message": message, **({} if data is None else {"data": data})}
    return _encode({"jsonrpc": "2.0", "id": number, "error": error})


def plain_answer(data: bytes) -> tuple[int, dict[str, Any]] | None:
    """Which request it answers and the result, if that is all there is to it."""
    try:
        answer = _decode_answer(data)
        written = bytes(answer.result)
        value = _decode(written)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if type(value) is not dict:
        return None
    # Line ends between values mean nothing in JSON, but much to whoever carries it in lines.
    one_line = b"\n" not in written and b"\r" not in written
    return answer.id, Verbatim(value, written) if one_line else value


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
