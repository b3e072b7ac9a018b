"""A workflow as it was read, before it is known to make sense."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from awf.domain.problem import NodePath
from awf.domain.shape import Kind
from awf.domain.workflow import State, Workflow

__all__ = ["Draft", "Use"]


class Use(NamedTuple):
    """A template, condition or state name at its place in the file."""

    kind: Kind
    text: str
    path: NodePath


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """`workflow` is missing when its frame is broken; `states` holds those states that could be read.

    `broken_states` are names whose definition has problems: they exist, so that nothing else about them is reported.
    """

    file: str
    workflow: Workflow | None
    states: dict[str, State]
    broken_states: frozenset[str] = frozenset()
    inputs_known: bool = (
        True  # False: the declarations of inputs are broken, so nothing is said about their uses
    )
    uses: tuple[Use, ...] = ()
