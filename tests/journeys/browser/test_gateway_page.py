"""The gateway's page in a real browser: what people see, and do, without a mouse."""

from __future__ import annotations

import asyncio
import json

import pytest

pytestmark = pytest.mark.journey
TOOL = "#tool/weather%3Afetch_forecast"


def text(selector):
    return f"(document.querySelector({json.dumps(selector)})?.innerText ?? '')"


def texts(selector):
    return f"[...document.querySelectorAll({json.dumps(selector)})].map((one) => one.innerText.trim())"


async def tab_to(page, wanted, most=40):
    """Press Tab until the focus is there. Every stop on the way shows that it has the focus."""
    stops = []
    for _ in range(most):
        await page.press("Tab")
        stops.append(await page.focused())
        assert await page.ask(
            "document.activeElement === document.body || getComputedStyle(document.activeElement).outlineStyle !== 'none'"
        ), stops
        if wanted in stops[-1]:
            return stops
    raise AssertionError(f"Tab never reached {wanted}: {stops}")


# -- without a mouse


async def test_everything_can_be_done_with_the_keyboard(visit):
    page = await visit()
    await page.press("Tab")
    assert "#skip" in await page.focused()
    assert await page.ask("document.getElementById('skip').getBoundingClientRect().top >= 0")
    await page.press("Enter")
    assert (await page.focused()).startswith("#main")
    await page.press("Tab", shift=True)
    assert "Calls" in await page.focused()
    await page.press("Tab", shift=True)
    await page.press("Enter")  # Tools
    await page.until("location.hash === '#tools' && document.activeElement.id === 'tools-title'")

    await tab_to(page, "#filter")
    await page.type("weather")
    await page.until(f"{text('#tool-count')} === '1 of 2 tools.'")
    await page.press("ArrowDown")
    assert "get_weather" in await page.focused()
    await page.press("Enter")
    await page.until("document.activeElement.id === 'tool-title'")
    assert await page.ask(text("#tool-title")) == "get_weather"

    await tab_to(page, "input changes")  # the radio buttons are one stop; the arrow keys choose
    await page.press("ArrowDown")
    await page.press("ArrowDown")
    await page.until("document.querySelector('input[name=way]:checked').value === 'before'")
    assert "station_id" in await page.ask(text(".diff"))
    await page.ask("history.back()")
    await page.until("document.activeElement.dataset?.id === 'weather:fetch_forecast'")


async def test_the_list_of_tools_is_one_stop_and_the_arrows_move_in_it(visit, desk, desks):
    desk.tool_list = [desks.a_tool("kb", f"tool{number:03}") for number in range(250)]
    page = await visit("#tools")
    await page.until("document.querySelectorAll('#tool-list li').length === 200")
    await tab_to(page, "#filter")
    stops = await tab_to(page, "#more-tools")
    assert sum("tool000" in stop for stop in stops) == 1
    assert not any("tool001" in stop for stop in stops)
    await page.press("Tab", shift=True)
    await page.press("End")
    assert "tool199" in await page.focused()
    await page.press("ArrowDown")  # draws the rest
    assert "tool200" in await page.focused()
    assert await page.ask("document.getElementById('more-tools').hidden")
    await page.press("Home")
    await page.press("ArrowUp")
    assert "#filter" in await page.focused()


@pytest.mark.parametrize("fragment", ["#overview", "#tools", TOOL, "#calls", "#server/weather"])
async def test_tab_reaches_every_control_of_every_view_in_the_order_of_the_page(visit, desk, fragment):
    desk.end(desk.begin())
    page = await visit(fragment)
    await page.until(
        "[...document.querySelectorAll('.calls tbody tr, #tool-list li')].some((one) => one.checkVisibility())"
    )
    wanted = await page.ask(
        "(window.stops = [...document.querySelectorAll('a[href], button, input, select')].filter((one) =>"
        " one.checkVisibility() && one.tabIndex >= 0 && (one.type !== 'radio' || one.checked))).length"
    )
    reached = []
    for _ in range(wanted):
        await page.press("Tab")
        reached.append(await page.ask("stops.indexOf(document.activeElement)"))
    assert reached == list(range(wanted))


