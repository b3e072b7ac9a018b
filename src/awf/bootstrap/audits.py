"""Where the record of every call is kept: beside the run store, or in the database that several machines share."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

from awf.domain.audit import MovedAudit
from awf.domain.errors import AwfError

if TYPE_CHECKING:
    import psycopg

    from awf.bootstrap.guarded import Guarded
    from awf.domain.audit import AuditReport
    from awf.infrastructure.audit_store import SqliteAudit
    from awf.infrastructure.audit_store.aside import AsideCommand
    from awf.infrastructure.audit_store.postgres import PostgresAudit

__all__ = ["AuditServer", "copy_audit_to_database", "open_audit"]


class AuditServer:
    """How the audit reaches the database: as the run store does."""

    def __init__(self, url: str) -> None:
        self._url = url

    @functools.cached_property
    def place(self) -> str:
        from awf.infrastructure.stores.postgres.connecting import describe

        return describe(self._url)

    def connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        from awf.infrastructure.stores.postgres.connecting import open_connection
        from awf.infrastructure.stores.postgres.migrating import migrate

        connection = open_connection(self._url)
        if not self.__dict__.get("_is_current"):
            try:
                migrate(connection, self._url)
            except BaseException:
                connection.close()
                raise
            self._is_current = True
        return connection

    @staticmethod
    def is_passing(error: BaseException) -> bool:
        from awf.infrastructure.stores.postgres.connecting import is_passing

        return is_passing(error)

    @staticmethod
    def lock_key(kind: str, name: str) -> int:
        from awf.infrastructure.stores.postgres.connecting import lock_key

        return lock_key(kind, name)


def open_audit(app: Guarded) -> SqliteAudit | PostgresAudit:
    """The gateway's file may have more to say about it (`follow`)."""
    if app.settings.database_url.value:
        return _shared(app)
    from awf.infrastructure.audit_store import SqliteAudit

    return SqliteAudit(app.audit_folder, aside=_aside(app))


def _aside(app: Guarded) -> AsideCommand | None:
    """Who serves many for long has a process that merges; to start one for a short command would cost more than it spares."""
    if not app.serves_long:
        return None
    from awf.infrastructure.audit_store.aside import aside_command

    return aside_command(app.environment)


def _shared(app: Guarded) -> PostgresAudit:
    from awf.infrastructure.audit_store.postgres import PostgresAudit

    server = AuditServer(app.settings.database_url.value)
    return PostgresAudit(server, app.audit_folder, key_file=_key_file(app))


def _key_file(app: Guarded) -> str:
    """The one that was named must be there: a new one in its place would sign what nobody else trusts."""
    named = app.settings.audit_key.value
    if not named:
        return os.path.join(app.audit_folder, "signing.key")
    path = os.path.join(app.cwd, os.path.expanduser(named))
    if not os.path.isfile(path):
        raise AwfError(
            "SYSTEM.AUDIT.UNAVAILABLE",
            f"There is no file {path} with the key of the audit.",
            hint=f"Bring it from another machine; or make the first one: head -c 32 /dev/urandom > {named}",
        )
    return path


async def copy_audit_to_database(app: Guarded) -> MovedAudit:
    """The chain of this machine's log goes into the database that is set, if that has none."""
    from awf.infrastructure.audit_store import SqliteAudit
    from awf.infrastructure.audit_store.postgres import copy_chain

    if not os.path.exists(os.path.join(app.audit_folder, "audit.db")):
        return MovedAudit(outcome="none", place=app.audit_folder)
    source, target = SqliteAudit(app.audit_folder), _shared(app)
    try:
        moved = await copy_chain(source, target)
        if moved.outcome == "copied":
            _require_sound(await target.verify())
        return moved
    finally:
        await source.close()
        await target.close()


def _require_sound(report: AuditReport) -> None:
    if not report.is_sound:
        raise AwfError(
            "EXECUTION.AUDIT.BROKEN",
            f"The copy of the audit is not sound: {report.flaws[0].message}.",
            hint="awf audit verify",
        )
