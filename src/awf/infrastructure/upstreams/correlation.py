"""Who waits for which answer on one connection. No input or output happens here.

A call is noted before its frame leaves, so an answer cannot come too early. Answers may come in any order; one that
nobody waits for (late, doubled, invented) is dropped. What the server asks of us is answered here or handed on.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any, Protocol, cast

from awf.domain.mcp import INTERNAL_ERROR, METHOD_NOT_FOUND, RpcError
from awf.domain.redaction import Masker
from awf.infrastructure.upstreams import frames

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from awf.domain.redaction import TextMasker

__all__ = ["Call", "Correlation", "Landing"]

_log = logging.getLogger("awf.upstreams")


class Call:
    """One request under way."""

    __slots__ = (
        "answer",
        "cancellable",
        "carrier",
        "frame",
        "headers",
        "method",
        "name",
        "number",
        "on_progress",
        "params",
        "tag",
    )

    def __init__(
        self, number: int, method: str, params: dict[str, Any], answer: Landing | None = None
    ) -> None:
        self.number = number
        self.method = method
        self.params = params
        self.name = params.get("uri" if method == "resources/read" else "name")
        self.frame = frames.request(number, method, params)
        self.answer: asyncio.Future[dict[str, Any]] = (
            asyncio.get_running_loop().create_future()
            if answer is None
            else cast("asyncio.Future[dict[str, Any]]", answer)
        )
        self.carrier: Any = None  # what its channel needs to give it up
        self.on_progress: Callable[[dict[str, Any]], None] | None = None
        self.headers: Mapping[str, str] = {}
        self.tag: object = None  # what its owner knows it by
        self.cancellable = method not in {"initialize", "server/discover"}


class Landing(Protocol):
    """Where an answer arrives that nobody awaits; it behaves like a future whose callbacks run at once."""

    def done(self) -> bool: ...
    def set_result(self, result: dict[str, Any], /) -> None: ...
    def set_exception(self, reason: Exception, /) -> None: ...
    def exception(self) -> BaseException | None: ...


class Correlation:
    """`on_notification` hears every notification that is not about the progress of a call.

    It, and whoever takes requests, is also told the tag of the call in whose answer the message came. Only HTTP tells.
    `clean`: what callers may see of an error. `masking`: makes what takes secrets out of other words of the server.
    """

    def __init__(
        self,
        on_notification: Callable[[dict[str, Any], object], None],
        on_request: Callable[[dict[str, Any], object], None] | None = None,
        on_pause: Callable[[object], None] = lambda _: None,
        clean: Callable[[RpcError], RpcError] = lambda error: error,
        masking: Callable[[], TextMasker] = lambda: Masker().text(),
    ) -> None:
        self.masking = masking
        self.paused = on_pause  # the server ended the answer of a call for now, and is asked for the rest
        self._on_notification = on_notification
        self._on_request = on_request  # whoever takes requests answers them in their own time
        self._clean = clean
        self._pending: dict[Any, Call] = {}
        self._last = 0

    def begin(
        self,
        method: str,
        params: dict[str, Any],
        on_progress: Callable[[dict[str, Any]], None] | None = None,
        headers: Mapping[str, str] | None = None,
        tag: object = None,
        answer: Landing | None = None,
    ) -> Call:
        """Note a call; its frame can then be written. With `on_progress` it asks for notifications of progress."""
        self._last += 1
        if on_progress is not None:
            params = {**params, "_meta": {**params.get("_meta", {}), "progressToken": self._last}}
        call = Call(self._last, method, params, answer)
        call.on_progress = on_progress
        call.tag = tag
        if headers:
            call.headers = headers
        self._pending[call.number] = call
        return call

    def forget(self, call: Call) -> bool:
        """No longer wait for it. False when it had been answered already."""
        return self._pending.pop(call.number, None) is not None

    def fail_all(self, reason: Exception) -> None:
        waiting, self._pending = self._pending, {}
        for call in waiting.values():
            _settle(call, reason)

    def fail(self, call: Call, reason: Exception) -> None:
        if self._pending.pop(call.number, None) is not None:
            _settle(call, reason)

    def settle(self, number: int, result: dict[str, Any]) -> None:
        """Take in the plain answer to one call."""
        call = self._pending.pop(number, None)
        if call is None:
            _log.debug("an answer that nobody waits for: id %r", number)
        elif not call.answer.done():
            call.answer.set_result(result)

    def receive(self, message: dict[str, Any], tag: object = None) -> bytes | None:
        """Take in one message; what is returned is to be sent back."""
        if "method" not in message:
            self._answered(message)
            return None
        if "id" in message:
            return self._asked(message, tag)
        self._told(message, tag)
        return None

    def _answered(self, message: dict[str, Any]) -> None:
        number = message.get("id")
        # Some servers hand numbers back as text; true and 1.0 would be found as 1.
        if isinstance(number, str) and number.isdecimal():
            number = int(number)
        call = self._pending.pop(number, None) if type(number) is int else None
        if call is None:
            _log.debug("an answer that nobody waits for: id %r", message.get("id"))
        elif not call.answer.done():
            _deliver(call, message, self._clean)

    def _asked(self, message: dict[str, Any], tag: object) -> bytes | None:
        method = message["method"]
        if method == "ping":
            return frames.reply(message["id"], {})
        if self._on_request is None:
            text = f"Method not found: {method}"
            return frames.error_reply(message["id"], METHOD_NOT_FOUND, text)
        self._on_request(message, tag)
        return None

    def _told(self, message: dict[str, Any], tag: object) -> None:
        params = message.get("params")
        try:
            if message["method"] != "notifications/progress":
                self._on_notification(message, tag)
            elif isinstance(params, dict):
                self._progressed(params)
        except Exception:  # noqa: BLE001  whoever listens must not break the connection
            _log.exception("a listener to %s failed", message["method"])

    def _progressed(self, params: dict[str, Any]) -> None:
        token = params.get("progressToken")
        call = self._pending.get(token) if type(token) is int else None
        if call is not None and call.on_progress is not None:
            call.on_progress(params)


def _deliver(call: Call, message: dict[str, Any], clean: Callable[[RpcError], RpcError]) -> None:
    error, result = message.get("error"), message.get("result")
    if isinstance(error, dict):
        _settle(call, clean(_rpc_error(error)))
    elif isinstance(result, dict):
        call.answer.set_result(result)
    else:
        _settle(call, RpcError(INTERNAL_ERROR, "The answer has neither a result nor an error."))


def _rpc_error(error: dict[str, Any]) -> RpcError:
    code = error.get("code")
    message = error.get("message") or "The server gave no reason."
    return RpcError(code if isinstance(code, int) else INTERNAL_ERROR, str(message), error.get("data"))


def _settle(call: Call, reason: Exception) -> None:
    if not call.answer.done():
        call.answer.set_exception(reason)
        with contextlib.suppress(asyncio.CancelledError):
            call.answer.exception()  # nobody may be left to fetch it; that is no reason for a complaint
