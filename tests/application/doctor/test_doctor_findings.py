"""What facts about a machine come to."""

from __future__ import annotations

import msgspec
import pytest

from awf.application.doctor.agents import SIGN_IN, AgentFacts, agent_findings, signed_in_by
from awf.application.doctor.findings import AREAS, Finding, exit_status, in_order, summary
from awf.application.doctor.gateways import gateway_findings
from awf.application.doctor.machine import (
    ExtraFacts,
    FolderFacts,
    SandboxFacts,
    StoreFacts,
    TerminalFacts,
    extra_findings,
    folder_finding,
    python_finding,
    ripgrep_finding,
    sandbox_findings,
    store_finding,
    terminal_finding,
)
from awf.application.doctor.plugins import plugin_findings
from awf.application.doctor.settings import OWN_VARIABLES, SET_BY_AWF, variable_findings
from awf.domain.ports.plugins import DeclaredPlugin, Operation, PluginFacts
from awf.infrastructure.agents.cli.known import DIALECTS
from awf.testing.reference import config_page


def finding(severity, area="machine"):
    return Finding(area=area, name="x", severity=severity, text="x")


@pytest.mark.parametrize(
    ("severities", "status", "words"),
    [
        (["ok"], 0, "Everything is fine."),
        (["ok", "note", "note", "warning"], 0, "1 warning, 2 notes."),
        (["problem", "note"], 4, "1 problem, 1 note."),
    ],
)
def test_only_a_problem_makes_the_command_fail(severities, status, words):
    found = [finding(severity) for severity in severities]

    assert (exit_status(found), summary(found)) == (status, words)


def test_findings_come_area_by_area_and_keep_their_order_inside():
    mixed = [
        finding("ok", "machine"),
        finding("note", "agents"),
        finding("ok", "agents"),
        finding("ok", "awf"),
    ]

    ordered = in_order(mixed)

    assert [(one.area, one.severity) for one in ordered] == [
        ("awf", "ok"), ("agents", "note"), ("agents", "ok"), ("machine", "ok")
    ]  # fmt: skip
    assert {one.area for one in ordered} <= AREAS.keys()


# -- agents --------------------------------------------------------------------------------------------------------------


def test_for_every_agent_it_is_known_how_one_signs_in():
    assert SIGN_IN.keys() == DIALECTS.keys()


def test_a_variable_speaks_for_a_login_unless_it_is_empty():
    assert signed_in_by("claude", {"ANTHROPIC_API_KEY": "x"}, lambda _: False) == "ANTHROPIC_API_KEY"
    assert signed_in_by("claude", {"ANTHROPIC_API_KEY": ""}, lambda _: False) == ""
    assert signed_in_by("someone", {"ANTHROPIC_API_KEY": "x"}, lambda _: True) == ""


def test_a_login_file_is_looked_for_where_the_agent_keeps_it():
    looked = []

    def exists(path):
        looked.append(path)
        return path == "/c/auth.json"

    assert signed_in_by("codex", {"HOME": "/h"}, exists) == ""
    assert signed_in_by("codex", {"HOME": "/h", "CODEX_HOME": "/c"}, exists) == "$CODEX_HOME/auth.json"
    assert looked == ["/h/.codex/auth.json", "/c/auth.json"]


def test_an_agent_that_is_not_here_is_only_a_note_and_one_that_cannot_run_is_more():
    missing = AgentFacts(
        name="claude", path="", trouble="The program of claude, claude, is not on the PATH.", hint="npm"
    )
    stuck = AgentFacts(name="claude", path="", trouble="It may not be executed: /x.", hint="chmod")

    assert [one.severity for one in agent_findings([missing, stuck])] == ["note", "warning", "ok"]


# -- settings ------------------------------------------------------------------------------------------------------------


def test_every_variable_of_the_reference_is_known():
    ours = {name for name in config_page.VARIABLES if name.startswith("AWF_")}

    assert ours <= OWN_VARIABLES
    assert {*config_page._PROCESSES, *config_page._PLUGINS} <= SET_BY_AWF


def test_a_variable_of_ours_without_its_underscore_is_noticed():
    (found,) = variable_findings(["AWFSTORAGE", "PATH", "AWFUL"])

    assert (found.name, found.fix) == ("AWFSTORAGE", "Did you mean AWF_STORAGE?")


def test_a_variable_like_none_of_ours_is_to_be_unset():
    (found,) = variable_findings(["AWF_QQQQQQQQ"])

    assert found.fix == "Unset it: unset AWF_QQQQQQQQ"


# -- the machine ---------------------------------------------------------------------------------------------------------


def test_an_old_python_is_a_problem():
    assert python_finding((3, 10, 9), "1.0").severity == "problem"
    assert python_finding((3, 14, 0), "1.0").severity == "ok"


