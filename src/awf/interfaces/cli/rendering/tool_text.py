from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.interfaces.cli.rendering.terminal_text import cut, flat

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["tool_text"]

# The argument that tells most about a call, by the names tools commonly use.
_TELLING = ("file_path", "path", "command", "pattern", "query", "url", "name", "description", "prompt")


def tool_text(name: str, arguments: Mapping[str, Any], cells: int = 80) -> str:
    """A tool call in short: `Read src/x.py`."""
    return cut(f"{flat(name)} {flat(_subject(arguments), cells)}".rstrip(), cells)


def _subject(arguments: Mapping[str, Any]) -> str:
    for key in _TELLING:
        if isinstance(value := arguments.get(key), str) and value:
            return value
    return next((value for value in arguments.values() if isinstance(value, str) and value), "")
