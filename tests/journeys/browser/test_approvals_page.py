"""Calls that wait for a person, in a real browser, without a mouse."""

from __future__ import annotations

import asyncio
import json

import pytest

pytestmark = pytest.mark.journey
KEY = "#key=the-right-key"


def text(selector):
    return f"(document.querySelector({json.dumps(selector)})?.innerText ?? '')"


@pytest.fixture
def gate(desk):
    return desk.with_gate()


async def tab_to(page, wanted, most=40):
    stops = []
    for _ in range(most):
        await page.press("Tab")
        stops.append(await page.focused())
        if wanted in stops[-1]:
            return
    raise AssertionError(f"Tab never reached {wanted}: {stops}")


async def cards(page, number):
    await page.until(f"document.querySelectorAll('#questions > li').length === {number}")


async def test_without_a_gate_nothing_of_it_shows(visit):
    page = await visit()
    assert await page.ask("document.getElementById('nav-approvals').hidden")
    assert "Gate" not in await page.ask(text("#overview-body"))
    await page.ask("location.hash = '#approvals'")
    await page.until(f"{text('#missing')} === 'There is no such view.'")


async def test_the_key_leaves_the_address_and_stays_in_the_tab(visit, gate, house):
    page = await visit(KEY)
    assert await page.ask("location.href") == house.url
    kept = "JSON.stringify([Object.values(sessionStorage), Object.values(localStorage), document.cookie])"
    assert await page.ask(kept) == '[["the-right-key"],[],""]'
    await page.open(house.url)
    await page.until(f"{text('#connection')} === 'Live'")
    assert (
        await page.ask("JSON.stringify(Object.values(sessionStorage))") == '["the-right-key"]'
    )  # of this tab


async def test_a_question_shows_what_is_asked_and_why(visit, gate, desks):
    page = await visit(KEY)
    await page.ask("location.hash = '#approvals'")
    await page.until(f"{text('#no-questions')} === 'Nothing waits for an answer.'")
    gate.ask(
        desks.a_question(
            arguments='{"to": "bob@example.com", "sum": 12345678901234567890, "all": [1, "a, b"]}'
        )
    )
    await cards(page, 1)
    shown = await page.ask(text("#questions > li"))
    for wanted in (
        "mail:send",
        "It sends something.",
        "rule no-mail",
        "claude-code",
        "ctx_0123456789abcdef",
        "Open until",
    ):
        assert wanted in shown
    assert await page.ask(text("#questions pre")) == (
        '{\n  "to": "bob@example.com",\n  "sum": 12345678901234567890,\n  "all": [\n    1,\n    "a, b"\n  ]\n}'
    )


async def test_the_number_is_in_the_navigation_and_new_ones_are_announced(visit, gate, desks):
    page = await visit()
    assert await page.ask("document.getElementById('waiting').hidden")
    gate.ask(desks.a_question(1))
    await page.until("document.getElementById('waiting').textContent === '1 waiting'")
    assert await page.ask("document.getElementById('said').getAttribute('role')") == "status"
    await page.until(f"{text('#said')} === 'A call of mail:send waits for approval.'")
    gate.ask(desks.a_question(2), desks.a_question(3))
    await page.until("document.getElementById('waiting').textContent === '3 waiting'")
    await page.until(f"{text('#said')} === '2 calls wait for approval.'")
    assert (
        await page.ask("document.querySelector('nav li:last-child a').textContent") == "Approvals 3 waiting"
    )
    gate.close(desks.a_question(1)["id"])
    await page.until("document.getElementById('waiting').textContent === '2 waiting'")


