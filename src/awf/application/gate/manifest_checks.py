"""What is wrong with a manifest or the configuration of a server: all of it at once, each with its place and a code.

Pure: plain values in, values of the domain or problems out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from awf.domain.gate_file import bad_amount
from awf.domain.grant import problems_of_scopes
from awf.domain.manifest import ExecutionLimits, McpManifest, McpServerConfig, MCPTool, ToolAnnotations
from awf.domain.policy import ACTIONS
from awf.domain.problem import NodePath, Problem, suggest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

__all__ = ["ManifestRules", "form_problems", "known_manifest", "known_server"]

T = TypeVar("T")

_MANIFEST = "USER.GATEWAY.INVALID_MANIFEST"
_ANNOTATION = "USER.GATEWAY.INVALID_ANNOTATION"
_SCHEMA = "USER.GATEWAY.INVALID_SCHEMA"
_TOOL_TWICE = "USER.GATEWAY.DUPLICATE_TOOL"
_SERVER = "USER.GATEWAY.INVALID_SERVER"
_SERVER_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_TOOL_NAME = re.compile(r"[A-Za-z0-9_./-]{1,128}")
_MOST_TOOLS = 10_000


class ManifestRules(NamedTuple):
    """What the checks need to know of the rest."""

    problem_with: Callable[[Mapping[str, Any]], str]  # of a JSON Schema
    strict: bool = False  # every tool must say its action
    has_action: Callable[[str], bool] = lambda _: False  # whether configuration says it for this tool id


def known_manifest(given: Any, rules: ManifestRules, at: NodePath = ()) -> McpManifest | list[Problem]:
    """The manifest with the names of its tools trimmed, or everything that is wrong with it."""
    problems = list(form_problems(given, McpManifest, at, _MANIFEST, apart=("tools",)))
    if not isinstance(given, dict):
        return problems
    server_id = given.get("serverId")
    if isinstance(server_id, str) and not _SERVER_ID.fullmatch(server_id):
        hint = "Use up to 64 letters, digits, _, - and dots; a colon parts it from the names of tools."
        problems.append(_found((*at, "serverId"), "This cannot be the id of a server.", hint))
    problems += _required_texts(given, ("name", "version"), at)
    tools = given.get("tools")
    if isinstance(tools, list):
        trimmed = [_trimmed(tool) for tool in tools]
        problems += _problems_of_tools(trimmed, str(server_id), rules, (*at, "tools"))
        given = {**given, "tools": trimmed}
    elif "tools" in given:
        problems.append(_found((*at, "tools"), "`tools` is not a list.", "Write a list of tools; [] is one."))
    return problems or msgspec.convert(given, McpManifest)


def known_server(given: Any, rules: ManifestRules) -> McpServerConfig | list[Problem]:
    """The same for the configuration of a server with its manifest."""
    problems = list(form_problems(given, McpServerConfig, (), _SERVER, apart=("manifest", "limits")))
    if not isinstance(given, dict):
        return problems
    if "limits" in given and given["limits"] is not None:
        problems += form_problems(given["limits"], ExecutionLimits, ("limits",), _SERVER)
    problems += _bad_amounts(given)
    if "manifest" in given:
        manifest = known_manifest(given["manifest"], rules, ("manifest",))
        if isinstance(manifest, list):
            problems += manifest
        else:
            given = {**given, "manifest": msgspec.to_builtins(manifest)}
            if manifest.server_id != given.get("serverId"):
                message = f"The manifest is that of “{manifest.server_id}”, not of “{given.get('serverId')}”."
                hint = "Write the same `serverId` in both."
                problems.append(_found(("manifest", "serverId"), message, hint))
    return problems or msgspec.convert(given, McpServerConfig)


# -- forms -----------------------------------------------------------------------------------------------------------


def form_problems(
    given: Any, form: type[msgspec.Struct], at: NodePath, code: str, *, apart: Collection[str] = ()
) -> Iterator[Problem]:
    """What does not have the form: missing, unknown and wrong keys. The values of those `apart` are not looked at."""
    if not isinstance(given, dict):
        what = f"`{'.'.join(map(str, at))}`" if at else "This"
        yield Problem(code=code, message=f"{what} is not an object.", path=at, hint="Write { … }.")
        return
    fields = {field.encode_name: field for field in msgspec.structs.fields(form)}
    for key, field in fields.items():
        if key not in given:
            if field.required:
                yield Problem(
                    code=code, message=f"`{key}` is missing.", path=(*at, key), hint=f"Add `{key}`."
                )
        elif key not in apart and (why := misfit(given[key], field.type)):
            yield Problem(
                code=code,
                message=f"`{key}` does not fit: {why}.",
                path=(*at, key),
                hint="See docs/tool-gateway.md.",
            )
    for key in given.keys() - fields.keys():
        close = suggest(str(key), fields)
        hint = f"did you mean “{close}”?" if close else f"There are: {', '.join(fields)}."
        yield Problem(code=code, message=f"There is no key “{key}”.", path=(*at, str(key)), hint=hint)


def misfit(value: Any, kind: Any) -> str:
    """Why a value is not of this kind, or nothing."""
    try:
        msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        said, _, place = str(error).partition(" - at ")
        where = f" at {place}" if place else ""
        return f"{said[:1].lower()}{said[1:]}{where}"
    return ""


def _required_texts(given: dict[str, Any], keys: Collection[str], at: NodePath) -> Iterator[Problem]:
    for key in keys:
        if isinstance(given.get(key), str) and not given[key].strip():
            yield _found((*at, key), f"`{key}` is empty.", f"Write the `{key}`.")


def _bad_amounts(given: dict[str, Any]) -> Iterator[Problem]:
    said = given.get("limits")
    places: list[tuple[NodePath, Any]] = [(("timeoutMs",), given.get("timeoutMs"))]
    if isinstance(said, dict):
        places += [(("limits", str(key)), value) for key, value in said.items()]
    for path, value in places:
        wrong = bad_amount(value) if type(value) is int else ""
        if wrong:
            message = f"`{path[-1]}` {wrong}."
            yield Problem(code=_SERVER, message=message, path=path, hint="Write 1 or more, or leave it out.")


# -- tools -----------------------------------------------------------------------------------------------------------


def _trimmed(tool: Any) -> Any:
    if isinstance(tool, dict) and isinstance(tool.get("name"), str):
        return {**tool, "name": tool["name"].strip()}
    return tool


def _problems_of_tools(
    tools: list[Any], server_id: str, rules: ManifestRules, at: NodePath
) -> Iterator[Problem]:
    if len(tools) > _MOST_TOOLS:
        yield _found(at, f"There are more than {_MOST_TOOLS} tools.", "Leave some out.")
        return
    seen: dict[str, int] = {}
    for place, tool in enumerate(tools):
        yield from form_problems(tool, MCPTool, (*at, place), _MANIFEST, apart=("annotations",))
        if not isinstance(tool, dict):
            continue
        name = tool.get("name")
        if isinstance(name, str):
            yield from _problems_of_name(name, (*at, place, "name"), seen, place)
        yield from _required_texts(tool, ("description",), (*at, place))
        yield from _problems_of_schemas(tool, rules, (*at, place))
        yield from _problems_of_annotations(tool, f"{server_id}:{name}", rules, (*at, place))


def _problems_of_name(name: str, at: NodePath, seen: dict[str, int], place: int) -> Iterator[Problem]:
    if not _TOOL_NAME.fullmatch(name):
        hint = "Use up to 128 letters, digits and _ - . /."
        yield _found(at, f"“{name[:80]}” cannot be the name of a tool.", hint)
    elif seen.setdefault(name, place) != place:
        message = f"The server has two tools named “{name}”."
        yield Problem(code=_TOOL_TWICE, message=message, path=at, hint="Rename or remove one of the two.")


def _problems_of_schemas(tool: dict[str, Any], rules: ManifestRules, at: NodePath) -> Iterator[Problem]:
    for key in ("inputSchema", "outputSchema"):
        schema = tool.get(key)
        if not isinstance(schema, dict):
            continue  # told by its form
        why = rules.problem_with(schema)
        if not why and key == "inputSchema" and schema.get("type") != "object":
            why = 'arguments are an object, so its `type` must be "object"'
        if why:
            message = f"`{key}` is no JSON Schema that can be used: {why}."
            hint = "Write it as draft 2020-12 has it; what it refers to must be inside."
            yield Problem(code=_SCHEMA, message=message, path=(*at, key), hint=hint)


def _problems_of_annotations(
    tool: dict[str, Any], tool_id: str, rules: ManifestRules, at: NodePath
) -> Iterator[Problem]:
    said, path = tool.get("annotations"), (*at, "annotations")
    if said is not None:
        yield from form_problems(said, ToolAnnotations, path, _ANNOTATION, apart=("policyAction",))
    parts = [
        (place, part)
        for place, part in ((path, said), ((*at, "_meta"), tool.get("_meta")))
        if isinstance(part, dict)
    ]
    for place, part in parts:
        scopes = part.get("requiredScopes")
        if isinstance(scopes, list):
            yield from problems_of_scopes(scopes, (*place, "requiredScopes"), _ANNOTATION)
    actions = [
        ((*place, "policyAction"), part["policyAction"])
        for place, part in parts
        if part.get("policyAction") is not None
    ]
    for place, action in actions:
        if action not in ACTIONS:
            shown = action if isinstance(action, str) else type(action).__name__
            close = suggest(shown, ACTIONS)
            hint = f"did you mean “{close}”?" if close else f"There are: {', '.join(ACTIONS)}."
            yield Problem(code=_ANNOTATION, message=f"“{shown[:80]}” is no action.", path=place, hint=hint)
    if rules.strict and not actions and not rules.has_action(tool_id):
        message = f"Nobody says what {tool_id} does, and the policy is strict."
        hint = (
            "Add `policyAction` to its annotations, or `policy_action` to its override in the configuration."
        )
        yield Problem(code=_ANNOTATION, message=message, path=(*path, "policyAction"), hint=hint)


def _found(at: NodePath, message: str, hint: str) -> Problem:
    return Problem(code=_MANIFEST, message=message, path=at, hint=hint)
