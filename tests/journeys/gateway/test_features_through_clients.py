"""Everything MCP has, through the gateway, between official clients and official servers of both eras.

Two of the pairs are of different eras: a client of the older one with a server that knows only the newer, and the other way
round, where a question comes in the middle of a call.
"""

from __future__ import annotations

import contextlib
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby

import pytest

from awf.testing import peers

# The first one to come here on a machine installs the clients.
pytestmark = [pytest.mark.journey, pytest.mark.timeout(600)]

running = sys.modules["journeys_gateway_running"]
clients = sys.modules["journeys_gateway_clients"]
EITHER_ERA = [one for one in clients.TOURISTS if one.name in {"python sdk 1, http", "python sdk 2, http"}]
SERVERS = running.HERE / "servers"
TODAY = "note://today"
TOOLS = ["ask_model", "ask_name", "change", "count", "talk", "touch", "wait", "where"]
NOT_FOUND = {0, -32002, -32602}  # the 1.x line of the SDK has a number of its own for it

STEPS = {
    "lists the tools": {"do": "list_tools"},
    "wants to hear the log": {"do": "level", "level": "info"},
    "is asked for a name": {"do": "call", "name": "ask_name", "arguments": {"greeting": "Hello"}},
    "is asked for an opinion": {"do": "call", "name": "ask_model", "arguments": {"question": "6 x 7?"}},
    "is asked for its roots": {"do": "call", "name": "where"},
    "hears of progress": {"do": "call", "name": "count", "arguments": {"steps": 2}},
    "hears the log": {"do": "call", "name": "talk"},
    "cancels a call": {"do": "cancel", "name": "wait", "arguments": {"mark": "MARK"}},
    "watches a resource": {"do": "watch", "uri": TODAY},
    "changes it": {"do": "call", "name": "touch"},
    "hears of that": {"do": "until", "event": ["updated", TODAY]},
    "no longer watches it": {"do": "unwatch", "uri": TODAY},
    "changes the tools": {"do": "call", "name": "change"},
    "hears of that, too": {"do": "until", "event": ["tools changed"]},
    "lists the tools again": {"do": "list_tools"},
    "lists the resources": {"do": "resources"},
    "lists the templates": {"do": "templates"},
    "reads a resource": {"do": "read", "uri": TODAY},
    "reads one of a template": {"do": "read", "uri": "note://days/monday"},
    "reads one that is not there": {"do": "read", "uri": "note://nowhere"},
    "lists the prompts": {"do": "prompts"},
    "gets a prompt": {"do": "prompt", "name": "poem", "arguments": {"about": "rain"}},
    "completes an argument": {
        "do": "complete", "prompt": "poem", "argument": {"name": "about", "value": "r"}
    },
}  # fmt: skip

ANSWERS = {
    "is asked for a name": "Hello, Ada!",
    "is asked for an opinion": "oracle says 42",
    "is asked for its roots": "file:///home/somebody",
    "hears of progress": "counted",
    "hears the log": "talked",
    "changes it": "touched",
    "changes the tools": "changed",
}
HEARD = [
    ["elicitation", "Who are you?", ["name"]],
    ["sampling", "6 x 7?"],
    ["roots"],
    ["progress", 1, 2, "step 1"],
    ["progress", 2, 2, "step 2"],
    ["log", "info", "something is going on"],
    ["log", "warning", "something is wrong"],
    ["progress", 1, None, "begun"],
    ["updated", TODAY],
    ["tools changed"],
]
LAST_PROGRESS = HEARD[4]


@pytest.fixture(scope="module")
def rich(tmp_path_factory):
    """A stage whose servers tell in a file what happens to them."""
    folder = tmp_path_factory.mktemp("rich")
    made = running.Stage(folder, more={"RICH_LOG": str(folder / "log")})
    (folder / "log").touch()
    yield made
    made.nothing_is_left()


