"""Checks every frame an MCP server writes against the official schema of the version it is written in.

Show it both directions of a connection: `client_sent` to learn what was asked and in which version, `server_sent` to
judge what came back. It also counts: an answer to nothing, or a second answer, is a fault.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any

import jsonschema_rs

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["WireChecker", "WireError"]

_MODERN = "2026-07-28"
_NEWEST_LEGACY = "2025-11-25"
_META = "io.modelcontextprotocol/"
_RESULTS = {
    "initialize": "InitializeResult",
    "ping": "EmptyResult",
    "shutdown": "EmptyResult",
    "tools/list": "ListToolsResult",
    "tools/call": "CallToolResult",
    "server/discover": "DiscoverResult",
    "subscriptions/listen": "SubscriptionsListenResult",
}
_NOTIFICATIONS = {
    "notifications/progress": "ProgressNotification",
    "notifications/tools/list_changed": "ToolListChangedNotification",
    "notifications/subscriptions/acknowledged": "SubscriptionsAcknowledgedNotification",
}
_STRANGE_TO: dict[
    str, dict[str, set[str]]
] = {  # what older versions do not have, whose schemas are not kept here
    "2024-11-05": {
        "tool": {"annotations", "title", "outputSchema", "_meta", "icons"},
        "result": {"structuredContent"},
        "content": {"audio", "resource_link"},
        "server": {"title"},
    },
    "2025-03-26": {
        "tool": {"title", "outputSchema", "_meta", "icons"},
        "result": {"structuredContent"},
        "content": {"resource_link"},
        "server": {"title"},
    },
}


class WireError(AssertionError):
    """A frame that the protocol does not allow."""


class WireChecker:
    def __init__(self, schemas: Path) -> None:
        """`schemas` holds one folder per version, each with its schema.json."""
        self._schemas = schemas
        self._validators: dict[tuple[str, str], Any] = {}
        self._legacy = _NEWEST_LEGACY
        self._asked: dict[str | int, deque[tuple[str, str | None]]] = defaultdict(deque)
        self._tokens: dict[str | int, str | None] = {}
        self.answers: dict[str | int, int] = defaultdict(int)
        self.frames = 0

    def client_sent(self, line: bytes) -> None:
        """Remember what is asked. What cannot be read is no request, and may only be answered with a null id."""
        try:
            message = json.loads(line.decode())
        except (ValueError, RecursionError):
            return
        for each in message if isinstance(message, list) else [message]:
            if isinstance(each, dict) and type(each.get("id")) in (str, int):  # a bool is no id
                self._asked[each["id"]].append((str(each.get("method")), self._version(each)))

    def _version(self, message: dict[str, Any]) -> str | None:
        """The modern version a request names; None in the version of the handshake."""
        params = message.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        meta = meta if isinstance(meta, dict) else {}
        version = _MODERN if meta.get(f"{_META}protocolVersion") == _MODERN else None
        token = meta.get("progressToken")
        if isinstance(token, str | int):
            self._tokens[token] = version
        return version

    def server_sent(self, line: bytes) -> Any:
        """Judge one line; gives back what it says."""
        message = _strictly(line)
        self.frames += 1
        for each in message if isinstance(message, list) else [message]:
            if not isinstance(each, dict):
                raise WireError(f"not a message: {each!r}")
            if "method" in each:
                self._judge_notification(each)
            else:
                self._judge_answer(each)
        if isinstance(message, list) and self._legacy != "2025-03-26":
            raise WireError(f"a batch in {self._legacy}")
        return message

    def _judge_notification(self, message: dict[str, Any]) -> None:
        if "id" in message:
            raise WireError(f"a request from the server: {message}")
        definition = _NOTIFICATIONS.get(message["method"])
        if definition is None:
            raise WireError(f"unknown notification: {message['method']}")
        params = message.get("params", {})
        modern = f"{_META}subscriptionId" in params.get("_meta", {})
        if definition == "ProgressNotification":
            if params.get("progressToken") not in self._tokens:
                raise WireError(f"progress for a token nobody gave: {message}")
            modern = self._tokens[params["progressToken"]] == _MODERN
        self._validate(_MODERN if modern else self._legacy, "JSONRPCNotification", message)
        self._validate(_MODERN if modern else self._legacy, definition, message)

    def _judge_answer(self, message: dict[str, Any]) -> None:
        request_id = message.get("id")
        if (
            request_id is None
        ):  # JSON-RPC says null, the MCP schemas say nothing; both mean "whose it was is unknown"
            self._validate(_MODERN, "Error", message.get("error"))
            return
        if not self._asked[request_id]:
            raise WireError(f"an answer to nothing, or a second one: {message}")
        method, version = self._asked[request_id].popleft()
        self.answers[request_id] += 1
        if "error" in message:
            self._judge_error(message, version or self._legacy)
            return
        if method == "initialize":
            self._legacy = message["result"]["protocolVersion"]
        version = _MODERN if method == "server/discover" else version or self._legacy
        envelope = "JSONRPCResponse" if version <= "2025-06-18" else "JSONRPCResultResponse"
        self._validate(version, envelope, message)
        self._validate(version, _RESULTS[method], message["result"])
        _refuse_what_is_newer(version, message["result"])

    def _judge_error(self, message: dict[str, Any], version: str) -> None:
        self._validate(
            version, "JSONRPCError" if version <= "2025-06-18" else "JSONRPCErrorResponse", message
        )
        if message["error"]["code"] == -32022:
            self._validate(_MODERN, "UnsupportedProtocolVersionError", message)

    def _validate(self, version: str, definition: str, value: Any) -> None:
        known = version if (self._schemas / version).is_dir() else "2025-06-18"
        validator = self._validators.get((known, definition))
        if validator is None:
            schema = json.loads((self._schemas / known / "schema.json").read_text(encoding="utf-8"))
            place = "$defs" if "$defs" in schema else "definitions"
            part = {
                "$schema": schema["$schema"],
                "allOf": [{"$ref": f"#/{place}/{definition}"}],
                place: schema[place],
            }
            validator = self._validators[known, definition] = jsonschema_rs.validator_for(part)
        for error in validator.iter_errors(value):
            raise WireError(f"{version} {definition}: {error.message} in {json.dumps(value)[:500]}")


def _strictly(line: bytes) -> Any:
    if not line.endswith(b"\n") or line.count(b"\n") != 1:
        raise WireError(f"not one line: {line[:200]!r}")

    def no_constant(name: str) -> None:
        raise WireError(f"{name} is not JSON")

    def no_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) < len(pairs):
            raise WireError(f"a key twice: {[key for key, _ in pairs]}")
        return dict(pairs)

    try:
        return json.loads(line.decode(), parse_constant=no_constant, object_pairs_hook=no_twice)
    except ValueError as error:
        raise WireError(f"not UTF-8 JSON: {error}: {line[:200]!r}") from error


def _refuse_what_is_newer(version: str, result: dict[str, Any]) -> None:
    strange = _STRANGE_TO.get(version)
    if strange is None:
        return
    found = strange["result"] & result.keys()
    found |= strange["server"] & result.get("serverInfo", {}).keys()
    for tool in result.get("tools", []):
        found |= strange["tool"] & tool.keys()
    found |= strange["content"] & {block["type"] for block in result.get("content", [])}
    if found:
        raise WireError(f"{version} does not know {sorted(found)}")
