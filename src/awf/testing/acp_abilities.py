"""What an agent may use only after the client has said that it can do it."""

from __future__ import annotations

from typing import Any

from awf.testing.acp_schema import WireError

__all__ = ["Abilities"]

_UPDATES = {
    "notice": ("session", "notices"),
    "compaction_update": ("session", "compaction"),
    "compaction_summary_chunk": ("session", "compaction"),
}
_REQUESTS: dict[str, tuple[str, ...]] = {
    "fs/read_text_file": ("fs", "readTextFile"),
    "fs/write_text_file": ("fs", "writeTextFile"),
    "elicitation/complete": ("elicitation", "url"),
}


class Abilities:
    """The client's capabilities; a flag must be true, a marker must be an object."""

    def __init__(self, capabilities: Any = None) -> None:
        self._said = capabilities

    def has(self, *path: str) -> bool:
        value = self._said
        for part in path:
            value = value.get(part) if isinstance(value, dict) else None
        return value is True or isinstance(value, dict)

    def _need(self, what: str, *path: str) -> None:
        if not self.has(*path):
            raise WireError(f"{what} although the client did not advertise {'.'.join(path)}")

    def allow_message(self, method: str, params: dict[str, Any]) -> None:
        """A request or notification to the client."""
        if method.startswith("terminal/"):
            self._need(method, "terminal")
        elif method == "elicitation/create":
            self._need(method, "elicitation", str(params.get("mode")))
        elif method in _REQUESTS:
            self._need(method, *_REQUESTS[method])

    def allow_update(self, update: dict[str, Any]) -> None:
        kind = update["sessionUpdate"]
        if kind in _UPDATES:
            self._need(kind, *_UPDATES[kind])
        if kind == "config_option_update":
            self.allow_options(update)
        if kind in {"tool_call", "tool_call_update"}:
            self._allow_terminal(update)

    def _allow_terminal(self, update: dict[str, Any]) -> None:
        """A terminal of the client's, or one of ours where it knows how to show it."""
        shown = any(content["type"] == "terminal" for content in update.get("content") or [])
        if shown and not self.has("terminal") and not self.has("_meta", "terminal_output"):
            raise WireError(
                "a terminal although the client did not advertise terminal or _meta.terminal_output"
            )

    def allow_result(self, result: dict[str, Any]) -> None:
        self.allow_options(result)
        for method in result.get("authMethods") or []:
            if method.get("type") == "terminal":
                self._need("a terminal login", "auth", "terminal")
        modes = result.get("modes")
        if modes and modes["currentModeId"] not in {mode["id"] for mode in modes["availableModes"]}:
            raise WireError(f"the current mode is not one of those offered: {modes}")

    def allow_options(self, value: dict[str, Any]) -> None:
        for option in value.get("configOptions") or []:
            if option["type"] == "boolean":
                self._need(f"the boolean option {option['id']}", "session", "configOptions", "boolean")
            elif option["currentValue"] not in _values(option["options"]):
                raise WireError(f"the current value is not one of those offered: {option}")


def _values(options: list[dict[str, Any]]) -> set[str]:
    found: set[str] = set()
    for option in options:
        found.update(one["value"] for one in option.get("options", [option]))
    return found