@pytest.fixture(scope="module")
def behind():
    """How each kind of server is started. Those for HTTP are told a port besides."""
    first = [peers.requested(lambda: peers.python_peer("mcp==1.30.0")), str(SERVERS / "rich_v1.py")]
    second = [peers.requested(lambda: peers.python_peer("mcp==2.3.0")), str(SERVERS / "rich_v2.py")]
    return {
        "older, http": first,
        "older, stdio": [*first, "stdio"],
        "both, http": second,
        "newer, stdio": [sys.executable, str(SERVERS / "modern_only.py"), *second, "stdio"],
    }


@pytest.fixture(scope="module")
def gateways(rich, behind):
    """One in front of each kind of server: the address, and the command for a gateway on standard streams."""
    with contextlib.ExitStack() as stack:
        opened = {}
        for name, (command, *arguments) in behind.items():
            server = {"command": command, "args": arguments}
            short = name.replace(", ", "-")
            if name.endswith("http"):
                server = {"url": stack.enter_context(rich.http_server([command, *arguments], short))}
            file = rich.config(short, mcpServers={"rich": server})
            opened[name] = stack.enter_context(rich.gateway(file)), rich.stdio(file)
        yield opened


def test_all_that_a_server_offers_asks_and_tells_comes_through(tourist, gateways, rich, tmp_path):
    targets = {
        name: tourist.target(address, command, rich.environment)
        for name, (address, command) in gateways.items()
    }
    log = rich.folder / "log"
    before = len(log.read_text(encoding="utf-8").splitlines())

    seen = tourist.run(targets, list(STEPS.values()), tmp_path)

    wrong = [
        f"{name}: {one}"
        for name in gateways
        for one in differences(seen[name], tourist, twice=name.startswith("both"))
    ]
    # Over pipes a client that can be asked has a process of its own, and the list is another's.
    wrong += [
        f"{name}: the list is as it was"
        for name in gateways
        if name != "older, stdio"
        if not grown(seen[name])
    ]
    assert not wrong, "\n".join(wrong)
    running.until(
        lambda: (
            log.read_text(encoding="utf-8").splitlines()[before:].count("MARK was cancelled") == len(targets)
        ),
        "a cancelled call in every server",
    )


def differences(seen, tourist, *, twice):
    """What is not as it would be without a gateway. `twice`: the server may tell the same in each of its eras."""
    if "failed" in seen:
        return [seen["failed"]]
    steps = dict(zip(STEPS, seen["steps"], strict=True))
    found = [
        f"{step}: {steps[step]}" for step, text in ANSWERS.items() if said_by(steps[step]) != (text, False)
    ]
    if seen["protocol"] != tourist.protocol:
        found.append(f"speaks {seen['protocol']}")
    found += strange_lists(steps)
    told = [event for event, _ in groupby(seen["heard"])] if twice else seen["heard"]
    if not tourist.hears_the_last_progress:
        told = [*told[:4], LAST_PROGRESS, *(event for event in told[4:] if event != LAST_PROGRESS)]
    return found + ([f"heard {told}"] if told != HEARD else [])


def grown(seen):
    """Whether the change of the tools is to be seen in their list."""
    steps = dict(zip(STEPS, seen.get("steps", []), strict=False))
    lists = [steps.get(step, []) for step in ("lists the tools", "lists the tools again")]
    before, after = ({tool["name"] for tool in tools} for tools in lists)
    return before < after


def said_by(result):
    texts = [block.get("text") for block in result.get("content", [])]
    return (texts[0] if texts else None), result.get("isError", False)


def strange_lists(steps):
    """The answers that are no results of tools."""
    expected = {
        "lists the tools": TOOLS,
        "lists the resources": [TODAY],
        "lists the templates": ["note://days/{day}"],
        "reads a resource": ["touched True"],
        "reads one of a template": ["the note of monday"],
        "reads one that is not there": "not found",
        "lists the prompts": ["poem"],
        "gets a prompt": ["Write a poem about rain."],
        "completes an argument": ["rain", "roses"],
        "wants to hear the log": None,
        "watches a resource": None,
        "no longer watches it": None,
    }
    return [f"{step}: {steps[step]}" for step, told in expected.items() if in_short(steps[step]) != told]


