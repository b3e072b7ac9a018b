"""Events get their number, their time and their mask when they happen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from awf.domain.events import Event, Stamped, StepOutput, event_fields

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.domain.redaction import Masker

__all__ = ["EventStamp"]

_LIVE_OUTPUT_KEPT = 262_144  # characters of a step's live output kept as events; a file has what is larger
_encoder = msgspec.json.Encoder()


class EventStamp:
    """Numbers the events of one run, without gaps."""

    def __init__(self, run_id: str, seq: int, masker: Masker, clock: Callable[[], float]) -> None:
        self.run_id = run_id
        self.seq = seq
        self._masker = masker
        self._clock = clock
        self._output_kept: dict[str, int] = {}

    def __call__(self, event: Event) -> Stamped:
        self.seq += 1
        masked = self._masker.map_struct(event, self._masker.mask)
        return Stamped(self.run_id, self.seq, round(self._clock(), 6), masked)

    def worth_keeping(self, event: Event) -> bool:
        if not isinstance(event, StepOutput):
            return True
        kept = self._output_kept.get(event.path, 0)
        self._output_kept[event.path] = kept + len(event.text)
        return kept < _LIVE_OUTPUT_KEPT

    def step_ended(self, path: str) -> None:
        self._output_kept.pop(path.rpartition("@")[0] or path, None)

    def row(self, stamped: Stamped, once: str = "") -> tuple[str, int, str, str, bytes]:
        """run_id, seq, type, once, body."""
        fields = event_fields(stamped)
        return self.run_id, stamped.seq, fields["type"], once, _encoder.encode(fields)
