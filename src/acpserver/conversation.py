"""One editor's conversation, without I/O: a line goes in, effects come out.

Theory of operation. A message with a method and an id is a request and gets exactly one answer; with a method alone it
is a notification and never gets one, however wrong it is; without a method it is an answer to a request of ours.

A request is *open* from its arrival until `settle`. An id in use by an open request cannot be used by another: the
second is refused under a null id, so that the first keeps its own answer. Cancelling does not close a request; its
handler still decides what the answer is.

`initialize` and `authenticate` are answered here. Everything else waits for `initialize`, and then comes out as `Start`
or `Tell`. Requests of ours are numbered here; a number is forgotten when it is answered, withdrawn, or the editor goes.
"""

from __future__ import annotations

from acpserver.errors import Complaint, EditorError
from acpserver.framing import Oversize, decode
from acpserver.journal import described, ignored, log
from acpserver.messages import (
    AUTHENTICATE,
    CANCEL_REQUEST,
    INITIALIZE,
    INTERNAL_ERROR,
    PROTOCOL_VERSION,
    failure,
    notification,
    question,
    success,
)
from acpserver.methods import AUTHENTICATE_PARAMS, INITIALIZE_PARAMS, NOTIFICATIONS, REQUESTS
from acpserver.requests import Answered, Cancel, Request, Send, Start, Tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    from acpserver.messages import Id
    from acpserver.requests import Effect

    Message = dict[str, Any]
    Explain = Callable[[str, str], str]

__all__ = ["MAX_OPEN", "Conversation"]

MAX_OPEN: Final = 20_000  # an editor that waits for no answer would fill the memory


