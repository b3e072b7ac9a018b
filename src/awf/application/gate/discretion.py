"""What servers are told of a client where there is a gate: nothing that is its own free choice, and that nobody judges. Pure.

A client calls itself what it likes, and puts into `_meta` what it likes. The gate looks at neither, so neither goes on: servers
hear that AWF asks, which of the protocol's questions they may ask back, and to which trace a request belongs.
"""

from __future__ import annotations

import functools
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from awf.domain.mcp import CLIENT_INFO, RESERVED_META, modern_meta

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["plain_abilities", "plain_meta"]

_OPTIONS: dict[str, dict[str, Any]] = {
    "elicitation": {"form": {}, "url": {}},
    "roots": {"listChanged": True},
    "sampling": {"context": {}, "tools": {}},
}
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_ABILITIES = f"{RESERVED_META}clientCapabilities"
_LOG_LEVEL = f"{RESERVED_META}logLevel"
_TRACE = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


def plain_abilities(said: Mapping[str, Any]) -> dict[str, Any]:
    """Those that the protocol knows of, in its own words."""
    found: dict[str, Any] = {}
    for ability, options in _OPTIONS.items():
        if ability in said:
            given = said[ability]
            wanted = given if isinstance(given, dict) else {}
            found[ability] = {
                name: plain for name, plain in options.items() if wanted.get(name, False) is not False
            }
    return found


def plain_meta(
    said: Mapping[str, Any], version: str = "", abilities: Mapping[str, Any] = _NOTHING, level: str = ""
) -> dict[str, Any]:
    """Of a request. `version`: of the newer era; empty in the older one, which says the rest but once."""
    made = _introduced(version, level).copy() if version else {}
    if version and abilities:
        made[_ABILITIES] = plain_abilities(abilities)
    if "progressToken" in said:  # on its way it is one of ours
        made["progressToken"] = said["progressToken"]
    trace = said.get("traceparent")
    if isinstance(trace, str) and _TRACE.fullmatch(trace):
        made["traceparent"] = trace
        if isinstance(said.get("tracestate"), str):
            made["tracestate"] = said["tracestate"]
    return made


@functools.lru_cache
def _introduced(version: str, level: str) -> dict[str, Any]:
    """Of one that can be asked nothing. There are as many of them as the protocol has versions and levels."""
    made = modern_meta(version, {}, CLIENT_INFO)
    return {**made, _LOG_LEVEL: level} if level else made