async def test_answers_are_given_with_the_keyboard_and_the_focus_goes_to_the_next_name(visit, gate, desks):
    gate.open = [desks.a_question(1, tool="mail:one"), desks.a_question(2, tool="mail:two")]
    page = await visit(KEY)
    await tab_to(page, "Approvals")
    await page.press("Enter")
    await page.until("document.activeElement.id === 'approvals-title'")
    await cards(page, 2)
    await tab_to(page, "Allow mail:one")
    await page.press("Enter")
    await cards(page, 1)
    assert gate.answers == [("approval_0000000000000001", True)]
    await page.until(
        "document.activeElement.innerText === 'mail:two' && document.activeElement.tagName === 'H2'"
    )
    await page.until(f"{text('#said')} === 'Allowed: mail:one. 1 call still waits.'")
    await page.press("Enter")  # pressing twice answers once
    await tab_to(page, "Deny mail:two")
    await page.press("Space")
    await cards(page, 0)
    assert gate.answers[1:] == [("approval_0000000000000002", False)]
    await page.until("document.activeElement.id === 'approvals-title'")
    await page.until(f"{text('#said')} === 'Denied: mail:two.'")
    assert await page.ask("document.getElementById('waiting').hidden")


async def test_a_list_that_is_older_than_an_answer_does_not_bring_the_question_back(visit, gate, desks):
    gate.open = [desks.a_question(1, tool="mail:one")]
    page = await visit(KEY)
    await page.ask("location.hash = '#approvals'")
    await cards(page, 1)
    gate.slow, asked = asyncio.Event(), gate.asked
    gate.ask(desks.a_question(2, tool="mail:two"))
    async with asyncio.timeout(30):
        while gate.asked == asked:
            await asyncio.sleep(0.01)
    await tab_to(page, "Allow mail:one")
    await page.press("Enter")
    await cards(page, 0)
    assert gate.answers == [("approval_0000000000000001", True)]
    gate.slow.set()
    await cards(page, 1)
    assert "mail:two" in await page.ask(text("#questions > li"))
    await page.until(f"{text('#said')} === 'A call of mail:two waits for approval.'")
    await page.until("document.getElementById('waiting').textContent === '1 waiting'")


async def test_a_question_that_ends_elsewhere_gives_the_focus_to_its_neighbour(visit, gate, desks):
    gate.open = [desks.a_question(number, tool=f"mail:{number}") for number in (1, 2)]
    page = await visit(KEY)
    await page.ask("location.hash = '#approvals'")
    await cards(page, 2)
    await tab_to(page, "Allow mail:2")
    gate.close(gate.open[0]["id"])
    await cards(page, 1)
    assert "Allow mail:2" in await page.focused()  # it was not in its place
    gate.ask(desks.a_question(3, tool="mail:3"))
    await cards(page, 2)
    gate.close(gate.open[0]["id"])
    await cards(page, 1)
    await page.until("document.activeElement.innerText === 'mail:3'")
    assert await page.ask(text("#said")) == "The question about mail:2 is closed."
    assert gate.answers == []


async def test_a_click_that_may_have_been_meant_for_another_row_answers_nothing(visit, gate, desks):
    gate.open = [desks.a_question(number, tool=f"mail:{number}") for number in (1, 2)]
    page = await visit(KEY)
    await page.ask("location.hash = '#approvals'")
    await cards(page, 2)
    spot = await page.ask(
        "(({x, y}) => [x + 5, y + 5])(document.querySelector('.allow').getBoundingClientRect())"
    )
    # The clock of the page stands still, so that the click comes right after the row has gone.
    await page.ask("window.now = performance.now(), performance.now = () => window.now, 1")
    gate.close(gate.open[0]["id"])
    await cards(page, 1)
    assert await page.ask(
        f"document.elementFromPoint({spot[0]}, {spot[1]}).textContent.startsWith('Allow mail:2')"
    )
    await page.click(*spot)
    await page.until(f"{text('#said')}.startsWith('The list has just moved.')")
    await page.ask("window.now += 1000")
    await page.click(*spot)
    await cards(page, 0)
    assert gate.answers == [("approval_0000000000000002", True)]