# -- live


async def test_a_call_appears_while_it_runs_and_tells_how_it_ended(visit, desk):
    page = await visit("#calls")
    assert await page.ask(text("#calls-body")) == "No calls yet."
    call = desk.begin(client="codex")
    await page.until(f"{text('#calls-body tbody tr')}.includes('Running')")
    row = await page.ask(text("#calls-body tbody tr"))
    assert "get_weather" in row
    assert "codex" in row
    desk.end(call, "error", 1234.5, "TIMEOUT")
    await page.until(f"{text('#calls-body tbody tr')}.includes('Error')")
    row = await page.ask(text("#calls-body tbody tr"))
    assert "TIMEOUT" in row
    assert "1.23 s" in row
    assert await page.ask("document.querySelectorAll('#calls-body tbody tr').length") == 1
    desk.end(desk.begin(name="second"))
    await page.until(f"{text('#calls-body tbody tr')}.includes('second')")  # the newest is on top


async def test_a_paused_list_stands_still_until_it_is_wanted_again(visit, desk):
    page = await visit("#calls")
    await tab_to(page, "#pause")
    await page.press("Space")
    assert await page.ask("document.getElementById('pause').getAttribute('aria-pressed')") == "true"
    desk.end(desk.begin())
    await page.ask("location.hash = '#overview'")
    await page.until("document.querySelectorAll('#latest tbody tr').length === 1")  # so it has arrived
    await page.ask("location.hash = '#calls'")
    await page.until("!document.getElementById('view-calls').hidden")
    assert await page.ask("document.querySelectorAll('#calls-body tbody tr').length") == 0
    await tab_to(page, "#pause")
    await page.press("Space")
    await page.until("document.querySelectorAll('#calls-body tbody tr').length === 1")


async def test_calls_can_be_filtered_by_words_and_outcome(visit, desk):
    desk.end(desk.begin(name="alpha"))
    desk.end(desk.begin(name="beta"), "error")
    desk.end(desk.begin(name="alphabet"), "error")
    page = await visit("#calls")
    await page.until("document.querySelectorAll('#calls-body tbody tr').length === 3")
    await tab_to(page, "#call-text")
    await page.type("alpha")
    await page.until("document.querySelectorAll('#calls-body tbody tr').length === 2")
    await page.press("Tab")
    for _ in range(3):
        await page.press("ArrowDown")
    await page.until("document.getElementById('call-outcome').value === 'error'")
    await page.until(f"{texts('#calls-body tbody td[data-name=Tool]')}.join() === 'alphabet'")


async def test_a_changed_status_shows_without_a_reload(visit, desk, desks):
    page = await visit()
    assert "Failed" in await page.ask(text("#overview-body"))
    desk.servers[1] = desks.a_server("kb", "ready")
    desk.problems.append("two tools would be called search")
    desk.changed()
    await page.until(f"{text('#overview-body')}.includes('2 of 2 ready')")
    assert "two tools would be called search" in await page.ask(text("#overview-body"))


async def test_the_page_comes_back_when_the_gateway_does(visit, house, desk):
    page = await visit("#calls", forgive="ERR_")
    await house.close()
    await page.until(f"{text('#connection')} === 'Reconnecting'")
    desk.end(desk.begin(name="meanwhile"))
    await house.open()
    await page.until(f"{text('#connection')} === 'Live'")
    await page.until(f"{text('#calls-body tbody tr')}.includes('meanwhile')")


async def test_a_gateway_that_is_not_ready_is_asked_again(visit, house):
    house.ready = False
    page = await visit(ready=False, forgive="503")
    await page.until(f"{text('#loading')} === 'The gateway answered 503. Trying again.'")
    house.ready = True
    await page.until(f"{text('#connection')} === 'Live'")
    await page.until(f"{text('#overview-body')}.includes('1 of 2 ready')")


