"""How OpenCode is started."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.infrastructure.agents.cli.shapes import Invocation
from awf.infrastructure.agents.opencode.configuration import model_name
from awf.infrastructure.agents.opencode.injection import foreign_settings, injection
from awf.infrastructure.agents.opencode.sessions import session_of

if TYPE_CHECKING:
    from awf.infrastructure.agents.cli.shapes import Task
    from awf.infrastructure.agents.opencode.options import OpenCodeOptions

__all__ = ["invocation"]


def invocation(task: Task) -> Invocation:
    options: OpenCodeOptions = task.options
    # Without a title it asks the model for one.
    argv = [task.program, "run", "--format", "json", "--thinking", "--title", "awf"]
    if model := model_name(options):
        argv += ["--model", model]
    if options.variant:
        argv += ["--variant", options.variant]
    if session := session_of(task):
        argv += ["--session", session]
    more, variables, files = injection(task)
    return Invocation(
        argv=[*argv, *more, *options.extra_args],
        env=variables,
        without=foreign_settings(task),
        stdin=task.prompt,
        files=files,
    )
