"""What happens to one call of a published tool on its way up, and to the answer on its way down.

Made once per tool, used for every call: a level holds what it needs in the form in which it is looked up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.application.gateway.composition.document import MISSING
from awf.domain.mirroring import mirrored_headers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from awf.application.gateway.composition.cleaning import Cleaner
    from awf.application.gateway.composition.edits import Edits
    from awf.application.gateway.composition.output import Selection

__all__ = ["CallPlan"]


class CallPlan:
    """Pure: the same call gives the same answer, but for what `value` says."""

    __slots__ = ("_cleaner", "_edits", "_level", "_mirrored", "_refusal", "_selection", "_visible")

    def __init__(
        self,
        edits: Edits | None = None,
        *,
        mirrored: Mapping[tuple[str, ...], str] | None = None,
        selection: Selection | None = None,
        visible: Callable[[], frozenset[str]] = frozenset,
        refusal: str = "",
    ) -> None:
        self._edits = edits or None
        self._level = _Level(edits) if edits else None
        self._mirrored = mirrored
        self._selection = selection
        self._visible = visible  # the names that agents see; asked for when the first error text comes
        self._refusal = refusal
        self._cleaner: Cleaner | None = None

    def refused(self, arguments: Mapping[str, Any]) -> str:
        """Why these arguments cannot be taken, in words for the agent; empty when they can."""
        if self._level is None or self._refusal:
            return self._refusal
        return self._level.refused(arguments, "")

    @property
    def changes_nothing(self) -> bool:
        """Whether arguments go up as they are."""
        return self._level is None

    def upstream(self, arguments: dict[str, Any], value: Callable[[Any], Any]) -> dict[str, Any]:
        """The arguments as the server takes them; `value` makes a configured default the value for this call."""
        if self._level is None:
            return arguments
        made: dict[str, Any] = self._level.upstream(arguments, value)
        return made

    def chosen(self, arguments: dict[str, Any], value: Callable[[Any], Any]) -> dict[str, Any]:
        """The arguments with those configured defaults among them in which the client has a say, for who judges the call.

        `value` makes such a default what the client chose, and gives any other one back as it is. Fields have the names
        that agents know; of those that are hidden none is called like another.
        """
        if self._level is None:
            return arguments
        made: dict[str, Any] = self._level.chosen(arguments, value)
        return made

    def judged(self, chosen: dict[str, Any], value: Callable[[Any], Any]) -> dict[str, Any]:
        """`upstream` for what `chosen` has made: what the client chose counts as it is there."""
        if self._level is None:
            return chosen
        made: dict[str, Any] = self._level.upstream(chosen, value, keeps=True)
        return made

    @property
    def defaults(self) -> Iterator[Any]:
        """All that are configured."""
        return self._level.defaults() if self._level is not None else iter(())

    def mirrored(self, arguments: Mapping[str, Any]) -> dict[str, str]:
        """The headers that repeat arguments, from those that are sent upstream."""
        return mirrored_headers(self._mirrored, arguments) if self._mirrored else {}

    def keeps(self, result: Mapping[str, Any]) -> bool:
        """Whether an answer goes down as it is. Errors do not: their texts are cleaned."""
        return self._selection is None and result.get("isError") is not True

    def result(self, result: dict[str, Any]) -> dict[str, Any]:
        if self._selection is None:
            return result
        from awf.application.gateway.composition.output import selected_result

        return selected_result(result, self._selection)

    def cleaned(self, text: str, sent: Mapping[str, Any] | None = None) -> str:
        """An error text of the server for the agent's eyes; `sent` are the arguments that went upstream, if known."""
        if self._edits is None:
            return text
        if self._cleaner is None:
            from awf.application.gateway.composition.cleaning import Cleaner

            self._cleaner = Cleaner(self._edits, self._visible())
        return self._cleaner.cleaned(text, sent)


