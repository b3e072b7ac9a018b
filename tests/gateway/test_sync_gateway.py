"""`ToolGateway`: the same without an event loop of one's own."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from awf.gateway import GatewayError, ToolGateway


def hello(text="hello", **more):
    return {"toolId": "kb:echo", "arguments": {"text": text}, **more}


def test_many_threads_may_use_one(tmp_path, make):
    with ToolGateway(workspace=tmp_path) as gateway, ThreadPoolExecutor(8) as pool:
        gateway.registerServer(make.server())
        results = pool.map(lambda at: gateway.callTool(hello(str(at))), range(40))
        assert [one["content"][0]["text"] for one in results] == [str(at) for at in range(40)]


def test_its_thread_ends_with_it(tmp_path):
    with ToolGateway(workspace=tmp_path) as gateway:
        assert gateway.list_tools() == []
        assert any(thread.name == "awf-tool-gateway" for thread in threading.enumerate())
    assert not any(thread.name == "awf-tool-gateway" for thread in threading.enumerate())
    gateway.close()
    with pytest.raises(GatewayError) as caught:
        gateway.list_tools()
    assert caught.value.code == "USER.GATEWAY.CLOSED"


def test_a_listener_that_waits_for_its_own_thread_is_told(tmp_path, make):
    caught = []

    def listener(event):
        try:
            gateway.list_tools()
        except GatewayError as error:
            caught.append(error.code)

    with ToolGateway(workspace=tmp_path) as gateway:
        gateway.subscribe(listener)
        gateway.register_server(make.server())
        assert caught == ["USER.GATEWAY.INVALID_CALL"]


def test_wrong_options_start_no_thread(tmp_path):
    before = threading.active_count()
    with pytest.raises(GatewayError):
        ToolGateway(config={"nonsense": 1}, workspace=tmp_path)
    assert threading.active_count() == before


def test_a_program_that_forgets_to_close_it_leaves_nothing(tmp_path):
    script = "from awf.gateway import ToolGateway; gateway = ToolGateway(); print(len(gateway.list_tools()))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"TMPDIR": str(tmp_path), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("0\n", 0), done.stderr
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("awf-")] == []
    assert tempfile.gettempdir()


def test_where_a_database_is_set_its_calls_are_in_the_audit_there(tmp_path, make, database_url, monkeypatch):
    monkeypatch.setenv("AWF_DATABASE_URL", database_url)
    sessions = []
    for _ in range(2):
        with ToolGateway(workspace=tmp_path) as gateway, ThreadPoolExecutor(8) as pool:
            gateway.registerServer(make.server())
            list(pool.map(lambda at, one=gateway: one.callTool(hello(str(at))), range(20)))
            sessions.append(gateway.session)
            events = gateway.drainAuditEvents()
    assert [one["success"] for one in events] == [True] * 40  # those of both: it is one log
    assert {one["context"] for one in events} == set(sessions)
