"""Whatever is configured, asked and answered: a denied call never reaches a server, levels never fall, and both ways agree."""

from __future__ import annotations

import asyncio
import json
import re
from itertools import groupby

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from awf.application.gateway.gateway import Gateway
from awf.domain.gate_file import Approvals, Grants, Levels, Limits, Redaction
from awf.domain.label import PLAIN
from awf.domain.mcp import RpcError
from awf.domain.override import ToolOverride
from awf.domain.policy import ACTIONS, Policy, PolicyDefaults, PolicyRule
from awf.infrastructure.loop_turn import LoopTurn
from awf.testing.gate_lab import GateLab
from awf.testing.memory_upstreams import MemoryServer, text

SECRET = "hunter2-long-and-secret"
TOOLS = ("a:one", "a:two", "b:three", "c:four")
VERDICTS = ("allow", "allow_with_confirm", "deny")
CONDITIONS = (
    "", "arguments.n > 3", "has(arguments.n) && arguments.n > 3", "labels.confidentiality == 'public'",
    "'network' in risk", "path.startsWith('/etc')", "host == 'example.org'", "context.id == 'ctx-1'", "tool.openWorld",
)  # fmt: skip
ANSWERS = {
    "plain": "words",
    "long": "line of words\n" * 60,
    "secret": f"it is {SECRET}",
    "wrong": text("it went wrong", is_error=True),
    "objecting": RpcError(-32000, "no paper"),
    "noted": {**text("x"), "_meta": {}},
    "confidential": {**text("x"), "_meta": {"ifc": {"confidentiality": "confidential"}}},
    "untrusted": {**text("x"), "_meta": {"ifc": {"integrity": "untrusted"}}},
    "structured": {"content": [], "structuredContent": {"password": "x", "n": [1, 2.5]}},
}

overrides = st.dictionaries(
    st.sampled_from(TOOLS),
    st.builds(
        ToolOverride,
        policy_action=st.sampled_from((None, *ACTIONS)),
        classification=st.sampled_from((None, None, "public", "confidential", "secret")),
        integrity=st.sampled_from((None, "untrusted")),
        open_world=st.sampled_from((None, None, None, True, False)),
        required_scopes=st.sampled_from(([], [], ["x"])),
        requires_confirmation=st.sampled_from((None, None, None, True)),
    ),
)
rules = st.lists(
    st.tuples(
        st.sampled_from(("*", *ACTIONS)),
        st.sampled_from(((), ("a:*",), ("*:four",))),
        st.sampled_from(CONDITIONS),
        st.sampled_from(VERDICTS),
    ),
    max_size=4,
)
policies = st.builds(
    lambda found, fallback, shadow, strict: Policy(
        rules=[
            PolicyRule(id=f"r{at}", action=action, tools=list(tools), when=when, decision=decision)
            for at, (action, tools, when, decision) in enumerate(found)
        ],
        defaults=PolicyDefaults(fallback=fallback),
        shadow=shadow,
        strict=strict,
    ),
    rules,
    st.sampled_from(("allow", "allow", "deny", "allow_with_confirm")),
    st.sampled_from((False, False, False, True)),
    st.sampled_from((False, False, True)),
)
files = st.fixed_dictionaries(
    {
        "overrides": overrides,
        "policy": st.none() | policies,
        "levels": st.builds(Levels, unmarked=st.sampled_from(("closed", "closed", "closed", "open"))),
        "limits": st.sampled_from((Limits(), Limits(max_output_bytes=100), Limits(max_output_lines=5))),
        "grants": st.builds(Grants, actions=st.sampled_from(("with_scopes", "with_scopes", "always"))),
        "approvals": st.just(Approvals(wait=0.001)),
        "redaction": st.just(Redaction(names=["n"])),
    }
)
arguments = st.sampled_from(
    (
        {}, {"n": 1}, {"n": 5}, {"n": "five"}, {"path": "/etc/passwd"}, {"url": "https://example.org/x"}, {"password": "x"},
        {"text": SECRET},
    )
)  # fmt: skip
calls = st.tuples(
    st.just("call"),
    st.sampled_from((*TOOLS, *TOOLS, "a:nothing")),
    arguments,
    st.sampled_from(("", "", "ctx-1", "ctx-2")),
    st.sampled_from(("visitor", "modern")),
)
others = st.one_of(
    st.tuples(st.just("answer"), st.sampled_from(tuple(ANSWERS)), st.sampled_from(TOOLS)),
    st.tuples(st.just("grant"), st.sampled_from(("*", "x", "file.*", "network.request"))),
    st.tuples(st.just("revoke")),
    st.tuples(st.just("approve"), st.booleans()),
    st.tuples(st.just("reset"), st.sampled_from(("gateway", "ctx-1"))),
    st.tuples(st.just("audit"), st.booleans()),
    st.tuples(st.just("time")),
)
moves = st.integers(0, 9).flatmap(lambda number: others if number > 6 else calls)
CONTEXTS = ("gateway", "ctx-1", "ctx-2")
_IDS = re.compile(
    r"approval_[0-9a-f]{16}|tool-[0-9a-f]{11,}|(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])|grant_[0-9a-f]{16}"
)


