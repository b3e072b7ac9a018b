"""Tells a ContextForge that has just started about the server behind, and makes a virtual server of its tools.

Run it with ContextForge's own Python, which makes the administrator's token. It prints the address, the headers and
the tool's name as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from typing import Any


def token() -> str:
    maker = [sys.executable, "-m", "mcpgateway.utils.create_jwt_token", "--username", "admin@example.com"]
    argv = [*maker, "--admin", "--exp", "600", "--secret", os.environ["JWT_SECRET_KEY"]]
    said = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    return said.strip().splitlines()[-1]


class Admin:
    def __init__(self, base: str) -> None:
        self.base = base
        self.headers = {"authorization": f"Bearer {token()}"}

    def ask(self, verb: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(
            self.base + path,
            method=verb,
            data=None if body is None else json.dumps(body).encode(),
            headers={"content-type": "application/json", **self.headers},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            sys.exit(f"{verb} {path}: {error.code} {error.read()[:400]!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", required=True, help="http://127.0.0.1:PORT of the gateway")
    parser.add_argument("--upstream", required=True, help="the server behind, over HTTP")
    args = parser.parse_args()
    admin = Admin(args.base)
    admin.ask("POST", "/gateways", {"name": "up", "url": args.upstream, "transport": "STREAMABLEHTTP"})
    tools = admin.ask("GET", "/tools?limit=0")
    tools = tools if isinstance(tools, list) else tools.get("tools") or tools.get("data")
    wanted = {"name": "bench", "associated_tools": [tool["id"] for tool in tools]}
    server = admin.ask("POST", "/servers", {"server": wanted})
    found = {
        "url": f"{args.base}/servers/{server['id']}/mcp",
        "headers": admin.headers,
        "tool": next(tool["name"] for tool in tools if tool["name"].endswith("echo")),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
