"""Which runner starts which program: the plain one, or one inside the walls that the gate's file asks for."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from awf.domain.errors import AwfError
from awf.domain.redaction import secret_values
from awf.domain.sandbox import rules_named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from awf.bootstrap.guarded import Guarded
    from awf.domain.ports.command_runner import Command, CommandOutcome, CommandRunner, RunningCommand, Stream
    from awf.domain.ports.sandbox import Grounds
    from awf.domain.sandbox import SandboxRules, SandboxSettings

__all__ = ["LateRunner", "Walls"]

CODE = "SYSTEM.SANDBOX.UNAVAILABLE"
_log = logging.getLogger("awf.sandbox")


class Walls:
    """What one gate's file says of sandboxes, and what this machine makes of it."""

    def __init__(self, app: Guarded, settings: SandboxSettings, files: Iterable[str] = ()) -> None:
        """`files`: what else governs us, and confined programs may not change, wherever it lies."""
        self.settings = settings
        self._app = app
        self._files = (*files, *_config_file(app))
        self._secret = (*_secrets(app),)
        self._warned: set[str] = set()

    def rules(self, profile: str) -> SandboxRules:
        return rules_named(self.settings, profile)

    def runner(self, profile: str, root: str, *, listens: bool = False) -> CommandRunner:
        """Raises `AwfError` (SYSTEM.SANDBOX.UNAVAILABLE) when the machine cannot do what the profile asks for.

        An empty name means the default. `listens`: we reach the program by a socket that it makes.
        """
        rules = self.rules(profile)
        if not rules.confines:
            return self._app.runner
        self.check(profile, listens=listens)
        sandbox = self._app.sandbox
        if sandbox is None:
            return self._app.runner
        from awf.infrastructure.sandboxes import ConfinedRunner

        return ConfinedRunner(self._app.runner, sandbox, rules, self._grounds(root))

    def _grounds(self, root: str) -> Grounds:
        from awf.domain.ports.sandbox import Grounds

        return Grounds(
            root=root,
            protected=(*_folders(self._app),),
            protected_files=self._files,
            secret=self._secret,
            home=self._app.environment.get("HOME", ""),
        )

    def could_change(self, rules: Iterable[SandboxRules], path: str) -> bool:
        """Whether one of these profiles lets confined programs write there, were it not kept from them."""
        from awf.infrastructure.sandboxes import may_change

        grounds = self._grounds(self._app.cwd)
        return any(may_change(one, grounds, path) for one in rules) and self._app.sandbox is not None

    def environment(self, profile: str, given: Mapping[str, str]) -> dict[str, str]:
        """What a program in this profile is handed on: where files are hidden, so are secrets that it would inherit from us."""
        rules, own = self.rules(profile), self._app.environment
        if rules.files == "all":
            return dict(given)
        hidden = {name for name in secret_values(own) if name not in rules.env}
        return {name: value for name, value in given.items() if name not in hidden or value != own[name]}

    def check(self, profile: str, *, listens: bool = False) -> None:
        """Raises `AwfError` unless the machine can do it, or need not."""
        rules = self.rules(profile)
        if not rules.confines:
            return
        sandbox = self._app.sandbox
        missing = ["no wall can be built on this machine"]
        if sandbox is not None:
            missing = sandbox.abilities().missing(rules, listens=listens)
        if not missing:
            return
        text = f"The sandbox profile “{rules.name}” cannot be enforced here: {'; '.join(missing)}."
        if self.settings.on_unavailable == "error":
            hint = "`awf doctor` tells what to do; with `on_unavailable: warn` under `sandbox` it goes on without."
            raise AwfError(CODE, text, hint=hint)
        if text not in self._warned:
            self._warned.add(text)
            _log.error("%s It goes on with what can be.", text)  # as a mere warning most would never see it


def _folders(app: Guarded) -> Iterator[str]:
    """From where we take what is run without walls. Those that may hold workflows only where they are: nobody wants an
    empty one in every project, and the project's own folder may be among them.
    """
    places = app.places
    yield from (places.project, places.config_home, places.cache_home, *places.plugin_dirs)
    around = os.path.realpath(app.cwd) + "/"
    for folder in (*(path for path, _ in places.workflow_roots), *places.template_dirs):
        if os.path.isdir(folder) and not around.startswith(os.path.realpath(folder).rstrip("/") + "/"):
            yield folder


def _config_file(app: Guarded) -> Iterator[str]:
    named = app.environment.get("AWF_CONFIG_PATH")
    if named:
        yield os.path.abspath(named)


def _secrets(app: Guarded) -> Iterator[str]:
    storage = os.path.join(app.cwd, app.settings.storage.value)
    yield from (os.path.join(storage, name) for name in ("audit", "gate", "artifacts", "awf.db"))
    for named in (app.settings.audit_key.value, app.environment.get("AWF_DATABASE_URL_FILE")):
        if named:
            yield os.path.join(app.cwd, os.path.expanduser(named))


class LateRunner:
    """A runner that is chosen when something is first started: most runs start no plugin."""

    def __init__(self, choose: Callable[[], CommandRunner]) -> None:
        self._choose = choose
        self._chosen: CommandRunner | None = None

    @property
    def _runner(self) -> CommandRunner:
        if self._chosen is None:
            self._chosen = self._choose()
        return self._chosen

    def start(
        self,
        command: Command,
        on_output: Callable[[Stream, bytes], None] | None = None,
        *,
        with_stdin: bool = False,
    ) -> RunningCommand:
        return self._runner.start(command, on_output, with_stdin=with_stdin)

    def scratch(self) -> str:
        return self._runner.scratch()

    async def run(self, command: Command, on_output: Callable[[Stream, bytes], None]) -> CommandOutcome:
        return await self._runner.run(command, on_output)

    async def close(self) -> None:
        """The chosen one belongs to others."""
