"""One client's conversation, without I/O: a message goes in, effects come out.

Theory of operation. Every request is judged by itself: modern `_meta` makes it a request of 2026-07-28, which depends on
nothing before it; anything else is spoken in the version that `initialize` settled, or in the newest legacy one as long
as there was no handshake. So both eras may share a connection.

A request is *open* from its arrival until it is answered or cancelled. Only open requests are answered, which is why
each is answered at most once. An id that is in use by an open request cannot be used by another: the second one is
refused with a null id, so that the first keeps its own answer.

Requests that need no tool are answered at once. The others come out as `Start`: `listed`, `called`
and `refused` word their reply, and `settle` says whether it may still be sent.
"""

from __future__ import annotations

from mcpserver.dialects import DIALECTS
from mcpserver.errors import OwnError, PeerError, ProtocolError
from mcpserver.messages import (
    ACKNOWLEDGED,
    CALL,
    CANCELLED,
    DISCOVER,
    INITIALIZE,
    INITIALIZED,
    INVALID_PARAMS,
    INVALID_REQUEST,
    LEGACY_VERSIONS,
    LIST,
    LIST_CHANGED,
    LISTEN,
    META_CAPABILITIES,
    META_CLIENT,
    META_SERVER,
    META_SUBSCRIPTION,
    META_VERSION,
    METHOD_NOT_FOUND,
    NEWEST_LEGACY,
    PING,
    PROGRESS,
    PROTOCOL_VERSIONS,
    SHUTDOWN,
    UNSUPPORTED_VERSION,
    failure,
    notification,
    success,
)
from mcpserver.requests import Batch, Cancel, Request, Send, Start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, ClassVar, Final

    from mcpserver.dialects import Dialect
    from mcpserver.requests import Effect
    from mcpserver.tools import Result

    Message = dict[str, Any]
    Handle = Callable[["Session", Request, Message], list[Effect]]

__all__ = ["MAX_OPEN", "Session"]

MAX_OPEN: Final = 10_000  # a client that waits for no answer would fill the memory
_CAPABILITIES: Final = {"tools": {"listChanged": True}}
_DISCOVER_TTL_MS: Final = 3_600_000
_LIST_TTL_MS: Final = 0  # what a client may see can change with any grant


