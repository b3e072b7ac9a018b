"""Prompts of many servers behind one door: each under its own name, or `server__prompt` where two have the same. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.application.gateway.server import Server

__all__ = ["PublishedPrompt", "published_prompts"]


class PublishedPrompt(NamedTuple):
    server: Server
    prompt: str  # its name there
    definition: dict[str, Any]


def published_prompts(servers: Sequence[Server]) -> dict[str, PublishedPrompt]:
    """By the names that clients see, in the order of the servers."""
    found = [
        (server, str(prompt["name"]), prompt)
        for server in servers
        for prompt in server.prompts
        if isinstance(prompt.get("name"), str)
    ]
    counts = Counter(name for _, name, _ in found)
    made: dict[str, PublishedPrompt] = {}
    for server, name, prompt in found:
        shown = name if counts[name] == 1 else f"{server.name}__{name}"
        while shown in made:  # somebody's own name looks like one of ours
            shown = f"{shown}_"
        made[shown] = PublishedPrompt(server, name, {**prompt, "name": shown})
    return made
