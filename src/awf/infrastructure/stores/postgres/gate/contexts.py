# ruff: noqa: S608  the names of columns are ours
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.label import PLAIN, Label, joined
from awf.domain.security_context import SecurityContext
from awf.infrastructure.stores.postgres.gate.keeping import MOVING_SECONDS, asked
from awf.infrastructure.stores.postgres.gate.texts import taken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.infrastructure.stores.postgres.gate.keeping import Keeping
    from awf.infrastructure.stores.postgres.gate.lines import Attempt, Connection

__all__ = ["PostgresContexts"]

_NAMES = (
    "context_id", "confidentiality", "integrity", "parent", "minted", "created_at", "raised_at", "raised_by", "resets",
)  # fmt: skip
_COLUMNS = ", ".join(_NAMES)
_FIND = f"SELECT {_COLUMNS} FROM awf.contexts WHERE context_id = %s"
_PARENT = f"{_FIND} FOR SHARE"  # it does not change before its child is there
_ALL = f"SELECT {_COLUMNS} FROM awf.contexts ORDER BY created_at, place"
_ADD = (
    f"INSERT INTO awf.contexts ({_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)"
    " ON CONFLICT DO NOTHING RETURNING 1"
)
_RAISE = (
    f"SELECT changed, {', '.join(f'(now_is).{name}' for name in _NAMES)}"
    " FROM awf.raise_label(%s, %s, %s, %s, %s)"
)
# Done once, also when it is asked for twice: a label that rose in between stays.
_RESET = (
    "UPDATE awf.contexts SET confidentiality = 'public', integrity = 'trusted', raised_at = NULL, raised_by = '',"
    " resets = resets + 1, nonce = %s WHERE context_id = %s AND nonce <> %s RETURNING 1"
)
_MINTED = "UPDATE awf.contexts SET minted = true WHERE context_id = %s AND NOT minted RETURNING 1"


class PostgresContexts:
    """Implements the `ContextStore` port. The label is mixed where it is kept, with the one that is there."""

    at_once = False  # what others change is heard a moment later

    def __init__(self, keeping: Keeping) -> None:
        self._keeping = keeping

    def version(self) -> int:
        return self._keeping.version("contexts")

    async def find(self, context_id: str) -> SecurityContext | None:
        row = await self._keeping.row(_FIND, (context_id,))
        return _context(row) if row is not None else None

    async def add(self, context: SecurityContext) -> SecurityContext:
        async def work(connection: Connection, _attempt: Attempt) -> tuple[SecurityContext, bool]:
            async with connection.transaction():
                return await _added(connection, context)

        return await self._keeping.change("contexts", work)

    async def raise_label(self, context_id: str, label: Label, by: str, now: float) -> SecurityContext:
        async def work(connection: Connection, _attempt: Attempt) -> tuple[SecurityContext, bool]:
            return await _raised(connection, context_id, label, by, now)

        return await self._keeping.change("contexts", work)

    async def reset(self, context_id: str) -> SecurityContext | None:
        async def work(connection: Connection, attempt: Attempt) -> tuple[SecurityContext | None, bool]:
            changed = await asked(connection, _RESET, (attempt.word, context_id, attempt.word))
            rows = await asked(connection, _FIND, (context_id,))
            return (_context(rows[0]) if rows else None), bool(changed)

        return await self._keeping.change("contexts", work)

    async def contexts(self) -> list[SecurityContext]:
        return [_context(row) for row in await self._keeping.rows(_ALL)]

    async def take_in(self, contexts: Sequence[SecurityContext]) -> int:
        """Copies of another store's; how many of them changed anything here. No label gets better by it."""

        async def work(connection: Connection, _attempt: Attempt) -> tuple[int, bool]:
            async with connection.transaction():
                changed = [await _copied(connection, one) for one in contexts]
            return sum(changed), True

        return await self._keeping.change("contexts", work, seconds=MOVING_SECONDS)


async def _added(connection: Connection, context: SecurityContext) -> tuple[SecurityContext, bool]:
    parents = await asked(connection, _PARENT, (context.parent,)) if context.parent else []
    label = joined(context.label, _context(parents[0]).label) if parents else context.label
    made = msgspec.structs.replace(context, label=label)
    if await asked(connection, _ADD, _values(made)):
        return made, True
    return await _raised(connection, context.context_id, label, context.raised_by, context.created_at)


async def _copied(connection: Connection, context: SecurityContext) -> bool:
    if await asked(connection, _ADD, _values(context)):
        return True
    minted = context.minted and bool(await asked(connection, _MINTED, (context.context_id,)))
    at = context.raised_at or context.created_at
    raised = await _raised(connection, context.context_id, context.label, context.raised_by, at)
    return minted or raised[1]


async def _raised(
    connection: Connection, context_id: str, label: Label, by: str, now: float
) -> tuple[SecurityContext, bool]:
    values = (context_id, label.confidentiality, label.integrity, by, now)
    ((changed, *row),) = await asked(connection, _RAISE, values)
    return _context(tuple(row)), changed


def _values(context: SecurityContext) -> tuple[Any, ...]:
    label = context.label
    return (
        context.context_id, label.confidentiality, label.integrity, context.parent, context.minted,
        context.created_at, context.raised_at, context.raised_by, context.resets,
    )  # fmt: skip


def _context(row: tuple[Any, ...]) -> SecurityContext:
    id_, secret, trust, parent, minted, created, raised, by, resets = map(taken, row)
    return SecurityContext(
        context_id=id_,
        label=Label(secret, trust) if (secret, trust) != ("public", "trusted") else PLAIN,
        parent=parent,
        minted=minted,
        created_at=created,
        raised_at=raised,
        raised_by=by,
        resets=resets,
    )
