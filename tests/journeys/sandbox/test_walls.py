"""The gate's file confines what AWF starts for tools: Bash, servers, plugins."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

import mcpserver
from awf.bootstrap import App
from awf.bootstrap.sandboxes import Walls
from awf.bootstrap.tool_sources import ToolSources
from awf.domain.errors import AwfError, InvalidWorkflowError
from awf.domain.sandbox import BUILT_IN, SandboxSettings
from awf.domain.tool import CallContext, ToolFailure
from awf.infrastructure.sandboxes import ConfinedRunner

pytestmark = [pytest.mark.anyio, pytest.mark.journey]

SOURCES = str(Path(mcpserver.__file__).parents[1])
SAMPLE = Path(__file__).parents[2] / "infrastructure" / "plugins" / "sample_plugin.py"
READ = [sys.prefix, sys.base_prefix, SOURCES]
# One that can be told to misbehave.
SERVER = """
import os, socket, sys
from mcpserver import Server, run_stdio

async def hoard(arguments, call):
    held = []
    for _ in range(64):
        held.append(bytearray(b"x" * (32 << 20)))
    return "held"

async def look(arguments, call):
    try:
        with open(arguments["path"]) as stream:
            return stream.read()
    except OSError as reason:
        return f"no: {reason.strerror}"

async def spin(arguments, call):
    while True:
        pass