async def test_what_changes_leaves_the_focus_and_the_elements_where_they_are(visit, desk, desks):
    page = await visit()
    await tab_to(page, "a kb")
    await page.ask("document.activeElement.mark = 1")
    desk.servers[0] = desks.a_server("weather", calls=77_777)
    desk.problems.append("a problem that moves everything down")
    desk.changed()
    await page.until(f"{text('#overview-body')}.includes('77,777')")
    assert await page.ask("document.activeElement.textContent + document.activeElement.mark") == "kb1"


async def test_a_call_of_no_tool_leads_nowhere(visit, desk):
    desk.end(desk.begin(server="", tool="", name="nonsense"), "refused", 0.1, "UNKNOWN_TOOL")
    page = await visit("#calls")
    await page.until(f"{text('#calls-body tbody')}.includes('UNKNOWN_TOOL')")
    assert await page.ask("document.querySelectorAll('#calls-body tbody a').length") == 0


async def test_a_flood_leaves_a_short_table_and_a_page_that_answers(visit, desk, desks):
    desk.servers = [desks.a_server(f"server{number}") for number in range(500)]
    desk.tool_list = [desks.a_tool(f"server{number % 500}", f"tool{number}") for number in range(1000)]
    page = await visit("#calls")
    for burst in range(20):
        for number in range(250):
            call = {
                "id": f"f{burst}-{number}",
                "time": 1_780_000_000 + burst,
                "server": "server1",
                "tool": "tool1",
            }
            rest = {"name": f"flood{burst}", "client": "c", "outcome": "ok", "code": "", "duration_ms": 1.0}
            desk.call_list.insert(0, {**call, **rest})
            desk.tell({"type": "call", "call": {**call, **rest}})
        await asyncio.sleep(0)
    await page.until(f"{text('#calls-body tbody tr')}.includes('flood19')")
    assert await page.ask("document.querySelectorAll('#calls-body tbody tr').length") == 200
    await page.ask("location.hash = '#tools'")
    await page.until(f"{text('#tool-count')} === '1,000 tools.'")
    assert await page.ask("document.querySelectorAll('#tool-list li').length") == 200
    await page.ask("location.hash = '#overview'")
    await page.until("document.querySelectorAll('#overview-body tbody tr').length >= 500")


# -- tools


async def test_tools_are_found_by_name_server_description_and_change(visit, desk, desks):
    page = await visit("#tools")
    await page.until(f"{text('#tool-count')} === '2 tools.'")
    await tab_to(page, "#filter")
    await page.type("fetch_fore")  # the server's own name
    await page.until(f"{texts('#tool-list .name')}.join() === 'get_weather'")
    await page.ask("document.getElementById('filter').select()")
    await page.type("nothing like it")
    await page.until(f"{text('#tool-count')} === '0 of 2 tools.'")
    assert await page.ask(text("#said")) == "0 of 2 tools."  # heard as well
    await page.ask("document.getElementById('filter').select()")
    await page.press("Delete")
    await page.until(f"{text('#tool-count')} === '2 tools.'")
    await tab_to(page, "#only-changed")
    await page.press("Space")
    await page.until(f"{texts('#tool-list .name')}.join() === 'get_weather'")


async def test_before_and_after_are_told_apart_by_words(visit):
    page = await visit(TOOL)
    await page.until(f"{text('#tool-title')} === 'get_weather'")
    told = await page.ask(texts(".changes li"))
    assert [one.replace("\n", " ") for one in told] == [
        "Renamed Agents call the tool get_weather.",
        "Rewritten The description is another one.",
        "Renamed q is called city by agents.",
        "Default station_id is hidden from agents; the gateway always sends it.",
        "Hidden debug_mode is hidden from agents.",
        'Narrowed units may only be "metric", "imperial".',
    ]
    lines = await page.ask(
        "[...document.querySelectorAll('.diff tbody tr')].map((row) => [...row.cells].map((one) => one.textContent.trim()).join('|'))"
    )
    assert '− before|name: "fetch_forecast"|changed' in lines
    assert '+ after|name: "get_weather"|changed' in lines
    assert "− before|q:|renamed to city" in lines
    assert "+ after|city:|renamed from q" in lines
    assert "− before|station_id:|hidden, always sent by the gateway" in lines
    assert "− before|debug_mode:|hidden from agents" in lines
    assert '− before|- "kelvin"|no longer allowed' in lines
    arguments = await page.ask(
        "[...document.querySelectorAll('#tool .stack tbody tr')].map((row) => [...row.cells].map((one) => one.textContent).join('|'))"
    )
    assert arguments == [
        "city|q|string|yes|renamed",
        "not shown|station_id|string|yes|hidden, always sent by the gateway",
        "not shown|debug_mode|boolean|no|hidden from agents",
        "units|units|string|no|fewer values allowed",
    ]


