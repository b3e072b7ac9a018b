"""Who is measured: the direct connection, the limit of what is possible, and ours."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bench.gateway.wire import LEGACY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bench.stage import Stage

__all__ = ["PROGRAMS", "UPSTREAM", "Access", "Bench", "Setting", "Target", "config_of"]

PROGRAMS = Path(__file__).parent / "programs"
UPSTREAM = PROGRAMS / "upstream.py"
_ARROW = "\u2192"
_SPARE = 30.0
_WORDS = {"http": "HTTP", "stdio": "stdio"}


class Setting(NamedTuple):
    """What a contestant is started with: a folder of its own, a free port, and the server behind in one of two forms."""

    folder: Path
    port: int
    url: str
    behind: list[str]


class Access(NamedTuple):
    """How a contestant is spoken to."""

    url: str
    headers: Mapping[str, str] = {}
    tool: str = "echo"


class Target(NamedTuple):
    name: str
    front: str
    back: str
    command: Callable[[Setting], list[str]] | None  # None: nothing stands between
    environment: Mapping[str, str]
    prepare: Callable[[Setting], Access] | None = None  # after its start; where it is found then
    patience: float = 60.0
    slow: int = 1  # so many times fewer calls
    protocol: str = LEGACY

    @property
    def path(self) -> str:
        return f"{_WORDS[self.front]}{_ARROW}{_WORDS[self.back]}" if self.command else _WORDS[self.front]

    @property
    def is_direct(self) -> bool:
        return self.name == "direct"


class Bench:
    """The contestants on one stage."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.spare = 0.0 if stage.quick else _SPARE  # seconds left to repeat what others disturbed
        self.is_compiled = False
        self._lean_environment = {"PATH": stage.environment["PATH"], "HOME": stage.environment["HOME"]}

    def upstream(self, *options: str) -> list[str]:
        return [sys.executable, str(UPSTREAM), *options]

    def direct(self, front: str, protocol: str = LEGACY) -> Target:
        command = None if front == "http" else (lambda setting: setting.behind)
        return Target("direct", front, front, command, self._lean_environment, protocol=protocol)

    def limit(self, front: str, back: str, protocol: str = LEGACY) -> Target:
        def command(setting: Setting) -> list[str]:
            argv = [
                sys.executable,
                str(PROGRAMS / "limits.py"),
                "--audit",
                str(setting.folder / "audit.jsonl"),
            ]
            argv += ["--port", str(setting.port)] if front == "http" else []
            return [*argv, "--url", setting.url] if back == "http" else [*argv, "--", *setting.behind]

        return Target("limit", front, back, command, self._lean_environment, protocol=protocol)

    def ours(self, front: str, back: str, protocol: str = LEGACY) -> Target:
        def command(setting: Setting) -> list[str]:
            file = setting.folder / "gateway.json"
            file.write_text(json.dumps(config_of(setting, back)), encoding="utf-8")
            return [*self.gateway(str(file)), *door(front, setting.port)]

        return Target("awf", front, back, command, self.stage.environment, protocol=protocol)

    def gateway(self, file: str) -> list[str]:
        return self.stage.awf_argv("gateway", "serve", "--config", file)


def door(front: str, port: int) -> list[str]:
    return ["--host", "127.0.0.1", "--port", str(port)] if front == "http" else ["--stdio"]


def config_of(setting: Setting, back: str) -> dict[str, Any]:
    server: dict[str, Any] = {"url": setting.url, "transport": "streamableHttp"}
    if back == "stdio":
        server = {"command": setting.behind[0], "args": setting.behind[1:]}
    return {"mcpServers": {"up": server}, "listen": {"concurrency": 4096}}
