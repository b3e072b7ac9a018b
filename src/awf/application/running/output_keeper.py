"""A command's output: shown live, kept as a value up to a limit, kept whole in a file beyond it."""

from __future__ import annotations

import codecs
import os
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.domain.ports.command_runner import Stream
    from awf.domain.redaction import StreamMasker, TextMasker

__all__ = ["KeptOutput", "OutputKeeper"]


class KeptOutput(NamedTuple):
    text: str
    truncated: bool
    file: str


class OutputKeeper:
    """One stream of one command. Memory use is bounded by the limit, whatever the command prints."""

    def __init__(
        self,
        limit: int,
        encoding: str,
        file_of: Callable[[], str],
        stream_masker: StreamMasker,
        text_masker: TextMasker,
        show: Callable[[str], None],
    ) -> None:
        self._half = max(limit // 2, 1)
        self._limit = limit
        self._encoding = encoding
        self._file_of = file_of  # most output is small and never needs one
        self._file = ""
        self._masker = stream_masker
        self._live = text_masker  # a secret may come in two pieces
        self._show = show
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._head = bytearray()
        self._tail = bytearray()
        self._spill: BinaryIO | None = None
        self._total = 0

    def feed(self, data: bytes) -> None:
        self._total += len(data)
        if self._spill is not None:
            self._spill.write(self._masker.feed(data))
            self._keep_tail(data)
        elif len(self._head) + len(data) <= self._limit:
            self._head += data
        else:
            self._begin_spill(data)
        if text := self._live.feed(self._decoder.decode(data)):
            self._show(text)

    def _begin_spill(self, data: bytes) -> None:
        whole = bytes(self._head) + data
        self._file = self._file_of()
        handle = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        self._spill = os.fdopen(handle, "wb")
        self._spill.write(self._masker.feed(whole))
        self._head = bytearray(whole[: self._half])
        self._keep_tail(whole[self._half :])

    def _keep_tail(self, data: bytes) -> None:
        self._tail += data
        if len(self._tail) > 4 * self._half:  # cut rarely: deleting from the front moves the rest
            del self._tail[: -self._half]

    def close(self) -> KeptOutput:
        if text := self._live.feed(self._decoder.decode(b"", final=True)) + self._live.close():
            self._show(text)
        if self._spill is None:
            return KeptOutput(self._text(bytes(self._head)), truncated=False, file="")
        self._spill.write(self._masker.close())
        self._spill.close()
        tail = bytes(self._tail[-self._half :])
        left_out = self._total - len(self._head) - len(tail)
        note = f"\n… {left_out} bytes left out; all of it is in {self._file} …\n"
        return KeptOutput(
            self._text(bytes(self._head)) + note + self._text(tail), truncated=True, file=self._file
        )

    def _text(self, data: bytes) -> str:
        return data.decode(self._encoding, "replace").rstrip("\r\n")


def streams(make: Callable[[Stream], OutputKeeper]) -> dict[Stream, OutputKeeper]:
    return {"stdout": make("stdout"), "stderr": make("stderr")}
