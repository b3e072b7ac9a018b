"""An agent that plays a script. For demos and tests; it is no model and does not pretend to be one."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from awf.domain.agent import AgentFailure, AgentReply, TextDelta, Thought, ToolFinished, ToolStarted
from awf.domain.notation import parse_duration
from awf.domain.problem import suggest
from awf.domain.run import Session, Usage, add_usage
from awf.infrastructure.agents.scripted.script import (
    Action,
    OptionProblem,
    check_turns,
    choose_turn,
    read_turns,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from awf.domain.agent import AgentRequest, DisplayEvent

__all__ = ["ScriptedAgent"]

_OPTIONS = {"turns", "script", "delay", "model"}


class ScriptedAgent:
    name = "scripted"

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
        player = _Player(show, parse_duration(request.options.get("delay", 0)) or 0.0)
        for action in turn.actions:
            await player.play(action)
        return AgentReply(
            text="".join(player.said), session=_session(request, number + 1), usage=player.usage
        )

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
    def __init__(self, show: Callable[[DisplayEvent], None], delay: float) -> None:
        self._show = show
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
            self._tool(value)
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
        else:
            raise AgentFailure(str(value))

    async def _say(self, text: str) -> None:
        for piece in re.findall(r"\S+\s*|\s+", text) if self._delay else [text]:
            self.said.append(piece)
            self._show(TextDelta(piece))
            if self._delay:
                await _pause(self._delay)

    def _tool(self, value: dict[str, Any]) -> None:
        self._calls += 1
        call_id = f"call-{self._calls}"
        given = value.get("input")
        self._show(ToolStarted(call_id, str(value["name"]), given if isinstance(given, dict) else {}))
        failed = value.get("error")
        output = str(failed if failed is not None else value.get("output", ""))
        self._show(ToolFinished(call_id, str(value["name"]), output, is_error=failed is not None))
