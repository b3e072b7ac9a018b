"""The page of a real gateway, started as people start it, in front of a real server."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import re
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytestmark = pytest.mark.journey
SERVER = Path(__file__).parents[2] / "infrastructure" / "upstreams" / "odd_server.py"
PATIENCE = 60
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@contextlib.asynccontextmanager
async def gateway(folder, **config):
    """Its address. In the end it has to leave in peace."""
    file = folder / "gateway.json"
    file.write_text(json.dumps(config), encoding="utf-8")
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "AWF_STORAGE": str(folder / "s"),
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "awf", "gateway", "serve", "--config", str(file), "--port", "0"),
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
        env=environment, cwd=folder,
    )  # fmt: skip
    said = asyncio.get_running_loop().create_future()
    reading = asyncio.get_running_loop().create_task(_read(process.stderr, said))
    try:
        async with asyncio.timeout(PATIENCE):
            yield await said
        process.terminate()
        async with asyncio.timeout(PATIENCE):
            await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        await reading


async def _read(stream, said):
    heard = b""
    async for line in stream:
        heard += line
        found = re.search(rb"listening on (http://[^/\s]+)/mcp", line)
        if found and not said.done():
            said.set_result(found[1].decode() + "/")
    if not said.done():
        said.set_exception(AssertionError(heard.decode(errors="replace")))


def post(address, session, **message):
    """One message of a client. The session it belongs to."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=PATIENCE)
    try:
        headers = {
            **JSON,
            **({"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"} if session else {}),
        }
        connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", **message}), headers)
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status in {200, 202}, body
        return answer.headers.get("Mcp-Session-Id", session)
    finally:
        connection.close()


async def test_a_real_gateway_shows_its_servers_its_tools_and_a_call(browser, tmp_path):
    odd = {"command": sys.executable, "args": [str(SERVER)]}
    override = {"rename": "say", "hide_fields": ["text"], "defaults": {"text": "hello"}}
    servers = {"odd": odd, "missing": {"command": "there-is-no-such-command"}}
    async with gateway(tmp_path, mcpServers=servers, overrides={"odd:echo": override}) as address:
        page = await browser.page()
        await page.open(address)
        body = "(document.getElementById('overview-body')?.innerText ?? '')"
        await page.until(f"{body}.includes('1 of 2 ready') && {body}.includes('there-is-no-such-command')")
        await page.open(f"{address}#tool/odd%3Aecho")
        changes = "(document.querySelector('.changes')?.innerText ?? '')"
        await page.until(
            f"{changes}.includes('Agents call the tool say.') && {changes}.includes('text is hidden from agents')"
        )
        await page.ask("location.hash = '#calls'")
        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "a-client", "version": "1"},
        }
        session = await asyncio.to_thread(post, address, "", id=1, method="initialize", params=hello)
        await asyncio.to_thread(post, address, session, method="notifications/initialized")
        call = {"name": "say", "arguments": {}}
        await asyncio.to_thread(post, address, session, id=2, method="tools/call", params=call)
        row = await page.until("document.querySelector('#calls-body tbody tr')?.innerText ?? ''")
        await page.until("(document.querySelector('#calls-body tbody tr')?.innerText ?? '').includes('OK')")
        assert "say" in row
        assert page.complaints == []
        assert all(url.startswith(address) for url in page.requests)
        await page.close()
