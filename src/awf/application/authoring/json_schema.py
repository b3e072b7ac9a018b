"""JSON Schema of the files, made from the types that the reader checks them against. `awf schema` prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.application.authoring.file_format import keys_of
from awf.application.authoring.schema_types import SchemaTypes, closed, described
from awf.application.authoring.state_schema import state_schema, states_schema
from awf.domain.settings import ConfigFile
from awf.domain.step_template import StepTemplate
from awf.domain.workflow import Workflow

if TYPE_CHECKING:
    from awf.application.authoring.schema_types import Json
    from awf.domain.shape import Record

__all__ = ["config_schema", "step_template_schema", "workflow_schema"]

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def workflow_schema() -> Json:
    """The schema of workflow files."""
    types = SchemaTypes()
    properties = types.properties(Workflow, leave_out={"initial", "states"})
    state = types.define("state", state_schema(types))
    states = {"description": _text(Workflow, "states"), **states_schema(state), "required": ["initial"]}
    body = closed({**properties, "states": states}, ["name", "states"])
    return _document("workflow", described(Workflow), body, types)


def config_schema() -> Json:
    """The schema of config.yaml, in a project and in the user's configuration directory."""
    types = SchemaTypes()
    return _document("config", described(ConfigFile), types.record(ConfigFile), types)


def step_template_schema() -> Json:
    """The schema of step templates: one state, in which a parameter may stand for any value."""
    types, inside = SchemaTypes(), SchemaTypes(in_template=True)
    properties = types.properties(StepTemplate, leave_out={"states"})
    state = inside.define("state", state_schema(inside, in_template=True))
    one: Json = {"minProperties": 1, "maxProperties": 1}
    counted: Json = {
        "if": {"required": ["initial"]},
        "then": {"minProperties": 2, "maxProperties": 2},
        "else": one,
    }
    states = {"description": _text(StepTemplate, "states"), **states_schema(state), **counted}
    types.definitions |= inside.definitions
    return _document(
        "template", described(StepTemplate), closed({**properties, "states": states}, ["states"]), types
    )


def _text(cls: type[Record], key: str) -> str:
    return next(found.description for found in keys_of(cls) if found.key == key)


def _document(name: str, description: str, body: Json, types: SchemaTypes) -> Json:
    head = {"$schema": _DRAFT, "$id": f"awf:{name}", "title": f"awf {name}", "description": description}
    return {**head, **body, "$defs": dict(sorted(types.definitions.items()))}
