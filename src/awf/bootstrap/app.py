"""All services of one folder.

Parts are built when they are first asked for, so that `awf validate` does not pay for what only `awf run` needs.
"""

from __future__ import annotations

import contextlib
import functools
import os
from typing import TYPE_CHECKING, Any

from awf.bootstrap.guarded import Guarded
from awf.bootstrap.late import LateMapping
from awf.domain.errors import AwfError
from awf.domain.own_variables import handed_on
from awf.domain.problem import suggest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from awf.application.authoring.validation import Validator
    from awf.application.running.service import ExecutionService
    from awf.application.running.services import RunServices
    from awf.application.tools.proxy import OfferedTools, ToolProxyService
    from awf.application.tools.router import Observers
    from awf.domain.gateway_file import GatewayFile
    from awf.domain.mcp_server import McpServer
    from awf.domain.ports.agent_provider import AgentProvider
    from awf.domain.ports.command_runner import CommandRunner
    from awf.domain.ports.durability import RunJournal
    from awf.domain.ports.person import Person
    from awf.domain.ports.plugins import DeclaredPlugin, PluginFacts, Plugins
    from awf.domain.ports.run_store import RunStore
    from awf.domain.ports.tools import Toolbox
    from awf.domain.problem import Problem
    from awf.domain.program import LoadedProgram, Program
    from awf.infrastructure.agents.cli.programs import Programs
    from awf.infrastructure.project_files.files import DiskProjectFiles
    from awf.infrastructure.stores.database import Database
    from awf.infrastructure.stores.postgres.database import DatabaseFacts, PostgresDatabase
    from awf.infrastructure.tool_doors.bridge import McpToolbox
    from awf.infrastructure.yaml_files.library import WorkflowLibrary

__all__ = ["App"]


