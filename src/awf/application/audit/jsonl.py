"""The chain as lines, and the check of such lines where there is no store."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from awf.domain.audit import AuditCheckpoint, AuditReport
from awf.domain.audit_chain import ChainWalk, reader, record_line
from awf.domain.canonical import canonical

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from awf.domain.ports.audit_log import AuditLog

__all__ = ["chain_lines", "verify_lines"]

_PAGE = 500
_RECORD = re.compile(
    rb'\{"entry":(\{.*\}),"hash":"([0-9a-f]{64})","previous":"([0-9a-f]{64})","sequence":([1-9][0-9]{0,17})\}'
)


class _Line(msgspec.Struct, frozen=True):
    checkpoint: AuditCheckpoint


_line = reader(_Line)


async def chain_lines(log: AuditLog, after: int = 0, limit: int = 0) -> AsyncIterator[bytes]:
    """Every record as it is in the chain, in canonical JSON, and behind the record that it signs each checkpoint."""
    left = limit or -1
    while left and (page := await log.records(after=after, limit=min(_PAGE, left) if left > 0 else _PAGE)):
        last = page[-1].sequence
        signed = {one.size: one for one in await log.checkpoints(after=after) if one.size <= last}
        for record in page:
            yield record_line(record) + b"\n"
            if record.sequence in signed:
                yield canonical({"checkpoint": msgspec.to_builtins(signed[record.sequence])}) + b"\n"
        after = last
        left -= len(page)


def verify_lines(
    lines: Iterable[bytes], public_key: str, holds: Callable[[AuditCheckpoint, str], bool]
) -> AuditReport:
    """Whether an export is whole and unchanged. Signatures are held against the key, or several with blanks between them, if there is one."""
    walk = ChainWalk()
    signed = vouched = 0
    for number, line in enumerate(lines, 1):
        if found := _RECORD.fullmatch(line.rstrip(b"\n")):
            entry, said, previous, sequence = found[1], found[2].decode(), found[3].decode(), int(found[4])
            if walk.count == 0:
                walk.begin_at(sequence, previous)
            walk.step(sequence, previous, said, entry)
            walk.read(sequence, entry)
        elif (checkpoint := _checkpoint(line)) is not None:
            signed += 1
            vouched = max(vouched, checkpoint.size)
            _check(walk, checkpoint, public_key, holds)
        else:
            walk.flaw("changed", walk.last + 1, f"line {number} is neither a record nor a checkpoint")
    return AuditReport(
        records=walk.count,
        first=walk.first,
        sound_until=walk.sound_until,
        head=walk.head,
        checkpoints=signed,
        flaws=tuple(walk.flaws),
        notes=tuple(_unsigned(walk, vouched)) if public_key else (),
    )


def _unsigned(walk: ChainWalk, vouched: int) -> Iterator[str]:
    """Whoever names a key wants to know what it does not vouch for."""
    first = max(vouched + 1, walk.first)
    if first <= walk.last:
        yield f"no signature vouches for records {first} to {walk.last}"


def _checkpoint(line: bytes) -> AuditCheckpoint | None:
    try:
        return _line(line).checkpoint
    except msgspec.DecodeError:
        return None


def _check(
    walk: ChainWalk, one: AuditCheckpoint, public_key: str, holds: Callable[[AuditCheckpoint, str], bool]
) -> None:
    if (public_key and one.key not in public_key.split()) or not holds(one, one.key):
        walk.flaw(
            "checkpoint", one.size, f"the checkpoint of {one.size} records was not signed with this log's key"
        )
    elif (one.size, one.head) != (walk.last, walk.head):
        walk.flaw(
            "checkpoint",
            one.size,
            f"the checkpoint of {one.size} records vouches for another record than {walk.last}",
        )
