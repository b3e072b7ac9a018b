"""The server: who it is, where its tools come from, and its open connections.

Nothing heavy is imported before it is needed: a server can be built, and its first questions answered, before asyncio
is loaded.
"""

from __future__ import annotations

from mcpserver.session import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable
    from typing import Any

    from mcpserver.connection import Connection
    from mcpserver.tools import Handler, Registry, Toolbox

    ToolboxSource = Toolbox | Callable[[], Toolbox | Awaitable[Toolbox]] | Awaitable[Toolbox]

__all__ = ["Server"]


class Server:
    """Serves one set of tools to any number of clients.

    `toolbox` may be a Toolbox, or something that makes one (a function, possibly async, or an awaitable); that is only
    asked at the first `tools/list` or `tools/call`. Without it, tools come from `register_tool`.
    """

    def __init__(
        self,
        name: str = "mcpserver",
        version: str = "0",
        title: str = "",
        instructions: str = "",
        toolbox: ToolboxSource | None = None,
        *,
        concurrent_calls: int = 64,
    ) -> None:
        self.info: dict[str, Any] = {"name": name, "version": version} | ({"title": title} if title else {})
        self.instructions = instructions
        self.concurrent_calls = concurrent_calls
        self.toolbox: Toolbox | None = None  # once it is known
        self._source = toolbox
        self._registry: Registry | None = None
        self._loading: asyncio.Task[Toolbox] | None = None
        self._connections: set[Connection] = set()
        given: Any = toolbox
        if hasattr(given, "call_tool") and not isinstance(given, type):
            self.toolbox = given

    def register_tool(
        self,
        name: str,
        schema: dict[str, Any],
        handler: Handler,
        *,
        description: str = "",
        title: str = "",
        annotations: dict[str, Any] | None = None,
        output_schema: dict[str, Any] | None = None,
        meta: dict[str, Any] | None = None,
    ) -> None:
        """Offer a tool. Raises DuplicateToolError for a name that is taken."""
        if self._source is not None:
            raise TypeError("This server takes its tools from a toolbox; add the tool there.")
        more = {"title": title, "description": description, "outputSchema": output_schema}
        self._own().add(name, schema, handler, more | {"annotations": annotations, "_meta": meta})

    async def serve(self, reader: Any, writer: Any, *, drain: float = 1.0) -> None:
        """Speak with one client until its input ends; many may be served at once.

        Takes an asyncio reader and writer (or what has their read, write, drain and close), or files with a descriptor such as sys.stdin and sys.stdout. Calls that are running when
        the input ends have `drain` seconds to finish; then they are cancelled.
        """
        if hasattr(reader, "fileno"):
            from mcpserver.descriptors import serve_descriptors

            await serve_descriptors(self, reader.fileno(), writer.fileno(), drain=drain)
        else:
            from mcpserver.streams import serve_streams

            await serve_streams(self, reader, writer, drain=drain)

    def tools_changed(self) -> None:
        """Tell every client that wants to know. May be called from any thread."""
        for connection in tuple(self._connections):
            connection.tools_changed()

    # For the pumps.

    def session(self) -> Session:
        return Session(self.info, self.instructions)

    def attach(self, connection: Connection) -> None:
        self._connections.add(connection)

    async def detach(self, connection: Connection) -> None:
        """The last one to leave stops the making of a toolbox that nobody waits for."""
        self._connections.discard(connection)
        loading = self._loading
        if loading is not None and not self._connections and not loading.done():
            import asyncio

            loading.cancel()
            await asyncio.wait([loading])

    async def load(self) -> Toolbox:
        """The toolbox; made once, whoever asks first."""
        import asyncio

        if self.toolbox is not None:
            return self.toolbox
        if self._loading is None or self._loading.done():  # done, and yet no toolbox: it failed; try again
            self._loading = asyncio.get_running_loop().create_task(self._make())
            self._loading.add_done_callback(_retrieve)
        return await asyncio.shield(self._loading)

    async def _make(self) -> Toolbox:
        made: Any = self._source
        if made is None:
            made = self._own()
        elif callable(made):
            made = made()
        if hasattr(made, "__await__"):
            made = await made
        self.toolbox = made
        return self.toolbox

    def _own(self) -> Registry:
        if self._registry is None:
            from mcpserver.tools import Registry

            self._registry = Registry()
        return self._registry


def _retrieve(task: asyncio.Task[Toolbox]) -> None:
    """Those who wait see the failure; when nobody waits any more, asyncio need not complain."""
    if not task.cancelled():
        task.exception()
