"""Starts the behaviour for this scenario with a client of the SDK that this interpreter has. The address comes last."""

import asyncio
import importlib
import json
import sys
import tempfile
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import scenarios

SECONDS = 50  # less than the suite waits: it would end only us, and not the gateway


def main(sdk, url):
    signs_in = scenarios.SCENARIO.startswith("auth/")  # which is the gateway's part here, not the client's
    if scenarios.SCENARIO not in scenarios.BEHAVIOURS or (signs_in and scenarios.GATEWAY is None):
        print(f"there is no behaviour for {scenarios.SCENARIO}", file=sys.stderr)
        sys.exit(scenarios.STRANGE)
    opened = importlib.import_module(sdk).opened
    behave = scenarios.BEHAVIOURS[scenarios.SCENARIO]
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(opened, behave, command(url, Path(folder)) or url))


def command(url, folder):
    """Of a gateway with only that server behind it, or None."""
    if scenarios.GATEWAY is None:
        return None
    server = {"url": url} | ({"oauth": credentials(url)} if "client_secret" in scenarios.CONTEXT else {})
    file = folder / "gateway.json"
    file.write_text(json.dumps({"mcpServers": {"upstream": server}}), encoding="utf-8")
    return [*scenarios.GATEWAY["command"], str(file), "--stdio"]


def credentials(url):
    """A person who configures a gateway knows where the tokens come from; here that has to be looked up."""
    parts = urlsplit(url)
    about = fetched(f"{parts.scheme}://{parts.netloc}/.well-known/oauth-protected-resource{parts.path}")
    issuer = about["authorization_servers"][0]
    return {
        "token_url": fetched(f"{issuer}/.well-known/oauth-authorization-server")["token_endpoint"],
        "client_id": scenarios.CONTEXT["client_id"],
        "client_secret": scenarios.CONTEXT["client_secret"],
        "resource": about["resource"],
    }


def fetched(address):
    with urllib.request.urlopen(address, timeout=30) as answer:
        return json.load(answer)


async def run(opened, behave, target):
    async with asyncio.timeout(SECONDS), opened(target) as client:
        await behave(client)


main(*sys.argv[1:])
