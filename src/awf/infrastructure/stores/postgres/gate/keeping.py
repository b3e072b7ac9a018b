"""Questions and changes, as the stores of the gate put them."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, TypeVar

from awf.domain.errors import AwfError
from awf.infrastructure.stores.postgres.gate.hearing import Hearing
from awf.infrastructure.stores.postgres.gate.lines import Lines
from awf.infrastructure.stores.postgres.gate.texts import kept

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from awf.infrastructure.stores.postgres.gate.hearing import Table
    from awf.infrastructure.stores.postgres.gate.lines import Attempt, Connection

__all__ = ["MOVING_SECONDS", "Keeping", "asked"]

MOVING_SECONDS = 600.0  # for all that another store has kept

T = TypeVar("T")


class Keeping:
    def __init__(self, url: str) -> None:
        writer = secrets.token_hex(8)
        self.lines = Lines(url, writer)
        self._hearing = Hearing(url, writer)

    def version(self, table: Table) -> int:
        return self._hearing.version(table)

    async def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return await self.lines.do(lambda connection, _attempt: asked(connection, sql, values))

    async def row(self, sql: str, values: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        found = await self.rows(sql, values)
        return found[0] if found else None

    async def change(
        self,
        table: Table,
        work: Callable[[Connection, Attempt], Awaitable[tuple[T, bool]]],
        *,
        seconds: float | None = None,
    ) -> T:
        """`work` gives what comes of it, and whether anything has changed. What failed may have changed something."""

        async def watched(connection: Connection, attempt: Attempt) -> T:
            try:
                result, changed = await work(connection, attempt)
            except AwfError:  # said by us: nothing was written
                raise
            except BaseException:
                self._hearing.changed(table)
                raise
            if changed:
                self._hearing.changed(table)
            return result

        return await self.lines.do(watched, seconds=seconds)

    async def close(self) -> None:
        await self.lines.close()
        await self._hearing.close()


async def asked(connection: Connection, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    cursor = await connection.execute(sql.encode(), [kept(value) for value in values])
    return await cursor.fetchall() if cursor.description else []