async def test_without_the_override_the_page_tells_it_from_the_definitions(visit, desk, desks):
    desk.tool_list = [desks.weather()]
    page = await visit(TOOL)
    await page.until(f"{text('#tool-title')} === 'get_weather'")
    told = " ".join(await page.ask(texts(".changes li"))).replace("\n", " ")
    assert "q is called city by agents." in told
    assert "station_id is hidden from agents; the gateway always sends it." in told  # it was required
    assert "debug_mode is hidden from agents." in told


async def test_a_tool_that_nobody_changed_says_so(visit):
    page = await visit("#tool/kb%3Asearch")
    await page.until(f"{text('#tool-title')} === 'search'")
    assert "exactly as its server defines it" in await page.ask(text("#tool"))
    assert "There is no difference." in await page.ask(text("#tool"))


async def test_a_definition_that_changes_while_one_reads_it_keeps_the_focus(visit, desk, desks):
    page = await visit(TOOL)
    await tab_to(page, "input changes")
    desk.tool_list = [
        desks.weather(edits={**desks.EDITS, "sent": [], "hidden": ["debug_mode", "station_id"]})
    ]
    desk.changed()
    await page.until(f"{texts('.changes li')}.join().includes('station_id is hidden from agents.')")
    assert "input changes" in await page.focused()


async def test_a_tool_in_quarantine_shows_what_its_server_says_now(visit, desk, desks):
    desk.tool_list = [{**desks.a_tool("kb", "search", quarantined=True), "published": {}}]
    desk.drift = [
        {"id": "kb:search", "kind": "changed", "what": "Its description is another one.", "quarantined": True}
    ]
    page = await visit("#tool/kb%3Asearch")
    await page.until(f"{text('#tool-title')} === 'search'")
    told = await page.ask(text("#tool"))
    assert "Agents cannot call this tool" in told
    assert "Its description is another one." in told
    assert "The tool search." in told
    assert "removed" not in told
    assert await page.ask(texts("#tool .marks .badge")) == ["Quarantined"]
    await page.until(f"{texts('#tool-list .badge')}.join() === 'quarantined'")


async def test_a_huge_definition_is_shown_in_part_and_then_in_full(visit, desk, desks):
    properties = {f"field{number}": {"type": "string"} for number in range(2000)}
    big = {
        "name": "big",
        "description": "long " * 4000,
        "inputSchema": {"type": "object", "properties": properties},
    }
    desk.tool_list = [desks.a_tool("kb", "big", big)]
    page = await visit("#tool/kb%3Abig")
    await page.until(f"{text('#tool-title')} === 'big'")
    assert await page.ask("document.querySelectorAll('.diff tbody tr').length") <= 1500
    await page.ask("[...document.querySelectorAll('#tool button')].forEach((one) => one.click())")
    await page.until("document.querySelectorAll('.diff tbody tr').length > 4000")
    assert await page.ask("document.querySelector('#tool .prose').textContent.length") == 20_000


# -- addresses


async def test_a_tool_or_a_server_can_be_linked_to(visit, desk, desks):
    desk.tool_list.append(desks.a_tool("odd server/ü", "a b%#?&"))
    page = await visit(TOOL)
    assert await page.ask("document.title") == "weather:fetch_forecast – AWF gateway"
    page = await visit("#server/weather")
    await page.until(f"{text('#server-title')} === 'Server weather'")
    assert "get_weather" in await page.ask(text("#server"))
    page = await visit("#tools")
    address = await page.until("[...document.querySelectorAll('#tool-list a')].at(-1).hash")
    page = await visit(address)
    await page.until(f"{text('#tool-title')} === 'a b%#?&'")


