"""clients/node: the class for Node, its types, and what was compiled from them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from awf.testing import peers

pytestmark = [pytest.mark.journey, pytest.mark.timeout(900)]

PROJECT = Path(__file__).parents[2]
CLIENT = PROJECT / "clients" / "node"
CASES = PROJECT / "tests" / "contracts" / "tool_gateway"
COMPILER = ("typescript@5.9.3", "@types/node@20.19.0")


def node_on_the_path() -> str:
    found = shutil.which("node")
    if found is None or peers._node_version(found) < (20,):
        raise peers.PeerUnavailable("there is no Node of version 20 or newer on the path")
    return found


NODES = {"the one on the path": node_on_the_path, "22 or newer": peers.node_executable}


@pytest.fixture(params=NODES)
def node(request):
    return peers.requested(NODES[request.param])


def test_the_class_does_what_the_shared_cases_say(node, tmp_path, until):
    environment = {
        **peers.peer_environment(tmp_path / "home"),
        "TMPDIR": str(tmp_path),
        "AWF_GATEWAY_COMMAND": json.dumps([sys.executable, "-m", "awf"]),
        "AWF_CASES": str(CASES),
        "AWF_CASES_PYTHON": sys.executable,
    }
    tests = sorted(map(str, (CLIENT / "test").glob("*.test.mjs")))
    done = subprocess.run(
        [node, "--test", "--test-reporter=tap", *tests],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    count = len(json.loads((CASES / "cases.json").read_text(encoding="utf-8"))["cases"])
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "\n# fail 0\n" in done.stdout
    (passed,) = [int(line.split()[-1]) for line in done.stdout.splitlines() if line.startswith("# pass ")]
    assert passed > count
    # One that nobody closed tidies up after its program has ended.
    until(lambda: not [name for name in os.listdir(tmp_path) if name.startswith("awf-")], "nothing is left")


def compiled(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    packages = peers.requested(lambda: peers.npm_peer(*COMPILER)) / "node_modules"
    node = peers.requested(node_on_the_path)
    compiler = [node, str(packages / "typescript" / "bin" / "tsc"), "--typeRoots", str(packages / "@types")]
    return subprocess.run(
        [*compiler, *options], cwd=folder, capture_output=True, text=True, timeout=240, check=False
    )


def test_what_is_in_the_tree_is_what_the_compiler_makes_of_the_sources(tmp_path):
    done = compiled(CLIENT, "-p", str(CLIENT), "--outDir", str(tmp_path))
    assert done.returncode == 0, done.stdout
    made = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    kept = {path.name: path.read_text(encoding="utf-8") for path in (CLIENT / "lib").iterdir()}
    assert made == kept, "compile clients/node again: tsc -p clients/node"


GOOD = """
import { GatewayError, ToolGateway, type MCPToolResult, type McpServerConfig } from "./lib/index.js";
const config: McpServerConfig = {
  serverId: "kb", transport: "stdio", command: "kb-server",
  manifest: {
    serverId: "kb", name: "KB", version: "1",
    tools: [{ name: "find", description: "Find", inputSchema: { type: "object" }, annotations: { policyAction: "connector.read" } }],
  },
};
const gateway = new ToolGateway({ config: { limits: { timeout_ms: 1000 } } });
await gateway.registerServer(config);
const grant: string = await gateway.grantCapability({ capability: "connector.read", expiresAt: Date.now() + 60000 });
const result: MCPToolResult = await gateway.callTool({ toolId: "kb:find", grantIds: [grant], arguments: { q: 1 } });
if (!result.success && result.error?.code === "PERMISSION_DENIED") throw new GatewayError("X", result.error.message);
const last: number = (await gateway.drainAuditEvents(0, 10)).at(-1)?.sequence ?? (await gateway.getSnapshot()).auditCursor;
gateway.subscribe((event) => event.type === "tool_changed" && console.log(event.fields, last));
await gateway.close();
"""
BAD = {
    "an action that is none": ('"connector.read" }', '"connector.delete" }'),
    "a transport that is none": ('"stdio"', '"pigeon"'),
    "a field that is missing": ('description: "Find", ', ""),
    "a method that is none": ("gateway.close()", "gateway.stop()"),
    "a code that is none": ('"PERMISSION_DENIED"', '"NO"'),
    "arguments of a wrong type": ("arguments: { q: 1 }", "arguments: 1"),
}


def test_programs_are_held_to_the_types(tmp_path):
    shutil.copytree(CLIENT / "lib", tmp_path / "lib")
    (tmp_path / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    (tmp_path / "good.ts").write_text(GOOD, encoding="utf-8")
    for name, (old, new) in BAD.items():
        assert GOOD.count(old) == 1, name
        (tmp_path / f"{name.replace(' ', '_')}.ts").write_text(GOOD.replace(old, new), encoding="utf-8")
    options = ["--strict", "--noEmit", "--target", "ES2022", "--module", "NodeNext", "--types", "node"]
    done = compiled(tmp_path, *options, *sorted(path.name for path in tmp_path.glob("*.ts")))
    wrong = {line.partition("(")[0] for line in done.stdout.splitlines() if "error TS" in line}
    assert wrong == {f"{name.replace(' ', '_')}.ts" for name in BAD}, done.stdout


def test_the_package_needs_nothing_to_run():
    package = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))
    assert not {"dependencies", "peerDependencies", "optionalDependencies"} & package.keys()
    assert package["type"] == "module"
    for path in (package["exports"]["."]["default"], package["types"]):
        assert (CLIENT / path).is_file()
