from __future__ import annotations

from awf.infrastructure.fleet.names import dbos_url


def test_both_ways_to_write_an_address_are_understood():
    assert dbos_url("postgres://h/d") == dbos_url("postgresql://h/d") == "postgresql://h/d"