class Play:
    """One gateway, and what happens to it."""

    def __init__(self, open_house, file, modern, *, quick):
        self.lab = GateLab()
        self.lab.masker.add("door", SECRET)
        self.servers = {name: MemoryServer(modern=modern == name) for name in "abc"}
        self.answers = dict.fromkeys(TOOLS, "plain")
        for tool in TOOLS:
            server, _, name = tool.partition(":")
            self.servers[server].tool(name, lambda _, tool=tool: ANSWERS[self.answers[tool]])
        self.house = open_house(self.servers, gate=self.lab, **file)
        self.quick = quick
        self.told = []

    async def begin(self):
        await self.house.start()
        self.visitors = {"visitor": await self.house.visitor(), "modern": await self.house.modern()}
        for visitor in self.visitors.values():
            visitor.quick = self.quick

    @property
    def reached(self):
        return sum(len(server.seen("tools/call")) for server in self.servers.values())

    async def labels(self):
        found = {one.context_id: one.label for one in await self.lab.store.contexts.contexts()}
        return {name: found.get(name, PLAIN) for name in CONTEXTS}

    async def move(self, kind, *more):
        before = await self.labels()
        await getattr(self, f"do_{kind}")(*more)
        after = await self.labels()
        for name in CONTEXTS:
            if kind != "reset" or more[0] != name:
                assert after[name].covers(before[name]), "a level has fallen"

    async def do_call(self, tool, arguments, context, era):
        reached, entries, label = self.reached, len(self.lab.entries), await self.labels()
        headers = {"x-awf-context": context} if context else {}
        name = tool.partition(":")[2]
        try:
            said = await self.visitors[era].call(name, arguments, headers=headers)
        except RpcError as error:
            said = {"objection": error.message}
        self.told.append(said)
        new = self.lab.entries[entries:]
        decisions = [
            entry for entry in new if entry.kind == "decision" and "recordedLate" not in entry.details
        ]
        went = self.reached - reached
        assert went <= 1
        if went and not self.lab.audit.refusal:
            assert [entry.decision for entry in decisions] == ["allow"], (
                "it went out, and nobody has allowed it"
            )
            ends = [
                entry
                for entry in new
                if entry.kind == "effect" and entry.request_id == decisions[0].request_id
            ]
            assert len(ends) == 1
        if any(entry.decision != "allow" for entry in decisions):
            assert went == 0, "it was denied, and went out"
        if self.lab.audit.refusal and went:
            assert not self.facts(tool).consequential, "it may change something, and cannot be recorded"
        if went and not (self.house.file.policy and self.house.file.policy.shadow):
            assert not self.facts(tool).open_world or label[context or "gateway"].confidentiality == "public"
        assert SECRET not in json.dumps(said)

    def facts(self, tool):
        return self.house.gateway.fleet.offers._offers[tool].gated.tool.facts

    async def do_answer(self, answer, tool):
        self.answers[tool] = answer

    async def do_grant(self, capability):
        if not self.lab.audit.refusal:
            await self.lab.grants.issue(capability, by="ann")

    async def do_revoke(self):
        for grant in await self.lab.store.grants.grants():
            if grant.revoked_at is None:
                await self.lab.grants.revoke(grant.grant_id, "ann")

    async def do_approve(self, granted):
        for one in await self.lab.desk.open_ones():
            await self.lab.desk.decide(one.approval_id, granted=granted, by="ann")

    async def do_reset(self, context):
        if await self.lab.store.contexts.find(context) is not None:
            await self.lab.contexts.reset(context, "ann")

    async def do_audit(self, works):
        self.lab.audit.refusal = "" if works else "full"

    async def do_time(self):
        self.lab.time_passes(5)

    async def play(self, moves):
        async with asyncio.timeout(60):
            await self.begin()
            try:
                for move in moves:
                    await self.move(*move)
                self.lab.audit.refusal = ""
                await self.do_call("a:nothing", {}, "", "visitor")
                assert not await self.lab.audit.open_calls()
                assert (await self.lab.audit.verify()).is_sound
                return self.story()
            finally:
                await self.house.gateway.close()

    def story(self):
        """What was told and recorded, with ids by the order in which they came."""
        entries = msgspec.to_builtins(self.lab.entries)
        spooled = {entry["requestId"] for entry in entries if entry["kind"] == "spooled"}
        for entry in entries:
            if entry.get("requestId") in spooled:
                entry.pop("outputHash", None)  # the id of what was put aside is in it
        whole = json.dumps([self.told, entries], default=repr)
        assert SECRET not in whole
        seen: dict[str, str] = {}
        return json.loads(_IDS.sub(lambda found: seen.setdefault(found[0], f"id-{len(seen)}"), whole))


