"""The schema of a state: its `type` decides which keys it takes, so that an editor offers only those."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.application.authoring.schema_types import NAME_PATTERN, closed, described
from awf.domain.workflow import PLUGIN_TYPE, STATE_TYPES, AgentState, PluginState

if TYPE_CHECKING:
    from awf.application.authoring.schema_types import Json, SchemaTypes
    from awf.domain.workflow import State

__all__ = ["state_schema", "states_schema"]

_TEXT: Json = {"type": ["string", "number", "boolean"]}
_TYPE: Json = {"$ref": "#/$defs/state_type"}
_USES_TEMPLATE: dict[str, Json] = {
    "use_template": {
        "description": "A step template whose keys this state takes over; its own keys win.",
        **_TEXT,
    },
    "parameters": {"description": "What to give to the step template.", "type": "object"},
}
_INITIAL: Json = {"description": "The state to begin with.", **_TEXT, "minLength": 1}


def states_schema(state: Json) -> Json:
    """States by name, and `initial`."""
    return {
        "type": "object",
        "properties": {"initial": _INITIAL},
        "propertyNames": {"pattern": NAME_PATTERN},
        "additionalProperties": state,
    }


def state_schema(types: SchemaTypes, *, in_template: bool = False) -> Json:
    """One state. What comes from a step template is not known here, so with `use_template` no key is demanded."""
    types.define("state_type", _type_key())
    by_type = {"allOf": [_keys_of_type(types, cls, pattern) for cls, pattern in _classes().items()]}
    nested = types.define("agent_in_a_block", _agent_in_a_block(types))
    typed: Json = {"if": {"required": ["agent"]}, "then": nested, "else": by_type}
    open_ended: Json = {"required": ["use_template"]}
    if in_template:
        open_ended = {"anyOf": [open_ended, {"not": {"required": ["type"]}}]}
    else:
        typed["required"] = ["type"]
    return {
        "type": "object",
        "properties": {"type": _TYPE, **_USES_TEMPLATE},
        "if": open_ended,
        "then": types.define("state_with_template", _any_keys(types)),
        "else": typed,
    }


def _classes() -> dict[type[State], str]:
    """Each class of states with the pattern of its type."""
    found: dict[type[State], list[str]] = {}
    for name, cls in STATE_TYPES.items():
        found.setdefault(cls, []).append(name)
    return {**{cls: _pattern(names) for cls, names in found.items()}, PluginState: PLUGIN_TYPE}


def _type_key() -> Json:
    """The names with what they mean for editors to offer, and any spelling in upper and lower case."""
    offered: list[Json] = [
        {"const": name, "description": described(cls)} for name, cls in STATE_TYPES.items()
    ]
    return {
        "description": "What the state does.",
        "anyOf": [
            *offered,
            {"type": "string", "pattern": _pattern(list(STATE_TYPES))},
            {"type": "string", "pattern": PLUGIN_TYPE, "description": described(PluginState)},
        ],
    }


def _pattern(names: list[str]) -> str:
    def either_case(name: str) -> str:
        return "".join(f"[{char.upper()}{char}]" if char.isalpha() else char for char in name)

    return f"^({'|'.join(map(either_case, names))})$"


def _keys_of_type(types: SchemaTypes, cls: type[State], pattern: str) -> Json:
    keys = closed({**types.properties(cls), "type": _TYPE}, types.required(cls), described(cls))
    return {
        "if": {"properties": {"type": {"pattern": pattern}}, "required": ["type"]},
        "then": types.define(f"{cls.kind}_state", keys),
    }


def _agent_in_a_block(types: SchemaTypes) -> Json:
    """`agent:` may hold keys of the agent; each of them may stand inside or beside it."""
    keys = types.properties(AgentState)
    inside = types.define("agent_block", closed(keys, [], "Keys of the agent."))
    block = {"description": "Keys of the agent, set apart.", **inside}
    schema = closed({"type": _TYPE, "agent": block, **keys}, [], described(AgentState))
    required = types.required(AgentState)
    either: list[Json] = [
        {"anyOf": [{"required": [key]}, {"properties": {"agent": {"required": [key]}}}]} for key in required
    ]
    return {**schema, "allOf": either} if either else schema


def _any_keys(types: SchemaTypes) -> Json:
    """The keys of all types together."""
    found: dict[str, list[Json]] = {}
    for cls in _classes():
        for key, schema in types.properties(cls).items():
            forms = found.setdefault(key, [])
            if _form(schema) not in [_form(known) for known in forms]:
                forms.append(schema)
    keys = {key: forms[0] if len(forms) == 1 else {"anyOf": forms} for key, forms in found.items()}
    block: Json = {"$ref": "#/$defs/agent_block"}
    return closed({"type": _TYPE, "agent": block, **_USES_TEMPLATE, **keys}, [])


def _form(schema: Json) -> Json:
    return {name: part for name, part in schema.items() if name not in {"description", "default"}}
