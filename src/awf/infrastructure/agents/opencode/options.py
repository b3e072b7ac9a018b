"""What a step may ask of OpenCode."""

from typing import Annotated, Literal

from awf.domain.shape import Template
from awf.infrastructure.agents.cli.options import CommonOptions

__all__ = ["OpenCodeOptions", "Permission"]

Permission = Literal["allow", "ask", "deny"]


class OpenCodeOptions(CommonOptions, frozen=True, kw_only=True):
    """Options of `opencode`. The model is written `provider/model`; with `base_url`, as the API itself names it."""

    variant: Annotated[Template | None, "The model's variant, mostly how hard it thinks: high, max, …"] = None
    wire: Annotated[Literal["chat", "responses", "anthropic"], "What the API at `base_url` speaks."] = "chat"
    context_window: Annotated[
        int | None,
        "How many tokens the model at `base_url` can take, so that long sessions are shortened in time.",
    ] = None
    agent: Annotated[Template | None, "Which of its agents works, where it has its own tools."] = None
    permission: Annotated[
        dict[str, Permission], "What its own tools may do, where it has them: tool → allow, ask or deny."
    ] = {}
    auto_approve: Annotated[
        bool, "Allow everything that its own tools would have to ask for; else that is refused."
    ] = False
    user_config: Annotated[
        bool,
        "Load the user's configuration also when AWF's tools are its only ones; the MCP servers in it start then.",
    ] = False
