"""Messages as bytes and back. Plain values: what we do not know passes unharmed."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from awf.domain.json_outline import outline
from awf.domain.mcp import INTERNAL_ERROR, INVALID_PARAMS, RpcError, Verbatim

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
    """Raises `RpcError` for what is nested too deeply; so do those below."""
    try:
        return _encode({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    except RecursionError:
        raise _too_deep() from None


def notification(method: str, params: dict[str, Any] | None = None) -> bytes:
    try:
        return _encode({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})})
    except RecursionError:
        raise _too_deep() from None


def reply(number: Any, result: dict[str, Any]) -> bytes:
    try:
        return _encode({"jsonrpc": "2.0", "id": number, "result": result})
    except RecursionError:
        raise _too_deep() from None


def _too_deep() -> RpcError:
    return RpcError(INVALID_PARAMS, "It is nested too deeply to be sent on.")


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
    except (msgspec.DecodeError, UnicodeDecodeError) as reason:
        value = _leniently(data)
        if value is None:
            return _unread(data, str(reason))
    except RecursionError:
        return _unread(data, "it is nested too deeply")
    found = value if isinstance(value, list) else [value]
    return found if found and all(map(_is_message, found)) else None


def _unread(data: bytes, why: str) -> list[dict[str, Any]] | None:
    """An answer that nobody can read: who waits for it must not do so any more."""
    message = outline(data)
    if "id" not in message or "method" in message:
        return None
    error = {"code": INTERNAL_ERROR, "message": f"The server's answer cannot be read: {why}."}
    return [{"id": message["id"], "error": error}]


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
