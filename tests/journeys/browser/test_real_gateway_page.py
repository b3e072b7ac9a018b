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
    """The address of its page, as it was printed. In the end it has to leave in peace."""
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
        found = re.search(rb"what goes on: (http://\S+)", line)
        if found and not said.done():
            said.set_result(found[1].decode())
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
        return answer.headers.get("Mcp-Session-Id", session), body.decode()
    finally:
        connection.close()


async def greeted(address):
    """A session of a client."""
    info = {"name": "a-client", "version": "1"}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
    session, _ = await asyncio.to_thread(post, address, "", id=1, method="initialize", params=hello)
    await asyncio.to_thread(post, address, session, method="notifications/initialized")
    return session


async def call(address, session, name, **arguments):
    """What comes back, as it was sent."""
    params = {"name": name, "arguments": arguments}
    return (await asyncio.to_thread(post, address, session, id=2, method="tools/call", params=params))[1]


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
        await call(address, await greeted(address), "say")
        row = await page.until("document.querySelector('#calls-body tbody tr')?.innerText ?? ''")
        await page.until("(document.querySelector('#calls-body tbody tr')?.innerText ?? '').includes('OK')")
        assert "say" in row
        assert page.complaints == []
        assert all(url.startswith(address) for url in page.requests)
        await page.close()


async def until_focused(page, words):
    """Press Tab until the focus is there."""
    for _ in range(40):
        await page.press("Tab")
        if words in await page.focused():
            return
    raise AssertionError(f"Tab never reached {words}")


def answer_without_page(address, approval_id, **headers):
    """The status of an answer that an agent on this machine tries to give."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=PATIENCE)
    try:
        fields = {"Content-Type": "application/json", **headers}
        connection.request("POST", f"/api/approvals/{approval_id}", '{"granted": true}', fields)
        return connection.getresponse().status
    finally:
        connection.close()


async def test_calls_that_wait_for_a_person_are_allowed_and_denied_at_the_page(browser, tmp_path):
    odd = {"command": sys.executable, "args": [str(SERVER)]}
    confirmed = {"odd:echo": {"requires_confirmation": True}}
    async with gateway(tmp_path, mcpServers={"odd": odd}, overrides=confirmed) as printed:
        address, _, key = printed.partition("#key=")
        assert (tmp_path / "s" / "gate" / "operator.key").read_text(encoding="ascii") == f"{key}\n"
        page = await browser.page()
        await page.open(printed)
        await page.until("document.getElementById('nav-approvals')?.hidden === false")
        assert await page.ask("location.href") == address
        session = await greeted(address)

        first = asyncio.get_running_loop().create_task(call(address, session, "echo", text="first"))
        await page.until("document.getElementById('waiting').textContent === '1 waiting'")
        await until_focused(page, "Approvals")
        await page.press("Enter")
        shown = await page.until("document.querySelector('#questions li')?.innerText ?? ''")
        for words in ("odd:echo", '"text": "first"', "a-client", f"gateway:{tmp_path.name}"):
            assert words in shown
        approval_id = await page.ask("document.querySelector('#questions h2').id.replace('question-', '')")
        wrong = {"X-AWF-Operator": "wrong"}
        assert await asyncio.to_thread(answer_without_page, address, approval_id) == 403
        assert await asyncio.to_thread(answer_without_page, address, approval_id, **wrong) == 403
        foreign = {"X-AWF-Operator": key, "Origin": "https://evil.example"}
        assert await asyncio.to_thread(answer_without_page, address, approval_id, **foreign) == 403
        assert not first.done()
        await until_focused(page, "Allow odd:echo")
        await page.press("Enter")
        assert "first" in await first
        await page.until("document.activeElement.id === 'approvals-title'")

        second = asyncio.get_running_loop().create_task(call(address, session, "echo", text="second"))
        await page.until("(document.querySelector('#questions li')?.innerText ?? '').includes('second')")
        await until_focused(page, "Deny odd:echo")
        await page.press("Space")
        refused = "the answer was no (the gateway's page)"
        assert refused in await second
        await page.ask("location.hash = '#calls'")
        await page.until(
            f"(document.querySelector('#calls-body tbody tr')?.innerText ?? '').includes({json.dumps(refused)})"
        )
        assert page.complaints == []
        assert all(url.startswith(address) and key not in url for url in page.requests if "#" not in url)
        await page.close()


async def test_without_the_key_the_page_of_a_real_gateway_has_no_button(browser, tmp_path):
    odd = {"command": sys.executable, "args": [str(SERVER)]}
    confirmed = {"odd:echo": {"requires_confirmation": True}}
    async with gateway(tmp_path, mcpServers={"odd": odd}, overrides=confirmed) as printed:
        address, _, key = printed.partition("#key=")
        page = await browser.page()
        await page.open(f"{address}#approvals")
        waiting = asyncio.get_running_loop().create_task(
            call(address, await greeted(address), "echo", text="x")
        )
        shown = await page.until("document.querySelector('#questions li')?.innerText ?? ''")
        approval_id = re.search(r"awf gateway approve (approval_\w+)", shown)[1]
        assert await page.ask("document.querySelectorAll('#questions button').length") == 0
        right = {"X-AWF-Operator": key}
        assert await asyncio.to_thread(answer_without_page, address, approval_id, **right) == 200
        assert '"x"' in await waiting
        await page.until("document.querySelectorAll('#questions li').length === 0")
        await page.close()