@pytest.mark.parametrize(
    ("facts", "severities"),
    [
        (ExtraFacts(otel=True, grpc=True, postgres=True), ["ok", "ok", "ok"]),
        (ExtraFacts(otel=False, grpc=False), ["note", "note", "note"]),
        (
            ExtraFacts(otel=False, otel_endpoint="http://x", grpc=False, plugins=1, database=True),
            ["problem", "problem", "problem"],
        ),
    ],
)
def test_a_missing_extra_is_a_problem_only_where_it_is_used(facts, severities):
    assert [one.severity for one in extra_findings(facts)] == severities


def test_a_clock_far_from_the_databases_is_a_warning():
    facts = StoreFacts(folder="postgresql://db/awf", exists=True, layout=1)
    assert store_finding(facts).severity == "ok"
    found = store_finding(msgspec.structs.replace(facts, skew=-90.0))
    assert (found.severity, "90 s behind" in found.text) == ("warning", True)


def test_a_database_whose_news_do_not_arrive_is_a_warning():
    facts = StoreFacts(folder="postgresql://db/awf", exists=True, layout=2, hears=False)
    found = store_finding(facts)
    assert (found.severity, "session mode" in found.fix) == ("warning", True)


def test_without_ripgrep_two_tools_do_not_work():
    assert ripgrep_finding("", "").severity == "problem"
    assert ripgrep_finding("/bin/rg", "").severity == "problem"
    assert ripgrep_finding("/bin/rg", "15.0").severity == "ok"


def test_means_to_confine_commands_are_good_to_have():
    everything = SandboxFacts(bubblewrap="/bin/bwrap", landlock=5, control_groups="memory", seccomp=True)
    assert [one.severity for one in sandbox_findings(everything)] == ["ok"] * 4
    nothing = sandbox_findings(SandboxFacts(trouble="not installed"))
    assert [one.severity for one in nothing] == ["note"] * 4
    assert all(one.fix for one in nothing)
    assert nothing[0].text == "not installed: no sandbox can be enforced"
    (stand_in, *_) = sandbox_findings(SandboxFacts(trouble="it cannot make namespaces", landlock=4))
    assert stand_in.text == "it cannot make namespaces: Landlock stands in, with less"


def test_a_store_with_little_room_is_warned_of():
    roomy = StoreFacts(folder="/s", exists=True, size=2_500_000, layout=3, room=10**12)
    tight = StoreFacts(folder="/s", exists=True, size=0, layout=3, room=1000)

    assert (store_finding(roomy).severity, store_finding(roomy).text) == ("ok", "/s: 2.5 MB, layout 3")
    assert store_finding(tight).severity == "warning"


def test_a_folder_that_everything_needs_is_a_problem_and_another_a_warning():
    for needed, severity in ((True, "problem"), (False, "warning")):
        facts = FolderFacts(name="x", path="/x", writable=False, needed=needed, variable="TMPDIR")
        assert folder_finding(facts).severity == severity
        assert "TMPDIR" in folder_finding(facts).fix


@pytest.mark.parametrize(
    ("facts", "severity"),
    [
        (TerminalFacts(is_terminal=False), "ok"),
        (TerminalFacts(is_terminal=True, kind="xterm", encoding="utf-8", columns=80, colour=True), "ok"),
        (TerminalFacts(is_terminal=True, kind="dumb", encoding="utf-8", columns=80), "note"),
        (TerminalFacts(is_terminal=True, kind="xterm", encoding="ascii", columns=80), "note"),
    ],
)
def test_what_a_terminal_cannot_do_is_good_to_know(facts, severity):
    assert terminal_finding(facts).severity == severity


def test_plugins_that_were_started_tell_how_it_went():
    declared = {name: DeclaredPlugin(name=name, origin="f") for name in ("good", "bad", "odd")}
    asked = {
        "good": PluginFacts(name="good", version="1.0", operations={"a": Operation(name="a")}),
        "bad": PluginFacts(name="bad", trouble="does not start\nmore"),
        "odd": PluginFacts(name="odd", operations={"a": Operation(name="a", refusal="schema")}),
    }

    found = plugin_findings(declared, [], asked)

    assert [(one.severity, one.text) for one in found] == [
        ("ok", "1.0 1 operation"), ("problem", "does not start"), ("warning", "cannot be used: a")
    ]  # fmt: skip


def test_gateways_of_the_database_that_cannot_be_reached_are_told():
    assert gateway_findings({}) == []
    (fine,) = gateway_findings({"http://a:1": "", "http://b:2": ""})
    assert (fine.severity, fine.text) == ("ok", "can be reached: http://a:1, http://b:2")
    (lost,) = gateway_findings({"http://a:1": "", "http://b:2": "connection refused"})
    assert (lost.severity, lost.text) == ("warning", "http://b:2 cannot be reached: connection refused")
    assert "--advertise" in lost.fix
