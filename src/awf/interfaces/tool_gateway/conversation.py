"""JSON-RPC 2.0 with one program: one message a line, answers as they come, a tool gateway of its own."""

from __future__ import annotations

import asyncio
import logging
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeGuard

from awf import __version__
from awf.application.running.tasks import spawn
from awf.domain.errors import AwfError
from awf.domain.mcp import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND
from mcpserver.errors import NotJsonError, PeerError
from mcpserver.framing import Frames, encode

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.application.tool_gateway import ToolGatewayService

__all__ = ["LONGEST", "Conversation"]

LONGEST = 10 * 1024 * 1024  # of one message
MOST = 256  # calls at a time; who sends more is not read from
REFUSED, CANCELLED, INTERNAL = -32000, -32800, -32603
_OPTIONS = ("storage", "config", "workspace", "user", "session")
# method → (that of the service, parameters, how many of them are needed)
METHODS: dict[str, tuple[str, tuple[str, ...], int]] = {
    "open": ("", ("options",), 0),
    "registerManifest": ("register_manifest", ("manifest",), 1),
    "registerServer": ("register_server", ("config",), 1),
    "listTools": ("list_tools", (), 0),
    "callTool": ("call_tool", ("invocation",), 1),
    "grantCapability": ("grant_capability", ("grant",), 1),
    "revokeCapability": ("revoke_capability", ("grantId",), 1),
    "drainAuditEvents": ("drain_audit_events", ("after", "limit"), 0),
    "getSnapshot": ("get_snapshot", (), 0),
    "reset": ("reset", (), 0),
    "readArtifact": ("read_artifact", ("uri",), 1),
}
_log = logging.getLogger("awf.gateway")


