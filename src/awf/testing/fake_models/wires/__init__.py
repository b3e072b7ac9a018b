"""The wire formats: read a request, write a reply. Which one it is shows in the ending of the path."""

from __future__ import annotations

from awf.testing.fake_models.wires.anthropic import Anthropic
from awf.testing.fake_models.wires.chat import Chat
from awf.testing.fake_models.wires.gemini import Gemini
from awf.testing.fake_models.wires.responses import Responses
from awf.testing.fake_models.wires.shapes import Wire

__all__ = ["Wire", "wire_for"]

_ENDINGS: dict[str, Wire] = {
    "/messages": Anthropic(),
    ":generateContent": Gemini(),
    ":streamGenerateContent": Gemini(),
    "/responses": Responses(),
    "/chat/completions": Chat(),
}


def wire_for(path: str) -> Wire | None:
    bare = path.split("?", 1)[0].rstrip("/")
    return next((wire for ending, wire in _ENDINGS.items() if bare.endswith(ending)), None)
