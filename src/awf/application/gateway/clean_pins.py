"""Pins without secrets. Files of earlier versions may hold some: a server can repeat its key in a description.

What servers offer comes without them (`Publishing`), so what is pinned does too, and a pin is held against it in the same form:
another value of the same secret is no change, all else is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from awf.application.gateway.pinning import fingerprint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.domain.pinning import Pin
    from awf.domain.ports.pin_store import PinStore
    from awf.domain.problem import Problem
    from awf.domain.redaction.publishing import Publishing

__all__ = ["CleanPins"]


class CleanPins:
    """A `PinStore` over another one, which keeps no secret any longer than until it is first read."""

    def __init__(self, store: PinStore, publishing: Publishing) -> None:
        self._store = store
        self._publishing = publishing
        self._seen: tuple[object, dict[str, Pin]] = (None, {})  # what was known then, and what is clean

    def load(self) -> dict[str, Pin]:
        pins, state = self._store.load(), self._publishing.state
        clean = self._seen[1] if self._seen[0] is state else {}
        found = {key: pin if clean.get(key) is pin else self._cleaned(pin) for key, pin in pins.items()}
        kept = {key: pin for key, pin in found.items() if pin is not None}
        if any(kept.get(key) is not pin for key, pin in pins.items()):
            self._store.save(kept)  # where that fails, the store says so
        self._seen = state, kept
        return dict(kept)

    def save(self, pins: Mapping[str, Pin]) -> Problem | None:
        return self._store.save(pins)

    def _cleaned(self, pin: Pin) -> Pin | None:
        """A fingerprint that did not fit still does not: somebody has changed the file. None: it cannot be looked through."""
        definition = self._publishing.tool(pin.definition)
        if definition is None or definition is pin.definition:
            return pin if definition is not None else None
        fits = pin.fingerprint == fingerprint(pin.definition)
        print_now = fingerprint(definition) if fits else pin.fingerprint
        return msgspec.structs.replace(pin, definition=definition, fingerprint=print_now)
