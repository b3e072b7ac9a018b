"""Which door merges its audit how."""

from __future__ import annotations

import pytest

from awf.bootstrap import App
from awf.bootstrap.gateways import GatewayHouse

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("serves_long", [True, False])
async def test_only_a_gateway_that_serves_for_long_has_a_process_that_merges(tmp_path, serves_long):
    file = tmp_path / "gateway.yaml"
    file.write_text("mcpServers: {}\naudit: {}\n", encoding="utf-8")
    app = App(cwd=str(tmp_path), environment={"HOME": str(tmp_path)})
    app.serves_long = serves_long
    GatewayHouse(app, str(file), serving=False)
    try:
        assert (app.audit._aside is not None) is serves_long
    finally:
        await app.close()


async def test_what_is_no_gateway_has_none(tmp_path):
    app = App(cwd=str(tmp_path), environment={"HOME": str(tmp_path)})
    try:
        assert app.audit._aside is None
    finally:
        await app.close()
