"""What every class of the tool gateway must promise: the shared cases, which clients/node plays as well."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from awf.gateway import AsyncToolGateway, ToolGateway
from awf.testing.gateway_cases import play

HERE = Path(__file__).parent / "tool_gateway"
CASES = json.loads((HERE / "cases.json").read_text(encoding="utf-8"))["cases"]
NAMES = {"python": sys.executable, "server": str(HERE / "tool_server.py")}


def options_of(case, tmp_path):
    return {"workspace": tmp_path, **case.get("options", {})}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
async def test_the_asynchronous_class(case, tmp_path):
    async with AsyncToolGateway(**options_of(case, tmp_path)) as gateway:
        await play(case, lambda method, arguments: getattr(gateway, method)(*arguments), NAMES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_synchronous_class(case, tmp_path):
    with ToolGateway(**options_of(case, tmp_path)) as gateway:

        async def do(method, arguments):
            return getattr(gateway, method)(*arguments)

        asyncio.run(play(case, do, NAMES))


def test_every_case_has_a_name_of_its_own_and_does_something():
    names = [case["name"] for case in CASES]
    assert len(set(names)) == len(names)
    assert all(case["steps"] for case in CASES)
