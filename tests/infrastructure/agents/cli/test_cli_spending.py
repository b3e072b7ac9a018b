"""Programs that tell what a whole session has cost: each call gets its own share, or none."""

from __future__ import annotations

import pytest

from awf.domain.run import Session
from awf.infrastructure.agents.cli.spending import spent_before, spent_by_now

READ = "prompt = sys.stdin.read()\n"


def tell(total, session="s/1"):
    return (
        READ
        + f'emit(type="session", id="{session}"); emit(type="total", cost={total}); emit(type="answer", text="")'
    )


async def cost(world, total, session=None):
    world.program(tell(total))
    usage = (await world.run(session=Session(provider="stub", id=session) if session else None)).usage
    return usage.cost, usage.cost_source


async def test_each_call_of_a_session_is_told_its_own_share(world):
    told = [await cost(world, 0.5), await cost(world, 0.75, "s/1"), await cost(world, 1.75, "s/1")]

    assert told == [(0.5, "reported"), (0.25, "reported"), (1.0, "reported")]


async def test_the_share_in_a_session_that_was_begun_elsewhere_is_unknown_at_first(world):
    told = [await cost(world, 5.0, "s/1"), await cost(world, 6.0, "s/1")]

    assert told == [(None, "unknown"), (1.0, "reported")]


async def test_a_sum_that_has_become_less_was_begun_anew(world):
    told = [await cost(world, 5.0), await cost(world, 0.5, "s/1")]

    assert told[1] == (0.5, "reported")


@pytest.mark.parametrize("spoiled", ["", "null", '"much"', "{"])
def test_a_spoiled_note_means_unknown(tmp_path, spoiled):
    spent_by_now(str(tmp_path), "s", 1.0)
    (tmp_path / "spent" / "s.json").write_text(spoiled, encoding="utf-8")

    assert spent_before(str(tmp_path), "s") is None


def test_a_session_cannot_name_a_file_elsewhere(tmp_path):
    spent_by_now(str(tmp_path / "state"), "../../escaped", 1.0)

    assert spent_before(str(tmp_path / "state"), "../../escaped") == 1.0
    assert [path.name for path in tmp_path.iterdir()] == ["state"]
