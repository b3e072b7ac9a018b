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
    """A `PinStore` over another one, which keeps no secret of the gateway's file any longer than until it is first read."""

    def __init__(self, store: PinStore, publishing: Publishing, own: Publishing) -> None:
        """`publishing`: without all secrets that are known here. `own`: without those of the gateway's file.

        What is stored goes by the latter: other processes know the file as well, but not each other's environment, and a tool
        must not seem to have changed because somebody has looked at it from another shell.
        """
        self._store = store
        self._publishing, self._own = publishing, own
        self._stored = _Cleaned(own)
        self._shown = _Cleaned(publishing)

    def load(self) -> dict[str, Pin]:
        pins = self._store.load()
        stored = self._stored.of(pins)
        if any(stored.get(key) is not pin for key, pin in pins.items()):
            self._store.save(stored)  # where that fails, the store says so
        return dict(self._shown.of(stored))

    def save(self, pins: Mapping[str, Pin]) -> Problem | None:
        """Of those that are as they were loaded, what was stored stays."""
        return self._store.save({key: self._shown.original(key, pin) for key, pin in pins.items()})


class _Cleaned:
    """Pins that were looked through, for as long as neither they nor the known secrets are others."""

    def __init__(self, publishing: Publishing) -> None:
        self._publishing = publishing
        self._state: object = None
        self._pins: dict[
            str, tuple[Pin, Pin | None]
        ] = {}  # as they were, and clean; None: not to be looked through

    def of(self, pins: Mapping[str, Pin]) -> dict[str, Pin]:
        state = self._publishing.state
        known = self._pins if self._state is state else {}
        found = {key: self._looked_at(known.get(key), pin) for key, pin in pins.items()}
        self._state, self._pins = state, found
        return {key: clean for key, (_, clean) in found.items() if clean is not None}

    def original(self, key: str, pin: Pin) -> Pin:
        was, clean = self._pins.get(key, (pin, pin))
        return was if clean is pin else pin

    def _looked_at(self, known: tuple[Pin, Pin | None] | None, pin: Pin) -> tuple[Pin, Pin | None]:
        return known if known is not None and known[0] is pin else (pin, self._cleaned(pin))

    def _cleaned(self, pin: Pin) -> Pin | None:
        """A fingerprint that did not fit still does not: somebody has changed the file."""
        definition = self._publishing.tool(pin.definition)
        if definition is None or definition is pin.definition:
            return pin if definition is not None else None
        fits = pin.fingerprint == fingerprint(pin.definition)
        print_now = fingerprint(definition) if fits else pin.fingerprint
        return msgspec.structs.replace(pin, definition=definition, fingerprint=print_now)
