"""Inputs before a run: what is given is checked, what is missing is no obstacle yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from awf.application.running.plan_text import Foreseen, placeholder
from awf.application.running.plan_values import InputPlan
from awf.domain.inputs import resolve_inputs
from awf.domain.redaction import MASK, looks_secret

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from awf.domain.redaction import Masker
    from awf.domain.workflow import Input

__all__ = ["ForeseenInputs", "foresee_inputs"]

_NOT_GIVEN = Foreseen(None, complete=True)


class ForeseenInputs(NamedTuple):
    plans: list[InputPlan]
    values: dict[str, Any]
    hidden: frozenset[str]  # not known yet, or not to be shown
    missing: list[str]
    wrong: list[str]


def foresee_inputs(
    declared: Sequence[Input], given: Mapping[str, Foreseen], masker: Masker, is_file: Callable[[str], bool]
) -> ForeseenInputs:
    later = {name for name, value in given.items() if not value.complete}
    missing = [item.name for item in declared if item.name not in later and _is_missing(item, given)]
    for item in declared:
        _remember(item, given.get(item.name, _NOT_GIVEN), masker)
    checked = [item for item in declared if item.name not in {*later, *missing}]
    known = {name: value.value for name, value in given.items() if name not in {*later, *missing}}
    values, wrong = resolve_inputs(checked, known, is_file=is_file)
    values |= {item.name: None for item in declared if item.name not in values}
    plans = [_input(item, given.get(item.name), values[item.name], missing) for item in declared]
    hidden = frozenset({*later, *missing, *(plan.name for plan in plans if plan.secret)})
    return ForeseenInputs(plans, values, hidden, missing, [masker.mask(text) for text in wrong])


def _is_missing(item: Input, given: Mapping[str, Foreseen]) -> bool:
    value = given[item.name].value if item.name in given else item.default
    return item.required and value in (None, "")


def _remember(item: Input, value: Foreseen, masker: Masker) -> None:
    if (item.secret or looks_secret(item.name)) and value.complete:
        for secret in (value.value, item.default):
            if secret is not None:
                masker.add(f"inputs.{item.name}", str(secret))


def _input(item: Input, given: Foreseen | None, value: Any, missing: Sequence[str]) -> InputPlan:
    plan = InputPlan(
        name=item.name,
        type=item.type,
        value=value,
        origin="default" if given is None else "given",
        secret=item.secret or looks_secret(item.name),
        description=item.description,
    )
    if item.name in missing:
        return msgspec.structs.replace(plan, value=placeholder("required"), origin="missing")
    if given is not None and not given.complete:
        return msgspec.structs.replace(plan, value=given.value, origin="later")
    if value is None:
        return msgspec.structs.replace(plan, origin="unset")
    return msgspec.structs.replace(plan, value=MASK) if plan.secret else plan
