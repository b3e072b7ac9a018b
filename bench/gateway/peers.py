"""The gateways of others, each in an environment of its own, started as their documentation says."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.gateway.targets import PROGRAMS, Access, Target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bench.gateway.targets import Bench, Setting

__all__ = ["peer_targets"]

_MCP_PROXY = "mcp-proxy==0.13.0"
_FASTMCP = "fastmcp==4.1.2"
_CONTEXTFORGE = "mcp-contextforge-gateway==1.0.7"
_SECRET = (
    "bench-secret-bench-secret-bench-secret-0123456789"  # of a server that lives for seconds, on loopback
)
_PASSWORD = "Bench-pass-1234567!"


def peer_targets(bench: Bench) -> tuple[dict[str, Target], dict[str, str]]:
    """Those that can be started here; and the others, with the reason."""
    from awf.testing import peers

    found: dict[str, Target] = {}
    missing: dict[str, str] = {}
    makers: dict[str, Callable[[str, Mapping[str, str]], list[Target]]] = {
        _MCP_PROXY: _mcp_proxy,
        _FASTMCP: _fastmcp,
        _CONTEXTFORGE: _contextforge,
    }
    for requirement, make in makers.items():
        home = bench.stage.folder / requirement.partition("=")[0]
        try:
            python = peers.python_peer(requirement)
        except peers.PeerUnavailable as reason:
            missing[requirement] = str(reason)
            continue
        for target in make(python, _compiled(peers.peer_environment(home))):
            found[f"{target.name} {target.path}"] = target
    return found, missing


def _compiled(environment: Mapping[str, str]) -> dict[str, str]:
    """As an installed program is: if it could not keep what it compiled, each start would look slower than it is."""
    return {name: value for name, value in environment.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _mcp_proxy(python: str, environment: Mapping[str, str]) -> list[Target]:
    program = [str(Path(python).with_name("mcp-proxy")), "--log-level", "WARNING"]

    def served(setting: Setting) -> list[str]:
        return [*program, "--port", str(setting.port), "--", *setting.behind]

    def piped(setting: Setting) -> list[str]:
        return [*program, "--transport", "streamablehttp", setting.url]

    return [
        Target("mcp-proxy 0.13.0", "http", "stdio", served, environment),
        Target("mcp-proxy 0.13.0", "stdio", "http", piped, environment),
    ]


def _fastmcp(python: str, environment: Mapping[str, str]) -> list[Target]:
    program = [python, str(PROGRAMS / "fastmcp_proxy.py")]

    def over_http(*more: str) -> Callable[[Setting], list[str]]:
        return lambda setting: [*program, "--port", str(setting.port), "--url", setting.url, *more]

    def to_pipe(setting: Setting) -> list[str]:
        return [*program, "--port", str(setting.port), "--", *setting.behind]

    def piped(setting: Setting) -> list[str]:
        return [*program, "--", *setting.behind]

    return [
        Target("fastmcp 4.1.2", "http", "http", over_http(), environment, slow=8),
        Target("fastmcp 4.1.2, one session", "http", "http", over_http("--shared"), environment),
        Target("fastmcp 4.1.2", "http", "stdio", to_pipe, environment),
        Target("fastmcp 4.1.2", "stdio", "stdio", piped, environment),
    ]


def _contextforge(python: str, environment: Mapping[str, str]) -> list[Target]:
    """With SQLite and its own check of tokens; its limit of 100 calls a minute is off."""
    program = [str(Path(python).with_name("mcpgateway")), "mcpgateway.main:app", "--host", "127.0.0.1"]
    chosen = {
        **environment,
        "JWT_SECRET_KEY": _SECRET,
        "AUTH_ENCRYPTION_SECRET": _SECRET,
        "PLATFORM_ADMIN_EMAIL": "admin@example.com",
        **dict.fromkeys(
            ("PLATFORM_ADMIN_PASSWORD", "BASIC_AUTH_PASSWORD", "DEFAULT_USER_PASSWORD"), _PASSWORD
        ),
        **dict.fromkeys(
            ("MCPGATEWAY_ADMIN_API_ENABLED", "SSRF_ALLOW_LOCALHOST", "SSRF_ALLOW_PRIVATE_NETWORKS"), "true"
        ),
        **dict.fromkeys(("MCPGATEWAY_UI_ENABLED", "RATE_LIMITING_ENABLED", "MCP_REQUIRE_AUTH"), "false"),
        "LOG_LEVEL": "ERROR",
        "DATABASE_URL": "sqlite:///./mcp.db",  # in the folder that it is started in
    }

    def served(setting: Setting) -> list[str]:
        return [*program, "--port", str(setting.port), "--no-access-log"]

    def prepare(setting: Setting) -> Access:
        base = f"http://127.0.0.1:{setting.port}"
        argv = [python, str(PROGRAMS / "contextforge_setup.py"), "--base", base, "--upstream", setting.url]
        return _access(argv, chosen, str(setting.folder))

    return [Target("ContextForge 1.0.7", "http", "http", served, chosen, prepare, patience=180, slow=8)]


def _access(argv: list[str], environment: Mapping[str, str], cwd: str) -> Access:
    done = subprocess.run(argv, env=environment, cwd=cwd, capture_output=True, timeout=120, check=False)
    if done.returncode:
        raise OSError(f"its set-up failed: {(done.stderr or done.stdout)[-500:]!r}")
    told: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return Access(told["url"], told["headers"], told["tool"])
