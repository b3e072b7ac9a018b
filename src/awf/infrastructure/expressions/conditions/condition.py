"""Conditions: CEL over the values of a run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from awf.infrastructure.expressions.conditions.errors import explain, not_boolean
from awf.infrastructure.expressions.conditions.functions import FUNCTIONS
from awf.infrastructure.expressions.conditions.library import cel
from awf.infrastructure.expressions.conditions.parser import parse
from awf.infrastructure.expressions.conditions.references import findings_in
from awf.infrastructure.expressions.conditions.values import need_for, taken
from awf.infrastructure.expressions.conditions.writer import executable, variable
from awf.infrastructure.expressions.failures import explained
from awf.infrastructure.expressions.values import MISSING, child, follow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.domain.ports.expressions import Reference
    from awf.infrastructure.expressions.conditions.nodes import Node

__all__ = ["CelCondition", "compile_condition"]


def compile_condition(text: str) -> CelCondition:
    return CelCondition(parse(text))


class CelCondition:
    """The library is loaded, and the program made, when a condition is first evaluated."""

    def __init__(self, node: Node) -> None:
        found = findings_in(node)
        self.references: tuple[Reference, ...] = found.references
        self._need = need_for(found.needed)
        self._questions = {f"has_{at}_": path for at, path in found.questions.items()}
        self._text = executable(node, {at: f"has_{at}_" for at in found.questions})
        self._program: Any = None
        self._functions: dict[str, Any] = {}

    def holds(self, context: Mapping[str, Any]) -> bool:
        try:
            result = self._result(context)
        except BaseException as error:
            # The library's panics are no ordinary exceptions.
            if isinstance(error, Exception) or type(error).__name__ == "PanicException":
                raise explained(error, partial(explain, error, self.references, context)) from None
            raise
        if isinstance(result, bool):
            return result
        raise not_boolean(result)

    def _result(self, context: Mapping[str, Any]) -> Any:
        if self._program is None:
            self._program = cel().compile(self._text)
            used = self._program.functions()
            self._functions = {name: FUNCTIONS[name] for name in FUNCTIONS if name in used}
        return self._program.execute(cel().Context(self._variables(context), self._functions))

    def _variables(self, context: Mapping[str, Any]) -> dict[str, Any]:
        values = {root: (child(context, root), need) for root, need in self._need.items()}
        known = {
            variable(root): taken(value, need)
            for root, (value, need) in values.items()
            if value is not MISSING
        }
        answers = {name: follow(context, path) is not MISSING for name, path in self._questions.items()}
        return known | answers
