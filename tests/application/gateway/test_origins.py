from __future__ import annotations

from types import SimpleNamespace

from awf.application.gateway.origins import Origins


def client():
    return SimpleNamespace(key="k", name="c", profile="", version="2025-11-25", origin=None, context="")


def test_a_credential_that_has_another_name_now_is_not_taken_for_the_old_one():
    origins, one = Origins("gateway", ""), client()
    origins.remember("k", "token:alice", lasting=True)
    assert origins.of(one, {}).holder.user == "token:alice"
    origins.remember("k", "token:bob")
    assert origins.of(one, {}).holder.user == "token:bob"
    assert origins.of(client(), {}).holder.user == "token:bob"


def test_who_is_remembered_for_good_stays_so_when_it_is_named_again():
    origins = Origins("gateway", "")
    origins.remember("k", "token:alice", lasting=True)
    origins.remember("k", "token:alice")
    for number in range(5000):
        origins.remember(f"other{number}", f"subject{number}")
    assert origins.of(client(), {}).holder.user == "token:alice"
