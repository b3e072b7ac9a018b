"""Messages of the gateway as bytes and back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.json_form import without_json_form
from awf.domain.json_outline import outline
from awf.domain.mcp import INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR, RpcError, Verbatim
from awf.domain.ports.http_server import HttpReply

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

__all__ = [
    "JSON",
    "UnreadableError",
    "decoded",
    "encode",
    "error_of",
    "failure",
    "json_reply",
    "refusal",
    "request_parts",
    "success",
]

JSON = ("Content-Type", "application/json")
_PLAIN = (JSON,)
encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def decoded(data: bytes) -> Any:
    """Raises `UnreadableError`."""
    try:
        return _decode(data)
    except RecursionError:
        raise UnreadableError(data, "it is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as reason:
        raise UnreadableError(data, _why_not(data) or str(reason)[:200]) from None


class UnreadableError(RpcError):
    """What somebody sent. Whoever waits for an answer is told, if it can be seen who that is."""

    def __init__(self, data: bytes, why: str) -> None:
        known = outline(data)
        request_id = known.get("id") if "method" in known else None
        is_known = type(request_id) in {int, str}
        super().__init__(
            INVALID_REQUEST if is_known else PARSE_ERROR,
            f"Invalid request: {why}" if is_known else f"Parse error: {why}",
        )
        self.request_id = request_id if is_known else None


def _why_not(data: bytes) -> str:
    """In what is JSON for others."""
    try:
        return without_json_form(json.loads(data))
    except (ValueError, RecursionError):
        return ""


def success(request_id: Any, result: Any) -> bytes:
    if type(result) is Verbatim:
        return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (encode(request_id), result.written)
    if type(result) is msgspec.Raw:  # a list, kept as bytes
        return b"".join((b'{"jsonrpc":"2.0","id":', encode(request_id), b',"result":', result, b"}"))
    try:
        return encode({"jsonrpc": "2.0", "id": request_id, "result": result})
    except RecursionError:
        return failure(
            request_id, RpcError(INTERNAL_ERROR, "The result is nested too deeply to be passed on.")
        )


def error_of(error: RpcError) -> dict[str, Any]:
    made: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        made["data"] = error.data
    return made


def failure(request_id: Any, error: RpcError) -> bytes:
    try:
        return encode({"jsonrpc": "2.0", "id": request_id, "error": error_of(error)})
    except RecursionError:  # of its data
        return failure(request_id, RpcError(error.code, error.message))


def json_reply(body: bytes, status: int = 200, headers: Sequence[tuple[str, str]] = ()) -> HttpReply:
    return HttpReply(status, (JSON, *headers) if headers else _PLAIN, body)


def refusal(status: int, error: RpcError, request_id: Any = None) -> HttpReply:
    return json_reply(failure(request_id, error), status)


def request_parts(message: dict[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Method, params and `_meta` of a request or notification. Raises `RpcError`."""
    method, params = message.get("method"), message.get("params")
    if message.get("jsonrpc") != "2.0" or not isinstance(method, str):
        raise RpcError(INVALID_REQUEST, 'Invalid request: jsonrpc must be "2.0", and method a string')
    if params is None:
        return method, {}, {}
    meta = params.get("_meta") if isinstance(params, dict) else False
    if meta is None:
        return method, params, {}
    if not isinstance(meta, dict):
        raise RpcError(-32602, "Invalid params: params and _meta must be objects")
    return method, params, meta


def checked_object(message: Any) -> dict[str, Any]:
    if not isinstance(message, dict):
        raise RpcError(INVALID_REQUEST, "Invalid request: not an object")
    return message


def checked_id(message: dict[str, Any], in_use: Container[Any] = ()) -> Any:
    """That of a request. Raises `RpcError`."""
    request_id = message.get("id")
    if isinstance(request_id, bool) or not isinstance(request_id, str | int):
        raise RpcError(INVALID_REQUEST, "Invalid request: the id must be a string or an integer")
    if request_id in in_use:
        raise RpcError(INVALID_REQUEST, f"Invalid request: the id {request_id!r} is in use")
    return request_id
