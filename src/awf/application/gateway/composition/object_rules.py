"""What the keywords of one schema object say about fields that are hidden, always sent, or called otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from awf.application.gateway.composition.document import MISSING, listed, mapped
from awf.application.gateway.composition.holding import holds
from awf.application.gateway.composition.known_fields import matching_patterns
from awf.application.gateway.composition.problem import CompositionProblem, hidden_required, invalid_override
from awf.application.gateway.composition.schema_parts import conjuncts, is_trivial

if TYPE_CHECKING:
    from awf.application.gateway.composition.edits import Edits, Removal
    from awf.application.gateway.composition.reshaping import Reshaping

__all__ = ["Dead", "ObjectRules"]


class Dead(NamedTuple):
    """No object can be right under a part any more, and why."""

    problem: CompositionProblem


class ObjectRules:
    def __init__(self, whole: Reshaping, schema: dict[str, Any], edits: Edits, sure: bool) -> None:
        self.whole, self.schema, self.edits, self.sure = whole, schema, edits, sure
        self.dead: Dead | None = None
        self.declared = mapped(schema, "properties")
        self.also_required: list[str] = []

    def work_out(self, out: dict[str, Any]) -> None:
        """Write the new keywords into a copy of the schema."""
        self._properties(out)
        for removal, name in self._sent():
            self._elsewhere(removal, name)
        self._other_places()
        self._dependent_required(out)
        self._required(out)
        self._counts(out)

    def _sent(self) -> list[tuple[Removal, str]]:
        return [
            (removal, name) for name, removal in self.edits.removed.items() if removal.value is not MISSING
        ]

    def _kill(self, problem: CompositionProblem) -> None:
        self.dead = self.dead or Dead(problem)

    # -- the field itself ------------------------------------------------------------------------------------------

    def _properties(self, out: dict[str, Any]) -> None:
        new: dict[str, Any] = {}
        changed = False
        for name, schema in self.declared.items():
            removal, child = self.edits.removed.get(name), self.edits.fields.get(name)
            if removal is not None:
                changed = True
                self._has_to_fit(removal, schema)
                continue
            made = self.whole.inner(schema, child, sure=self.sure) if child else schema
            published = self.edits.published(name)
            changed = changed or made is not schema or published != name
            new[published] = made
        if changed:
            out["properties"] = new

    def _has_to_fit(self, removal: Removal, schema: Any) -> None:
        if removal.value is MISSING:
            return
        verdict = holds(schema, removal.value, self.whole.document)
        if verdict is False:
            message = f"The default of “{removal.text}” is not a value that the tool takes for it"
            hint = f"It takes {_told(schema)}."
            self._kill(invalid_override(removal.origin, f"{message}.", hint))
        elif verdict is None and not self.sure:
            self._cannot(removal, "decides by its value between variants, which is not known beforehand")

    def _elsewhere(self, removal: Removal, name: str) -> None:
        """Keywords that speak about a field without declaring it."""
        patterns = matching_patterns(self.schema, name)
        for schema in patterns:
            self._certainly_fits(removal, schema, "patternProperties")
        if name not in self.declared and not patterns and "additionalProperties" in self.schema:
            self._certainly_fits(removal, self.schema["additionalProperties"], "additionalProperties")
        if self.schema.get("unevaluatedProperties", True) is not True and not self._surely_declared(name):
            self._cannot(removal, "has unevaluatedProperties that may concern it")
        if "propertyNames" in self.schema:
            verdict = holds(self.schema["propertyNames"], name, self.whole.document)
            if verdict is None:
                self._cannot(removal, "has propertyNames that cannot be worked out for it")
            elif verdict is False:
                self._kill(self._not_taken(removal))

    def _certainly_fits(self, removal: Removal, schema: Any, keyword: str) -> None:
        verdict = holds(schema, removal.value, self.whole.document)
        if verdict is None:
            self._cannot(removal, f"has {keyword} that cannot be worked out for its value")
        elif verdict is False:
            self._kill(self._not_taken(removal))

    def _not_taken(self, removal: Removal) -> CompositionProblem:
        message = f"The tool does not take “{removal.text}” with this value, or not at all."
        return invalid_override(removal.origin, message, "Remove the default, or correct its value.")

    def _surely_declared(self, name: str) -> bool:
        return any(name in mapped(part, "properties") for part in conjuncts(self.schema, self.whole.document))

    def _cannot(self, removal: Removal, reason: str) -> None:
        self.whole.cannot(self.edits, reason, removal.origin, removal.text)

    # -- fields that keep their place, or only change their names --------------------------------------------------

    def _other_places(self) -> None:
        for name, child in self.edits.fields.items():
            if matching_patterns(self.schema, name):
                self.whole.cannot(child, "has patternProperties that match a name on the way")
            elif name not in self.declared and not self._leaves_open(name):
                self.whole.cannot(child, "says something about a field on the way without naming it")
        for name, renaming in self.edits.renamed.items():
            names = (name, renaming.name)
            if any(matching_patterns(self.schema, each) for each in names):
                reason = "has patternProperties that match one of the names"
                self.whole.cannot(self.edits, reason, renaming.origin, renaming.text)
            rule = self.schema.get("propertyNames", True)
            if not all(holds(rule, each, self.whole.document) for each in names):
                reason = "has propertyNames that may not allow it"
                self.whole.cannot(self.edits, reason, renaming.origin, renaming.text)

    def _leaves_open(self, name: str) -> bool:
        others = self.schema.get("additionalProperties", True)
        rest = self.schema.get("unevaluatedProperties", True)
        return (isinstance(others, bool) or is_trivial(others)) and (
            isinstance(rest, bool) or self._surely_declared(name)
        )

    # -- who needs whom --------------------------------------------------------------------------------------------

    def _required(self, out: dict[str, Any]) -> None:
        before = listed(self.schema, "required")
        new: list[str] = []
        for name in before:
            removal = self.edits.removed.get(name)
            if removal is not None and removal.value is MISSING:
                self._kill(_needs_a_value(removal, "is required"))
            elif not self.edits.always_sent(name):
                new.append(self.edits.published(name))
        new += [name for name in dict.fromkeys(self.also_required) if name not in new]
        if new != before:
            out["required"] = new
        if not new and before:
            del out["required"]

    def _dependent_required(self, out: dict[str, Any]) -> None:
        for key in ("dependentRequired", "dependencies"):
            entries = mapped(self.schema, key)
            new: dict[str, Any] = {}
            for name, needed in entries.items():
                if not isinstance(needed, list):
                    new[name] = needed
                    continue
                removal = self.edits.removed.get(name)
                if removal is not None and removal.value is MISSING:
                    continue
                kept = self._still_needed(name, needed)
                if self.edits.always_sent(name):
                    self.also_required += kept
                elif kept:
                    new[self.edits.published(name)] = kept
            if new != entries:
                out[key] = new
            if not new and entries:
                del out[key]

    def _still_needed(self, name: str, needed: list[str]) -> list[str]:
        for other in needed:
            removal = self.edits.removed.get(other)
            if removal is not None and removal.value is MISSING:
                problem = _needs_a_value(removal, f"is required whenever “{name}” is given")
                if self.edits.always_sent(name):
                    self._kill(problem)
                else:
                    self.whole.problems[problem] = None
        return [self.edits.published(other) for other in needed if not self.edits.always_sent(other)]

    def _counts(self, out: dict[str, Any]) -> None:
        sent = self._sent()
        for key in ("minProperties", "maxProperties"):
            limit = self.schema.get(key)
            if sent and isinstance(limit, int):
                out[key] = max(limit - len(sent), 0)
                if key == "maxProperties" and limit < len(sent):
                    self._kill(self._not_taken(sent[0][0]))


def _needs_a_value(removal: Removal, why: str) -> CompositionProblem:
    message = f"“{removal.text}” {why}, so it cannot be hidden without a value."
    return hidden_required(removal.origin, message, f"Add it under defaults:  {removal.text}: VALUE")


def _told(schema: Any) -> str:
    if isinstance(schema, dict) and isinstance(schema.get("enum"), list):
        return f"one of {', '.join(map(str, schema['enum'][:12]))}"
    kind = schema.get("type") if isinstance(schema, dict) else None
    if isinstance(kind, list):
        return " or ".join(map(str, kind))
    return str(kind) if kind else "what its schema describes"
