"""Checks every frame an ACP agent writes: against the official schema, and against the rules that no schema can say.

Show it both directions of a connection: `client_sent` to learn what was asked and offered, `agent_sent` to judge what
came back. With `house_rules=False` only the protocol is asked for, not the habits of ours that editors reward: errors
whose data is exactly `{"details": …}`, and questions only about tool calls that were introduced. That is for agents of
others.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any

from awf.testing.acp_abilities import Abilities
from awf.testing.acp_schema import WireError, agent_schema
from awf.testing.acp_session_rules import SessionRules

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["WireChecker", "WireError"]

_LONGEST = 10 * 1024 * 1024  # longer lines end the connection in some editors, and we do not read them either
_PROTOCOL = 1
_OPENING = {"session/load", "session/resume"}
_CLOSING = {"session/close", "session/delete"}


class WireChecker:
    def __init__(self, schemas: Path, *, house_rules: bool = True) -> None:
        """`schemas` is the folder that holds schema.json."""
        self._schema = agent_schema(schemas)
        self._house_rules = house_rules
        self._abilities = Abilities()
        self._sessions: dict[str, SessionRules] = {}
        self._asked: dict[str, deque[tuple[str, dict[str, Any]]]] = defaultdict(deque)
        self._own: dict[str, bool] = {}  # requests of the agent: id → still waiting
        self.frames = 0

    def unanswered(self) -> list[str]:
        """The methods of the client's requests that nobody answered yet."""
        return [method for waiting in self._asked.values() for method, _ in waiting]

    # -- the client ----------------------------------------------------------------------------------------------

    def client_sent(self, line: bytes) -> None:
        """Remember what is asked. What cannot be read is no request, and may only be answered with a null id."""
        try:
            message = json.loads(line.decode()) if len(line) <= _LONGEST else None
        except (ValueError, RecursionError):
            return
        if not isinstance(message, dict):
            return
        method, params = message.get("method"), message.get("params")
        params = params if isinstance(params, dict) else {}
        if isinstance(method, str) and "id" in message and _is_id(message["id"]):
            key = json.dumps(message["id"])
            self._asked[key].append((method, params))
            self._learn_request(key, method, params)
        elif method == "session/cancel" and (session := self._known(params)):
            session.cancelled()
        elif method is None and (key := json.dumps(message.get("id"))) in self._own:
            self._own[key] = False

    def _learn_request(self, key: str, method: str, params: dict[str, Any]) -> None:
        session_id = params.get("sessionId")
        if method in _OPENING and isinstance(session_id, str):
            self._sessions.setdefault(session_id, SessionRules(session_id, is_open=False))
        session = self._known(params)
        if session is None:
            return
        if method == "session/load":
            session.load_asked()
        elif method == "session/prompt":
            session.prompted(key)
        elif method == "session/close":
            session.cancelled()

    def _known(self, params: dict[str, Any]) -> SessionRules | None:
        session_id = params.get("sessionId")
        return self._sessions.get(session_id) if isinstance(session_id, str) else None

    # -- the agent -----------------------------------------------------------------------------------------------

    def agent_sent(self, line: bytes) -> dict[str, Any]:
        """Judge one line; gives back what it says."""
        message = _strictly(line)
        self.frames += 1
        if not isinstance(message, dict):
            raise WireError(f"not a message (this protocol has no batches): {line[:200]!r}")
        if message.get("jsonrpc") != "2.0":
            raise WireError(f"not JSON-RPC 2.0: {line[:200]!r}")
        if "method" not in message:
            self._judge_answer(message)
        elif "id" in message:
            self._judge_request(message)
        else:
            self._judge_notification(message)
        return message

    def _judge_request(self, message: dict[str, Any]) -> None:
        _only(message, {"jsonrpc", "id", "method", "params"})
        method, params = message["method"], message.get("params")
        key = json.dumps(message["id"])
        if not _is_id(message["id"]) or message["id"] is None:
            raise WireError(f"no id for a request: {message['id']!r}")
        if self._own.get(key):
            raise WireError(f"the id {key} is used while a request of the agent with it is open")
        self._schema.judge_request(method, params)
        assert isinstance(params, dict)
        self._abilities.allow_message(method, params)
        self._judge_question(method, params)
        self._own[key] = True

    def _judge_question(self, method: str, params: dict[str, Any]) -> None:
        if "sessionId" not in params:
            return
        session = self._session(params["sessionId"], method)
        if method == "session/request_permission":
            chosen = [option["optionId"] for option in params["options"]]
            if not chosen or len(set(chosen)) < len(chosen):
                raise WireError(f"options that cannot be told apart, or none: {chosen}")
            session.asked(params["toolCall"]["toolCallId"], introduced=self._house_rules)
        elif method == "elicitation/create":
            session.asked(params.get("toolCallId"), introduced=self._house_rules)

    def _judge_notification(self, message: dict[str, Any]) -> None:
        _only(message, {"jsonrpc", "method", "params"})
        method, params = message["method"], message.get("params")
        self._schema.judge_notification(method, params)
        assert isinstance(params, dict)
        self._abilities.allow_message(method, params)
        if method == "session/update":
            session = self._session(params["sessionId"], params["update"]["sessionUpdate"])
            self._abilities.allow_update(params["update"])
            session.updated(params["update"])
        elif method == "$/cancel_request" and json.dumps(params["requestId"]) not in self._own:
            raise WireError(f"withdraws {params['requestId']!r}, which the agent never asked")

    def _session(self, session_id: str, what: str) -> SessionRules:
        if session_id not in self._sessions:
            raise WireError(f"{what} for the session {session_id}, which the client does not know (yet)")
        return self._sessions[session_id]

    # -- answers -------------------------------------------------------------------------------------------------

    def _judge_answer(self, message: dict[str, Any]) -> None:
        _only(message, {"jsonrpc", "id", "result", "error"})
        if ("result" in message) == ("error" in message):
            raise WireError(f"neither or both of result and error: {json.dumps(message)[:500]}")
        if "id" not in message:
            raise WireError(f"an answer without an id: {json.dumps(message)[:500]}")
        key = json.dumps(message["id"])
        if "error" in message:
            self._judge_error(message["error"])
        if not self._asked[key]:
            if message["id"] is None and "error" in message:  # to what could not be read
                return
            raise WireError(f"an answer to nothing, or a second one: {json.dumps(message)[:500]}")
        method, params = self._asked[key].popleft()
        if "result" in message:
            if method == "initialize":
                self._abilities = Abilities(params.get("clientCapabilities"))
            self._judge_result(method, message["result"])
        self._learn_answer(key, method, params, message)

    def _judge_result(self, method: str, result: Any) -> None:
        self._schema.judge_result(method, result)
        self._abilities.allow_result(result)
        if method == "initialize" and result["protocolVersion"] != _PROTOCOL:
            raise WireError(f"protocol version {result['protocolVersion']}; only {_PROTOCOL} is stable")
        if method == "session/new" and (not result["sessionId"] or result["sessionId"] in self._sessions):
            raise WireError(f"not a new session: {result['sessionId']!r}")

    def _learn_answer(self, key: str, method: str, params: dict[str, Any], message: dict[str, Any]) -> None:
        session = self._known(params)
        if method == "session/prompt" and session is not None:
            session.prompt_answered(key, error="error" in message)
        elif method == "session/load" and session is not None:
            session.load_answered()
        if "error" in message:
            return
        if method == "session/new":
            new = message["result"]["sessionId"]
            self._sessions[new] = SessionRules(new, is_open=True)
        elif method in _OPENING and session is not None:
            session.opened()
        elif method in _CLOSING and session is not None:
            session.closed()

    def _judge_error(self, error: Any) -> None:
        self._schema.judge_error(error)
        _only(error, {"code", "message", "data"})
        message, data = error["message"], error.get("data")
        if not message.strip() or len(message.splitlines()) != 1:
            raise WireError(f"the message of an error is one line: {message!r}")
        if self._house_rules and not (
            isinstance(data, dict) and data.keys() == {"details"} and isinstance(data["details"], str)
        ):
            raise WireError(f'the data of an error is exactly {{"details": text}}: {json.dumps(error)[:500]}')


def _is_id(value: Any) -> bool:
    return value is None or type(value) in {str, int}  # a bool is no id


def _only(message: dict[str, Any], known: set[str]) -> None:
    if strange := sorted(message.keys() - known):
        raise WireError(f"keys of its own outside of _meta: {strange} in {json.dumps(message)[:500]}")


def _strictly(line: bytes) -> Any:
    if not line.endswith(b"\n") or line.count(b"\n") != 1:
        raise WireError(f"not one line: {line[:200]!r}")
    if len(line) > _LONGEST:
        raise WireError(f"a line of {len(line)} bytes")

    def no_constant(name: str) -> None:
        raise WireError(f"{name} is not JSON")

    def no_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) < len(pairs):
            raise WireError(f"a key twice: {[key for key, _ in pairs]}")
        return dict(pairs)

    try:
        return json.loads(line.decode(), parse_constant=no_constant, object_pairs_hook=no_twice)
    except (ValueError, RecursionError) as error:
        raise WireError(f"not UTF-8 JSON: {error}: {line[:200]!r}") from error