class Session:
    def __init__(self, info: dict[str, Any], instructions: str = "") -> None:
        self._info = info
        self._instructions = instructions
        self._dialect = DIALECTS[NEWEST_LEGACY]
        self._client: dict[str, Any] = {}
        self._negotiated = False
        self._initialized = False
        self._open: dict[str | int, Request] = {}
        self._listening: dict[str | int, bool] = {}

    # What comes in.

    def receive(self, message: Any) -> list[Effect]:
        """Take one decoded frame, or the PeerError that stands for one."""
        if isinstance(message, dict):
            return self._single(message, None)
        if isinstance(message, list):
            return self._batch(message)
        if isinstance(message, ProtocolError):
            return [Send(_refusal(None, message))]
        return [Send(_not_an_object())]

    def _single(self, message: Message, batch: Batch | None) -> list[Effect]:
        if "method" not in message and ("result" in message or "error" in message):
            return []  # an answer, but we never ask
        if "id" not in message:
            return self._notified(message)
        request_id = message["id"]
        if isinstance(request_id, bool) or not isinstance(request_id, str | int):
            return [
                Send(failure(None, INVALID_REQUEST, "Invalid request: the id must be a string or an integer"))
            ]
        if request_id in self._open:
            return [Send(_id_in_use(request_id))]
        try:
            return self._request(request_id, message, batch)
        except ProtocolError as error:
            return [Send(_refusal(request_id, error))]

    def _batch(self, messages: list[Any]) -> list[Effect]:
        if not self._dialect.batches:
            text = f"Invalid request: there are no batches in {self._dialect.version}"
            return [Send(failure(None, INVALID_REQUEST, text))]
        if not messages:
            return [Send(failure(None, INVALID_REQUEST, "Invalid request: an empty batch"))]
        batch, effects = Batch(), []
        for message in messages:
            single = self._single(message, batch) if isinstance(message, dict) else [Send(_not_an_object())]
            for effect in single:
                if isinstance(effect, Send) and isinstance(effect.message, dict):
                    batch.replies.append(effect.message)
                else:
                    effects.append(effect)
        whole = batch.settle(None)
        return [*effects, Send(whole)] if whole else effects

    def _request(self, request_id: str | int, message: Message, batch: Batch | None) -> list[Effect]:
        method, params = _checked(message)
        meta = params.get("_meta")
        if meta is None:
            meta = {}
        elif not isinstance(meta, dict):
            raise PeerError(INVALID_PARAMS, "Invalid params: _meta must be an object")
        dialect = self._dialect_of(meta) if meta else self._dialect
        if batch is not None and (dialect.modern or method == INITIALIZE):
            raise PeerError(INVALID_REQUEST, f"Invalid request: {method} cannot be part of a batch here")
        handle = (self._MODERN if dialect.modern else self._LEGACY).get(method)
        if handle is None:
            raise PeerError(METHOD_NOT_FOUND, f"Method not found: {method[:200]}")
        return handle(self, Request(request_id, method, dialect, meta, batch), params)

    def _dialect_of(self, meta: Message) -> Dialect:
        """The era of one request is what its own `_meta` says."""
        if META_VERSION not in meta and META_CAPABILITIES not in meta and META_CLIENT not in meta:
            return self._dialect
        version = meta.get(META_VERSION)
        if not isinstance(version, str):
            raise PeerError(INVALID_PARAMS, f"Invalid params: _meta needs {META_VERSION}, a string")
        dialect = DIALECTS.get(version)
        if dialect is None:
            data = {"supported": list(PROTOCOL_VERSIONS), "requested": version}
            raise PeerError(UNSUPPORTED_VERSION, "Unsupported protocol version", data)
        if not dialect.modern:
            return self._dialect if self._negotiated else dialect
        if not isinstance(meta.get(META_CAPABILITIES), dict):
            raise PeerError(INVALID_PARAMS, f"Invalid params: _meta needs {META_CAPABILITIES}, an object")
        if not isinstance(meta.get(META_CLIENT, {}), dict):
            raise PeerError(INVALID_PARAMS, f"Invalid params: {META_CLIENT} must be an object")
        return dialect

    # Requests, by method.

    def _initialize(self, request: Request, params: Message) -> list[Effect]:
        version, client = params.get("protocolVersion"), params.get("clientInfo", {})
        if not isinstance(version, str):
            raise PeerError(INVALID_PARAMS, "Invalid params: initialize needs protocolVersion, a string")
        if not isinstance(client, dict):
            raise PeerError(INVALID_PARAMS, "Invalid params: clientInfo must be an object")
        self._dialect = request.dialect = DIALECTS[version if version in LEGACY_VERSIONS else NEWEST_LEGACY]
        self._client, self._negotiated, self._initialized = client, True, False
        info = self._info if self._dialect.structured else _without_title(self._info)
        body = {"protocolVersion": self._dialect.version, "capabilities": _CAPABILITIES, "serverInfo": info}
        if self._instructions:
            body["instructions"] = self._instructions
        return [Send(success(request.id, body))]

    def _empty(self, request: Request, params: Message) -> list[Effect]:  # noqa: ARG002  one shape for the table
        return [Send(success(request.id, {}))]

    def _discover(self, request: Request, params: Message) -> list[Effect]:  # noqa: ARG002
        """Also for a client that has not said its era yet: CLIs ask this before anything else."""
        body: Message = {"supportedVersions": list(PROTOCOL_VERSIONS), "capabilities": _CAPABILITIES}
        if self._instructions:
            body["instructions"] = self._instructions
        body |= {"ttlMs": _DISCOVER_TTL_MS, "cacheScope": "private"}
        return [Send(success(request.id, self._complete(body)))]

    def _list(self, request: Request, params: Message) -> list[Effect]:
        cursor = params.get("cursor")
        if cursor is not None:
            raise PeerError(
                INVALID_PARAMS, f"Invalid params: unknown cursor {str(cursor)[:100]!r}; the list is one page"
            )
        return self._start(request)

    def _call(self, request: Request, params: Message) -> list[Effect]:
        name, arguments = params.get("name"), params.get("arguments")
        if not isinstance(name, str):
            raise PeerError(INVALID_PARAMS, "Invalid params: tools/call needs name, a string")
        if arguments is None:
            arguments = {}
        elif not isinstance(arguments, dict):
            raise PeerError(INVALID_PARAMS, "Invalid params: arguments must be an object")
        request.name, request.arguments = name, arguments
        return self._start(request)

    def _listen(self, request: Request, params: Message) -> list[Effect]:
        wanted = params.get("notifications")
        if not isinstance(wanted, dict) or not isinstance(wanted.get("toolsListChanged", False), bool):
            raise PeerError(INVALID_PARAMS, "Invalid params: notifications must be an object of flags")
        tools = wanted.get("toolsListChanged", False)
        self._admit(request)
        self._listening[request.id] = tools
        agreed = {"toolsListChanged": True} if tools else {}
        return [Send(_tagged(ACKNOWLEDGED, request.id, {"notifications": agreed}))]

    def _listen_without_meta(self, request: Request, params: Message) -> list[Effect]:  # noqa: ARG002
        raise PeerError(INVALID_PARAMS, f"Invalid params: {LISTEN} needs _meta with {META_VERSION}")

    def _start(self, request: Request) -> list[Effect]:
        token = request.meta.get("progressToken")
        if token is not None and (isinstance(token, bool) or not isinstance(token, str | int)):
            raise PeerError(INVALID_PARAMS, "Invalid params: progressToken must be a string or an integer")
        request.token = token
        request.client = request.meta.get(META_CLIENT, {}) if request.dialect.modern else self._client
        self._admit(request)
        if request.batch is not None:
            request.batch.pending += 1
        return [Start(request)]

    def _admit(self, request: Request) -> None:
        if len(self._open) >= MAX_OPEN:
            raise OwnError(f"Too many requests at once: {MAX_OPEN} wait for their answers. Try again later.")
        self._open[request.id] = request

    # Notifications.

    def _notified(self, message: Message) -> list[Effect]:
        try:
            method, params = _checked(message)
        except ProtocolError as error:
            told = (
                error.code == INVALID_REQUEST
            )  # a proper notification is never answered, not even with an error
            return [Send(_refusal(None, error))] if told else []
        if method == CANCELLED:
            return self._cancelled(params.get("requestId"))
        if method == INITIALIZED:
            self._initialized = self._negotiated
        return []

    def _cancelled(self, request_id: Any) -> list[Effect]:
        if isinstance(request_id, bool) or not isinstance(request_id, str | int):
            return []
        request = self._open.pop(request_id, None)
        if request is None:
            return []  # unknown, or answered already: some clients cancel what has just succeeded
        if self._listening.pop(request_id, None) is not None:
            return []
        whole = request.batch.settle(None) if request.batch is not None else None
        return [Cancel(request), Send(whole)] if whole else [Cancel(request)]

    # What comes back from the tools, and from the outside.

    def listed(self, request: Request, tools: Iterable[dict[str, Any]]) -> Message:
        body: Message = {"tools": request.dialect.tools(tools)}
        if request.dialect.modern:
            body |= {"ttlMs": _LIST_TTL_MS, "cacheScope": "private"}
        return self._reply(request, body)

    def called(self, request: Request, result: Result) -> Message:
        return self._reply(request, request.dialect.call_result(result))

    def refused(self, request: Request, error: ProtocolError) -> Message:
        return _refusal(request.id, error)

    def _reply(self, request: Request, body: Message) -> Message:
        return success(request.id, self._complete(body) if request.dialect.modern else body)

    def settle(self, request: Request, reply: Message) -> Message | list[Message] | None:
        """What is to be sent now: the reply; the whole batch; or nothing, if it was cancelled or its batch still runs."""
        if self._open.get(request.id) is not request:
            return None
        del self._open[request.id]
        return reply if request.batch is None else request.batch.settle(reply)

    def progress(self, request: Request, done: float, total: float | None, text: str) -> Message | None:
        if request.token is None or self._open.get(request.id) is not request:
            return None
        params: Message = {"progressToken": request.token, "progress": done}
        if total is not None:
            params["total"] = total
        if text and request.dialect.progress_text:
            params["message"] = text
        return notification(PROGRESS, params)

    def tools_changed(self) -> list[Message]:
        """To a legacy client that has finished its handshake, and to each stream that asked for it."""
        legacy = [notification(LIST_CHANGED)] if self._initialized else []
        return legacy + [_tagged(LIST_CHANGED, key, {}) for key, tools in self._listening.items() if tools]

    def close(self) -> list[Message]:
        """End every listen stream in good order."""
        ended = []
        for request_id in self._listening:
            del self._open[request_id]
            ended.append(success(request_id, self._complete({"_meta": {META_SUBSCRIPTION: request_id}})))
        self._listening.clear()
        return ended

    def _complete(self, body: Message) -> Message:
        meta = {**body.get("_meta", {}), META_SERVER: self._info}
        return {"resultType": "complete", **body, "_meta": meta}

    _LEGACY: ClassVar[dict[str, Handle]] = {
        CALL: _call,
        LIST: _list,
        INITIALIZE: _initialize,
        PING: _empty,
        SHUTDOWN: _empty,
        DISCOVER: _discover,
        LISTEN: _listen_without_meta,
    }
    _MODERN: ClassVar[dict[str, Handle]] = {CALL: _call, LIST: _list, DISCOVER: _discover, LISTEN: _listen}


