from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import psycopg

__all__ = ["Connection", "Server", "words_of"]

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


def words_of(error: BaseException) -> str:
    """What happened, in one line."""
    said = getattr(getattr(error, "diag", None), "message_primary", None) or getattr(error, "message", None)
    lines = [line.strip() for line in str(said or error).splitlines() if line.strip()]
    return "; ".join(lines[:2]).rstrip(".") or type(error).__name__
