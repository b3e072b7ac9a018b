from __future__ import annotations

import pytest
from sqlalchemy import create_engine, make_url

from awf.infrastructure.fleet.names import dbos_url


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("postgres://h/d", {"host": "h", "dbname": "d"}),
        ("postgresql://me:p%40ss%2Fword@h:5433/d", {"user": "me", "password": "p@ss/word", "port": "5433"}),
        ("postgresql:///d?host=/run/socket", {"host": "/run/socket", "dbname": "d"}),
        (
            "postgresql://me@a:1,b:2/d",
            {"host": "a,b", "port": "1,2", "user": "me", "target_session_attrs": "read-write"},
        ),
        ("postgresql://a,b/d", {"host": "a,b", "port": "5432,5432"}),
        ("postgresql://a:1,b/d", {"host": "a,b", "port": "1,5432"}),
        ("postgresql://[::1]:1,b:2/d", {"host": "::1,b", "port": "1,2"}),
        ("postgresql://a,b/d?target_session_attrs=primary", {"target_session_attrs": "primary"}),
        ("postgresql://h/d?sslmode=require", {"sslmode": "require", "tcp_user_timeout": "25000"}),
    ],
)
def test_the_queue_is_reached_where_the_runs_are(url, wanted):
    told = make_url(dbos_url(url)).set(drivername="postgresql+psycopg")
    engine = create_engine(told)
    _, words = engine.dialect.create_connect_args(told)
    words = {name: str(value) for name, value in words.items()}
    assert wanted.items() <= words.items()
    assert dbos_url(dbos_url(url)) == dbos_url(url)
