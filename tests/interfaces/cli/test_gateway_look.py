"""What is said of servers that a look from the shell has found."""

from __future__ import annotations

from awf.interfaces.cli.gateway_look import SeenTools


def a_server(state, detail=""):
    return {"name": "files", "state": state, "detail": detail, "protocol": "", "tools": 0}


def test_a_server_that_has_not_answered_in_time_is_told_with_a_way_on():
    seen = SeenTools([], [a_server("starting")], [])
    first, second = seen.lines()
    assert first == "files  starting, 0 tools"
    assert "It has not answered yet." in second
    assert second.endswith("run its command by hand.")
    assert seen.exit_status == 3


def test_a_server_that_is_ready_is_no_trouble():
    seen = SeenTools([], [a_server("ready")], [])
    assert list(seen.lines()) == ["files  ready, 0 tools"]
    assert seen.exit_status == 0
