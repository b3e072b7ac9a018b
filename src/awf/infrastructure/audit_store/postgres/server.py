from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import psycopg

__all__ = ["Connection", "Server", "at_leisure", "be_brief", "words_of"]

if TYPE_CHECKING:
    Connection = psycopg.Connection[tuple[Any, ...]]


class Server(Protocol):
    """A PostgreSQL that is there and up to date, as whoever puts the application together knows it."""

    @property
    def place(self) -> str:
        """Where it is, for people."""
        ...

    def connect(self) -> Connection:
        """For one statement after the other (autocommit). Raises what `is_passing` judges."""
        ...

    def is_passing(self, error: BaseException) -> bool:
        """Whether trying again, on a new connection, may help."""
        ...

    def lock_key(self, kind: str, name: str) -> int:
        """The number under which an advisory lock is known."""
        ...


def be_brief(connection: Connection) -> None:
    """The head is held from one way to the server to the next: a process that is stopped there must not stop all others.

    The last one is known from PostgreSQL 17 on. Without it a process that is stopped in the middle of its words is waited for.
    """
    for name, limit in (
        ("lock_timeout", 2),
        ("statement_timeout", 3),
        ("idle_in_transaction_session_timeout", 2),
        ("transaction_timeout", 4),
    ):
        connection.execute(
            "SELECT set_config(%s, %s, false) WHERE current_setting(%s, true) IS NOT NULL",
            (name, f"{limit}s", name),
        )


def at_leisure(connection: Connection) -> None:
    """A look at everything takes its time."""
    for name in ("statement_timeout", "idle_in_transaction_session_timeout", "transaction_timeout"):
        connection.execute(
            "SELECT set_config(%s, '0', false) WHERE current_setting(%s, true) IS NOT NULL", (name, name)
        )


def words_of(error: BaseException) -> str:
    """What happened, in one line."""
    said = getattr(getattr(error, "diag", None), "message_primary", None) or getattr(error, "message", None)
    lines = [line.strip() for line in str(said or error).splitlines() if line.strip()]
    return "; ".join(lines[:2]).rstrip(".") or type(error).__name__