class App(Guarded):
    """All services of one process, for one working directory."""

    def again(self) -> App:
        """The same application from the beginning, after this one was closed."""
        return App(cwd=self.cwd, environment=self.environment, flags=self.flags)

    def beside(self, run_id: str, *, elsewhere: bool = False) -> App:
        """The same application in the folder where a run was started: there it goes on, wherever it is resumed from.

        `elsewhere`: it goes on on another machine, and the folder need not exist on this one.
        """
        folder = self.store.find(run_id).cwd
        if folder == self.cwd:
            return self
        if not elsewhere and not os.path.isdir(folder):
            raise AwfError(
                "USER.INPUT.MISSING_FILE",
                f"The folder of the run, {folder}, is gone.",
                hint="Create it again, then resume.",
            )
        storage = self.database.folder
        self.database.close()
        return App(cwd=folder, environment=self.environment, flags={**self.flags, "storage": storage})

    # -- writing workflows -----------------------------------------------------------------------------------------

    @functools.cached_property
    def library(self) -> WorkflowLibrary:
        from awf.infrastructure.yaml_files.library import WorkflowLibrary

        return WorkflowLibrary(self.places.workflow_roots, self.places.template_dirs, self.cwd)

    @functools.cached_property
    def providers(self) -> LateMapping[AgentProvider]:
        def scripted() -> AgentProvider:
            from awf.infrastructure.agents.scripted.provider import ScriptedAgent

            return ScriptedAgent(lambda: self.runner)

        def cli(name: str) -> Callable[[], AgentProvider]:
            def made() -> AgentProvider:
                from awf.infrastructure.agents.cli.known import dialect
                from awf.infrastructure.agents.cli.provider import CliAgent

                return CliAgent(dialect(name), lambda: self.runner, self.programs)

            return made

        def compatible() -> AgentProvider:
            from awf.infrastructure.agents.openai_compatible.provider import OpenAICompatibleAgent

            return OpenAICompatibleAgent(self.http)

        names = ("claude", "gemini", "codex", "opencode", "github_copilot")
        programs = {name: cli(name) for name in names}
        return LateMapping({**programs, "openai_compatible": compatible, "scripted": scripted})

    @functools.cached_property
    def programs(self) -> Programs:
        from awf.infrastructure.agents.cli.programs import Programs

        return Programs(self.places.cache_home)

    @functools.cached_property
    def files(self) -> DiskProjectFiles:
        from awf.infrastructure.project_files.files import DiskProjectFiles

        return DiskProjectFiles(self.cwd, self.places.role_dirs, self.places.skill_dirs)

    @functools.cached_property
    def validator(self) -> Validator:
        from awf.application.authoring.validation import Validator

        return Validator(
            self.expressions,
            self.providers,
            self.schemas,
            self.files.find,
            self._workflow_names,
            self._declared_plugins,
        )

    def _workflow_names(self) -> list[str]:
        return [name for name, _, _ in self.library.names()]

    # -- tools and plugins -----------------------------------------------------------------------------------------

    @functools.cached_property
    def plugins(self) -> Plugins:
        from awf.bootstrap.sandboxes import LateRunner
        from awf.infrastructure.plugins.host import PluginHost
        from awf.infrastructure.yaml_files.config_file import read_record

        def runner() -> CommandRunner:
            return self.walls.runner(self.walls.settings.plugins, self.cwd, listens=True)

        def inherited() -> dict[str, str]:
            return self.walls.environment(self.walls.settings.plugins, handed_on(self.environment))

        return PluginHost(
            file=self.places.plugin_file,
            folders=self.places.plugin_dirs,
            project=self.cwd,
            read=read_record,
            runner=LateRunner(runner),
            environment=handed_on(self.environment),
            inherited=inherited,
            problem_with=self.schemas.problem_with,
            version=self.version,
        )

    def _declared_plugins(self) -> Mapping[str, DeclaredPlugin]:
        """Looks for files before it loads what would read them: most projects have no plugins."""
        looked_at = [self.places.plugin_file, *self.places.plugin_dirs]
        known = "plugins" in self.__dict__ or any(map(os.path.exists, looked_at))
        return self.plugins.declared() if known else {}

    def _plugins_to_ask(self, loaded: LoadedProgram) -> list[str]:
        """Those that the workflows name, and those that have something to say about every workflow."""
        from awf.application.authoring.plugin_checks import named_plugins

        declared = self._declared_plugins()
        validating = {name for name, one in declared.items() if "validators" in one.capabilities}
        return sorted(declared.keys() & (named_plugins(loaded) | validating)) if declared else []

    async def ask_plugins(self, loaded: LoadedProgram) -> Mapping[str, PluginFacts]:
        """What plugins say of themselves and of these workflows. They stay ready for the run that may follow."""
        names = self._plugins_to_ask(loaded)
        if not names:
            return {}
        from awf.application.authoring.plugin_checks import workflow_documents

        return await self.plugins.facts(names, workflow_documents(loaded))

    def plugin_facts(self, loaded: LoadedProgram) -> Mapping[str, PluginFacts]:
        """The same where no event loop runs. What is started for it is ended again."""
        if not self._plugins_to_ask(loaded):
            return {}
        import asyncio

        async def ask() -> Mapping[str, PluginFacts]:
            asking = App(cwd=self.cwd, environment=self.environment, flags=self.flags)
            try:
                return await asking.ask_plugins(loaded)
            finally:
                await asking.close()

        return asyncio.run(ask())

    def program(self, reference: str) -> Program:
        """A workflow that has passed every check. Raises `InvalidWorkflowError`."""
        loaded = self.library.load(reference)
        return self.validator.program(loaded, self.plugin_facts(loaded))

    @functools.cached_property
    def tools(self) -> ToolProxyService:
        from awf.application.tools.proxy import ToolProxyService
        from awf.bootstrap.tool_sources import RELAY, ToolSources
        from awf.infrastructure.tool_doors.socket_door import SocketDoors

        doors = SocketDoors(self.runner, self.version, RELAY)
        return ToolProxyService(ToolSources(self), doors, self.schemas)

    def tools_of_file(self, path: str, root: str) -> OfferedTools:
        """What `awf mcp-serve` offers by itself. Raises with everything that is wrong with the file."""
        from awf.application.tools.offering import tools_of_file
        from awf.domain.mcp_proxy import ToolServerFile
        from awf.infrastructure.yaml_files.config_file import read_record

        file = read_record(path, ToolServerFile) if path else ToolServerFile()
        if file is None:
            raise AwfError(
                "USER.INPUT.MISSING_FILE", f"There is no file {path}.", hint="awf mcp-serve --help"
            )
        chosen = os.path.abspath(os.path.join(self.cwd, root or file.root_dir or "."))
        if not os.path.isdir(chosen):
            raise AwfError("USER.INPUT.MISSING_FILE", f"There is no folder {chosen}.", hint="Check root_dir.")
        for one in file.plugin_tools:
            self.declared_plugin(one.plugin)
        return tools_of_file(file, chosen, self.environment)

    def unknown_names(
        self, file: GatewayFile, asked: Mapping[str, Collection[str]], path: str
    ) -> list[Problem]:
        """What a gateway's file says about tools that nobody has, with its place. `asked`: what servers have answered."""
        from awf.domain.rule_names import Offered, unknown_names
        from awf.infrastructure.builtin_tools.definitions import DEFINITIONS

        if not file.overrides and (file.policy is None or not any(one.tools for one in file.policy.rules)):
            return []
        unasked = [name for name in file.servers if name not in asked]
        try:
            unasked += [f"plugin.{name}" for name in self._declared_plugins()]
        except AwfError:  # whoever uses plugins is told
            unasked.append("plugin.*")
        builtin = [one.name for one in DEFINITIONS]
        found = list(unknown_names(file, Offered({**asked, "builtin": builtin}, unasked)))
        if not found:
            return []
        from awf.infrastructure.gateway_files import locate
        from awf.infrastructure.yaml_files.nodes import parse_yaml

        with contextlib.suppress(AwfError):  # it may be gone meanwhile
            found = locate(path, found, parse_yaml)
        return found

    def declared_plugin(self, name: str) -> DeclaredPlugin:
        declared = self._declared_plugins()
        if name not in declared:
            close = suggest(name, declared)
            raise AwfError(
                "USER.MCP_PROXY.UNKNOWN_PLUGIN",
                f"No plugin is named '{name}'.",
                hint=f"did you mean '{close}'?" if close else "`awf plugin list` shows those that are here.",
            )
        return declared[name]

    def observers(self, *, gated: bool = False) -> Observers:
        """Who hears of tool calls that belong to no run. `gated`: they pass the project's gate."""
        from awf.application.tools.router import Observers

        gate = self.gate_rooms.of_standing_server() if gated else None
        return Observers(tracer=self.tracer, masker=self.masker, gate=gate)

    def mcp_toolbox(self, toolbox: Toolbox) -> McpToolbox:
        from awf.infrastructure.tool_doors.bridge import McpToolbox

        return McpToolbox(toolbox)

    # -- running ---------------------------------------------------------------------------------------------------

    @staticmethod
    def look_at_database(url: str) -> DatabaseFacts:
        from awf.infrastructure.stores.postgres.database import look_at

        return look_at(url)

    @property
    def _storage(self) -> str:
        return os.path.join(self.cwd, self.settings.storage.value)

    @functools.cached_property
    def database(self) -> Database | PostgresDatabase:
        if self.shared_database is not None:
            return self.shared_database
        from awf.infrastructure.stores.database import Database

        return Database(self._storage)

    @functools.cached_property
    def store(self) -> RunStore:
        if self.shared_database is not None:
            from awf.infrastructure.stores.postgres.runs import PostgresRunStore

            return PostgresRunStore(self.shared_database)
        from awf.infrastructure.stores.runs import SqliteRunStore

        return SqliteRunStore(self.database)  # type: ignore[arg-type]

    @functools.cached_property
    def journal(self) -> RunJournal:
        if self.shared_database is not None:
            from awf.infrastructure.stores.postgres.journal import PostgresJournal

            return PostgresJournal(self.shared_database)
        from awf.infrastructure.stores.journal import SqliteJournal

        return SqliteJournal(self.database)  # type: ignore[arg-type]

    @functools.cached_property
    def execution(self) -> ExecutionService:
        from awf.application.running.service import ExecutionService

        return ExecutionService(
            self.library,
            self.validator,
            lambda: self.journal,
            lambda: self.store,
            self.settings.inputs.value,
            self.ask_plugins,
        )

    def run_services(
        self,
        person: Person,
        *,
        approve_all: bool = False,
        unattended: bool = False,
        editor_servers: Mapping[str, McpServer] | None = None,
        context: str = "",
        clock: Callable[[], float] | None = None,
    ) -> RunServices:
        from awf.application.running.services import RunServices

        return RunServices(
            runner=self.runner,
            expressions=self.expressions,
            providers=self.providers,
            schemas=self.schemas,
            files=self.files,
            tools=self.tools,
            plugins=self.plugins,
            tracer=self.tracer,
            person=person,
            clock=clock or self.clock,
            environment=self.environment,
            places=self._template_places(),
            surroundings=self._surroundings(),
            cwd=self.cwd,
            version=self.version,
            masker=self.masker,
            editor_servers=editor_servers or {},
            gate=lambda: self.gate,
            context=self.environment.get("AWF_CONTEXT", "") or context,
            approve_all=approve_all,
            unattended=unattended,
        )

    def _template_places(self) -> dict[str, str]:
        places = self.places
        inside = {
            f"{kind}_dir": os.path.join(places.project, kind)
            for kind in ("scripts", "workflows", "templates")
        }
        return {
            **inside,
            "prompts_dir": places.prompt_dirs[0],
            "skills_dir": places.skill_dirs[0],
            "roles_dir": places.role_dirs[0],
            "config_dir": places.config_home,
            "data_dir": self.settings.storage.value,
            "version": self.version,
        }

    def _surroundings(self) -> dict[str, str]:
        return {
            "working_dir": self.cwd,
            "user": self.environment.get("USER") or self.environment.get("LOGNAME", ""),
            "hostname": os.uname().nodename,
        }

    def terminal_person(self, pause: Callable[[], None], resume: Callable[[], None]) -> Person:
        from awf.infrastructure.terminal.person import TerminalPerson

        return TerminalPerson(pause, resume)

    def nobody(self) -> Person:
        from awf.infrastructure.terminal.person import NobodyThere

        return NobodyThere()

    def set_up_logging(self, usual: str = "error") -> None:
        """`usual`: what is told when nobody has said anything."""
        from awf.infrastructure.telemetry.logs import set_up_logging

        settings = self.settings
        set_up_logging(
            settings.log_level.value or usual, settings.log_format.value, settings.log_file.value, self.masker
        )

    def log_listener(self) -> Any:
        from awf.infrastructure.telemetry.logs import LogListener

        return LogListener() if self.settings.log_level.value else None

    async def close(self) -> None:
        """End what was started. Safe to call whatever was built."""
        built = self.__dict__
        if "plugins" in built:
            await self.plugins.close()
        if "runner" in built and not self._lent:
            await self.runner.close()
        if "gate_rooms" in built:
            await self.gate_rooms.recorder.finish()
        if self._lent:
            return
        if "audit" in built:
            await self.audit.close()
        if built.get("sandbox") is not None:
            built["sandbox"].close()
        if (shared := built.get("shared_database")) is not None:
            await shared.leave()  # what the gate remembers as well
        else:
            for part in ("database", "gate_store"):
                if part in built:
                    built[part].close()
        if "tracer" in built:
            self.tracer.close()
