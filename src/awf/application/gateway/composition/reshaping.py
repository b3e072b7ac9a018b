"""The schema that agents see: the server's, with what is already known about a call worked into it.

Theory of operation. A hidden field is known to be absent; one with a default is known to be present with a right
value. Every keyword that speaks about such a field is worked out with that knowledge, and nothing else is changed. So
arguments are right under the new schema exactly when the arguments that are sent upstream are right under the
server's. Because it is exact for each part, it is exact under `oneOf`, `not` and `if` too.

- A part under which no object can be right any more is *dead*. A dead variant of a union is left out; a dead schema is
  a problem of the override.
- What cannot be worked out for certain is a problem, never a guess. Only a value that does not depend on the choice of
  a variant is trusted to be right (`sure`).
- References are followed, and replaced by what they stand for only where something changed; everything else stays the
  same object, which is how a change is noticed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from awf.application.gateway.composition.budget import Budget
from awf.application.gateway.composition.document import MISSING, admits, listed, resolve
from awf.application.gateway.composition.edits import shown
from awf.application.gateway.composition.object_rules import Dead, ObjectRules
from awf.application.gateway.composition.problem import invalid_override
from awf.application.gateway.composition.schema_parts import accepts, is_trivial, merged, without_objects

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.application.gateway.composition.edits import Edits
    from awf.application.gateway.composition.problem import CompositionProblem

__all__ = ["Reshaping"]

_HINT = "Leave the field as it is, or hide one on which less depends."


class Place(NamedTuple):
    """What is known about where a part stands."""

    sure: bool  # it holds whatever variant is chosen
    only_objects: bool  # only objects come here, so nothing has to be said about other values
    within: frozenset[int] = frozenset()  # the parts around it that speak about the same value


class Reshaping:
    """One schema being reshaped; collects what stands in the way."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self._budget = Budget()
        self.problems: dict[CompositionProblem, None] = {}  # in order, each once

    def made(self, edits: Edits) -> Any:
        """The new schema; of no use when there are problems."""
        made = self.part(self.document, edits, Place(sure=True, only_objects=True))
        if isinstance(made, Dead):
            self.problems[made.problem] = None
            return self.document
        return made

    def part(self, schema: Any, edits: Edits, place: Place) -> Any:
        """The new form of one part: itself when nothing changed, or Dead."""
        if not isinstance(schema, dict) or not self.concerns(schema, edits):
            return schema
        if id(schema) in place.within:
            self.cannot(edits, "refers to itself without end")
            return schema
        self._budget.spend()
        return _Part(self, schema, edits, place).made()

    def inner(self, schema: Any, edits: Edits, *, sure: bool) -> Any:
        """The same for the value of a field, where there has to be a right object in the end."""
        made = self.part(schema, edits, Place(sure, only_objects=False))
        if isinstance(made, Dead):
            self.problems[made.problem] = None
            return schema
        return made

    def concerns(self, schema: dict[str, Any], edits: Edits) -> bool:
        return (edits.of_object and admits(schema, "object")) or (
            edits.each is not None and admits(schema, "array")
        )

    def cannot(self, edits: Edits, reason: str, origin: str = "", text: str = "") -> None:
        message = f"“{text or edits.text}” cannot be changed safely: the tool's schema {reason}."
        self.problems[invalid_override(origin or edits.origin, message, _HINT)] = None


