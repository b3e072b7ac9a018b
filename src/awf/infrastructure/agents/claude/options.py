"""What a step may ask of Claude Code."""

from typing import Annotated, Literal

from awf.domain.shape import Template
from awf.infrastructure.agents.cli.options import CommonOptions

__all__ = ["ClaudeOptions"]


class ClaudeOptions(CommonOptions, frozen=True, kw_only=True):
    """Options of `claude`."""

    effort: Annotated[
        Literal["low", "medium", "high", "xhigh", "max"] | None, "How hard the model thinks."
    ] = None
    max_turns: Annotated[int | None, "The most turns the agent may take."] = None
    max_retries: Annotated[int, "How often it asks the API again after an error, before the step fails."] = 3
    permission_mode: Annotated[
        Literal["default", "manual", "acceptEdits", "auto", "plan", "dontAsk", "bypassPermissions"] | None,
        "What its own tools may do without asking, where it has them.",
    ] = None
    allowed_tools: Annotated[
        list[Template], "Its own tools that it may use without asking, where it has them."
    ] = []
    disallowed_tools: Annotated[list[Template], "Its own tools that it may not use."] = []
    add_dir: Annotated[list[Template], "More folders that its own tools may use."] = []
    user_settings: Annotated[
        bool,
        "Load the settings of the user and the project also when AWF's tools are its only ones; hooks run then.",
    ] = False
