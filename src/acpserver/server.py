"""The server: who it is, and what makes its agents.

Nothing heavy is imported before it is needed: a server can be built, and its first questions answered, before asyncio
is loaded.
"""

from __future__ import annotations

from acpserver.conversation import Conversation
from acpserver.journal import Trace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from acpserver.agent import Agent
    from acpserver.client import Client

__all__ = ["Server"]


class Server:
    """Serves editors, each with an agent of its own.

    `agent` is called with the Client when an editor's first request needs it, after `initialize` was answered.
    `explain(kind, text)` words the details of the engine's own errors; the kinds are parse, invalid_request,
    unknown_method, invalid_params, too_long and internal. `trace(direction, line)` sees every line, "in" or "out".
    """

    def __init__(
        self,
        *,
        info: dict[str, Any],
        capabilities: dict[str, Any],
        agent: Callable[[Client], Agent],
        explain: Callable[[str, str], str] | None = None,
        trace: Callable[[str, bytes], None] | None = None,
    ) -> None:
        self.info = info
        self.capabilities = capabilities
        self.agent = agent
        self.explain = explain
        self.trace = Trace(trace)

    async def serve(self, reader: Any, writer: Any, *, patience: float = 8.0) -> None:
        """Speak with one editor until its input ends or it stops reading; many may be served at once.

        Takes an asyncio reader and writer, or what has their read, write, drain and close.
        """
        from acpserver.streams import serve_streams

        await serve_streams(self, reader, writer, patience=patience)

    def conversation(self) -> Conversation:
        return Conversation(self.info, self.capabilities, self.explain)
