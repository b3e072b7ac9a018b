"""What the database has to say, for those who look at all of it."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Any

from awf.infrastructure.audit_store.postgres.reading import read_checkpoints
from awf.infrastructure.audit_store.verifying import StoredHead

if TYPE_CHECKING:
    from collections.abc import Iterator

    from awf.domain.audit import AuditCheckpoint
    from awf.infrastructure.audit_store.keys import SharedKeys
    from awf.infrastructure.audit_store.postgres.server import Connection

__all__ = ["PostgresEvidence"]

_PAGE = 2000


class PostgresEvidence:
    """Inside of one transaction, so that all of it is of one moment."""

    must_be_noted = False  # a machine may look that has never written
    was_begun = False  # the key may be that of other logs, too
    stranger = ""  # the head names its key

    def __init__(
        self, connection: Connection, keys: SharedKeys | None, trusted: str, noted: tuple[int, str] | None
    ) -> None:
        """`trusted`: the keys, with blanks between them, that all must be signed with; none: any may be, and those not known are told."""
        self._connection = connection
        self._keys = keys
        self._trusted = frozenset(trusted.split())
        self._noted = noted
        row = connection.execute(
            "SELECT origin, sequence, hash, mac, key, signed FROM awf.audit_head"
        ).fetchone()
        self._head = row
        self.origin = str(row[0]) if row else ""
        self.signed = row[5] if row else 0
        self.is_held = bool(self._trusted)

    def records(self) -> Iterator[tuple[Any, Any, Any, Any]]:
        with self._connection.cursor(name="awf_audit", binary=True) as cursor:
            cursor.itersize = _PAGE
            yield from cursor.execute(
                "SELECT sequence, previous, hash, entry FROM awf.audit_records ORDER BY sequence"
            )

    def head(self) -> StoredHead | None:
        if self._head is None:
            return None
        _, sequence, said, mac, key, _ = self._head
        if not sequence and not key:
            return StoredHead(sequence, said, is_ours=True)
        if self.trusts(key) is False:
            return StoredHead(sequence, said, is_ours=False, key=key)
        if (
            self._keys is None or key != self._keys.public
        ):  # its mark can only be made, and checked, with the secret one
            return StoredHead(sequence, said, None, key)
        ours = hmac.compare_digest(self._keys.mac(sequence, said).encode(), mac.encode())
        return StoredHead(sequence, said, ours)

    def noted(self) -> tuple[int, str] | None:
        return self._noted

    def hash_of(self, sequence: int) -> Any:
        row = self._connection.execute(
            "SELECT hash FROM awf.audit_records WHERE sequence=%s", (sequence,)
        ).fetchone()
        return row[0] if row else None

    def open_calls(self) -> set[int]:
        return {one for (one,) in self._connection.execute("SELECT sequence FROM awf.audit_open_calls")}

    def checkpoints(self) -> Iterator[AuditCheckpoint]:
        after = -(1 << 63)  # whatever somebody has made of a number
        while page := read_checkpoints(self._connection, self.origin, after, _PAGE):
            yield from page
            after = page[-1].size

    def has_checkpoint(self, size: int) -> bool:
        found = self._connection.execute("SELECT 1 FROM awf.audit_checkpoints WHERE size=%s", (size,))
        return found.fetchone() is not None

    def trusts(self, key: str) -> bool | None:
        if self._trusted:
            return key in self._trusted
        return True if self._keys is not None and key == self._keys.public else None

    def damage(self) -> Iterator[str]:
        """PostgreSQL looks after its pages itself."""
        return iter(())
