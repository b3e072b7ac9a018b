"""A WebSocket server that others have written: the `ws` package of Node, which comes with the official Inspector."""

from __future__ import annotations

import asyncio
import subprocess

import pytest

from awf.testing import peers

SERVER = """
const {WebSocketServer} = require(process.argv[2]);
const server = new WebSocketServer({
  port: 0, host: '127.0.0.1', perMessageDeflate: true, handleProtocols: (offered) => offered.has('mcp') && 'mcp',
});
server.on('listening', () => console.log(server.address().port));
server.on('connection', (socket) => {
  let ponged = '';
  socket.on('pong', (data) => { ponged = data.toString(); });
  socket.on('close', (code) => console.log('closed ' + code));
  socket.on('message', (data, binary) => {
    const message = JSON.parse(data);
    if (message.id === undefined) return;
    const params = message.params || {};
    const answer = (result) => JSON.stringify({jsonrpc: '2.0', id: message.id, result});
    const text = (value) => answer({content: [{type: 'text', text: value}]});
    if (message.method === 'initialize')
      return socket.send(answer({protocolVersion: '2025-11-25', capabilities: {tools: {}}}));
    if (message.method !== 'tools/call')
      return socket.send(JSON.stringify({jsonrpc: '2.0', id: message.id, error: {code: -32601, message: 'no'}}));
    if (params.name === 'size') return socket.send(text(String(params.arguments.text.length) + binary));
    if (params.name === 'leave') return socket.close(4001, 'enough');
    if (params.name === 'ping') {
      socket.once('pong', () => socket.send(text('heard ' + ponged)));
      return socket.ping('are you there');
    }
    const long = text('ö'.repeat(params.arguments.size));
    for (let at = 0; at < long.length; at += 50000)
      socket.send(long.slice(at, at + 50000), {fin: at + 50000 >= long.length});
  });
});
"""
pytestmark = pytest.mark.journey


@pytest.fixture
async def peer(tmp_path):
    node = peers.requested(lambda: peers.node_executable((20,)))
    folder = peers.requested(lambda: peers.npm_peer("@modelcontextprotocol/inspector@2.12.0"))
    script = tmp_path / "server.cjs"
    script.write_text(SERVER, encoding="utf-8")
    process = await asyncio.create_subprocess_exec(
        node, str(script), str(folder / "node_modules" / "ws"), stdout=subprocess.PIPE
    )
    try:
        async with asyncio.timeout(120):
            port = int(await process.stdout.readline())
        yield f"ws://127.0.0.1:{port}/", process
    finally:
        process.kill()
        await process.communicate()


async def test_a_server_written_by_others_understands_us_and_we_understand_it(peer, at, context):
    url, process = peer
    tools = at(url)

    for size in (0, 100, 200, 65_000, 70_000, 2_000_000):
        assert (await tools.call_tool("size", {"text": "x" * size}, context)).text == f"{size}false"
    assert (await tools.call_tool("ping", {}, context)).text == "heard are you there"
    assert (await tools.call_tool("long", {"size": 300_000}, context)).text == "ö" * 300_000
    with pytest.raises(Exception, match=r"closed the connection \(4001: enough\)"):
        await tools.call_tool("leave", {}, context)
    assert (await tools.call_tool("size", {"text": ""}, context)).text == "0false"

    await tools.close()
    async with asyncio.timeout(60):
        assert [await process.stdout.readline() for _ in range(2)] == [b"closed 4001\n", b"closed 1000\n"]
