"""`awf mcp-serve` on its own: any MCP client gets the tools that a file describes.

The first answers come before the tools are made ready: a client's patience is short, and starting a plugin is slow.
"""

from __future__ import annotations

import os

from awf import __version__
from mcpserver import Server, ToolError
from mcpserver.stdio import FINISHING_SECONDS, run_stdio

TYPE_CHECKING = False  # `typing` would have to be imported before the first answer
if TYPE_CHECKING:
    from awf.application.tools.proxy import OfferedTools
    from awf.application.tools.router import ToolRouter
    from awf.bootstrap import App
    from mcpserver import Toolbox

__all__ = ["serve_alone"]


def serve_alone(config: str, root: str) -> int:
    """Serve until the client goes away; the exit status."""
    tools = _Tools(config, root)
    try:
        if config and not _is_plain(config):
            tools.prepare()  # a mistake in the file is told at once, not when a tool is asked for
        server = Server(name="awf", version=__version__, toolbox=tools.open)
        return run_stdio(
            server, drain=FINISHING_SECONDS, finish=tools.close
        )  # servers may have to be started
    except Exception as error:  # noqa: BLE001  the last line of defence: a person sees no traceback
        from awf.interfaces.cli.failure import report_failure

        return report_failure(error, [])


def _is_plain(path: str) -> bool:
    """Whether the file is so simple that nothing can be wrong with it. Then the first answer need not wait for it."""
    import json

    try:
        with open(path, "rb") as stream:
            found = json.loads(stream.read())
    except (OSError, ValueError, RecursionError):
        return False
    if not isinstance(found, dict) or found.keys() - {"intercept_builtins", "root_dir"}:
        return False
    root = found.get("root_dir", ".")
    return found.get("intercept_builtins", True) is True and isinstance(root, str) and os.path.isdir(root)


class _Tools:
    def __init__(self, config: str, root: str) -> None:
        self._config = config
        self._root = root
        self._app: App | None = None
        self._offered: OfferedTools | None = None
        self._router: ToolRouter | None = None

    def prepare(self) -> tuple[App, OfferedTools]:
        """Read what is to be offered. Raises with everything that is wrong with it."""
        if self._app is None or self._offered is None:
            from awf.bootstrap import App

            self._app = App(cwd=os.getcwd(), environment=os.environ)
            self._offered = self._app.tools_of_file(self._config, self._root)
        return self._app, self._offered

    async def open(self) -> Toolbox:
        from awf.domain.errors import AwfError
        from awf.interfaces.cli.failure import report_failure

        app, offered = self.prepare()
        app.set_up_logging()
        try:
            self._router = await app.tools.router(offered, app.observers(gated=True))
        except AwfError as error:
            report_failure(error, [])
            raise ToolError(f"{error.code}: {error.message} {error.hint}".strip()) from None
        return app.mcp_toolbox(self._router)

    async def close(self) -> None:
        if self._router is not None:
            await self._router.close()
        if self._app is not None:
            await self._app.close()