class Conversation:
    def __init__(
        self, info: dict[str, Any], capabilities: dict[str, Any], explain: Explain | None = None
    ) -> None:
        self._about = {"agentCapabilities": capabilities, "agentInfo": info, "authMethods": []}
        self._explain = explain
        self._initialized = False
        self._open: dict[Id, Request] = {}
        self._asked: set[int] = set()
        self._last = 0
        self.client_capabilities: dict[str, Any] = {}
        self.client_info: dict[str, Any] = {}

    # What comes in.

    def hear(self, line: bytes | Oversize) -> list[Effect]:
        """Take one line, or what stands for one that was dropped. Raises nothing that a peer can cause."""
        if isinstance(line, Oversize):
            return [self.refusal(None, Complaint("too_long", str(line)))]
        try:
            return self._message(decode(line))
        except Complaint as complaint:
            return [self.refusal(None, complaint)]
        except Exception as error:  # noqa: BLE001  a mistake of ours must not cost the editor its connection
            log().exception("a message could not be handled")
            return [self.refusal(None, Complaint("internal", described("the message", error)))]

    def _message(self, message: Any) -> list[Effect]:
        if isinstance(message, list):
            raise Complaint(
                "invalid_request", "there are no batches in this protocol; send one message a line"
            )
        if not isinstance(message, dict):
            raise Complaint("invalid_request", "a message is a JSON object")
        if "method" not in message and ("result" in message or "error" in message):
            return self._answer(message)
        if "id" not in message:
            return self._notified(message)
        request_id = message["id"]
        if isinstance(request_id, bool | list | dict):
            raise Complaint("invalid_request", "the id must be a string, an integer or null")
        if "method" not in message and request_id in self._asked:
            return self._answer(message)  # JavaScript leaves out a result that is undefined
        if request_id in self._open:
            shown = repr(request_id)[:100]
            raise Complaint(
                "invalid_request", f"the id {shown} belongs to a request that is not answered yet"
            )
        try:
            return self._request(request_id, message)
        except Complaint as complaint:
            return [self.refusal(request_id, complaint)]

    # Requests.

    def _request(self, request_id: Id, message: Message) -> list[Effect]:
        method, params = _checked(message)
        if method == INITIALIZE:
            return [Send(success(request_id, self._initialize(params)))]
        if method in NOTIFICATIONS or method == CANCEL_REQUEST:
            raise Complaint("invalid_request", f"{method} is a notification; send it without an id")
        check = AUTHENTICATE_PARAMS if method == AUTHENTICATE else REQUESTS.get(method)
        if check is None:
            raise Complaint("unknown_method", method[:200] or "the name is empty")
        if not self._initialized:
            raise Complaint("invalid_request", f"send initialize first, then {method}")
        seen = check(params, "")
        if method == AUTHENTICATE:
            raise Complaint(
                "invalid_params", "this agent needs no authentication and offers no method for it"
            )
        return self._start(Request(request_id, method, seen))

    def _start(self, request: Request) -> list[Effect]:
        if len(self._open) >= MAX_OPEN:
            raise Complaint(
                "invalid_request", f"{MAX_OPEN} requests are not answered yet; wait for some of them"
            )
        self._open[request.id] = request
        return [Start(request)]

    def _initialize(self, params: Message) -> Message:
        """Whatever version is asked for, this is the one spoken. A second handshake replaces the first."""
        seen = INITIALIZE_PARAMS(params, "")
        self.client_capabilities = seen.get("clientCapabilities", {})
        self.client_info = seen.get("clientInfo", {})
        self._initialized = True
        return {"protocolVersion": PROTOCOL_VERSION, **self._about}

    # Notifications and answers.

    def _notified(self, message: Message) -> list[Effect]:
        try:
            method, params = _checked(message)
            if method == CANCEL_REQUEST:
                return self._cancel(params)
            check = NOTIFICATIONS.get(method)
            if check is None or not self._initialized:
                return []
            return [Tell(method, check(params, ""))]
        except Complaint as complaint:
            return ignored("a notification: %s", complaint)

    def _cancel(self, params: Message) -> list[Effect]:
        if "requestId" not in params or isinstance(params["requestId"], bool | list | dict):
            return []
        request = self._open.get(params["requestId"])
        return [] if request is None else [Cancel(request)]

    def _answer(self, message: Message) -> list[Effect]:
        number = message.get("id")
        if isinstance(number, bool | list | dict) or number not in self._asked:
            return ignored("an answer to nothing we wait for: %.100r", number)
        self._asked.discard(number)
        error = message.get("error")
        return [Answered(number, message.get("result"), None if error is None else _editor_error(error))]

    # What goes out.

    def settle(self, request: Request) -> None:
        """It is answered: its id may be used again."""
        del self._open[request.id]

    def ask(self, method: str, params: dict[str, Any]) -> tuple[int, Message]:
        """A request of ours. From now on its answer is expected."""
        self._last += 1
        self._asked.add(self._last)
        return self._last, question(self._last, method, params)

    def withdraw(self, number: int) -> Message | None:
        """Nobody waits for it any more; what tells the editor so, unless it has answered."""
        if number not in self._asked:
            return None
        self._asked.discard(number)
        return notification(CANCEL_REQUEST, {"requestId": number})

    def forget(self) -> None:
        """The editor has gone, and answers nothing more."""
        self._asked.clear()

    def refusal(self, request_id: Id, complaint: Complaint) -> Send:
        details = self._details(complaint.kind, complaint.text)
        return Send(failure(request_id, complaint.code, complaint.message, details))

    def _details(self, kind: str, text: str) -> str:
        """An explanation that fails must not cost the answer."""
        if self._explain is None:
            return text
        try:
            return str(self._explain(kind, text)) or text
        except Exception:  # noqa: BLE001  it is logged
            log().exception("an error could not be explained")
            return text


def _checked(message: Message) -> tuple[str, Message]:
    """Method and params of a request or notification."""
    if message.get("jsonrpc") != "2.0":
        raise Complaint("invalid_request", 'jsonrpc must be "2.0"')
    method, params = message.get("method"), message.get("params")
    if not isinstance(method, str):
        raise Complaint("invalid_request", "the method must be a string")
    if params is None:
        return method, {}
    if not isinstance(params, dict):
        raise Complaint("invalid_params", "params must be an object")
    return method, params


def _editor_error(error: Any) -> EditorError:
    """Whatever the editor gives as its error, it is one."""
    if not isinstance(error, dict):
        return EditorError(INTERNAL_ERROR, str(error)[:200])
    code, text = error.get("code"), error.get("message")
    return EditorError(
        code if isinstance(code, int) and not isinstance(code, bool) else INTERNAL_ERROR,
        text if isinstance(text, str) and text else "The editor gave no reason.",
        error.get("data"),
    )
