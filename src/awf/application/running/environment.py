"""The environment and the shell of the processes that a run starts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from awf.domain.own_variables import handed_on

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.application.running.context import StepContext
    from awf.application.running.services import RunServices

__all__ = ["agent_environment", "context_of", "process_environment", "shell_of"]

_POSIX_SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "ash"}
# An input of such a name stays an input: as a variable it would change how every program behaves.
_UNTOUCHABLE = {"PATH", "HOME", "SHELL", "IFS", "ENV", "BASH_ENV", "TMPDIR", "NODE_OPTIONS"}
_LONGEST_VARIABLE = 30_000  # characters; the system refuses to start a program with a variable over 128 KiB
_UNTOUCHABLE_PREFIXES = ("LD_", "DYLD_", "PYTHON", "AWF_")


def shell_of(services: RunServices, chosen: str | None) -> str:
    if chosen:
        return chosen
    shell = services.environment.get("SHELL", "")
    usable = (
        shell.startswith("/") and shell.rsplit("/", 1)[-1] in _POSIX_SHELLS and services.files.is_file(shell)
    )
    return shell if usable else "/bin/sh"


def agent_environment(step: StepContext, own: Mapping[str, str]) -> dict[str, str]:
    """The same for an agent and its tools, without what would let it change what it may do."""
    return process_environment(step, own, around=handed_on(step.services.environment))


def process_environment(
    step: StepContext, own: Mapping[str, str], *, around: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The surroundings, then inputs by name, then the workflow's `env`, then the state's own."""
    workflow = step.scope.workflow
    shared = workflow.env if isinstance(workflow.env, dict) else {}
    return {
        **(step.services.environment if around is None else around),
        **_input_variables(step.scope.inputs),
        **{name: step.render(text) for name, text in shared.items()},
        **{name: step.render(text) for name, text in own.items()},
        **step.services.tracer.carrier(),
        "AWF_RUN_ID": step.durable.run_id,
        "AWF_STEP": step.path,
        **({"AWF_CONTEXT": context} if (context := context_of(step)) else {}),
        "AWF_ATTEMPT": step.key.removeprefix(step.path).removeprefix("@") or "1",
    }


def context_of(step: StepContext) -> str:
    """The security context of the run: what an agent starts by itself belongs to it, too. None where there is no gate."""
    if step.services.gate() is None:
        return ""
    return step.services.context or f"run:{step.durable.run_id}"


def _input_variables(inputs: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: text
        for name, value in inputs.items()
        if value is not None
        and name.isidentifier()
        and name not in _UNTOUCHABLE
        and not name.startswith(_UNTOUCHABLE_PREFIXES)
        and len(text := _text(value)) <= _LONGEST_VARIABLE
    }


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
