"""How Claude Code is started."""

from __future__ import annotations

import os.path
from typing import TYPE_CHECKING

from awf.infrastructure.agents.claude.injection import injection
from awf.infrastructure.agents.cli.shapes import Invocation

if TYPE_CHECKING:
    from awf.infrastructure.agents.claude.options import ClaudeOptions
    from awf.infrastructure.agents.cli.shapes import Task

__all__ = ["invocation"]

_KEEPS_INSTRUCTIONS = (2, 1, 260)


def invocation(task: Task) -> Invocation:
    options: ClaudeOptions = task.options
    argv = [task.program, "-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages"]
    if options.model:
        argv += ["--model", options.model]
    if options.effort:
        argv += ["--effort", options.effort]
    if options.max_turns is not None:
        argv += ["--max-turns", str(options.max_turns)]
    argv += ["--resume", task.session] if task.session else ["--session-id", task.new_session]
    instructions, texts = _instructions(task)
    more, variables, files = injection(task)
    return Invocation(
        argv=[*argv, *instructions, *more, *options.extra_args],
        env={**_quiet(), **_endpoint(options), **_retries(options), **variables},
        stdin=task.prompt,
        files={**texts, **files},
    )


def _instructions(task: Task) -> tuple[list[str], dict[str, str]]:
    """In a file: an argument has a limit of its own, and everybody on the machine can read it."""
    if not task.system_prompt:
        return [], {}
    path = os.path.join(task.folder, "system-prompt.md")
    argv = ["--append-system-prompt-file", path]
    if task.session and task.version >= _KEEPS_INSTRUCTIONS:
        argv += ["--system-prompt-snapshot", "off"]  # else those of the session's first call would stay
    return argv, {path: task.system_prompt}


def _retries(options: ClaudeOptions) -> dict[str, str]:
    """Its own ten attempts take minutes, in which a step only seems to hang."""
    return {"CLAUDE_CODE_MAX_RETRIES": str(options.max_retries)}


def _quiet() -> dict[str, str]:
    return {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}


def _endpoint(options: ClaudeOptions) -> dict[str, str]:
    found = {"ANTHROPIC_BASE_URL": options.base_url, "ANTHROPIC_API_KEY": options.api_key}
    return {name: value for name, value in found.items() if value}
