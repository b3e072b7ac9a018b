"""What a step may ask of Codex."""

from typing import Annotated, Literal

from awf.domain.shape import Template
from awf.infrastructure.agents.cli.options import CommonOptions

__all__ = ["CodexOptions"]


class CodexOptions(CommonOptions, frozen=True, kw_only=True):
    """Options of `codex`."""

    effort: Annotated[
        Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None, "How hard the model thinks."
    ] = None
    reasoning_summary: Annotated[
        Literal["auto", "concise", "detailed", "none"] | None, "How much of its thoughts the model tells."
    ] = None
    sandbox: Annotated[
        Literal["read-only", "workspace-write", "danger-full-access"] | None,
        "What its own tools may do, where it has them; without it Codex's own choice, which is to read only.",
    ] = None
    network: Annotated[
        bool | None, "Whether its own tools may use the network in the sandbox `workspace-write`."
    ] = None
    add_dir: Annotated[
        list[Template], "More folders that its own tools may write to in the sandbox `workspace-write`."
    ] = []
    web_search: Annotated[
        Literal["disabled", "cached", "live"] | None, "Its own search of the web, where it has its own tools."
    ] = None
    project_doc: Annotated[bool, "Whether it reads the project's AGENTS.md."] = True
    retries: Annotated[
        int | None,
        "How often it asks the API again before it gives up, with `base_url` or `api_key`; without it Codex's own choice.",
    ] = None
