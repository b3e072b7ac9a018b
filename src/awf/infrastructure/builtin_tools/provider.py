"""The six built-in tools behind the port that all tool sources share."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from awf.domain.tool import Behind, UnknownTool
from awf.infrastructure.builtin_tools.arguments import normalise
from awf.infrastructure.builtin_tools.definitions import DEFINITIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from awf.domain.ports.command_runner import CommandRunner
    from awf.domain.tool import CallContext, ToolDefinition, ToolResult
    from awf.infrastructure.builtin_tools.calls import Calls

__all__ = ["BuiltinTools"]

_NAMES = frozenset(tool.name for tool in DEFINITIONS)


class BuiltinTools:
    """File tools stay inside `root`; `Bash` starts there. Whole outputs that were cut go to files in `spool`.

    What the tools need is imported with the first call: those who only list them should not wait for it.
    """

    def __init__(
        self,
        root: str,
        runner: CommandRunner,
        *,
        environment: Mapping[str, str],
        spool: str | Callable[[], str],
        max_output: int = 20_000,
        shell: CommandRunner | None = None,
    ) -> None:
        """`shell`: what starts the commands of Bash, where that is another runner."""
        # Of now: whatever folder this process goes to later, and wherever a link of this name leads then.
        self._root = os.path.abspath(root), os.path.realpath(root)
        self._runner = runner
        self._shell = shell or runner
        self._environment = environment
        self._spool = spool
        self._max_output = max_output
        self._calls: Calls | None = None

    async def list_tools(self) -> Sequence[ToolDefinition]:
        return DEFINITIONS

    @staticmethod
    def normalise(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """What models send, in the form that the schemas ask for. To be called before arguments are checked."""
        return normalise(name, arguments)

    def behind(self, name: str) -> Behind:
        """Steps may work in a folder of their own."""
        del name
        return Behind(folders=self._root[1:])

    async def call_tool(self, name: str, arguments: Mapping[str, Any], context: CallContext) -> ToolResult:
        if name not in _NAMES:
            raise UnknownTool(name)
        if self._calls is None:
            from awf.infrastructure.builtin_tools.calls import Calls
            from awf.infrastructure.builtin_tools.paths import Folder

            root = Folder(*self._root)
            runners = self._runner, self._shell
            self._calls = Calls(root, runners, self._environment, self._spool, self._max_output)
        return await self._calls.call(name, arguments, context)

    async def close(self) -> None:
        """Nothing is held between calls. The runner and the spool folder are their owner's to close."""
