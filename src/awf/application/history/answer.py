"""What a workflow has to say in the end, as plain lines: its message and its outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["answer_lines"]


def answer_lines(message: str, outputs: Mapping[str, Any]) -> list[str]:
    said = message.rstrip("\n").split("\n") if message.strip() else []
    return said + [text for name, value in outputs.items() for text in _output_lines(name, value)]


def _output_lines(name: str, value: Any) -> list[str]:
    text = value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode()
    first, *more = text.rstrip("\n").split("\n")
    return [f"{name}:", *(f"  {one}" for one in (first, *more))] if more else [f"{name}: {first}"]
