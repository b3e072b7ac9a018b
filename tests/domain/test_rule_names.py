"""Rules and overrides about tools that nobody offers."""

from __future__ import annotations

import pytest

from awf.domain.gateway_file import GatewayFile, GatewayServer
from awf.domain.override import ToolOverride
from awf.domain.policy import Policy, PolicyRule
from awf.domain.rule_names import Offered, unknown_names

FS = ["delete_file", "read_file", "odd/name"]
OFFERED = Offered({"fs": FS, "web": ["fetch"], "builtin": ["Bash", "Read"]}, ["slow", "plugin.mail"])
SERVERS = {name: GatewayServer(command="x") for name in ("fs", "web", "slow")}


def told(*patterns: str, offered=OFFERED, overrides=()):
    rule = PolicyRule(id="no", action="*", tools=list(patterns), decision="deny")
    changes = {key: ToolOverride(classification="secret") for key in overrides}
    file = GatewayFile(servers=SERVERS, policy=Policy(rules=[rule]), overrides=changes)
    return list(unknown_names(file, offered))


@pytest.mark.parametrize(
    "pattern",
    [
        "*",
        "fs:*",
        "fs:delete_file",
        "fs:d?lete*",
        "*:fetch",
        "fs:odd/name",
        "builtin:Bash",
        "builtin:*",
        "*:Read",
        "fs:resources/read",
        "fs:resources/*",
        "web:prompts/get",
        "fs:completion/complete",
        "fs:resources/subscribe",
        "fs:subscriptions/listen",
        "fs:tasks/get",
        "fs:tasks/*",
        "web:files/read",
        "slow:whatever",
        "sl*:whatever",
        "*:whatever",  # `slow` may have it
        "plugin.mail:send",
        "plugin.*:send",
    ],
)
def test_what_there_is_or_may_be_is_not_told(pattern):
    assert told(pattern) == []


@pytest.mark.parametrize(
    ("pattern", "message", "hint"),
    [
        ("fs:delete_flie", "The server “fs” has no tool “delete_flie”", "did you mean “fs:delete_file”?"),
        ("fs:zzz", "The server “fs” has no tool “zzz”", "`awf gateway tools` lists those that there are."),
        ("fs:delete_flie*", "No tool here fits “fs:delete_flie*”", "did you mean “fs:delete_file”?"),
        ("f?:fetch", "No tool here fits “f?:fetch”", "did you mean “web:fetch”?"),
        ("builtin:Bsh", "There is no built-in tool “Bsh”", "did you mean “builtin:Bash”?"),
        ("builtin:Zzz", "There is no built-in tool “Zzz”", "There are: Bash, Read."),
        ("builtin:tasks/get", "There is no built-in tool “tasks/get”", "There are"),
        (
            "fs:resource/read",
            "The server “fs” has no tool “resource/read”",
            "did you mean “fs:resources/read”?",
        ),
        (
            "fs:tools/list",
            "The gateway answers `tools/list` itself",
            "Rules are asked about: resources/read,",
        ),
        ("plugin.mial:send", "No plugin is named “mial”", "did you mean “plugin.mail:send”?"),
    ],
)
def test_a_name_that_nobody_has_is_a_warning_with_the_nearest_one(pattern, message, hint):
    (problem,) = told("fs:read_file", pattern)
    assert message in problem.message
    assert hint in problem.hint
    assert (problem.code, problem.severity) == ("USER.GATEWAY.UNKNOWN_TOOL", "warning")
    assert problem.path == ("policy", "rules", 0, "tools", 1)


def test_a_pattern_for_any_server_is_told_when_all_of_them_were_asked():
    asked = Offered({"fs": FS, "web": [], "slow": [], "builtin": ["Bash"]})
    (problem,) = told("*:delete_flie", offered=asked)
    assert "No tool here fits “*:delete_flie”" in problem.message
    assert told("*:delete_file", offered=asked) == []
    assert told("*:delete_flie", offered=Offered(asked.asked, ["plugin.*"])) == []
    assert told("plugin.any:thing", offered=Offered(asked.asked, ["plugin.*"])) == []


def test_overrides_of_our_own_tools_are_told_at_their_key():
    """Those of servers are errors already."""
    (problem,) = told(overrides=["builtin:Raed", "builtin:Read", "plugin.mail:send", "fs:nope"])
    assert (problem.path, problem.at_key) == (("overrides", "builtin:Raed"), True)
    assert problem.hint == "did you mean “builtin:Read”?"


def test_a_server_that_offers_nothing_has_none_of_them():
    (problem,) = told("web:fetch", offered=Offered({"web": [], "builtin": []}, ["fs"]))
    assert "has no tool “fetch”" in problem.message