class _Part:
    """One schema object, keyword by keyword."""

    def __init__(self, whole: Reshaping, schema: dict[str, Any], edits: Edits, place: Place) -> None:
        self.whole, self.schema, self.edits, self.sure = whole, schema, edits, place.sure
        self.only_objects = place.only_objects or schema.get("type") == "object"
        self.within = place.within | {id(schema)}
        self.out = dict(schema)
        self.more: list[Any] = []  # what held under a condition that is now known to be met
        self.dead: Dead | None = None

    def made(self) -> Any:
        self._limits_of_proof()
        if self.edits.of_object and admits(self.schema, "object"):
            rules = ObjectRules(self.whole, self.schema, self.edits, self.sure)
            rules.work_out(self.out)
            self.dead = rules.dead
            self._dependent_schemas()
        if self.edits.each is not None:
            self._items(self.edits.each)
        self._unions()
        self._not()
        self._conditions()
        self._all_of()
        self._examples()
        made = self._in_place_of_reference()
        return self.dead or made

    def _same(self, schema: Any, *, sure: bool = False) -> Any:
        return self.whole.part(schema, self.edits, Place(sure, self.only_objects, self.within))

    def _kill(self, found: Dead) -> None:
        self.dead = self.dead or found

    def _exactly(self, schema: Any) -> Any:
        """For places where a dead part may simply stand as one that no object fulfils."""
        made = self._same(schema)
        return self._rest(schema) if isinstance(made, Dead) else made

    def _rest(self, schema: Any) -> Any:
        """What a dead part still accepts."""
        return False if self.only_objects else without_objects(schema, self.whole.document)

    def _limits_of_proof(self) -> None:
        for key in ("$dynamicRef", "$recursiveRef"):
            if key in self.schema:
                self.whole.cannot(self.edits, f"has a {key} there")
        if "$id" in self.schema and self.schema is not self.whole.document:
            self.whole.cannot(self.edits, "has a document of its own ($id) there")
        whole = [self.schema["const"]] if "const" in self.schema else []
        for value in [*whole, *listed(self.schema, "enum")]:
            if isinstance(value, dict if self.edits.of_object else list):
                self.whole.cannot(
                    self.edits, "lists the whole values (enum or const) that are allowed around it"
                )

    def _unions(self) -> None:
        for key in ("anyOf", "oneOf"):
            if isinstance(self.schema.get(key), list):
                self._union(key, self.schema[key])

    def _union(self, key: str, branches: list[Any]) -> None:
        document, kind = self.whole.document, "object" if self.edits.of_object else "array"
        taking = [branch for branch in branches if accepts(branch, kind, document)]
        new, dead = [], []
        for branch in branches:
            made = self._same(branch, sure=self.sure and len(taking) == 1)
            if isinstance(made, Dead):
                dead.append(made)
                made = self._rest(branch)
            if made is not False or branch is False:
                new.append(made)
        if dead and len(dead) >= len(taking):
            self._kill(dead[0])
        elif len(new) < len(branches) or any(a is not b for a, b in zip(new, branches, strict=True)):
            self.out[key] = new
            if key == "anyOf" and _says_nothing(new, document):
                del self.out[key]

    def _not(self) -> None:
        if "not" not in self.schema:
            return
        made = self._exactly(self.schema["not"])
        if made is False:
            del self.out["not"]
        elif made is not self.schema["not"]:
            self.out["not"] = made
            if is_trivial(made):
                message = f"The tool's schema rules out a value for “{self.edits.text}” (not)."
                self._kill(Dead(invalid_override(self.edits.origin, message, "Remove the default.")))

    def _conditions(self) -> None:
        if "if" in self.schema:
            condition = self._exactly(self.schema["if"])
            if condition is not self.schema["if"] and self._settled(condition):
                return
            self.out["if"] = condition
        for key in ("then", "else"):
            if key in self.schema:
                self.out[key] = self._exactly(self.schema[key])

    def _settled(self, condition: Any) -> bool:
        """Whether the outcome of the condition is known now; then only one way is left, and always holds."""
        if not self.only_objects or not (condition is False or is_trivial(condition)):
            return False
        for key in ("if", "then", "else"):
            self.out.pop(key, None)
        self._hold_always(self.schema.get("else" if condition is False else "then", True))
        return True

    def _hold_always(self, schema: Any) -> None:
        made = self._same(schema, sure=self.sure)
        if isinstance(made, Dead):
            self._kill(made)
        elif not is_trivial(made):
            self.more.append(made)

    def _dependent_schemas(self) -> None:
        for key in ("dependentSchemas", "dependencies"):
            entries = self.schema.get(key)
            if not isinstance(entries, dict):
                continue
            new: dict[str, Any] = {}
            for name, schema in entries.items():
                if isinstance(schema, list):  # a list of names, in the older form: see ObjectRules
                    new |= {n: s for n, s in self.out.get(key, {}).items() if n == self.edits.published(name)}
                elif self.edits.always_sent(name):
                    self._hold_always(schema)
                elif name not in self.edits.removed:
                    new[self.edits.published(name)] = self._exactly(schema)
            self._put(key, new)

    def _items(self, each: Edits) -> None:
        for key in ("items", "prefixItems", "additionalItems"):
            value = self.schema.get(key)
            if isinstance(value, list):
                self._put(key, [self.whole.inner(part, each, sure=self.sure) for part in value])
            elif value is not None:
                self._put(key, self.whole.inner(value, each, sure=self.sure))
        if "contains" in self.schema:
            made = self.whole.part(self.schema["contains"], each, Place(sure=False, only_objects=False))
            dead = isinstance(made, Dead)
            self._put(
                "contains", without_objects(self.schema["contains"], self.whole.document) if dead else made
            )
        if isinstance(self.schema.get("unevaluatedItems"), dict):
            self.whole.cannot(each, "has unevaluatedItems there")

    def _all_of(self) -> None:
        new: list[Any] = []
        for part in listed(self.schema, "allOf"):
            made = self._same(part, sure=self.sure)
            if isinstance(made, Dead):
                self._kill(made)
            elif made is part or made:
                new.append(made)
        new += self.more
        if new:
            self._put("allOf", new)
        elif listed(self.schema, "allOf"):
            del self.out["allOf"]

    def _examples(self) -> None:
        if isinstance(self.schema.get("default"), dict | list):
            self._put("default", shown(self.schema["default"], self.edits))
        if isinstance(self.schema.get("examples"), list):
            self._put("examples", [shown(value, self.edits) for value in self.schema["examples"]])

    def _put(self, key: str, value: Any) -> None:
        """Where nothing changed, the very same value stays."""
        if value != self.schema.get(key):
            self.out[key] = value
        if not value and isinstance(value, dict) and key.startswith("depend"):
            self.out.pop(key, None)

    def _in_place_of_reference(self) -> Any:
        if "$ref" in self.schema:
            target = resolve(self.whole.document, self.schema["$ref"])
            if target is MISSING:
                self.whole.cannot(self.edits, f"refers to {self.schema['$ref']}, outside of the tool")
            made = self._same(target, sure=self.sure)
            if isinstance(made, Dead):
                self._kill(made)
            elif made is not target:
                del self.out["$ref"]
                return merged(made, self.out, is_document=target is self.whole.document)
        return self.schema if _unchanged(self.out, self.schema) else self.out


def _unchanged(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(one[key] is other[key] for key in one)


def _says_nothing(branches: list[Any], document: Mapping[str, Any]) -> bool:
    """A union that every object fulfils and that tells a reader nothing either."""
    plain = all(isinstance(b, dict) and b.keys() <= {"required", "title", "description"} for b in branches)
    return plain and any(map(is_trivial, branches)) and "unevaluatedProperties" not in document
