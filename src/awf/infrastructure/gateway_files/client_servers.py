"""One server as another client describes it → the keys of ours. What has no effect here is noted, never refused."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.gateway_file import GatewayServer
from awf.domain.notation import parse_duration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.infrastructure.gateway_files.client_words import Client, Words

__all__ = ["OWN_KEYS", "UnusableError", "as_server", "own_entry"]

OWN_KEYS = frozenset(GatewayServer.__struct_fields__)
_TRANSPORTS = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "streamableHttp",
    "streamablehttp": "streamableHttp",
    "remote": "streamableHttp",
    "sse": "sse",
    "ws": "websocket",
    "websocket": "websocket",
}
_TEXTS = ("command", "cwd", "url")
_REASONS = {
    "trust": "each client decides what it asks about",
    "autoApprove": "each client decides what it asks about",
    "alwaysAllow": "each client decides what it asks about",
    "envFile": "set the variables it holds, or write them under `env`",
}
# Read here; everything else is either a key of ours or has no effect.
_THEIRS = frozenset(
    {"httpUrl", "serverUrl", "type", "transport", "disabled", "includeTools", "excludeTools", "timeout"}
)


class UnusableError(Exception):
    """Why a server cannot be taken over."""


def own_entry(entry: Any, client: Client, words: Words) -> tuple[dict[str, Any], list[str]]:
    """The same server in our keys, and what was left behind. Raises UnusableError."""
    if not isinstance(entry, dict):
        raise UnusableError("It is not described by keys and values.")
    notes: list[str] = []
    made = {key: value for key, value in entry.items() if key in OWN_KEYS - _THEIRS and value is not None}
    _take_address(entry, made)
    made |= {key: words.text(made[key]) for key in _TEXTS if isinstance(made.get(key), str)}
    _take_words(made, words)
    _take_transport(entry, made, client, notes)
    _take_choice(entry, made)
    _take_oauth(made, notes)
    _take_timeout(entry, made, client, notes)
    notes += _left_behind(entry)
    made = {key: value for key, value in made.items() if value not in ([], {}, None)}
    as_server(made)
    _require_text(made)
    return made, notes


def as_server(entry: Mapping[str, Any]) -> GatewayServer:
    """Raises UnusableError, which tells no value."""
    rest = {key: value for key, value in entry.items() if key != "transport"}
    try:
        server = msgspec.convert(rest, GatewayServer)
    except msgspec.ValidationError as error:
        raise UnusableError(f"{error}.") from error
    return msgspec.structs.replace(server, transport=entry.get("transport"))


def _require_text(made: Mapping[str, Any]) -> None:
    """JSON can spell halves of characters, which no file and no program takes."""
    try:
        json.dumps(made, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise UnusableError("A text in it is not Unicode.") from error


def _take_address(entry: Mapping[str, Any], made: dict[str, Any]) -> None:
    for key in ("httpUrl", "serverUrl"):
        if isinstance(entry.get(key), str):
            made["url"] = entry[key]
            return


def _take_words(made: dict[str, Any], words: Words) -> None:
    if isinstance(made.get("args"), list):
        made["args"] = [words.text(text) for item in made["args"] if (text := _text(item)) is not None]
    for key in ("env", "headers"):
        if isinstance(made.get(key), dict):
            texts = {name: _text(value) for name, value in made[key].items()}
            made[key] = {name: words.text(text) for name, text in texts.items() if text is not None}


def _text(value: Any) -> str | None:
    """Numbers and booleans as a program would be given them; null means: not set."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    raise UnusableError("A list or mapping stands where a text belongs.")


def _take_transport(entry: Mapping[str, Any], made: dict[str, Any], client: Client, notes: list[str]) -> None:
    written = entry.get("type", entry.get("transport"))
    if "httpUrl" in entry:
        made["transport"] = "streamableHttp"
    elif isinstance(written, str):
        folded = written.lower().replace("-", "").replace("_", "")
        if folded in _TRANSPORTS:
            made["transport"] = _TRANSPORTS[folded]
        else:
            notes.append(f"the transport `{written}` is not known; the address decides")
    elif client == "gemini" and "url" in made:
        made["transport"] = "sse"


def _take_choice(entry: Mapping[str, Any], made: dict[str, Any]) -> None:
    if entry.get("disabled") is True:
        made["enabled"] = False
    for theirs, ours in (("includeTools", "tools"), ("excludeTools", "deny")):
        if theirs in entry:
            # A tool may be written with the form of its arguments: name(…).
            made[ours] = [str(name).partition("(")[0] for name in _listed(entry, theirs)]


def _listed(entry: Mapping[str, Any], key: str) -> list[Any]:
    value = entry[key] or []
    if not isinstance(value, list):
        raise UnusableError(f"`{key}` is no list.")
    return value


def _take_oauth(made: dict[str, Any], notes: list[str]) -> None:
    """Other clients send a person to a page to sign in; here only client credentials have a meaning."""
    given = made.get("oauth")
    if given is not None and not (isinstance(given, dict) and "token_url" in given):
        del made["oauth"]
        notes.append("`oauth` has no effect here: nobody is there to sign in; send a token as a header")


def _take_timeout(entry: Mapping[str, Any], made: dict[str, Any], client: Client, notes: list[str]) -> None:
    written = entry.get("timeout")
    if written is None:
        return
    number = isinstance(written, int | float) and not isinstance(written, bool) and math.isfinite(written)
    if number and client in {"gemini", "claude"}:
        made["timeout_ms"] = int(written)
        return
    seconds = parse_duration(written) if isinstance(written, str | int | float) else None
    if seconds and math.isfinite(seconds):
        made["timeout"] = seconds
    else:
        notes.append("`timeout` is not understood, so the usual one holds")


def _left_behind(entry: Mapping[str, Any]) -> list[str]:
    unknown = [str(key) for key in entry if key not in OWN_KEYS | _THEIRS]
    notes = [f"`{key}` has no effect here: {_REASONS[key]}" for key in unknown if key in _REASONS]
    others = [f"`{key}`" for key in unknown if key not in _REASONS]
    if others:
        notes.append(f"{', '.join(others)} {'has' if len(others) == 1 else 'have'} no effect here")
    return notes
