"""The official MCP conformance suite as a function: what each check said, to assert on or to compare.

Two releases are of use: 0.1.16 knows the older era only, the preview of 0.2.0 both. Each needs Node 22. A suite is asked for
by its name (`suite="active"`), or, from the preview on, by the revision it has to meet (`requirements="2026-07-28"`).
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from awf.testing import peers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = [
    "PREVIEW",
    "RELEASED",
    "TRACES",
    "Selection",
    "SuiteBroken",
    "Verdicts",
    "complaints",
    "differences",
    "failing",
    "read_verdicts",
    "run_client_suite",
    "run_suite",
    "scenarios",
    "scored",
]

RELEASED = "0.1.16"
PREVIEW = "0.2.0-alpha.12"
TRACES = frozenset(
    {"outgoing-request", "incoming-request", "outgoing-response", "incoming-response"}
    | {"outgoing-sse-event", "incoming-sse-event", "outgoing-stream-close", "stream-closed"}
)
"""Checks that only note what was on the wire. How many there are says nothing."""

Verdicts = dict[tuple[str, str], tuple[str, ...]]
"""By scenario and check the sorted statuses: several checks of a scenario may have the same id."""

_STAMP = re.compile(r"-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z$")
_NODE = (22,)
_SECONDS = 240.0
_CLIENT_MILLISECONDS = 60_000  # for one client; the suite starts them all at once
_GOOD = frozenset({"SUCCESS", "INFO", "SKIPPED"})


class SuiteBroken(Exception):  # noqa: N818  it says nothing about what was tested
    """The suite itself did not get to its end; the text is what it said last."""


@dataclass(frozen=True)
class Selection:
    """Which release, and which of its scenarios."""

    version: str
    suite: str | None = None
    requirements: str | None = None

    def __post_init__(self) -> None:
        if (self.suite is None) == (self.requirements is None):
            raise ValueError("either a suite or requirements")

    def __str__(self) -> str:
        return f"{self.version} {self.suite or self.requirements}"

    @property
    def options(self) -> list[str]:
        if self.suite is not None:
            return ["--suite", self.suite]
        return ["--requirements", str(self.requirements)]


def run_suite(url: str, selection: Selection, out_dir: Path) -> Verdicts:
    """Against a server that is running. What the suite wrote about it stays in `out_dir`."""
    _run(
        [*_suite(selection.version), "server", "--url", url, *selection.options, "-o", str(out_dir)], out_dir
    )
    return read_verdicts(out_dir)


def run_client_suite(
    command: Sequence[str], selection: Selection, out_dir: Path, environment: Mapping[str, str] | None = None
) -> Verdicts:
    """With a client that is started once per scenario, with the server's address as its last argument."""
    # The suite cuts the command at its spaces and gives the parts to a shell.
    if any(" " in part for part in command):
        raise ValueError("the suite cannot start a command with spaces in its arguments")
    line = " ".join(shlex.quote(part) for part in command)
    asked = [*_suite(selection.version), "client", "--command", line, *selection.options]
    asked += ["--timeout", str(_CLIENT_MILLISECONDS)]
    _run([*asked, "-o", str(out_dir)], out_dir, environment)
    return read_verdicts(out_dir)


def _suite(version: str) -> list[str]:
    return [peers.node_executable(_NODE), str(_package(version) / "dist" / "index.js")]


def _package(version: str) -> Path:
    name = "@modelcontextprotocol/conformance"
    return peers.npm_peer(f"{name}@{version}") / "node_modules" / name


def _run(argv: Sequence[str], out_dir: Path, environment: Mapping[str, str] | None = None) -> None:
    out_dir.mkdir(parents=True)
    home = peers.peer_environment(out_dir / "home") | dict(environment or {})
    try:
        done = subprocess.run(
            argv, cwd=out_dir, env=home, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise SuiteBroken(f"it did not end within {_SECONDS:g} s: {_tail(error.stdout)}") from None
    (out_dir / "said.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
    # It ends with 1 when checks fail, too; then it has written what they say.
    if done.returncode not in {0, 1} or not any(out_dir.rglob("checks.json")):
        raise SuiteBroken(_tail(done.stdout + done.stderr))


def _tail(said: str | bytes | None) -> str:
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else said or ""
    return "\n".join(text.splitlines()[-20:])


# -- what it wrote ---------------------------------------------------------------------------------------------------


def read_verdicts(out_dir: Path) -> Verdicts:
    found: dict[tuple[str, str], list[str]] = {}
    for scenario, check in _checks(out_dir):
        found.setdefault((scenario, check["id"]), []).append(check["status"])
    return {key: tuple(sorted(statuses)) for key, statuses in sorted(found.items())}


def _checks(out_dir: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for file in sorted(out_dir.rglob("checks.json")):
        scenario = _STAMP.sub("", file.parent.relative_to(out_dir).as_posix())
        for check in json.loads(file.read_text(encoding="utf-8")):
            yield scenario.removeprefix("server-"), check


def complaints(out_dir: Path, scenario: str, check_id: str) -> list[str]:
    """Why the check is not a success, in the suite's words."""
    return [
        f"{check['status']} {check.get('errorMessage') or check.get('description')}"
        for name, check in _checks(out_dir)
        if (name, check["id"]) == (scenario, check_id) and check["status"] != "SUCCESS"
    ]


def scenarios(verdicts: Verdicts) -> frozenset[str]:
    return frozenset(scenario for scenario, _ in verdicts)


def failing(verdicts: Verdicts) -> Verdicts:
    """Failures and warnings."""
    return {key: statuses for key, statuses in verdicts.items() if not _GOOD.issuperset(statuses)}


def differences(one: Verdicts, other: Verdicts) -> dict[tuple[str, str], tuple[str, str]]:
    """Where the two disagree, apart from traces."""
    keys = sorted(key for key in one.keys() | other.keys() if key[1] not in TRACES)
    said = {key: (" ".join(one.get(key, ("-",))), " ".join(other.get(key, ("-",)))) for key in keys}
    return {key: pair for key, pair in said.items() if pair[0] != pair[1]}


def scored(selection: Selection, role: str) -> frozenset[str]:
    """The scenarios that a revision requires of a `server` or a `client`."""
    import yaml

    file = _package(selection.version) / "requirements" / f"{selection.requirements}.yaml"
    return frozenset(yaml.safe_load(file.read_text(encoding="utf-8"))[role])
