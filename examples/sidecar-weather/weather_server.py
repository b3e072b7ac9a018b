"""A small MCP server on the standard library alone, with one tool that tells an agent more than it should know.

`station_id` and `debug_mode` are matters of whoever runs the service. The forecast is made up, and always the same for
the same city. What the tool was called with is appended to the file that WEATHER_LOG names.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from typing import Any

TOOL: dict[str, Any] = {
    "name": "fetch_forecast",
    "description": "Fetch the raw forecast of a weather station (v2 endpoint, cached).",
    "inputSchema": {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "The name of a city"},
            "station_id": {"type": "string", "description": "The station to ask"},
            "units": {"type": "string", "enum": ["metric", "imperial"]},
            "debug_mode": {"type": "boolean", "description": "Add what the station measured"},
        },
        "required": ["city", "station_id"],
        "additionalProperties": False,
    },
    "annotations": {"readOnlyHint": True, "openWorldHint": True},
}
SKIES = ["clear", "cloudy", "fog", "light rain", "sun and wind"]
METHOD_NOT_FOUND, INVALID_PARAMS = -32601, -32602


def forecast(arguments: dict[str, Any]) -> str:
    if not os.environ.get("API_KEY"):
        raise ValueError("API_KEY is not set")
    city, station = arguments.get("city"), arguments.get("station_id")
    if not isinstance(city, str) or not isinstance(station, str):
        raise TypeError("city and station_id are needed")
    number, other = hashlib.sha256(f"{city} {station}".encode()).digest()[:2]
    celsius, sky = number % 25, SKIES[other % len(SKIES)]
    metric = arguments.get("units", "imperial") == "metric"
    told = f"{city}: {celsius} °C" if metric else f"{city}: {celsius * 9 // 5 + 32} °F"
    return f"{told}, {sky}" + (f" (raw: {number})" if arguments.get("debug_mode") else "")


def note(arguments: dict[str, Any]) -> None:
    if file := os.environ.get("WEATHER_LOG"):
        with open(file, "a", encoding="utf-8") as log:
            log.write(json.dumps(arguments) + "\n")


def called(params: dict[str, Any]) -> dict[str, Any]:
    arguments = params.get("arguments") or {}
    note(arguments)
    try:
        text, failed = forecast(arguments), False
    except (TypeError, ValueError) as reason:
        text, failed = str(reason), True
    return {"content": [{"type": "text", "text": text}], "isError": failed}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The part of a response that differs: `result` or `error`."""
    if method == "initialize":
        about = {"name": "weather", "version": "1.0"}
        return {
            "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}
        }
    if method == "tools/list":
        return {"result": {"tools": [TOOL]}}
    if method == "tools/call" and params.get("name") == TOOL["name"]:
        return {"result": called(params)}
    if method == "tools/call":
        return {"error": {"code": INVALID_PARAMS, "message": f"Unknown tool: {params.get('name')}"}}
    if method == "ping":
        return {"result": {}}
    return {"error": {"code": METHOD_NOT_FOUND, "message": f"Method not found: {method}"}}


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            told = answer(message["method"], message.get("params") or {})
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **told}), flush=True)


if __name__ == "__main__":
    main()
