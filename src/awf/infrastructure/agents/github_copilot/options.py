"""What a step may ask of GitHub Copilot CLI."""

from typing import Annotated, Literal

from awf.domain.shape import Template
from awf.infrastructure.agents.cli.options import CommonOptions

__all__ = ["CopilotOptions"]


class CopilotOptions(CommonOptions, frozen=True, kw_only=True):
    """Options of `github_copilot`."""

    base_url: Annotated[
        Template | None, "The root of another model API; without it the models of GitHub Copilot."
    ] = None
    api_key: Annotated[
        Template | None,
        "The key of the API at base_url; without base_url a GitHub token. Best as a reference such as ${env:GH_TOKEN}.",
    ] = None
    provider_type: Annotated[
        Literal["openai", "azure", "anthropic"] | None, "What kind of API is at base_url; else openai."
    ] = None
    wire_api: Annotated[
        Literal["completions", "responses"] | None, "Which of its forms the API at base_url takes."
    ] = None
    effort: Annotated[
        Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None,
        "How hard the model thinks.",
    ] = None
    allow_all_tools: Annotated[bool, "Its own tools may do everything without asking, where it has them."] = (
        False
    )
    allowed_tools: Annotated[
        list[Template],
        "Its own tools that it may use without asking, where it has them: write, or shell(git:*).",
    ] = []
    denied_tools: Annotated[list[Template], "Its own tools that it may not use."] = []
    add_dir: Annotated[list[Template], "More folders that its own tools may use."] = []
    max_ai_credits: Annotated[int | None, "The most AI credits the session may use."] = None
