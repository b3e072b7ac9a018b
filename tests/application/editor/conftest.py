"""A desk with an editor; afterwards nothing that was begun there may be left."""

from __future__ import annotations

import asyncio
import time

import pytest

from awf.testing.descendants import processes_below
from awf.testing.editor_desk import EditorDesk

SETTLE_SECONDS = 10.0


def at_work() -> set[str]:
    tasks = [task for task in asyncio.all_tasks() if not task.done()]
    names = {str(task.get_coro()) for task in tasks if "TestRunner" not in str(task.get_coro())}
    return names | {str(child) for child in processes_below()}


@pytest.fixture
async def desk(tmp_path):
    before = at_work()
    desk = EditorDesk(tmp_path)
    yield desk
    await desk.close()
    deadline = time.monotonic() + SETTLE_SECONDS
    while left := at_work() - before:
        if time.monotonic() > deadline:
            pytest.fail(f"left behind: {left}")
        await asyncio.sleep(0.01)