def _checked(message: Message) -> tuple[str, Message]:
    """Method and params of a request or notification."""
    if message.get("jsonrpc") != "2.0":
        raise PeerError(INVALID_REQUEST, 'Invalid request: jsonrpc must be "2.0"')
    method, params = message.get("method"), message.get("params")
    if not isinstance(method, str):
        raise PeerError(INVALID_REQUEST, "Invalid request: the method must be a string")
    if params is None:
        return method, {}
    if not isinstance(params, dict):
        raise PeerError(INVALID_PARAMS, "Invalid params: params must be an object")
    return method, params


def _refusal(request_id: str | int | None, error: ProtocolError) -> Message:
    return failure(request_id, error.code, error.message, error.data)


def _not_an_object() -> Message:
    return failure(None, INVALID_REQUEST, "Invalid request: a message is a JSON object")


def _id_in_use(request_id: str | int) -> Message:
    """Under a null id: an error under this id would be taken for the answer to the first request."""
    text = "Invalid request: this id belongs to a request that is not answered yet"
    return failure(None, INVALID_REQUEST, text, {"requestId": request_id})


def _tagged(method: str, request_id: str | int, params: Message) -> Message:
    return notification(method, {"_meta": {META_SUBSCRIPTION: request_id}, **params})


def _without_title(info: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in info.items() if key != "title"}