server = Server(name="rogue", version="1")
server.register_tool("hoard", {"type": "object"}, hoard)
server.register_tool("spin", {"type": "object"}, spin)
server.register_tool("look", {"type": "object", "properties": {"path": {"type": "string"}}}, look)
run_stdio(server)
"""


def can_enforce() -> str:
    """Empty, or why this machine cannot do what these tests ask of it."""
    app = App(cwd="/", environment=os.environ)
    if app.sandbox is None:
        return "this machine can build no wall"
    return "; ".join(app.sandbox.abilities().missing(BUILT_IN["restricted"]))


needs_walls = pytest.mark.skipif(bool(reason := can_enforce()), reason=reason or "walls can be built")


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    (folder / ".awf").mkdir(parents=True)
    (tmp_path / "secret").write_text("SECRET\n")
    return folder


@pytest.fixture
async def opened(project, tmp_path):
    """An application in the project, with this in its gateway file."""
    made = []

    def opened(environment=(), **file) -> App:
        (project / ".awf" / "gateway.yaml").write_text(json.dumps(file))
        own = {**os.environ, "HOME": str(tmp_path / "home"), **dict(environment)}
        made.append(App(cwd=str(project), environment=own))
        return made[-1]

    yield opened
    for app in made:
        await app.close()


def bash_of(app: App):
    tools = ToolSources(app).builtin(app.cwd, app.environment)

    async def bash(command: str, **more):
        return await tools.call_tool("Bash", {"command": command, **more}, CallContext(call_id="1"))

    return bash


# -- Bash ----------------------------------------------------------------------------------------------------------------


@needs_walls
async def test_bash_runs_in_its_profile_and_a_refusal_names_it(opened, project, tmp_path):
    bash = bash_of(opened(sandbox={"bash": "restricted"}))
    told = await bash(f"cat {tmp_path}/secret; touch file")
    assert told.is_error
    assert "SECRET" not in told.text
    assert "Read-only file system" in told.text or "Permission denied" in told.text
    assert told.text.endswith("it ran in the sandbox “restricted”, which may be why]")
    assert "awf/error" not in told.meta
    assert not (project / "file").exists()
    assert (await bash("echo fine")).text == "fine\n[exit code 0]"


@needs_walls
async def test_a_limit_that_stops_bash_is_a_violation_that_names_it(opened):
    profile = {"extends": "workspace", "memory": "128MiB", "read": READ}
    bash = bash_of(opened(sandbox={"bash": "small", "profiles": {"small": profile}}))
    program = os.path.realpath(sys.executable)
    told = await bash(f"{program} -I -S -c 'x = [bytearray(b\"x\" * (32 << 20)) for _ in range(64)]'")
    assert told.meta["awf/error"] == {"code": "SANDBOX_VIOLATION"}
    assert "stopped by its memory limit" in told.text
    assert "in the sandbox “small”" in told.text
    told = await bash(f"{program} -I -S -c 'import ctypes; ctypes.CDLL(None).ptrace(16, 1, 0, 0)'")
    assert told.meta["awf/error"] == {"code": "SANDBOX_VIOLATION"}
    assert "a system call that the sandbox forbids" in told.text


@needs_walls
async def test_the_time_of_a_profile_is_a_timeout(opened):
    bash = bash_of(opened(sandbox={"bash": "quick", "profiles": {"quick": {"time": "300ms"}}}))
    told = await bash("sleep 600", timeout=60_000)
    assert told.meta["awf/error"] == {"code": "TIMEOUT"}
    assert "its time limit (0.3 s) in the sandbox “quick”" in told.text


@needs_walls
async def test_bash_cannot_open_the_gate_for_itself(opened, project):
    bash = bash_of(opened(sandbox={"default": "workspace"}))
    before = (project / ".awf" / "gateway.yaml").read_text()
    (project / "src").mkdir()
    told = await bash("echo '{}' > .awf/gateway.yaml; rm -rf .awf; echo new > src/file")
    assert (project / ".awf" / "gateway.yaml").read_text() == before
    assert (project / "src" / "file").read_text() == "new\n", told.text


@needs_walls
@pytest.mark.parametrize(
    ("variable", "file", "content"),
    [
        ("AWF_AUDIT_KEY", "keys/audit.key", "0" * 64),
        ("AWF_DATABASE_URL_FILE", "keys/url", "postgresql://x/y"),
    ],
)
async def test_keys_that_lie_in_the_project_are_not_shown(opened, project, variable, file, content):
    (project / "keys").mkdir()
    (project / file).write_text(content)
    bash = bash_of(opened({variable: str(project / file)}, sandbox={"bash": "restricted"}))
    with pytest.raises(ToolFailure, match=rf"keeps .*{file}.* would be shown"):
        await bash(f"cat {file}")


@needs_walls
async def test_a_key_of_the_audit_that_the_configuration_names_is_not_shown(opened, project):
    (project / ".awf" / "config.yaml").write_text("audit: {key: audit.key}\n")
    (project / "audit.key").write_text("0" * 64)
    with pytest.raises(ToolFailure, match=r"keeps .*audit\.key.* would be shown"):
        await bash_of(opened(sandbox={"bash": "restricted"}))("cat audit.key")


@needs_walls
async def test_results_that_were_put_aside_are_not_shown(opened, tmp_path):
    kept = tmp_path / "storage" / "artifacts"
    kept.mkdir(parents=True)
    sandbox = {"bash": "mine", "profiles": {"mine": {"read": [str(kept)]}}}
    bash = bash_of(opened({"AWF_STORAGE": str(kept.parent)}, sandbox=sandbox))
    with pytest.raises(ToolFailure, match=r"keeps .*storage/artifacts"):
        await bash("true")


@needs_walls
async def test_bash_can_change_nothing_else_that_we_are_led_by(opened, project, tmp_path):
    """Plugins, workflows and configuration lie where environment variables and a home say."""
    home = tmp_path / "home"
    places = [project / name for name in ("configs/workflows", "more/workflows", "own/plugins", "own/conf")]
    for folder in (*places, home / ".config" / "awf", project / "src"):
        folder.mkdir(parents=True)
    (project / "own" / "conf" / "config.yaml").write_text("log: {level: info}\n")
    environment = {
        "AWF_WORKFLOWS_PATH": "more/workflows:.",
        "AWF_PLUGINS_PATH": "own/plugins",
        "AWF_CONFIG_PATH": str(project / "own" / "conf" / "config.yaml"),
    }
    profile = {"extends": "workspace", "write": ["~/.config"]}
    bash = bash_of(opened(environment, sandbox={"bash": "mine", "profiles": {"mine": profile}}))
    kept = " ".join(map(str, (*places, home / ".config" / "awf")))
    told = await bash(
        f"for one in {kept} src; do echo x > $one/new && echo made $one; done 2>/dev/null; true"
    )
    assert told.text == "made src\n[exit code 0]"


async def test_without_a_word_of_sandboxes_nothing_is_wrapped(opened, project):
    app = opened(mcpServers={})
    assert app.walls.runner("", app.cwd) is app.runner
    assert "sandbox" not in app.__dict__
    told = await bash_of(app)("touch file")
    assert told.text == "(no output)\n[exit code 0]"
    assert (project / "file").exists()


async def test_a_mistake_in_the_section_is_told_with_its_place(opened):
    app = opened(sandbox={"bash": "restrictd"})
    with pytest.raises(InvalidWorkflowError) as caught:
        bash_of(app)
    (problem,) = caught.value.problems
    assert problem.code == "USER.SANDBOX.UNKNOWN_PROFILE"
    assert problem.place.line == 1 and problem.place.file.endswith("gateway.yaml")


@needs_walls
@pytest.mark.parametrize(
    ("sandbox", "seen"),
    [
        ({}, {"DEPLOY_TOKEN", "NPM_TOKEN"}),
        ({"bash": "restricted"}, set()),
        (
            {"bash": "mine", "profiles": {"mine": {"extends": "workspace", "env": ["NPM_TOKEN"]}}},
            {"NPM_TOKEN"},
        ),
    ],
)
async def test_where_files_are_hidden_so_are_the_secrets_of_our_environment(
    opened, monkeypatch, sandbox, seen
):
    for name in ("DEPLOY_TOKEN", "NPM_TOKEN"):
        monkeypatch.setenv(name, f"value-of-{name}")
    bash = bash_of(opened(sandbox=sandbox))
    told = (await bash("env")).text
    assert {name for name in ("DEPLOY_TOKEN", "NPM_TOKEN") if f"{name}=value-of-{name}" in told} == seen
    assert "PATH=" in told


async def test_what_somebody_gives_on_purpose_is_passed_on(opened, monkeypatch):
    monkeypatch.setenv("DEPLOY_TOKEN", "ours")
    walls = Walls(opened(), SandboxSettings(default="restricted"))
    assert walls.environment("", {"DEPLOY_TOKEN": "ours", "A": "b"}) == {"A": "b"}
    assert walls.environment("", {"DEPLOY_TOKEN": "theirs"}) == {"DEPLOY_TOKEN": "theirs"}


# -- what a machine cannot do --------------------------------------------------------------------------------------------


async def test_a_machine_without_walls_refuses_to_start_and_says_why(opened):
    app = opened(sandbox={"bash": "restricted"})
    app.__dict__["sandbox"] = None
    with pytest.raises(AwfError, match="“restricted” cannot be enforced here") as caught:
        bash_of(app)
    assert caught.value.code == "SYSTEM.SANDBOX.UNAVAILABLE"
    assert "awf doctor" in caught.value.hint


async def test_where_that_is_allowed_it_goes_on_with_a_warning(opened, caplog):
    app = opened()
    app.__dict__["sandbox"] = None
    walls = Walls(app, SandboxSettings(default="restricted", on_unavailable="warn"))
    with caplog.at_level(logging.WARNING, "awf"):
        assert walls.runner("", app.cwd) is app.runner
        assert walls.runner("", app.cwd) is app.runner
    assert [record.message.count("cannot be enforced here") for record in caplog.records] == [1]


@needs_walls
async def test_what_can_be_enforced_is_enforced_also_where_something_cannot(opened, caplog):
    from awf.domain.sandbox import Abilities

    app = opened()
    wall = app.sandbox
    wall.abilities = lambda: Abilities(wall="bubblewrap", cannot={"memory": "it is in use"})
    strict = Walls(app, SandboxSettings(default="restricted"))
    with pytest.raises(AwfError, match="memory: it is in use"):
        strict.runner("", app.cwd)
    lenient = Walls(app, SandboxSettings(default="restricted", on_unavailable="warn"))
    with caplog.at_level(logging.WARNING, "awf"):
        assert isinstance(lenient.runner("", app.cwd), ConfinedRunner)
    assert "memory: it is in use" in caplog.text


# -- servers and plugins -------------------------------------------------------------------------------------------------


ROGUE = {
    "command": os.path.realpath(sys.executable),
    "args": ["-I", "-c", f"import sys; sys.path.insert(0, {SOURCES!r}); exec(open('server.py').read())"],
}
STRICT = {"extends": "restricted", "memory": "200MiB", "read": READ}


@needs_walls
def test_a_server_of_the_gateway_is_confined_and_its_end_is_explained(journey, tmp_path):
    journey.write("server.py", SERVER)
    (tmp_path / "secret").write_text("SECRET\n")
    file = {
        "mcpServers": {"rogue": {**ROGUE, "sandbox": "strict"}},
        "sandbox": {"profiles": {"strict": STRICT}},
    }
    journey.write(".awf/gateway.yaml", json.dumps(file))
    told = journey.awf("gateway", "call", "look", json.dumps({"path": str(tmp_path / "secret")}))
    assert "no: " in told.stdout and "SECRET" not in told.stdout
    told = journey.awf("gateway", "call", "hoard", "{}")
    assert told.status != 0 or "MemoryError" in told.stdout
    said = told.stdout + told.stderr
    assert "stopped by its memory limit (200 MiB) in its sandbox “strict”" in said or "MemoryError" in said
    file["mcpServers"]["rogue"]["sandbox"] = "none"
    journey.write(".awf/gateway.yaml", json.dumps(file))
    assert (
        "SECRET"
        in journey.awf("gateway", "call", "look", json.dumps({"path": str(tmp_path / "secret")})).stdout
    )


@needs_walls
def test_a_server_that_only_computes_is_ended_and_the_gateway_goes_on(journey, tmp_path):
    journey.write("server.py", SERVER)
    (journey.project / "note").write_text("a note")
    file = {
        "mcpServers": {"rogue": {**ROGUE, "sandbox": "brief"}},
        "sandbox": {"profiles": {"brief": {"extends": "restricted", "cpu": "1s", "read": READ}}},
    }
    journey.write(".awf/gateway.yaml", json.dumps(file))
    calls = [("spin", {}), ("look", {"path": str(journey.project / "note")})]
    spun, looked = asked_in_turn(journey, calls)
    assert spun["isError"] and spun["_meta"]["awf/error"]["code"] == "SANDBOX_VIOLATION"
    assert "stopped by its processor time limit (1 s) in its sandbox “brief”" in spun["content"][0]["text"]
    assert looked["content"][0]["text"] == "a note"


def asked_in_turn(journey, calls: list[tuple[str, dict]]) -> list[dict]:
    """Over one gateway on standard streams."""
    start = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    asked = [("initialize", start)]
    asked += [("tools/call", {"name": name, "arguments": arguments}) for name, arguments in calls]
    told = []
    with subprocess.Popen(
        journey.command("gateway", "serve", "--stdio"),
        cwd=journey.project,
        env=journey.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as gateway:
        for number, (method, params) in enumerate(asked):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            gateway.stdin.write(json.dumps(message) + "\n")
            gateway.stdin.flush()
            answer: dict = {}
            while answer.get("id") != number:
                answer = json.loads(gateway.stdout.readline())
            told.append(answer["result"])
        gateway.stdin.close()
    return told[1:]


@needs_walls
def test_a_server_that_the_profile_hides_is_told_with_what_to_add(journey, tmp_path):
    tool = tmp_path / "elsewhere" / "tool"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    file = {"mcpServers": {"one": {"command": str(tool)}}, "sandbox": {"default": "restricted"}}
    journey.write(".awf/gateway.yaml", json.dumps(file))
    told = journey.awf("gateway", "tools")
    said = told.stdout + told.stderr
    assert "is hidden by the sandbox profile “restricted”" in said


def with_wall(app: App, wall: str) -> App:
    """The best one, or the one that stands in for it."""
    if wall == "landlock":
        from awf.infrastructure.sandboxes.cgroups import Cells
        from awf.infrastructure.sandboxes.kernel import landlock_interface
        from awf.infrastructure.sandboxes.landlock import Landlock

        if landlock_interface() < 6:
            pytest.skip("Landlock of this kernel is older than 6")
        app.__dict__["sandbox"] = Landlock(landlock_interface(), Cells(), app.runner.scratch)
    return app


@needs_walls
@pytest.mark.parametrize("wall", ["best", "landlock"])
async def test_a_plugin_is_confined_and_still_reached_by_its_socket(opened, project, wall):
    pytest.importorskip("grpc")
    (project / "sample_plugin.py").write_text(SAMPLE.read_text())
    command = [
        os.path.realpath(sys.executable),
        "-c",
        f"import sys; sys.path[:0] = {sys.path!r}; exec(open('sample_plugin.py').read())",
    ]
    entry = {"command": command, "env": {"NOTES": str(project / "notes")}}
    (project / ".awf" / "plugins.yaml").write_text(json.dumps({"plugins": {"sample": entry}}))
    profile = {"extends": "restricted", "memory": 0, "read": [*READ, *filter(os.path.isdir, sys.path)]}
    app = with_wall(opened(sandbox={"plugins": "mine", "profiles": {"mine": profile}}), wall)
    with pytest.raises(AwfError) as caught:  # its notes cannot be written: it dies with its first one
        await app.plugins.execute("sample", "echo", {"text": "hi"})
    assert "Read-only file system" in caught.value.message or "Permission denied" in caught.value.message
    del entry["env"]
    (project / ".awf" / "plugins.yaml").write_text(json.dumps({"plugins": {"sample": entry}}))
    again = with_wall(opened(sandbox={"plugins": "mine", "profiles": {"mine": profile}}), wall)
    outcome = await again.plugins.execute("sample", "echo", {"text": "hi"})
    assert outcome.output == "you said hi"
