"""Give a task to an agent and take its answer."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from awf.application.running.environment import agent_environment
from awf.application.running.steps.command import working_directory
from awf.application.running.steps.tools import step_tools
from awf.domain.agent import (
    AgentFailure,
    AgentReply,
    AgentRequest,
    DisplayEvent,
    IsolationReport,
    TextDelta,
    Thought,
    ToolFinished,
    ToolStarted,
    coexistence_warning,
)
from awf.domain.errors import AwfError
from awf.domain.events import AgentIsolation, AgentText, AgentThought, AgentTool, AgentUsage, Warned
from awf.domain.problem import suggest
from awf.domain.run import Session, StepResult, Usage, add_usage
from awf.domain.workflow import AgentState, SkillRef

if TYPE_CHECKING:
    from awf.application.running.context import StepContext
    from awf.application.tools.proxy import ProxyTools
    from awf.domain.ports.agent_provider import AgentProvider

__all__ = ["AgentCall", "run_agent"]

_FENCE = re.compile(r"\A\s*```[\w-]*\s*\n(.*?)\n?```\s*\Z", re.DOTALL)
_INNER_FENCE = re.compile(r"```json\s*\n(.*?)\n?```", re.DOTALL)


async def run_agent(step: StepContext, state: AgentState) -> StepResult:
    async with step_tools(step, state) as tools:
        return await _answer(AgentCall(step, state, tools), state)


async def _answer(call: AgentCall, state: AgentState) -> StepResult:
    reply = await call.ask(call.prompt(), call.earlier_session())
    data, text = None, reply.text
    if state.output_schema is not None or state.output_format == "json":
        data, reply = await _as_json(call, reply)
        text = reply.text
    elif state.output_format == "text":
        text = _unfenced(text)
    return StepResult(
        status="success",
        output=text,
        response=text,
        json=data,
        usage=call.usage,
        session=reply.session if state.conversation is not None else None,
    )


class AgentCall:
    """The calls that one agent state makes: everything but the prompt is the same in each."""

    def __init__(self, step: StepContext, state: AgentState, tools: ProxyTools | None) -> None:
        self.step = step
        self.state = state
        self.tools = tools
        self.usage: Usage | None = None
        self._tool_calls = 0
        self._warned = False
        self._bypasses: set[str] = set()  # calls of tools that the agent should not have
        self._speech, self._thinking = step.services.masker.text(), step.services.masker.text()
        self.provider = _provider(step, step.render(state.provider))
        if tools is not None and tools.intercepts:
            self._warn_of(self.provider.isolation)

    def prompt(self) -> str:
        state, step = self.state, self.step
        text = (
            step.render(state.prompt)
            if state.prompt is not None
            else step.render(step.read_file(state.prompt_file or ""))
        )
        skills = [_skill_text(step, skill) for skill in state.skills]
        form = [_form_wanted(state.output_schema)] if state.output_schema is not None else []
        return "\n\n".join([*skills, text, *form])

    def system_prompt(self) -> str:
        parts = []
        if self.state.role:
            parts.append(
                self.step.services.files.role(self.step.render(self.state.role), self.step.scope.file)
            )
        if self.state.system_prompt:
            parts.append(self.step.render(self.state.system_prompt))
        return "\n\n".join(parts)

    def earlier_session(self) -> Session | None:
        source = self.state.conversation.continue_from if self.state.conversation else None
        if source is None:
            return None
        earlier = self.step.scope.states.get(source)
        if earlier is None or earlier.session is None:
            raise AgentFailure(
                f"'{source}' left no session to continue.",
                retryable=False,
                hint=f"Give '{source}' a `conversation: {{}}`, and make sure that it runs before this state.",
            )
        return earlier.session

    async def ask(self, prompt: str, session: Session | None) -> AgentReply:
        step, state = self.step, self.state
        request = AgentRequest(
            run_id=step.durable.run_id,
            step=step.name,
            path=step.path,
            prompt=prompt,
            system_prompt=self.system_prompt(),
            options=_resolved(step, step.value(state.options)),
            session=session,
            keep_session=state.conversation is not None or state.mode == "conversation",
            cwd=working_directory(step, state.dir),
            state=step.durable.folder(f"agents/{self.provider.name}"),
            env=agent_environment(step, state.env),
            output_schema=state.output_schema,
            tools=self.tools,
        )
        wrong = self.provider.check_options(request.options)
        if wrong:
            raise AgentFailure(
                wrong[0].message,
                code="WORKFLOW.VALIDATION.INVALID_OPTIONS",
                retryable=False,
                hint=wrong[0].hint,
            )
        with step.services.tracer.span("agent.call", self._attributes(request)) as span:
            try:
                reply = await self.provider.run(request, self._show)
            except AgentFailure as failure:
                self._count(failure.usage)
                failure.usage = self.usage  # together with what earlier calls of this step spent
                raise
            finally:
                self._say_the_rest()
            self._count(reply.usage)
            if reply.usage and reply.usage.tokens is not None:
                span.set("tokens_used", reply.usage.tokens)
                span.set("gen_ai.usage.input_tokens", reply.usage.input_tokens or 0)
                span.set("gen_ai.usage.output_tokens", reply.usage.output_tokens or 0)
        return reply

    def _attributes(self, request: AgentRequest) -> dict[str, str | int | float | bool]:
        return {
            "provider": self.provider.name,
            "model": str(request.options.get("model", "")),
            "gen_ai.system": self.provider.name,
            "gen_ai.operation.name": "invoke_agent",
        }

    def _count(self, usage: Usage | None) -> None:
        through_us = self.tools.toolbox.take_count() if self.tools is not None else 0
        counted = msgspec.structs.replace(
            usage or Usage(), tool_calls=max(self._tool_calls, through_us, usage.tool_calls if usage else 0)
        )
        self._tool_calls = 0
        if usage is not None or counted.tool_calls:
            self.usage = add_usage(self.usage, counted)
        if usage is not None:
            self.step.emit(
                AgentUsage(
                    path=self.step.path,
                    step=self.step.name,
                    input_tokens=usage.input_tokens,
                    output_tokens=usage.output_tokens,
                    cost=usage.cost,
                    cost_source=usage.cost_source,
                    context_window=usage.context_window,
                )
            )

    def _show(self, shown: DisplayEvent) -> None:
        path = self.step.path
        if isinstance(shown, TextDelta):
            self._say(AgentText, self._speech.feed(shown.text))
        elif isinstance(shown, Thought):
            self._say(AgentThought, self._thinking.feed(shown.text))
        elif isinstance(shown, ToolStarted):
            self._say_the_rest()
            self._tool_calls += 1
            if shown.bypass:
                self._bypasses.add(shown.call_id)
            self.step.emit(_tool_event(self.step, shown, "started", input=shown.input, bypass=shown.bypass))
        elif isinstance(shown, ToolFinished):
            # An own tool that is switched off answers with an error: then nothing has passed us by.
            bypass = shown.call_id in self._bypasses and not shown.is_error
            ended = {"output": shown.output, "is_error": shown.is_error, "bypass": bypass}
            self.step.emit(_tool_event(self.step, shown, "finished", **ended))
            if bypass:
                message = f"{self.provider.name} used its own tool {shown.name}, past the proxy."
                self.step.emit(Warned(path=path, message=message, code="USER.MCP_PROXY.UNSUPPORTED_PROVIDER"))
        elif isinstance(shown, IsolationReport):
            self._isolation(shown)

    def _say(self, kind: type[AgentText | AgentThought], text: str) -> None:
        if text:
            self.step.emit(kind(path=self.step.path, step=self.step.name, text=text))

    def _say_the_rest(self) -> None:
        """What was held back because it might have become a secret."""
        self._say(AgentThought, self._thinking.close())
        self._say(AgentText, self._speech.close())

    def _isolation(self, report: IsolationReport) -> None:
        self.step.emit(
            AgentIsolation(
                path=self.step.path,
                step=self.step.name,
                provider=self.provider.name,
                isolation=report.isolation,
                version=report.version,
                tools=list(report.tools),
            )
        )
        if self.tools is not None and self.tools.intercepts:
            self._warn_of(report.isolation)

    def _warn_of(self, isolation: str) -> None:
        if isolation != "guaranteed" and not self._warned:
            self._warned = True
            message = coexistence_warning(self.provider.name)
            self.step.emit(
                Warned(path=self.step.path, message=message, code="USER.MCP_PROXY.UNSUPPORTED_PROVIDER")
            )


_REFERENCE = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
_SECRET_OPTIONS = {"api_key"}


def _resolved(step: StepContext, options: dict[str, Any]) -> dict[str, Any]:
    """Options with `${env:NAME}` filled in. What comes from a reference, and every key, is masked from then on."""
    masker = step.services.masker

    def fill(value: Any, name: str) -> Any:
        if isinstance(value, dict):
            return {key: fill(item, key) for key, item in value.items()}
        if isinstance(value, list):
            return [fill(item, name) for item in value]
        if not isinstance(value, str):
            return value
        filled = _REFERENCE.sub(lambda found: variable(found.group(1)), value)
        if name in _SECRET_OPTIONS and filled:
            masker.add(f"options.{name}", filled)
        return filled

    def variable(name: str) -> str:
        value = step.services.environment.get(name)
        if value is None:
            raise AgentFailure(
                f"The variable {name} that the options refer to is not set.",
                code="USER.INPUT.MISSING_ENV",
                retryable=False,
                hint=f"export {name}=…",
            )
        masker.add(f"env.{name}", value)
        return value

    return {key: fill(value, key) for key, value in options.items()}


def _tool_event(
    step: StepContext, shown: ToolStarted | ToolFinished, phase: Literal["started", "finished"], **rest: Any
) -> AgentTool:
    return AgentTool(
        path=step.path, step=step.name, call_id=shown.call_id, name=shown.name, phase=phase, **rest
    )


def _provider(step: StepContext, name: str) -> AgentProvider:
    provider = step.services.providers.get(name)
    if provider is None:
        close = suggest(name, step.services.providers)
        known = ", ".join(sorted(step.services.providers))
        raise AwfError(
            "WORKFLOW.VALIDATION.UNKNOWN_PROVIDER",
            f"No agent provider is named '{name}'.",
            hint=f"did you mean '{close}'?" if close else f"Providers: {known}.",
        )
    return provider


def _skill_text(step: StepContext, written: str | SkillRef) -> str:
    is_path = isinstance(written, SkillRef)
    name = step.render(written.path) if isinstance(written, SkillRef) else written
    skill = step.services.files.skill(name, step.scope.file, is_path=is_path)
    files = "".join(f"\n<file>{file}</file>" for file in skill.files)
    resources = f"\n<skill_resources>{files}\n</skill_resources>" if files else ""
    return f'<skill_content name="{skill.name}">\n{skill.body}\n\nSkill directory: {skill.folder}{resources}\n</skill_content>'


# -- the form of the answer ----------------------------------------------------------------------------------------


async def _as_json(call: AgentCall, reply: AgentReply) -> tuple[Any, AgentReply]:
    """The answer as data. An answer that does not fit gets one chance to be repaired."""
    data, wrong = _fit(call, reply.text)
    if not wrong:
        return data, reply
    repaired = await call.ask(_repair_prompt(call, reply, wrong), reply.session)
    data, still_wrong = _fit(call, repaired.text)
    if still_wrong:
        raise AgentFailure(
            f"The answer does not have the form asked for: {still_wrong[0]}",
            code="EXECUTION.AGENT.OUTPUT_INVALID",
        )
    return data, repaired


def _fit(call: AgentCall, text: str) -> tuple[Any, list[str]]:
    data, wrong = _parse(text)
    schema = call.state.output_schema
    if wrong or schema is None:
        return data, wrong
    return data, call.step.services.schemas.misfits(schema, data)


def _parse(text: str) -> tuple[Any, list[str]]:
    candidates = [_unfenced(text), *_INNER_FENCE.findall(text)]
    problem = ""
    for candidate in candidates:
        try:
            return json.loads(candidate), []
        except ValueError as error:
            problem = problem or f"not valid JSON: {error}"
    return None, [problem]


def _form_wanted(schema: dict[str, Any]) -> str:
    return f"Answer with JSON alone that meets this JSON Schema:\n{json.dumps(schema, ensure_ascii=False)}"


def _unfenced(text: str) -> str:
    found = _FENCE.match(text)
    return found.group(1) if found else text.strip()


def _repair_prompt(call: AgentCall, reply: AgentReply, wrong: list[str]) -> str:
    schema = call.state.output_schema
    parts = ["Your last answer could not be used:", *(f"- {item}" for item in wrong[:10])]
    if schema is not None:
        parts.append(_form_wanted(schema))
    else:
        parts.append("Answer again with valid JSON alone.")
    if reply.session is None:
        parts.append(f"Your last answer was:\n{reply.text}\n\nThe task was:\n{call.prompt()}")
    return "\n".join(parts)
