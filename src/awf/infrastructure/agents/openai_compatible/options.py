"""What a step may ask of an OpenAI-compatible API."""

import re
from typing import Annotated, Any, Literal

from awf.domain.notation import parse_duration
from awf.domain.shape import Duration, Record, Template
from awf.infrastructure.agents.cli import options as declared
from awf.infrastructure.agents.cli.options import OptionProblem

__all__ = ["OpenAICompatibleOptions", "Prices", "check_options", "read_options"]

_REQUIRED = {
    "model": "Name the model, as the API knows it.",
    "base_url": "Give the root of the API, such as https://api.example.com/v1.",
}
_LOOP_OWNS = ("messages", "tools")  # the conversation itself; everything else of a request can be set
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class Prices(Record, frozen=True, kw_only=True):
    """What a million tokens cost."""

    input: float
    output: float


class OpenAICompatibleOptions(Record, frozen=True, kw_only=True):
    """Options of `openai_compatible`."""

    model: Annotated[Template, "The model, as the API knows it."]
    base_url: Annotated[Template, "The root of the API, such as https://api.example.com/v1."]
    api_key: Annotated[
        Template | None, "The key, best as a reference such as ${env:API_KEY}; local servers need none."
    ] = None
    headers: Annotated[dict[str, Template], "More headers for each request."] = {}
    temperature: Annotated[float | None, "How free the model is in its choice of words."] = None
    top_p: Annotated[float | None, "The share of likely words that it chooses from."] = None
    max_tokens: Annotated[int | None, "The longest answer, in tokens."] = None
    max_completion_tokens: Annotated[
        int | None, "The same under the name that newer models of OpenAI want; it counts thoughts, too."
    ] = None
    seed: Annotated[int | None, "Makes answers repeatable, where the API can."] = None
    stop: Annotated[str | list[Template] | None, "Texts at which the answer ends."] = None
    reasoning_effort: Annotated[
        Template | None, "How hard the model thinks, in the API's own words: low, high …"
    ] = None
    parallel_tool_calls: Annotated[
        bool | None, "false: one tool call at a time. Without it the API's own choice."
    ] = None
    json_mode: Annotated[
        Literal["schema", "object", "off"],
        "How the form of the answer is asked for in the request: by the `output_schema` of the step, as any JSON object, or not.",
    ] = "off"
    images: Annotated[
        bool, "Whether the model sees pictures: those that tools give are sent on, else only mentioned."
    ] = False
    return_thoughts: Annotated[
        bool, "Whether the model gets its own thoughts back with its tool calls; some models insist on it."
    ] = False
    max_rounds: Annotated[int, "How often the model is asked in one call of the step, tools in between."] = 50
    max_retries: Annotated[
        int, "How often a request is sent again after a refusal that may pass, or a lost connection."
    ] = 4
    timeout: Annotated[Duration, "How long the API may be silent before it is given up."] = 600.0
    prices: Annotated[
        Prices | None, "What a million tokens cost, `input` and `output`, to compute costs from."
    ] = None
    extra_body: Annotated[
        dict[str, Any], "More for the body of each request; it wins over ours, and null leaves a key out."
    ] = {}


def read_options(values: dict[str, Any]) -> OpenAICompatibleOptions:
    """Options that have been checked."""
    read: OpenAICompatibleOptions = declared.read_options(OpenAICompatibleOptions, _in_seconds(values))
    return read


def check_options(values: dict[str, Any]) -> list[OptionProblem]:
    problems = declared.check_options(OpenAICompatibleOptions, _in_seconds(values), "openai_compatible")
    known_wrong = {problem.key for problem in problems}
    for key, hint in _REQUIRED.items():
        if not values.get(key):
            problems.append(OptionProblem(key, f"'{key}' is missing.", hint))
    for key, check in _CHECKS.items():
        value = values.get(key)
        if value is not None and key not in known_wrong and not _is_open(value) and (wrong := check(value)):
            problems.append(OptionProblem(key, f"'{key}' {wrong}"))
    return problems


def _in_seconds(values: dict[str, Any]) -> dict[str, Any]:
    seconds = parse_duration(values["timeout"]) if isinstance(values.get("timeout"), str) else None
    return values if seconds is None else {**values, "timeout": seconds}


def _is_open(value: Any) -> bool:
    return isinstance(value, str) and ("{{" in value or "${env:" in value)


def _base_url(value: Any) -> str:
    from urllib.parse import urlsplit  # late: whatever reads workflows may load this module

    try:
        parts = urlsplit(str(value))
        good = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    return "" if good else "is not an address that begins with http:// or https://."


def _headers(value: Any) -> str:
    for name, text in value.items():
        if not _HEADER_NAME.fullmatch(name):
            return f"has the name '{name}', which no header can have."
        if "\r" in str(text) or "\n" in str(text):
            return f"has a value of more than one line for '{name}'."
    return ""


def _extra_body(value: Any) -> str:
    taken = [key for key in _LOOP_OWNS if key in value]
    return f"cannot set '{taken[0]}': that is the conversation itself." if taken else ""


def _at_least(lowest: int) -> Any:
    return lambda value: "" if float(value) >= lowest else f"must be at least {lowest}."


def _lasting(value: Any) -> str:
    return "" if parse_duration(value) else "must be longer than nothing."


_CHECKS: dict[str, Any] = {
    "base_url": _base_url,
    "headers": _headers,
    "extra_body": _extra_body,
    "timeout": _lasting,
    "max_rounds": _at_least(1),
    "max_retries": _at_least(0),
    "max_tokens": _at_least(1),
    "max_completion_tokens": _at_least(1),
}
