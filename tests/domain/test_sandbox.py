"""Sandbox profiles: what follows from what is said, and what is wrong with it."""

from __future__ import annotations

import pytest

from awf.domain.gateway_file import GatewayFile, GatewayServer, problems_in
from awf.domain.sandbox import (
    BUILT_IN,
    Abilities,
    SandboxProfile,
    SandboxSettings,
    problems_of_sandbox,
    rules_named,
)


def test_nothing_is_confined_unless_it_is_asked_for():
    assert rules_named(SandboxSettings(), "") == BUILT_IN["none"]
    assert not BUILT_IN["none"].confines
    assert BUILT_IN["workspace"].confines and BUILT_IN["restricted"].confines


def test_a_name_comes_before_the_default():
    settings = SandboxSettings(default="restricted")
    assert rules_named(settings, "").name == "restricted"
    assert rules_named(settings, "workspace").name == "workspace"


def test_a_profile_says_only_what_is_different():
    settings = SandboxSettings(
        profiles={
            "build": SandboxProfile(extends="workspace", network=False, memory=1 << 30, read=["~/.cargo"])
        }
    )
    rules, base = rules_named(settings, "build"), BUILT_IN["workspace"]
    assert (rules.name, rules.network, rules.memory, rules.read) == ("build", False, 1 << 30, ("~/.cargo",))
    assert (rules.files, rules.processes, rules.open_files) == (base.files, base.processes, base.open_files)


def test_what_no_profile_is_named_for_is_as_strict_as_can_be():
    rules = rules_named(SandboxSettings(profiles={"mine": SandboxProfile()}), "mine")
    assert (rules.files, rules.network) == ("read_only", False)


def test_zero_takes_a_limit_away():
    own = SandboxProfile(memory=0, cpu=0, processes=0, time=0, file_size=0, open_files=0)
    rules = rules_named(SandboxSettings(profiles={"mine": own}), "mine")
    limits = (rules.memory, rules.cpu, rules.processes, rules.time, rules.file_size, rules.open_files)
    assert limits == (None,) * 6


def test_a_machine_is_asked_only_for_what_a_profile_needs():
    abilities = Abilities(wall="landlock", cannot={"listening": "L", "processes": "P", "network": "N"})
    assert abilities.missing(BUILT_IN["none"]) == []
    assert abilities.missing(BUILT_IN["restricted"]) == ["network: N", "processes: P"]
    assert abilities.missing(BUILT_IN["workspace"]) == ["processes: P"]
    assert abilities.missing(BUILT_IN["workspace"], listens=True) == ["listening: L", "processes: P"]
    assert abilities.missing(BUILT_IN["restricted"], listens=True) == ["network: N", "processes: P"]


@pytest.mark.parametrize("field", ["default", "bash", "plugins"])
def test_a_profile_that_does_not_exist_is_told_with_the_likely_one(field):
    (problem,) = problems_of_sandbox(SandboxSettings(**{field: "restrictd"}))
    assert problem.code == "USER.SANDBOX.UNKNOWN_PROFILE"
    assert problem.path == ("sandbox", field)
    assert problem.hint == "did you mean “restricted”?"


def test_a_server_may_name_a_profile_of_the_file_and_no_other():
    def file(profile: str) -> GatewayFile:
        servers = {"one": GatewayServer(command="true", sandbox=profile)}
        return GatewayFile(servers=servers, sandbox=SandboxSettings(profiles={"mine": SandboxProfile()}))

    assert problems_in(file("mine")) == problems_in(file("restricted")) == problems_in(file("")) == []
    (problem,) = problems_in(file("yours"))
    assert (problem.path, problem.code) == (("mcpServers", "one", "sandbox"), "USER.SANDBOX.UNKNOWN_PROFILE")


def test_a_server_at_an_address_has_no_program_to_confine():
    servers = {"one": GatewayServer(url="http://127.0.0.1:1/mcp", sandbox="restricted")}
    (problem,) = problems_in(GatewayFile(servers=servers))
    assert problem.message == "`sandbox` has no effect without a `command`."


@pytest.mark.parametrize(
    ("profile", "path"),
    [
        (SandboxProfile(memory=-1), ("memory",)),
        (SandboxProfile(memory=1000), ("memory",)),
        (SandboxProfile(cpu=-1.0), ("cpu",)),
        (SandboxProfile(processes=1), ("processes",)),
        (SandboxProfile(open_files=2), ("open_files",)),
        (SandboxProfile(read=["lib", " "]), ("read", 1)),
        (SandboxProfile(read=["/"]), ("read", 0)),
        (SandboxProfile(write=["//"]), ("write", 0)),
        (SandboxProfile(write=["a\0b"]), ("write", 0)),
        (SandboxProfile(files="all", write=["lib"]), ("write",)),
        (SandboxProfile(extends="none", read=["lib"]), ("read",)),
    ],
)
def test_what_cannot_work_is_told_with_its_place(profile, path):
    (problem,) = problems_of_sandbox(SandboxSettings(profiles={"mine": profile}))
    assert problem.path == ("sandbox", "profiles", "mine", *path)
    assert problem.code == "USER.GATEWAY.INVALID_FILE"
    assert problem.hint


@pytest.mark.parametrize("name", ["none", "restricted", "two words", ""])
def test_a_profile_needs_a_name_of_its_own(name):
    (problem,) = problems_of_sandbox(SandboxSettings(profiles={name: SandboxProfile()}))
    assert problem.at_key
