"""An agent that plays a script. For demos and tests; it is no model and does not pretend to be one."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Literal

from awf.domain.agent import AgentFailure, AgentReply, TextDelta, Thought, ToolFinished, ToolStarted
from awf.domain.notation import parse_duration
from awf.domain.problem import suggest
from awf.domain.run import Session, Usage, add_usage
from awf.domain.tool import UnknownTool
from awf.infrastructure.agents.cli.options import OptionProblem
from awf.infrastructure.agents.scripted.script import Action, check_turns, choose_turn, read_turns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from awf.domain.agent import AgentRequest, DisplayEvent
    from awf.domain.ports.command_runner import CommandRunner
    from awf.domain.ports.tools import StepTools
    from awf.infrastructure.agents.scripted.script import Turn

__all__ = ["ScriptedAgent"]

_OPTIONS = {"turns", "script", "delay", "model", "process"}


class ScriptedAgent:
    """Plays a script here, or with `process: true` in a program of its own that gets its tools over MCP."""

    name = "scripted"
    isolation: Literal["guaranteed"] = "guaranteed"  # it has no tools of its own

    def __init__(self, runner: Callable[[], CommandRunner]) -> None:
        self._runner = runner

    def check_options(self, options: Mapping[str, Any]) -> Sequence[OptionProblem]:
        problems = []
        for key in options.keys() - _OPTIONS:
            close = suggest(key, _OPTIONS)
            hint = f"did you mean '{close}'?" if close else f"Options: {', '.join(sorted(_OPTIONS))}."
            problems.append(OptionProblem(key, f"The scripted agent has no option '{key}'.", hint))
        if ("turns" in options) == ("script" in options):
            problems.append(
                OptionProblem(
                    "turns",
                    "The scripted agent needs either 'turns' or 'script'.",
                    "Write turns: [{do: [{say: Hello.}]}]",
                )
            )
        elif "turns" in options and not isinstance(options["turns"], str):
            problems += check_turns(options["turns"])
        if not isinstance(options.get("process", False), bool | str):
            problems.append(OptionProblem("process", "'process' must be true or false."))
        return problems

    async def run(self, request: AgentRequest, show: Callable[[DisplayEvent], None]) -> AgentReply:
        number = request.session.turns if request.session else 0
        turns = read_turns(self._turns(request))
        turn = choose_turn(turns, request.prompt, number)
        if turn is None:
            raise AgentFailure(f"The script has no turn {number + 1}.", retryable=False)
        if turn.expect and not re.search(turn.expect, request.prompt):
            raise AgentFailure(
                f"The prompt does not contain what the script expects: {turn.expect}", retryable=False
            )
        player = _Player(show, parse_duration(request.options.get("delay", 0)) or 0.0, request.tools)
        if request.options.get("process") in {True, "true"}:
            await self._in_program(request, turn, player)
        else:
            for action in turn.actions:
                await player.play(action)
        return AgentReply(
            text="".join(player.said), session=_session(request, number + 1), usage=player.usage
        )

    async def _in_program(self, request: AgentRequest, turn: Turn, player: _Player) -> None:
        from awf.infrastructure.agents.scripted.program import play_in_program

        async for told in play_in_program(self._runner(), request, turn.actions):
            kind = told.pop("type")
            if kind == "tool_started":
                player.show(ToolStarted(told["id"], told["name"], told["input"]))
            elif kind == "tool_finished":
                player.show(ToolFinished(told["id"], told["name"], told["output"], told["is_error"]))
            else:
                await player.play(Action(kind, told["value"]))

    def _turns(self, request: AgentRequest) -> list[Any]:
        written = request.options.get("turns")
        if written is None:
            written = _load(os.path.join(request.cwd, str(request.options["script"])))
        problems = check_turns(written)
        if problems:
            raise AgentFailure(
                problems[0].message,
                code="WORKFLOW.VALIDATION.INVALID_OPTIONS",
                retryable=False,
                hint=problems[0].hint,
            )
        turns: list[Any] = written
        return turns


def _load(path: str) -> Any:
    import yaml

    try:
        with open(path, encoding="utf-8") as stream:
            data = yaml.safe_load(stream)
    except OSError as error:
        raise AgentFailure(f"The script {path} cannot be read: {error.strerror}.", retryable=False) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise AgentFailure(
            f"The script {path} is not valid YAML: {str(error).splitlines()[0]}.", retryable=False
        ) from error
    return data.get("turns") if isinstance(data, dict) else data


def _session(request: AgentRequest, turns: int) -> Session:
    import hashlib

    known = request.session.id if request.session else ""
    fresh = hashlib.sha256(f"{request.run_id}/{request.path}".encode()).hexdigest()[:12]
    return Session(provider="scripted", id=known or f"scripted-{fresh}", turns=turns)


async def _pause(seconds: float) -> None:
    import asyncio  # late: checking options must stay light

    await asyncio.sleep(seconds)


class _Player:
    def __init__(self, show: Callable[[DisplayEvent], None], delay: float, tools: StepTools | None) -> None:
        self.show = self._show = show
        self._tools = tools
        self._delay = delay
        self._calls = 0
        self.said: list[str] = []
        self.usage: Usage | None = None

    async def play(self, action: Action) -> None:
        value = action.value
        if action.kind == "say":
            await self._say(str(value))
        elif action.kind == "think":
            self._show(Thought(str(value)))
        elif action.kind == "tool":
            await self._tool(value)
        elif action.kind == "wait":
            await _pause(parse_duration(value) or 0.0)
        elif action.kind == "usage":
            cost = value.get("cost")
            spent = Usage(
                value.get("input_tokens"),
                value.get("output_tokens"),
                cost,
                "unknown" if cost is None else "reported",
            )
            self.usage = add_usage(self.usage, spent)
        elif action.kind == "crash":
            raise AgentFailure("The script crashes here.")
        else:
            raise AgentFailure(str(value))

    async def _say(self, text: str) -> None:
        for piece in re.findall(r"\S+\s*|\s+", text) if self._delay else [text]:
            self.said.append(piece)
            self._show(TextDelta(piece))
            if self._delay:
                await _pause(self._delay)

    async def _tool(self, value: dict[str, Any]) -> None:
        """Called for real where there are tools and the script does not say what came of it."""
        self._calls += 1
        call_id, name = f"call-{self._calls}", str(value["name"])
        given = value["input"] if isinstance(value.get("input"), dict) else {}
        self._show(ToolStarted(call_id, name, given))
        if self._tools is not None and "output" not in value and "error" not in value:
            output, is_error = await _used(self._tools, name, given)
        else:
            output, is_error = str(value.get("error", value.get("output", ""))), "error" in value
        self._show(ToolFinished(call_id, name, output, is_error=is_error))


async def _used(tools: StepTools, name: str, given: dict[str, Any]) -> tuple[str, bool]:
    try:
        result = await tools.toolbox.call(name, given)
    except UnknownTool as error:
        return str(error), True
    return result.text, result.is_error
