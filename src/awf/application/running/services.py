"""What a run needs from outside, chosen once in bootstrap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from awf.application.gate.gate import Gate
    from awf.application.tools.proxy import ToolProxyService
    from awf.domain.mcp_server import McpServer
    from awf.domain.ports.agent_provider import AgentProvider
    from awf.domain.ports.command_runner import CommandRunner
    from awf.domain.ports.expressions import Expressions
    from awf.domain.ports.person import Person
    from awf.domain.ports.plugins import Plugins
    from awf.domain.ports.project_files import ProjectFiles
    from awf.domain.ports.tracer import Tracer
    from awf.domain.redaction import Masker

__all__ = ["JsonSchemas", "RunServices"]


class JsonSchemas(Protocol):
    def problem_with(self, schema: Mapping[str, Any]) -> str: ...
    def misfits(self, schema: Mapping[str, Any], value: Any) -> list[str]:
        """Where and how a value breaks a schema."""
        ...


class RunServices(msgspec.Struct, frozen=True, kw_only=True):
    runner: CommandRunner
    expressions: Expressions
    providers: Mapping[str, AgentProvider]
    schemas: JsonSchemas
    files: ProjectFiles
    tools: ToolProxyService
    plugins: Plugins
    tracer: Tracer
    person: Person
    clock: Callable[[], float]
    environment: Mapping[str, str]
    places: Mapping[str, str]  # the `awf` namespace of templates
    surroundings: Mapping[str, str]  # the `context` namespace
    cwd: str
    version: str
    masker: Masker
    editor_servers: Mapping[str, McpServer] = {}  # of the editor: they join the tools of every agent step
    gate: Callable[[], Gate | None] = lambda: (
        None
    )  # what tool calls have to pass; made when it is first needed
    context: str = ""  # the security context of all its runs; else each run is one
    approve_all: bool = False
    unattended: bool = False
