"""A process that owns tools, as `awf run` does while an agent works: `python -m awf.testing.tool_owner FOLDER`.

It prints, as one line of JSON, the command that an agent would start to reach the tools, and keeps the door open until
its standard input ends.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys

from awf.application.tools.proxy import OfferedTools
from awf.bootstrap import App

__all__ = ["own_tools"]


async def own_tools(folder: str) -> None:
    """The built-in tools in this folder, reachable through the relay."""
    app = App(cwd=folder, environment=dict(os.environ))
    offered = OfferedTools(root=folder, environment=app.environment)
    try:
        async with app.tools.open(offered, app.observers()) as tools:
            endpoint = await tools.endpoint()
            print(json.dumps(endpoint.command), flush=True)
            await asyncio.to_thread(sys.stdin.buffer.read)
    finally:
        await app.close()


if __name__ == "__main__":
    asyncio.run(own_tools(os.path.abspath(sys.argv[1])))
