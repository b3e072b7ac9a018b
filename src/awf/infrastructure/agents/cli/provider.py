"""An agent that is a program of its own: started for each call, given its task on standard input, heard line by line."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import uuid
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from awf.domain.agent import (
    AgentFailure,
    AgentReply,
    IsolationReport,
    TextDelta,
    Thought,
    ToolFinished,
    ToolStarted,
    UsageReport,
)
from awf.domain.errors import AwfError
from awf.domain.ports.command_runner import Command
from awf.domain.run import Session, Usage, add_usage
from awf.infrastructure.agents.cli.dialect import ExplainsEndings
from awf.infrastructure.agents.cli.locks import first_run
from awf.infrastructure.agents.cli.options import check_options, read_options
from awf.infrastructure.agents.cli.shapes import (
    Answer,
    SessionKnown,
    Task,
    ToolsOffered,
    Trouble,
    version_text,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from awf.domain.agent import AgentRequest, DisplayEvent
    from awf.domain.ports.command_runner import CommandOutcome, CommandRunner, RunningCommand
    from awf.infrastructure.agents.cli.dialect import Dialect
    from awf.infrastructure.agents.cli.options import OptionProblem
    from awf.infrastructure.agents.cli.programs import Programs
    from awf.infrastructure.agents.cli.shapes import Heard, Invocation, Reader

__all__ = ["CliAgent"]

_LONGEST_LINE = 32 << 20
_STDERR_KEPT = 4000
Isolation = Literal["guaranteed", "best_effort", "none"]


class CliAgent:
    """`AgentProvider` over one dialect."""

    def __init__(self, dialect: Dialect, runner: Callable[[], CommandRunner], programs: Programs) -> None:
        self._dialect = dialect
        self._runner = runner
        self._programs = programs

    @property
    def name(self) -> str:
        return self._dialect.name

    @property
    def isolation(self) -> Isolation:
        """Of a version that has been proven; which one is there is known when it runs."""
        return "guaranteed"

    @property
    def options_form(self) -> type[msgspec.Struct]:
        return self._dialect.options

    def check_options(self, options: Mapping[str, Any]) -> Sequence[OptionProblem]:
        return check_options(self._dialect.options, options, self.name)

    async def run(self, request: AgentRequest, show: Callable[[DisplayEvent], None]) -> AgentReply:
        runner = self._runner()
        folder = runner.scratch()
        try:
            task = await self._task(request, folder)
            prepared = await self._dialect.prepare(task, self._asker(task), self._programs.cache)
            invocation = self._dialect.invocation(task, prepared)
            _write(invocation.files)
            call = _Call(self._dialect, task, show)
            call.report_isolation()
            outcome = await self._play(runner, task, invocation, call)
            return call.reply(outcome, used=request.tools.used if request.tools else None)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    async def _task(self, request: AgentRequest, folder: str) -> Task:
        options = read_options(self._dialect.options, request.options)
        env = {**request.env, **options.env}
        program = self._programs.find(options.program or self._dialect.program, env, self._dialect)
        tools = request.tools
        os.makedirs(request.state, mode=0o700, exist_ok=True)
        return Task(
            prompt=request.prompt,
            system_prompt=request.system_prompt,
            options=options,
            program=program,
            folder=folder,
            state=request.state,
            cwd=request.cwd,
            env=env,
            session=request.session.id if request.session else "",
            new_session=str(uuid.uuid4()),
            endpoint=await tools.endpoint() if tools is not None else None,
            intercepts=tools is not None and tools.intercepts,
            output_schema=request.output_schema,
            version=await self._programs.version(program, self._runner(), env),
        )

    def _asker(self, task: Task) -> Any:
        async def ask(arguments: Sequence[str]) -> bytes:
            return await self._programs.ask(self._runner(), task.program, arguments, task.env)

        return ask

    async def _play(
        self, runner: CommandRunner, task: Task, invocation: Invocation, call: _Call
    ) -> CommandOutcome:
        temporary = os.path.join(task.folder, "tmp")
        os.mkdir(temporary, mode=0o700)
        env = {name: value for name, value in task.env.items() if name not in invocation.without}
        command = Command(
            argv=tuple(invocation.argv), cwd=task.cwd, env={**env, "TMPDIR": temporary, **invocation.env}
        )
        async with (
            first_run(invocation.first_run_lock) as others_may_start,
            _started(runner, command, self._dialect) as program,
        ):
            await program.write(invocation.stdin.encode("utf-8", "surrogateescape"))
            program.close_stdin()
            async for line in program.lines(call.on_stderr, _LONGEST_LINE):
                others_may_start()
                call.hear(line)
            return await program.wait()


@contextlib.asynccontextmanager
async def _started(
    runner: CommandRunner, command: Command, dialect: Dialect
) -> AsyncIterator[RunningCommand]:
    try:
        program = runner.start(command, with_stdin=True)
    except AwfError as error:
        raise AgentFailure(
            error.message, code="EXECUTION.AGENT.NOT_FOUND", retryable=False, hint=dialect.install_hint
        ) from error
    async with program:
        yield program


def _write(files: Mapping[str, str]) -> None:
    for path, text in files.items():
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)


class _Call:
    """What one call is heard to say, put together."""

    def __init__(self, dialect: Dialect, task: Task, show: Callable[[DisplayEvent], None]) -> None:
        self._dialect = dialect
        self._task = task
        self._show = show
        self._reader: Reader = dialect.reader(task)
        self._said: list[str] = []
        self._answer: str | None = None
        self._session = task.session
        self._usage: Usage | None = None
        self._trouble: Trouble | None = None
        self._connected: bool | None = None
        self._stderr = bytearray()
        self.unknown = 0  # lines that nobody understands
        self.isolation: Isolation = self._expected()

    def _expected(self) -> Isolation:
        if not self._task.intercepts:
            return "none"
        lowest, highest = self._dialect.proven
        here = self._task.version
        return "guaranteed" if lowest <= here and here[:2] <= highest[:2] else "best_effort"

    def report_isolation(self, *tools: str) -> None:
        if self._task.endpoint is not None:
            self._show(IsolationReport(self.isolation, version_text(self._task.version), tools))

    # -- while it runs -------------------------------------------------------------------------------------------------

    def on_stderr(self, chunk: bytes) -> None:
        self._stderr.extend(chunk)
        del self._stderr[:-_STDERR_KEPT]

    def hear(self, line: bytes) -> None:
        try:
            event = json.loads(line)
        except ValueError:
            event = None
        if not isinstance(event, dict):
            self.unknown += bool(line.strip())
            return
        heard = list(self._read(event))
        self.unknown += not heard
        for one in heard:
            self._take(one)

    def _read(self, event: dict[str, Any]) -> Any:
        try:
            yield from self._reader.read(event)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            self.unknown += 1  # a known event in an unknown form

    def _take(self, heard: Heard) -> None:
        match heard:
            case TextDelta():
                self._said.append(heard.text)
                self._show(heard)
            case ToolStarted():
                self._show(self._named(heard))
            case ToolFinished():
                own = self._dialect.own_tool(heard.name)
                self._show(msgspec.structs.replace(heard, name=own) if own else heard)
            case Thought():
                self._show(heard)
            case UsageReport():
                self._usage = add_usage(self._usage, heard.usage)
            case SessionKnown():
                self._session = heard.id
            case Answer():
                self._answer = heard.text
            case Trouble():
                self._trouble = heard
            case ToolsOffered():
                self._check_offer(heard)

    def _named(self, call: ToolStarted) -> ToolStarted:
        """Ours by the name we gave it; another one, where ours should be the only ones, is a way around us."""
        own = self._dialect.own_tool(call.name)
        if own is not None:
            return msgspec.structs.replace(call, name=own)
        return msgspec.structs.replace(call, bypass=self._task.intercepts)

    def _check_offer(self, offer: ToolsOffered) -> None:
        if offer.connected is not None:
            self._connected = offer.connected
        if offer.names is not None and self._task.intercepts:
            foreign = [name for name in offer.names if self._dialect.own_tool(name) is None]
            self.isolation = "best_effort" if foreign else self.isolation
            self.report_isolation(*offer.names)

    # -- afterwards ----------------------------------------------------------------------------------------------------

    def reply(self, outcome: CommandOutcome, *, used: bool | None) -> AgentReply:
        for one in self._reader.end():
            self._take(one)
        text = self._answer if self._answer is not None else "".join(self._said)
        trouble = self._trouble or self._silent_failure(outcome, text)
        if trouble is not None and isinstance(self._dialect, ExplainsEndings) and not outcome.signal:
            trouble = self._dialect.explain(trouble, outcome.exit_code)
        if trouble is not None:
            raise AgentFailure(
                trouble.message, code=trouble.code, retryable=trouble.retryable, hint=trouble.hint
            )
        if used is False or self._connected is False:
            raise AgentFailure(
                f"{self._dialect.name} went to work without the tools of AWF: their server did not come up in it.",
                code="EXECUTION.AGENT.NO_TOOLS",
                hint=self._last_words() or "Run it again with --log-level debug.",
            )
        session = Session(provider=self._dialect.name, id=self._session) if self._session else None
        return AgentReply(text=text, session=session, usage=self._usage)

    def _silent_failure(self, outcome: CommandOutcome, text: str) -> Trouble | None:
        """It ended without saying that it failed."""
        if outcome.exit_code:
            words = self._last_words()
            detail = f": {words}" if words else ""
            return Trouble(message=f"{self._dialect.name} ended with exit code {outcome.exit_code}{detail}")
        if not text and self._answer is None:
            words = self._last_words()
            detail = f" It wrote: {words}" if words else ""
            return Trouble(message=f"{self._dialect.name} ended without an answer.{detail}")
        return None

    def _last_words(self) -> str:
        lines = self._stderr.decode("utf-8", "replace").strip().splitlines()
        return " ".join(lines[-3:])[-500:]
