"""How Codex is started."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.infrastructure.agents.cli.shapes import Invocation
from awf.infrastructure.agents.codex.home import has_own_endpoint, home_of
from awf.infrastructure.agents.codex.injection import injection
from awf.infrastructure.agents.codex.role import in_front
from awf.infrastructure.agents.codex.toml import encode

if TYPE_CHECKING:
    from awf.infrastructure.agents.cli.shapes import Task
    from awf.infrastructure.agents.codex.options import CodexOptions

__all__ = ["invocation"]

_OPENAI = "https://api.openai.com/v1"
_KEY = "AWF_CODEX_API_KEY"
_ARGUMENT = 100_000  # bytes; the system refuses an argument of more than 128 KiB


def invocation(task: Task, catalogue: str = "", *, role_is_told: bool = False) -> Invocation:
    options: CodexOptions = task.options
    argv = [task.program, "exec", *(["resume", task.session] if task.session else [])]
    argv += ["--json", "--skip-git-repo-check"]
    if options.model:
        argv += ["-m", options.model]
    flags, settings = injection(task, catalogue)
    instructions, prompt = _texts(task, role_is_told=role_is_told)
    settings = {**_quiet(), **_wishes(options), **_endpoint(task), **instructions, **settings}
    for setting, value in settings.items():
        flags += ["-c", f"{setting}={encode(value)}"]
    private = has_own_endpoint(task) and "CODEX_HOME" not in options.env
    return Invocation(
        argv=[*argv, *flags, *options.extra_args, "-"],
        env={
            **({_KEY: options.api_key} if options.api_key else {}),
            **({"CODEX_HOME": home_of(task)} if private else {}),
        },
        stdin=prompt,
        # The folder must be there before Codex starts; a file in it sees to that.
        files={f"{home_of(task)}/.awf": "This folder belongs to a run of awf.\n"} if private else {},
    )


def _quiet() -> dict[str, Any]:
    # With analytics each run ends with a wait of five seconds where there is no network.
    return {"analytics.enabled": False, "check_for_update_on_startup": False}


def _wishes(options: CodexOptions) -> dict[str, Any]:
    found = {"model_reasoning_effort": options.effort, "model_reasoning_summary": options.reasoning_summary}
    wished: dict[str, Any] = {name: value for name, value in found.items() if value}
    return wished if options.project_doc else {**wished, "project_doc_max_bytes": 0}


def _endpoint(task: Task) -> dict[str, Any]:
    """A model provider of the step's own."""
    if not has_own_endpoint(task):
        return {}
    options: CodexOptions = task.options
    provider: dict[str, Any] = {
        "name": "awf",
        "base_url": options.base_url or _OPENAI,
        "wire_api": "responses",
    }
    if options.retries is not None:
        provider.update(request_max_retries=options.retries, stream_max_retries=options.retries)
    if options.api_key:
        provider["env_key"] = _KEY
    elif task.env.get("OPENAI_API_KEY"):
        provider["env_key"] = "OPENAI_API_KEY"
    return {"model_provider": "awf", "model_providers.awf": provider}


def _texts(task: Task, *, role_is_told: bool) -> tuple[dict[str, Any], str]:
    """The system prompt as a setting; in front of the prompt where that is too long for one, or comes too late."""
    role = task.system_prompt
    if not role:
        return {}, task.prompt
    fits = len(encode(role).encode()) <= _ARGUMENT
    taken = role_is_told if task.session else fits
    setting = {"developer_instructions": role} if fits else {}
    return setting, task.prompt if taken else in_front(role, task.prompt)
