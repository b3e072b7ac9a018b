"""What things are called in DBOS."""

from __future__ import annotations

from awf.domain.errors import AwfError

__all__ = ["APPLICATION", "VERSION", "WORKFLOW", "dbos_url", "require_dbos"]

APPLICATION = "awf"
# Of the way in which recorded runs are interpreted, not of the program: workers of another one leave these runs alone.
VERSION = "runs-1"
WORKFLOW = "awf.run"

_PORT = "5432"
# As for our own connections: a server that vanishes without a word is noticed.
_ALIVE = {
    "keepalives": "1",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "25000",
}


def dbos_url(url: str) -> str:
    """The address as SQLAlchemy reads it: several hosts are a matter of the query, and ports are not guessed."""
    from urllib.parse import quote, urlencode

    from psycopg.conninfo import conninfo_to_dict

    given = {name: str(value) for name, value in conninfo_to_dict(url).items() if value not in {None, ""}}
    name, user, password = (given.pop(key, "") for key in ("dbname", "user", "password"))
    hosts, ports = given.get("host", "").split(","), given.get("port", "").split(",")
    if len(hosts) > 1:
        given["port"] = ",".join(port or _PORT for port in (ports * len(hosts) if len(ports) == 1 else ports))
        given.setdefault(
            "target_session_attrs", "read-write"
        )  # a standby only reads, and may be listed first
    who = quote(user, safe="") + (f":{quote(password, safe='')}" if password else "")
    query = urlencode({**_ALIVE, **given}, quote_via=quote)
    return f"postgresql://{who and who + '@'}/{quote(name or user, safe='')}?{query}"


def require_dbos() -> None:
    import importlib.util

    if importlib.util.find_spec("dbos") is None:
        raise AwfError(
            "SYSTEM.STORE.UNAVAILABLE",
            "Workers need packages that are missing.",
            hint="Install the extra: pip install 'awf-suite[postgres]'",
        )
