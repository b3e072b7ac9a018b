"""The agents that are driven: ours, and one on the PyPI SDK."""

from __future__ import annotations

import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bench.acp_pipe import Editor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.stage import Stage

__all__ = ["Agents"]

_SDK = "agent-client-protocol==0.12.1"
_SDK_AGENT = Path(__file__).parent / "servers" / "acp_sdk_agent.py"


class Agents:
    """What is started, and with which variables."""

    def __init__(self, stage: Stage) -> None:
        from awf.testing import peers

        self.stage = stage
        self._sdk_environment = peers.peer_environment(stage.folder / "sdk-home")
        try:
            self._sdk = peers.python_peer(_SDK)
        except peers.PeerUnavailable as reason:
            self._sdk = ""
            stage.notes.append(f"acp: nothing is compared with an agent on the SDK: {reason}")

    @property
    def has_sdk(self) -> bool:
        return bool(self._sdk)

    def ours(self) -> list[str]:
        return self.stage.awf_argv("acp-serve")

    def sdk(self) -> list[str]:
        return [self._sdk, str(_SDK_AGENT)]

    def environment(self, argv: list[str]) -> Mapping[str, str]:
        return self._sdk_environment if argv[0] == self._sdk else self.stage.environment

    def editor(self, argv: list[str] | None = None, more: Mapping[str, str] | None = None) -> Editor:
        """Start an agent, ours by default, with more variables."""
        chosen = argv or self.ours()
        env = {**self.environment(chosen), **(more or {})}
        return Editor(chosen, env=env, cwd=str(self.stage.folder))

    # -- what they work on -------------------------------------------------------------------------------------------

    def project(self, name: str, workflows: Mapping[str, str]) -> str:
        """A folder with these workflows."""
        for workflow, text in workflows.items():
            self.stage.write(f"{name}/.awf/workflows/{workflow}.yaml", text)
        return str(self.stage.folder / name)

    def program(self, name: str, text: str) -> str:
        """A stand-in for an agent's program."""
        path = Path(self.stage.write(f"bin/{name}", f"#!{sys.executable} -S\n{text}"))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)
