"""The form of a step template file, for its schema and its reference page."""

from typing import Annotated, Any

from awf.domain.shape import Name, Record

__all__ = ["Parameter", "StepTemplate"]


class Parameter(Record, frozen=True, kw_only=True):
    """One parameter of a step template."""

    name: Annotated[Name, "How the template refers to it: {{ parameters.NAME }}."]
    description: Annotated[str, "What to give."] = ""
    required: Annotated[bool, "Whether it must be given."] = False
    default: Annotated[Any, "The value when none is given."] = None


class StepTemplate(Record, frozen=True, kw_only=True):
    """A state written once, to be used by many: .awf/templates/NAME.yaml."""

    name: Annotated[str, "The name shown to people; `use_template` takes the name of the file."] = ""
    description: Annotated[str, "What the template is for."] = ""
    parameters: Annotated[list[Parameter], "What a state that uses the template may give."] = []
    states: Annotated[dict[str, Any], "Exactly one state; {{ parameters.NAME }} may stand in any value."]