async def test_without_the_key_there_is_no_button_but_the_command(visit, gate, desks):
    gate.open = [desks.a_question()]
    page = await visit("#approvals")
    await cards(page, 1)
    shown = await page.ask(text("#view-approvals"))
    assert "awf gateway approve approval_0000000000000001" in shown
    assert "awf gateway deny approval_0000000000000001" in shown
    assert "bob@example.com" not in shown
    assert (
        await page.ask(
            "[...document.querySelectorAll('#view-approvals button')].filter((one) => one.checkVisibility()).length"
        )
        == 0
    )
    await page.ask(f"location.hash = '{KEY}'")  # the address is pasted into the open tab
    await page.until(
        "document.querySelectorAll('#questions button').length === 0 ? (location.hash = '#approvals', false) : true"
    )
    assert "bob@example.com" in await page.ask(text("#questions"))


async def test_a_key_that_is_not_the_right_one_is_forgotten(visit, gate, desks):
    gate.open = [desks.a_question()]
    page = await visit(KEY, forgive="403")
    await page.ask("location.hash = '#approvals'")
    await tab_to(page, "Allow mail:send")
    gate.key = "another"
    await page.press("Enter")
    await page.until("document.querySelectorAll('#questions button').length === 0")
    await page.until(f"{text('#said')} === 'The gateway does not accept the key of this tab.'")
    assert await page.ask("sessionStorage.length") == 0
    assert "bob@example.com" not in await page.ask(text("#questions"))
    assert await page.ask("document.activeElement.id") == "approvals-title"
    assert gate.answers == []


async def test_an_answer_that_comes_too_late_says_so(visit, gate, desks):
    gate.open = [desks.a_question()]
    page = await visit(KEY, forgive="409")
    await page.ask("location.hash = '#approvals'")
    await tab_to(page, "Allow mail:send")
    gate.failure = desks.ApprovalRefused("approval_0000000000000001", "denied")
    await page.press("Enter")
    await page.until(f"{text('#approvals-problem')}.includes(\"'approval_0000000000000001' was denied.\")")


async def test_the_key_can_be_forgotten(visit, gate, desks):
    gate.open = [desks.a_question()]
    page = await visit(KEY)
    await page.ask("location.hash = '#approvals'")
    await tab_to(page, "#forget-key")
    await page.press("Enter")
    await page.until("document.querySelectorAll('#questions button').length === 0")
    assert await page.ask("sessionStorage.length") == 0
    assert await page.ask("document.activeElement.id") == "approvals-title"


async def test_refusals_say_why_and_tools_what_the_gate_knows(visit, gate, desk, desks):
    desk.end(
        desk.begin(), "refused", 0.1, "PERMISSION_DENIED", reason="get_weather needs a grant of weather.read."
    )
    desk.tool_list = [desks.weather(edits=desks.EDITS, gate=desks.KNOWN)]
    page = await visit("#calls")
    await page.until(f"{text('#calls-body')}.includes('get_weather needs a grant of weather.read.')")
    await page.ask("location.hash = '#tool/weather%3Afetch_forecast'")
    await page.until(f"{text('#tool')}.includes('What the gate knows')")
    shown = " ".join((await page.ask(text("#tool .facts + *, #tool"))).split())
    for wanted in ("network.request", "confidential, untrusted", "weather.read, network.request", "each call",
                   "5.00 s, 65,536 bytes, 200 lines", "`x-level` is not a level."):  # fmt: skip
        assert wanted in shown


async def test_the_overview_shows_raised_contexts_and_shadow_mode(visit, gate, desk, desks):
    page = await visit()
    assert "Contexts" not in await page.ask(text("#overview-body"))
    gate.shadow = True
    gate.contexts = [desks.a_context("ctx_1", "secret", "untrusted")]
    desk.changed()
    await page.until(f"{text('#overview-body')}.includes('Shadow mode')")
    shown = await page.ask(text("#overview-body"))
    for wanted in (
        "refuses nothing",
        "ctx_1",
        "secret",
        "untrusted",
        "kb:read",
        "1 context has read something",
    ):
        assert wanted in shown
