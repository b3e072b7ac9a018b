"""Options of agents: declared as types, checked before anything starts, described in the reference."""

from typing import Annotated, Any

import msgspec

from awf.domain.shape import Record, Template

__all__ = ["CommonOptions", "OptionProblem", "check_options", "read_options"]


class OptionProblem(msgspec.Struct, frozen=True):
    key: str
    message: str
    hint: str = ""


class CommonOptions(Record, frozen=True, kw_only=True):
    """Options that every provider takes."""

    model: Annotated[Template | None, "The model; without it the agent's own choice."] = None
    base_url: Annotated[
        Template | None, "The root of the API, as its vendor writes it: for a gateway or a proxy."
    ] = None
    api_key: Annotated[Template | None, "The key, best as a reference such as ${env:ANTHROPIC_API_KEY}."] = (
        None
    )
    env: Annotated[dict[str, Template], "More environment variables for the agent."] = {}
    extra_args: Annotated[list[Template], "More arguments for the agent's program, after ours."] = []
    program: Annotated[Template | None, "The agent's program; else it is looked up on the PATH."] = None


def read_options(form: type[Record], values: dict[str, Any]) -> Any:
    """Options that have been checked, as their type."""
    from awf.domain.agent import AgentFailure

    try:
        return msgspec.convert(values, form, strict=False)
    except msgspec.ValidationError as error:  # a placeholder came to something that looks like one
        raise AgentFailure(
            f"An option does not fit: {error}.".replace("`", "'"),
            code="WORKFLOW.VALIDATION.INVALID_OPTIONS",
            retryable=False,
        ) from error


def check_options(form: type[Record], values: Any, provider: str) -> list[OptionProblem]:
    """What is wrong with a step's options. Texts with placeholders in them are taken on trust."""
    from awf.domain.problem import suggest

    fields = {field.name: field for field in msgspec.structs.fields(form)}
    problems = []
    for key, value in values.items():
        if key not in fields:
            close = suggest(key, fields)
            known = f"Options: {', '.join(sorted(fields))}."
            hint = f"did you mean '{close}'?" if close else known
            problems.append(OptionProblem(key, f"{provider} has no option '{key}'.", hint))
        elif wrong := _misfit(fields[key].type, value):
            problems.append(OptionProblem(key, f"'{key}' {wrong}."))
    return problems


def _misfit(wanted: Any, value: Any) -> str:
    if _open(value):
        return ""
    try:
        msgspec.convert(_trusted(value), wanted, strict=False)
    except msgspec.ValidationError as error:
        return f"does not fit: {error}".replace("`", "'")
    return ""


def _trusted(value: Any) -> Any:
    """Lists and mappings without their placeholders, which may come to anything."""
    if isinstance(value, list):
        return [item for item in value if not _open(item)]
    if isinstance(value, dict):
        return {key: item for key, item in value.items() if not _open(item)}
    return value


def _open(value: Any) -> bool:
    """Whether what it comes to is known only when the step runs."""
    return isinstance(value, str) and ("{{" in value or "${env:" in value)
