"""How Claude Code is started."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.infrastructure.agents.claude.injection import injection
from awf.infrastructure.agents.cli.shapes import Invocation

if TYPE_CHECKING:
    from awf.infrastructure.agents.claude.options import ClaudeOptions
    from awf.infrastructure.agents.cli.shapes import Task

__all__ = ["invocation"]


def invocation(task: Task) -> Invocation:
    options: ClaudeOptions = task.options
    argv = [task.program, "-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages"]
    if options.model:
        argv += ["--model", options.model]
    if options.effort:
        argv += ["--effort", options.effort]
    if options.max_turns is not None:
        argv += ["--max-turns", str(options.max_turns)]
    if task.system_prompt:
        argv += ["--append-system-prompt", task.system_prompt]
    argv += ["--resume", task.session] if task.session else ["--session-id", task.new_session]
    more, variables, files = injection(task)
    return Invocation(
        argv=[*argv, *more, *options.extra_args],
        env={**_quiet(), **_endpoint(options), **variables},
        stdin=task.prompt,
        files=files,
    )


def _quiet() -> dict[str, str]:
    return {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}


def _endpoint(options: ClaudeOptions) -> dict[str, str]:
    found = {"ANTHROPIC_BASE_URL": options.base_url, "ANTHROPIC_API_KEY": options.api_key}
    return {name: value for name, value in found.items() if value}