class Crowd(Play):
    """Calls that follow each other come in one turn of the loop, and go the short way where they can."""

    def __init__(self, open_house, file, modern):
        super().__init__(open_house, file, modern, quick=True)

    async def begin(self):
        house = self.house
        house.gateway = Gateway(
            msgspec.structs.replace(house.gateway.fleet._parts, turn=LoopTurn()), house.file
        )
        self.lab.contexts.listen(house.gateway.label_changed)
        await super().begin()

    async def play(self, moves):
        grouped = []
        for kind, some in groupby(moves, key=lambda move: move[0]):
            together = [more for _, *more in some]
            grouped += [("crowd", together)] if kind == "call" else [(kind, *more) for more in together]
        return await super().play(grouped)

    async def do_crowd(self, calls):
        reached, changed, entries = self.reached, self.changed, len(self.lab.entries)
        asked = [
            self.visitors[era].begin(
                "tools/call",
                {"name": tool.partition(":")[2], "arguments": arguments},
                headers={"x-awf-context": context} if context else {},
            )
            for tool, arguments, context, era in calls
        ]
        for one in asked:
            try:
                self.told.append(await one.answer())
            except RpcError as error:
                self.told.append({"objection": error.message})
        new = [entry for entry in self.lab.entries[entries:] if "recordedLate" not in entry.details]
        allowed = [entry.request_id for entry in new if (entry.kind, entry.decision) == ("decision", "allow")]
        if self.lab.audit.refusal:
            assert self.changed == changed, "it may change something, and cannot be recorded"
        else:
            assert self.reached - reached <= len(allowed), "it went out, and nobody has allowed it"
            ended = [entry.request_id for entry in new if entry.kind == "effect"]
            assert sorted(ended) == sorted(allowed)
        assert self.house.book.in_flight == 0
        assert all(self.house.server(name).in_flight == 0 for name in "abc")

    @property
    def changed(self):
        """How often something was called that may change something."""
        return sum(
            self.facts(tool).consequential
            for tool in TOOLS
            for asked in self.servers[tool[0]].seen("tools/call")
            if asked["name"] == tool.partition(":")[2]
        )


@settings(max_examples=80, deadline=None)
@given(file=files, modern=st.sampled_from("abc "), steps=st.lists(moves, min_size=8, max_size=20))
def test_a_denied_call_never_reaches_a_server_levels_never_fall_and_both_ways_tell_the_same_story(
    open_house, file, modern, steps
):
    usual = asyncio.run(Play(open_house, file, modern, quick=False).play(steps))
    quick = asyncio.run(Play(open_house, file, modern, quick=True).play(steps))
    assert usual == quick


@settings(max_examples=60, deadline=None)
@given(file=files, modern=st.sampled_from("abc "), steps=st.lists(moves, min_size=8, max_size=30))
def test_whatever_comes_at_once_every_call_is_answered_and_goes_out_only_if_its_decision_is_recorded(
    open_house, file, modern, steps
):
    asyncio.run(Crowd(open_house, file, modern).play(steps))


def test_the_short_way_is_taken_at_all(open_house):
    """Else the property above compares nothing."""
    play = Play(
        open_house,
        {"overrides": {"a:one": ToolOverride(policy_action="file.read")}, "policy": Policy()},
        " ",
        quick=True,
    )

    async def taken():
        await play.begin()
        admitted = []
        gate = play.lab.gate
        admit = gate.turnstile.admit
        gate.turnstile.admit = lambda *given, **more: admitted.append(admit(*given, **more)) or admitted[-1]
        try:
            for _ in range(3):
                await play.do_call("a:one", {}, "", "visitor")
        finally:
            await play.house.gateway.close()
        return admitted

    assert any(one is not None for one in asyncio.run(taken()))


def test_calls_that_come_at_once_depart_and_arrive_together_at_all(open_house):
    """Else the property of crowds says nothing of them."""
    file = {"overrides": {"a:one": ToolOverride(policy_action="file.read")}, "policy": Policy()}
    crowd = Crowd(open_house, file, " ")
    added = []
    add = crowd.lab.audit.add
    crowd.lab.audit.add = lambda made, **more: added.append(len(made)) or add(made, **more)
    call = ("call", "a:one", {}, "", "visitor")
    asyncio.run(crowd.play([call, ("time",), *[call] * 6]))
    assert [number for number in added if number > 1] == [5, 5]


@pytest.mark.race
async def test_calls_that_race_with_a_secret_either_went_before_it_or_not_at_all(open_house, anyio_backend):
    """Many calls at once from one context: once a reader has been carried out, nothing new goes out."""
    file = {
        "overrides": {
            "a:one": ToolOverride(policy_action="file.read", classification="secret"),
            "b:three": ToolOverride(policy_action="network.request"),
        },
        "policy": Policy(),
    }
    for quick in (False, True):
        play = Play(open_house, file, " ", quick=quick)
        order: list[str] = []
        play.servers["a"]._tools["one"] = lambda _, order=order: order.append("read") or "secret"
        play.servers["b"]._tools["three"] = lambda _, order=order: order.append("sent") or "ok"
        await play.begin()
        try:
            calls = [
                play.visitors["visitor" if at % 2 else "modern"].begin(
                    "tools/call", {"name": "one" if at == 20 else "three"}
                )
                for at in range(40)
            ]
            for call in calls:
                await call.answer()
        finally:
            await play.house.gateway.close()
        assert "read" in order
        assert "sent" not in order[order.index("read") :]
