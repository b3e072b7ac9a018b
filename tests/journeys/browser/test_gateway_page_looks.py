"""The gateway's page for eyes and ears: sizes, colours, structure, and what an accessibility checker finds."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from awf.testing import peers

pytestmark = pytest.mark.journey
AXE = "axe-core@4.14.0"
VIEWS = {
    "overview": "#overview",
    "tools": "#tools",
    "tool": "#tool/weather%3Afetch_forecast",
    "calls": "#calls",
    "server": "#server/weather",
    "approvals": "#approvals",
    "missing": "#nothing",
}


@pytest.fixture
def busy(desk, desks):
    """A desk with something of everything, and with words that do not break."""
    long = "averyveryveryveryveryveryveryveryverylongnamewithoutanyplacetobreak" * 2
    desk.problems = [f"overrides.{long}: no such tool"]
    desk.drift = [{"id": "kb:search", "kind": "changed", "what": "another description", "quarantined": True}]
    states = ("starting", "idle", "disabled")
    desk.servers += [desks.a_server(f"{state}{long}", state, detail=long) for state in states]
    desk.tool_list += [desks.a_tool("kb", long, quarantined=True)]
    for outcome in ("ok", "error", "cancelled", "refused"):
        desk.end(desk.begin(name=long, client=long), outcome, code="TIMEOUT" if outcome == "error" else "")
    desk.end(desk.begin(), "refused", 0.1, "PERMISSION_DENIED", reason=f"The policy says no to {long}.")
    desk.begin()
    gate = desk.with_gate()
    gate.shadow, gate.trouble, gate.more = True, "The gate's store cannot be used.", 3
    gate.contexts = [
        desks.a_context(long),
        desks.a_context("ctx_2", "secret", "untrusted", raised_by="", raised=None),
    ]
    gate.open = [
        desks.a_question(1),
        desks.a_question(
            2, tool=f"mail:{long}", arguments=f'{{"text": "{long}"}}', client=long, context=long, rule=long
        ),
    ]
    desk.tool_list[1]["gate"] = desks.KNOWN
    return desk


@pytest.fixture(params=["", "#key=the-right-key"], ids=["looking", "answering"])
def entrance(request):
    """How a person comes in: with the operator key, or without."""
    return request.param


async def shown(page, view):
    await page.ask(f"location.hash = '{VIEWS[view]}'")
    section = {"tool": "tools"}.get(view, view)
    await page.until(f"!document.getElementById('view-{section}').hidden")
    if view == "tool":
        await page.until("!!document.getElementById('tool-title')")
    if view == "approvals":
        await page.until("document.querySelectorAll('#questions > li').length === 2")
    await page.ask("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


SIZES = {
    "wide": {"width": 1400},
    "phone": {"width": 360, "height": 740},
    "twice as large": {"width": 640, "height": 450, "scale": 2.0},  # 1280 by 900 at a zoom of 200 %
}


@pytest.mark.parametrize("size", SIZES)
async def test_nothing_has_to_be_scrolled_sideways(visit, busy, size, entrance):
    page = await visit(entrance, **SIZES[size])
    for view in VIEWS:
        await shown(page, view)
        wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
        outside = "[...document.querySelectorAll('main *')].filter((one) => one.checkVisibility() && !one.closest('.only-heard') && one.getBoundingClientRect().right > innerWidth + 1).length"
        assert [await page.ask(wide), await page.ask(outside)] == [False, 0], view


async def test_it_is_dark_where_people_want_it_dark(visit):
    ground = "getComputedStyle(document.body).backgroundColor"
    light = await (await visit()).ask(ground)
    dark = await (await visit(dark=True)).ask(ground)
    brightness = [sum(json.loads(colour.replace("rgb(", "[").replace(")", "]"))) for colour in (light, dark)]
    assert brightness[0] > 600
    assert brightness[1] < 120


@pytest.mark.parametrize("scheme", ["light", "dark", "phone"])
async def test_an_accessibility_checker_finds_nothing(visit, busy, scheme, entrance):
    axe = peers.requested(lambda: peers.npm_peer(AXE)) / "node_modules" / "axe-core" / "axe.min.js"
    page = await visit(entrance, dark=scheme == "dark", **(SIZES["phone"] if scheme == "phone" else {}))
    await page.ask(f"{Path(axe).read_text(encoding='utf-8')}; true")
    for view in VIEWS:
        await shown(page, view)
        found = await page.ask(
            "axe.run({exclude: '.side [aria-hidden]'}, {resultTypes: ['violations', 'incomplete']}).then((all) => [all.passes.length,"
            " [...all.violations, ...all.incomplete].map((one) => one.id + ': ' + one.nodes.map((node) => node.html + ' ' + node.failureSummary).join(' | '))])"
        )
        assert found[0] > 10
        assert found[1] == [], view


@pytest.mark.parametrize("view", VIEWS)
async def test_a_page_has_landmarks_one_title_captions_and_one_quiet_voice(visit, busy, view):
    page = await visit()
    await shown(page, view)
    counts = await page.ask(
        "['header', 'nav', 'main', 'h1', 'table', '[aria-live], [role=status]'].map((one) =>"
        " [...document.querySelectorAll(one)].filter((each) => each.checkVisibility()).length)"
    )
    assert counts[:4] == [1, 1, 1, 1]
    assert counts[5] == 1
    captions = "[...document.querySelectorAll('table')].filter((one) => !one.caption?.textContent).length"
    assert await page.ask(captions) == 0
    levels = await page.ask(
        "[...document.querySelectorAll('h1, h2, h3')].filter((one) => one.checkVisibility()).map((one) => +one.tagName[1])"
    )
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


async def test_live_calls_are_not_read_aloud(visit, desk):
    page = await visit("#calls")
    await page.until("document.getElementById('said').textContent === 'Connected to the gateway.'")
    desk.end(desk.begin())
    await page.until("document.querySelectorAll('#calls-body tbody tr').length === 1")
    assert await page.ask("document.getElementById('said').textContent") == "Connected to the gateway."
    assert await page.ask("document.querySelector('#view-calls [aria-live]')") is None
