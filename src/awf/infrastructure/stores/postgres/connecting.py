"""How PostgreSQL is reached, and what its troubles mean to us."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from awf.domain.errors import AwfError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import psycopg

__all__ = [
    "connection_words",
    "describe",
    "is_passing",
    "lock_key",
    "open_connection",
    "open_waiting",
    "unavailable",
    "why",
    "write_failed",
]

CONNECT_SECONDS = 10

# What passes by itself: the server restarts, a standby takes over, a connection breaks, two transactions collide.
_PASSING = ("08", "57P", "40001", "40P01", "25006", "53300")
# A machine that vanishes without a word must not keep its locks: both ends look after each other.
_ALIVE = {
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25000,  # what was sent and never acknowledged: keepalives do not look after that
}
_SERVER_ALIVE = "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3"


@functools.cache
def connection_words(url: str) -> str:
    """The connection string with our manners added. Raises when it is none."""
    _require_driver()
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    if not url.startswith(("postgresql://", "postgres://")):
        raise _bad_url("it must begin with postgresql://")
    try:
        given: Mapping[str, Any] = conninfo_to_dict(url)
    except psycopg.Error as error:
        raise _bad_url(str(error).strip()) from error
    added: dict[str, Any] = {"connect_timeout": CONNECT_SECONDS, "application_name": "awf", **_ALIVE}
    if "," in str(given.get("host") or ""):  # a standby only reads, and may be listed first
        added["target_session_attrs"] = "read-write"
    wanted = {name: value for name, value in added.items() if name not in given}
    options = f"{given.get('options') or ''} {_SERVER_ALIVE}".strip()
    return make_conninfo(url, **{**wanted, "options": options})


def describe(url: str) -> str:
    """Where the database is, without who may use it."""
    from psycopg.conninfo import conninfo_to_dict

    parts = conninfo_to_dict(url)
    hosts = str(parts.get("host") or "localhost").split(",")
    ports = str(parts.get("port") or "").split(",")
    ports = ports if len(ports) == len(hosts) else ports * len(hosts)
    places = [
        f"{host}:{port}" if port and not host.startswith("/") else host
        for host, port in zip(hosts, ports, strict=False)
    ]
    return f"postgresql://{','.join(places)}/{parts.get('dbname') or ''}"


def open_connection(url: str) -> psycopg.Connection[tuple[Any, ...]]:
    """A connection for one statement after the other."""
    words = connection_words(url)
    import psycopg

    try:
        return psycopg.connect(words, autocommit=True)
    except psycopg.Error as error:
        raise unavailable(url, error) from error


async def open_waiting(url: str) -> psycopg.AsyncConnection[tuple[Any, ...]]:
    """The same for an event loop."""
    words = connection_words(url)
    import psycopg

    try:
        return await psycopg.AsyncConnection.connect(words, autocommit=True)
    except psycopg.Error as error:
        raise unavailable(url, error) from error


def is_passing(error: BaseException) -> bool:
    """Whether trying again, on a new connection, may help."""
    import psycopg

    if isinstance(error, AwfError):
        return error.code == "SYSTEM.STORE.UNAVAILABLE"
    if isinstance(error, TimeoutError):  # it did not answer
        return True
    if not isinstance(error, psycopg.Error):
        return False
    if error.sqlstate is None:  # it was not the server that said so
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return error.sqlstate.startswith(_PASSING)


def lock_key(kind: str, name: str) -> int:
    """The number under which an advisory lock is known."""
    import hashlib

    return int.from_bytes(hashlib.sha256(f"awf {kind} {name}".encode()).digest()[:8], "big", signed=True)


def unavailable(url: str, error: BaseException) -> AwfError:
    return AwfError(
        "SYSTEM.STORE.UNAVAILABLE",
        f"The database {describe(url)} cannot be used: {why(error)}.",
        hint="Check that it is up and that AWF_DATABASE_URL is right: awf doctor",
    )


def write_failed(url: str, error: BaseException) -> AwfError:
    return AwfError(
        "SYSTEM.STORE.WRITE_FAILED",
        f"The database {describe(url)} cannot be written: {why(error)}.",
        hint="Free some space or bring it back, then try again.",
    )


def why(error: object) -> str:
    """In a few words, without who may use it."""
    if isinstance(error, AwfError):
        return error.message.rstrip(".")
    if isinstance(error, TimeoutError):
        return "it does not answer"
    diagnostic = getattr(getattr(error, "diag", None), "message_primary", None)
    lines = [line.strip() for line in str(diagnostic or error).splitlines() if line.strip()]
    return "; ".join(lines[:2]).rstrip(".?") or type(error).__name__


def _bad_url(why: str) -> AwfError:
    return AwfError(
        "USER.INPUT.INVALID_FORMAT",
        f"The address of the database is not one: {why}.",
        hint="AWF_DATABASE_URL=postgresql://user@host/name",
    )


def _require_driver() -> None:
    import importlib.util

    if importlib.util.find_spec("psycopg") is None:
        raise AwfError(
            "SYSTEM.STORE.UNAVAILABLE",
            "A database is set, and the packages for PostgreSQL are missing.",
            hint="Install the extra: pip install 'awf-suite[postgres]'",
        )