def in_short(answer):
    if isinstance(answer, dict):
        return "not found" if answer["error"]["code"] in NOT_FOUND else answer
    if not isinstance(answer, list):
        return answer
    return [
        one if isinstance(one, str) else telling(one)
        for one in answer
        if not telling(one).startswith("extra_")
    ]


def telling(one):
    """Of one thing in a list, what identifies it here."""
    if isinstance(one, str):
        return one
    keys = ("text", "uriTemplate", "uri", "name")
    return one["content"]["text"] if "content" in one else next(one[key] for key in keys if key in one)


# -- what clients of either era meet at servers of either era ------------------------------------------------------------


@pytest.mark.parametrize("one", EITHER_ERA, ids=lambda one: one.name)
def test_a_server_cannot_ask_a_client_that_offered_no_answers(one, gateways, tmp_path):
    targets = {
        name: one.target(address, [], {}) | {"answers": False} for name, (address, _) in gateways.items()
    }
    asked = [STEPS["is asked for a name"], STEPS["is asked for an opinion"], STEPS["is asked for its roots"]]

    seen = one.run(targets, [*asked, STEPS["hears of progress"]], tmp_path)

    for name, tour in seen.items():
        assert "failed" not in tour, f"{name}: {tour['failed']}"
        *refused, counted = tour["steps"]
        assert [step.get("isError", "error" in step) for step in refused] == [True] * 3, f"{name}: {refused}"
        assert all(step.get("error", {}).get("code", 0) is not None for step in refused), f"{name}: {refused}"
        assert said_by(counted) == ("counted", False), name


def test_people_who_are_asked_at_the_same_time_answer_their_own_questions(gateways, tmp_path):
    """Over a pipe a server of the older era does not say to which call a question belongs."""
    older, newer = EITHER_ERA
    people = {"Ann": older, "Bob": older, "Cid": newer, "Dora": newer}

    def visit(person):
        one, folder = people[person], tmp_path / person
        folder.mkdir()
        targets = {
            name: one.target(address, [], {}) | {"person": person} for name, (address, _) in gateways.items()
        }
        asked = {"do": "call", "name": "ask_name", "arguments": {"greeting": person}}
        return one.run(targets, [asked] * 10, folder)

    with ThreadPoolExecutor(len(people)) as threads:
        seen = dict(zip(people, threads.map(visit, people), strict=True))

    wrong = [
        f"{person}, {name}: {step}"
        for person, tours in seen.items()
        for name, tour in tours.items()
        for step in tour.get("steps", [tour])
        if said_by(step) != (f"{person}, {person}!", False)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("one", EITHER_ERA, ids=lambda one: one.name)
def test_a_reshaped_tool_may_ask_in_the_middle_of_its_call(one, reshaped, tmp_path):
    targets = {name: one.target(address, [], {}) for name, address in reshaped.items()}
    steps = [{"do": "list_tools"}, {"do": "call", "name": "welcome", "arguments": {}}]

    seen = one.run(targets, steps, tmp_path)

    for name, tour in seen.items():
        assert "failed" not in tour, f"{name}: {tour['failed']}"
        tools, welcomed = tour["steps"]
        (welcome,) = [tool for tool in tools if tool["name"] == "welcome"]
        assert welcome["inputSchema"].get("properties", {}) == {}, name
        assert said_by(welcomed) == ("Good day, Ada!", False), name
        assert tour["heard"] == HEARD[:1], name


@pytest.fixture(scope="module")
def reshaped(rich, behind):
    override = {"rename": "welcome", "hide_fields": ["greeting"], "defaults": {"greeting": "Good day"}}
    with contextlib.ExitStack() as stack:
        opened = {}
        for name in ("older, stdio", "newer, stdio"):
            command, *arguments = behind[name]
            servers = {"rich": {"command": command, "args": arguments}}
            file = rich.config(
                f"reshaped-{name[:5]}", mcpServers=servers, overrides={"rich:ask_name": override}
            )
            opened[name] = stack.enter_context(rich.gateway(file))
        yield opened
