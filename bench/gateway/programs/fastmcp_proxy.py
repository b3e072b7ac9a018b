"""A FastMCP proxy as its documentation builds one. Run it with a Python that has fastmcp.

By default each request opens a session of its own with the server behind; --shared goes through one client that stays
connected, which is the best it can do.
"""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, help="serve HTTP here; without it, stdin and stdout")
    parser.add_argument("--url", help="the server behind, over HTTP")
    parser.add_argument("--shared", action="store_true")
    parser.add_argument("command", nargs="*", help="the server behind, as a program, after --")
    return parser.parse_args()


async def serve(proxy: Any, port: int | None) -> None:
    if port is None:
        await proxy.run_async(show_banner=False, log_level="warning")
        return
    await proxy.run_async(
        transport="http",
        host="127.0.0.1",
        port=port,
        show_banner=False,
        log_level="warning",
        json_response=True,
        uvicorn_config={"access_log": False},
    )


async def main() -> None:
    args = arguments()
    target = args.url or StdioTransport(command=args.command[0], args=args.command[1:])
    if args.shared:
        async with Client(target) as client:
            await serve(create_proxy(client, name="bench"), args.port)
    else:
        await serve(create_proxy(target, name="bench"), args.port)


if __name__ == "__main__":
    asyncio.run(main())