@pytest.mark.parametrize(
    "fragment", ["#tool/nobody%3Anothing", "#server/nobody", "#nothing", "#tool/%E0%A4%A"]
)
async def test_an_address_of_nothing_says_so(visit, fragment):
    page = await visit(fragment)
    await page.until("!document.getElementById('view-missing').hidden")
    assert "There is no" in await page.ask(text("#missing"))


# -- strangers


HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script><a href='javascript:alert(3)'>x</a>"


async def test_what_servers_write_stays_text(visit, desk, desks):
    name = '"><svg onload=alert(4)>'
    shown = {
        "name": name,
        "title": HOSTILE,
        "description": f"{HOSTILE} unseen\u202e\u200b\U000e0041",
        "inputSchema": {"type": "object", "properties": {HOSTILE: {"type": HOSTILE, "__proto__": {"x": 1}}}},
    }
    desk.tool_list = [desks.a_tool("weather", "x", shown, quarantined=True)]
    desk.servers = [desks.a_server("weather", HOSTILE, detail=HOSTILE, transport=HOSTILE, protocol=HOSTILE)]
    desk.drift = [{"id": "weather:x", "kind": HOSTILE, "what": HOSTILE, "quarantined": True}]
    desk.problems = [HOSTILE]
    desk.end(desk.begin(name=HOSTILE, tool="x", client=HOSTILE), HOSTILE, code=HOSTILE)
    page = await visit("#tool/weather%3Ax")
    await page.until(f"{text('#tool-title')} === {json.dumps(name)}")
    assert HOSTILE in await page.ask(text("#tool .prose"))
    assert "unseen‹U+202E›‹U+200B›‹U+E0041›" in await page.ask(text("#tool .prose"))
    for fragment in ("#overview", "#server/weather", "#tools", "#calls"):
        await page.ask(f"location.hash = '{fragment}'")
        await page.until(
            f"{text('main')}.includes('onload=alert') || {text('main')}.includes('onerror=alert')"
        )
        counted = "[document.images.length, document.scripts.length, document.querySelectorAll('svg, a[href^=javascript]').length]"
        assert await page.ask(counted) == [1, 1, 0]
    assert page.dialogs == []


# -- the token


async def test_a_gateway_with_a_token_asks_for_it_and_keeps_it_in_the_tab(visit, house):
    house.token = "right"
    page = await visit("#tools", ready=False, forgive="401")
    await page.until("document.activeElement.id === 'token'")
    assert await page.ask("document.getElementById('token').type") == "password"
    await page.type("wrong")
    await page.press("Enter")
    await page.until(f"{text('#token-problem')} === 'The gateway does not accept this token.'")
    await page.until("document.activeElement.id === 'token'")
    await page.type("right")
    await page.press("Enter")
    await page.until(f"{text('#connection')} === 'Live'")
    await page.until("document.activeElement.id === 'tools-title'")  # where the address led
    assert ("/api/events", "Bearer right") in house.asked
    kept = "JSON.stringify([Object.values(sessionStorage), Object.values(localStorage), document.cookie, location.href.includes('right')])"
    assert await page.ask(kept) == '[["right"],[],"",false]'
    assert await page.ask("document.getElementById('token').value") == ""

    await tab_to(page, "#forget")
    await page.press("Enter")
    await page.until("document.activeElement?.id === 'token'")
    assert await page.ask("sessionStorage.length") == 0


async def test_a_token_that_is_no_longer_good_is_asked_for_again(visit, house, desk):
    house.token = "first"
    page = await visit(ready=False, forgive="401")
    await page.until("document.activeElement.id === 'token'")
    await page.type("first")
    await page.press("Enter")
    await page.until(f"{text('#connection')} === 'Live'")
    house.token = "second"
    desk.changed()
    await page.until(f"{text('#token-problem')} === 'The gateway does not accept this token.'")
    await page.until(f"{text('#connection')} === 'Not signed in'")
