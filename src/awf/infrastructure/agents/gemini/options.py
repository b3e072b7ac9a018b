"""What a step may ask of Gemini CLI."""

from typing import Annotated, Literal

from awf.domain.shape import Template
from awf.infrastructure.agents.cli.options import CommonOptions

__all__ = ["GeminiOptions"]


class GeminiOptions(CommonOptions, frozen=True, kw_only=True):
    """Options of `gemini`."""

    approval_mode: Annotated[
        Literal["default", "auto_edit", "yolo", "plan"] | None,
        "What its own tools may do without asking, where it has them; without it only those that change nothing.",
    ] = None
    allowed_tools: Annotated[
        list[Template], "Its own tools that it may use without asking, where it has them."
    ] = []
    include_directories: Annotated[list[Template], "More folders that its own tools may use."] = []
    max_turns: Annotated[int | None, "The most turns the agent may take."] = None
    max_attempts: Annotated[
        int | None, "How often it asks its model before it gives up; its own default takes minutes."
    ] = None
