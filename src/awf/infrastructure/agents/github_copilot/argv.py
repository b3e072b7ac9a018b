"""How GitHub Copilot CLI is started."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.infrastructure.agents.cli.shapes import Invocation
from awf.infrastructure.agents.github_copilot.home import caches, own_home, usage_file
from awf.infrastructure.agents.github_copilot.injection import injection, role

if TYPE_CHECKING:
    from awf.infrastructure.agents.cli.shapes import Task
    from awf.infrastructure.agents.github_copilot.options import CopilotOptions

__all__ = ["invocation"]

# "true" in the first would let the project's own servers and hooks in, and allow every tool.
_NEVER = frozenset({"COPILOT_ALLOW_ALL", "COPILOT_ASSISTED_APPROVAL"})
_OTHER_KEYS = frozenset({"COPILOT_PROVIDER_BEARER_TOKEN", "COPILOT_PROVIDER_API_KEY_COMMAND"})


def invocation(task: Task) -> Invocation:
    options: CopilotOptions = task.options
    argv = [task.program, "--output-format", "json", "--no-color", "--no-auto-update", "--no-ask-user"]
    argv += ["--disable-client-telemetry", "--no-remote-export", "--usage-output-file", usage_file(task)]
    if options.model:
        argv += ["--model", options.model]
    if options.effort:
        argv += ["--reasoning-effort", options.effort]
    if options.max_ai_credits is not None:
        argv += ["--max-ai-credits", str(options.max_ai_credits)]
    argv += [f"--resume={task.session}"] if task.session else ["--session-id", task.new_session]
    played, role_files = role(task)
    more, files = injection(task)
    return Invocation(
        argv=[*argv, *played, *more, *options.extra_args],
        env={**(caches(task) if task.endpoint else {}), **_endpoint(task)},
        without=(_NEVER if task.intercepts else frozenset())
        | (_OTHER_KEYS if options.api_key else frozenset()),
        stdin=task.prompt,
        files={**files, **role_files},
        report_file=usage_file(task),
    )


def _endpoint(task: Task) -> dict[str, str]:
    options: CopilotOptions = task.options
    if not options.base_url:
        return {"COPILOT_GITHUB_TOKEN": options.api_key} if options.api_key else {}
    found = {
        "COPILOT_HOME": own_home(task),
        "COPILOT_OFFLINE": "true",  # no traffic but with this API
        "COPILOT_PROVIDER_BASE_URL": options.base_url,
        "COPILOT_PROVIDER_API_KEY": options.api_key,
        "COPILOT_PROVIDER_TYPE": options.provider_type,
        "COPILOT_PROVIDER_WIRE_API": options.wire_api,
        "COPILOT_MODEL": options.model,
    }
    return {name: value for name, value in found.items() if value}