class _Level:
    """One object of the arguments, or the items of one array."""

    __slots__ = ("back", "closed", "each", "fields", "reasons", "values")

    def __init__(self, edits: Edits) -> None:
        self.reasons = {name: _reason(removal.value) for name, removal in edits.removed.items()}
        self.reasons |= {name: f"is called “{r.name}” here" for name, r in edits.renamed.items()}
        self.closed = frozenset(self.reasons)
        self.back = {renaming.name: name for name, renaming in edits.renamed.items()}
        self.values = tuple((n, r.value) for n, r in edits.removed.items() if r.value is not MISSING)
        self.fields = tuple(
            (name, edits.published(name), _Level(child), name in edits.ensured)
            for name, child in edits.fields.items()
        )
        self.each = _Level(edits.each) if edits.each is not None else None

    def refused(self, value: Any, way: str) -> str:
        if isinstance(value, dict):
            if not self.closed.isdisjoint(value):
                name = next(name for name in value if name in self.closed)
                return f"“{way}{name}” {self.reasons[name]}."
            for _, name, level, _ in self.fields:
                if name in value and (said := level.refused(value[name], f"{way}{name}.")):
                    return said
        if isinstance(value, list) and self.each is not None:
            way = way.removesuffix(".")
            for at, item in enumerate(value):
                if said := self.each.refused(item, f"{way}[{at}]."):
                    return said
        return ""

    def defaults(self) -> Iterator[Any]:
        yield from (default for _, default in self.values)
        for _, _, level, _ in self.fields:
            yield from level.defaults()
        if self.each is not None:
            yield from self.each.defaults()

    def chosen(self, given: Any, value: Callable[[Any], Any]) -> Any:
        """The same object when nothing of it was chosen."""
        if not isinstance(given, dict):
            return self._items(given, lambda each, item: each.chosen(item, value))
        changed = {name: new for name, old in self.values if (new := value(old)) is not old}
        for _, name, level, ensured in self.fields:
            if name in given:
                new = level.chosen(given[name], value)
                if new is not given[name]:
                    changed[name] = new
            elif ensured and (new := level.chosen({}, value)):
                changed[name] = new
        return {**given, **changed} if changed else given

    def upstream(self, given: Any, value: Callable[[Any], Any], *, keeps: bool = False) -> Any:
        """The same object when there is nothing to change in it. `keeps`: values that are there already."""
        if not isinstance(given, dict):
            return self._items(given, lambda each, item: each.upstream(item, value, keeps=keeps))
        made = given
        if not self.closed.isdisjoint(made):
            # Refused before; if not, then at least never sent.
            made = {name: item for name, item in made.items() if name not in self.closed}
        back = self.back
        if back and not back.keys().isdisjoint(made):
            made = {back.get(name, name): item for name, item in made.items()}
        if self.fields:
            made = self._fields(made, value, keeps=keeps)
        if self.values:
            made = dict(made)
            for name, default in self.values:
                made[name] = given[name] if keeps and name in given else value(default)
        return made

    def _fields(self, made: dict[str, Any], value: Callable[[Any], Any], *, keeps: bool) -> dict[str, Any]:
        changed: dict[str, Any] = {}
        for name, _, level, ensured in self.fields:
            if name in made:
                new = level.upstream(made[name], value, keeps=keeps)
                if new is not made[name]:
                    changed[name] = new
            elif ensured:
                changed[name] = level.upstream({}, value, keeps=keeps)
        return {**made, **changed} if changed else made

    def _items(self, given: Any, change: Callable[[_Level, Any], Any]) -> Any:
        if self.each is None or not isinstance(given, list):
            return given
        made = [change(self.each, item) for item in given]
        return made if any(new is not old for new, old in zip(made, given, strict=True)) else given


def _reason(value: Any) -> str:
    if value is MISSING:
        return "is not an argument of this tool; leave it out"
    return "is set for you and cannot be given; leave it out"