class Conversation:
    def __init__(
        self, open_service: Callable[[dict[str, Any]], ToolGatewayService], write: Callable[[bytes], object]
    ) -> None:
        """`open_service` takes the options that the program gave, and raises `AwfError` for wrong ones."""
        self._open_service = open_service
        self._write = write
        self._frames = Frames(LONGEST)
        self._service: ToolGatewayService | None = None
        self._refused = False  # it was to be opened, and could not be
        self._under_way: dict[str | int | float, asyncio.Task[None]] = {}
        self._closed = False
        self.is_behind: Callable[[], bool] = lambda: False
        self.on_full: Callable[[], object] = lambda: None
        self.on_enough: Callable[[], object] = lambda: None

    def feed(self, data: bytes) -> None:
        for message in self._frames.feed(data):
            self._take(message)
        if len(self._under_way) >= MOST:
            self.on_full()

    def feed_end(self) -> None:
        for message in self._frames.end():
            self._take(message)

    async def settled(self, seconds: float) -> None:
        """All are answered, or it takes too long."""
        if self._under_way:
            await asyncio.wait(list(self._under_way.values()), timeout=seconds)

    async def close(self) -> None:
        self._closed = True
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        if self._service is not None:
            await self._service.close()

    # -- messages ----------------------------------------------------------------------------------------------------

    def _take(self, message: Any) -> None:
        if isinstance(message, PeerError):
            self._refuse(None, message)
            return
        number = message.get("id") if isinstance(message, dict) else None
        try:
            self._begin(message)
        except PeerError as error:
            self._refuse(number if _is_id(number) else None, error)

    def _begin(self, message: Any) -> None:
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            text = "Invalid request: this is no JSON-RPC 2.0 message; batches are not taken"
            raise PeerError(INVALID_REQUEST, text)
        method, number = message.get("method"), message.get("id")
        if "id" not in message and isinstance(method, str):
            self._notified(method, message.get("params"))
            return
        if not isinstance(method, str) or not _is_id(number):
            raise PeerError(INVALID_REQUEST, "Invalid request: it needs a method and an id (text or number)")
        if number in self._under_way:
            raise PeerError(INVALID_REQUEST, "Invalid request: a request with this id is under way")
        arguments = _arguments(method, message.get("params"))
        task = spawn(self._answered(number, method, arguments), f"answering {method}", awaited=True)
        self._under_way[number] = task
        task.add_done_callback(lambda done: self._ended(number, done))

    def _notified(self, method: str, params: Any) -> None:
        """`cancel` is the only one; others are nobody's business."""
        number = params.get("id") if method == "cancel" and isinstance(params, dict) else None
        if _is_id(number) and (task := self._under_way.get(number)) is not None:
            task.cancel()

    async def _answered(self, number: str | float, method: str, arguments: list[Any]) -> None:
        try:
            self._send({"jsonrpc": "2.0", "id": number, "result": await self._do(method, arguments)})
        except AwfError as error:
            self._refuse(number, PeerError(REFUSED, error.message, _told(error)))
        except Exception:  # noqa: BLE001  whatever it was, the program gets an answer
            _log.exception("%s failed", method)
            self._refuse(number, PeerError(INTERNAL, "Internal error: the log of awf has more"))

    def _ended(self, number: str | float, task: asyncio.Task[None]) -> None:
        if task.cancelled():  # perhaps before it began
            self._refuse(number, PeerError(CANCELLED, "The request was cancelled"))
        del self._under_way[number]
        if len(self._under_way) == MOST - 1:
            self.on_enough()

    async def _do(self, method: str, arguments: list[Any]) -> Any:
        if method == "open":
            return self._opened(arguments[0] if arguments else None)
        if self._service is None and self._refused:
            hint = "Nothing is done with other options than those that were asked for. Send `open` again."
            raise AwfError("USER.GATEWAY.INVALID_CALL", "The gateway could not be opened.", hint=hint)
        service = self._service or self._begun({})
        return await getattr(service, METHODS[method][0])(*arguments)

    def _opened(self, options: Any) -> dict[str, Any]:
        if self._service is not None:
            hint = "`open` comes first, and once."
            raise AwfError("USER.GATEWAY.INVALID_CALL", "The gateway is open already.", hint=hint)
        self._refused = True
        given = {} if options is None else options
        if not isinstance(given, dict) or not given.keys() <= set(_OPTIONS):
            hint = f"There are: {', '.join(_OPTIONS)}."
            raise AwfError("USER.GATEWAY.INVALID_CALL", "`options` has other keys.", hint=hint)
        for name, value in given.items():
            kinds = str | dict if name == "config" else str
            if value is not None and not isinstance(value, kinds):
                message = f"`{name}` is a text{' or an object' if name == 'config' else ''}."
                raise AwfError("USER.GATEWAY.INVALID_CALL", message, hint="See docs/tool-gateway.md.")
        return {"name": "awf", "version": __version__, "session": self._begun(given).session}

    def _begun(self, options: dict[str, Any]) -> ToolGatewayService:
        self._service = self._open_service(
            {name: value for name, value in options.items() if value is not None}
        )
        self._service.subscribe(self._tell)
        return self._service

    # -- what is said ------------------------------------------------------------------------------------------------

    def _tell(self, event: dict[str, Any]) -> None:
        if not self.is_behind():
            self._send({"jsonrpc": "2.0", "method": "event", "params": event})

    def _refuse(self, number: str | float | None, error: PeerError) -> None:
        told: dict[str, Any] = {"code": error.code, "message": error.message}
        if error.data is not None:
            told["data"] = error.data
        self._send({"jsonrpc": "2.0", "id": number, "error": told})

    def _send(self, message: dict[str, Any]) -> None:
        if self._closed:
            return
        try:
            line = encode(message)
        except NotJsonError as error:
            told = {"code": INTERNAL, "message": f"Internal error: the answer has no JSON form ({error})"}
            line = encode({"jsonrpc": "2.0", "id": message.get("id"), "error": told})
        self._write(line)


def _is_id(number: Any) -> TypeGuard[str | int | float]:
    """What an answer can carry. 1e999 is JSON, but is read as an infinity, for which JSON has no word."""
    if isinstance(number, float):
        return isfinite(number)
    return isinstance(number, str | int) and not isinstance(number, bool)


def _arguments(method: str, params: Any) -> list[Any]:
    """By place or by name; those at the end may be left out where they need not be there."""
    if method not in METHODS:
        raise PeerError(METHOD_NOT_FOUND, f"Method not found: {method[:100]}", {"methods": list(METHODS)})
    _, names, needed = METHODS[method]
    given = [] if params is None else params
    if isinstance(given, dict):
        if not given.keys() <= set(names):
            raise PeerError(INVALID_PARAMS, f"Invalid params: {method} takes {_listed(names)}")
        last = max((at for at, name in enumerate(names) if name in given), default=-1)
        given = [given.get(name) for name in names[: last + 1]]
    if not isinstance(given, list) or not needed <= len(given) <= len(names):
        raise PeerError(INVALID_PARAMS, f"Invalid params: {method} takes {_listed(names)}")
    return given


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "none"


def _told(error: AwfError) -> dict[str, Any]:
    """The error itself, for programs: whose fault, what to do, and all that is wrong."""
    told: dict[str, Any] = {"code": error.code, "hint": error.hint}
    problems = getattr(error, "problems", ())
    if problems:
        told["problems"] = [
            {"code": one.code, "message": one.message, "path": list(one.path), "hint": one.hint}
            for one in problems
        ]
    return told
