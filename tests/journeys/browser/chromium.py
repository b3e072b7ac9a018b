"""A Chromium to look at pages with: from a package that holds one, else the one of this machine.

The package is meant for places where nothing can be installed, so it needs neither root nor a display. It is packed, and
is unpacked once, beside the package and outside of the project.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

from awf.testing import peers

PACKAGE = "@sparticuz/chromium@153.0.0"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
SECONDS = 120.0
_UNPACK = """
const fs = require("fs"), zlib = require("zlib"), { pipeline } = require("stream/promises");
const [from, to] = process.argv.slice(-2);
pipeline(fs.createReadStream(from), zlib.createBrotliDecompress(), fs.createWriteStream(to, { mode: 0o755 }))
  .catch((error) => { console.error(String(error)); process.exit(1); });
"""
_FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir>{fonts}</dir>
  <cachedir>{cache}</cachedir>
</fontconfig>
"""


class Found(NamedTuple):
    executable: str
    environment: dict[str, str]


def find_chromium() -> Found:
    """Raises `PeerUnavailable` when there is none that starts."""
    reasons = []
    for attempt in (_from_package, _from_path):
        try:
            return attempt()
        except peers.PeerUnavailable as reason:
            reasons.append(str(reason))
    raise peers.PeerUnavailable("; ".join(reasons))


def _from_package() -> Found:
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise peers.PeerUnavailable(f"{PACKAGE} is for Linux on x86_64")
    folder = peers.npm_peer(PACKAGE)
    unpacked = folder / "unpacked"
    if not unpacked.exists():
        _unpack(folder / "node_modules" / "@sparticuz" / "chromium" / "bin", unpacked)
    environment = {"FONTCONFIG_FILE": str(unpacked / "fonts.conf")}
    try:
        return _started(unpacked / "chromium", environment)
    except peers.PeerUnavailable:  # NSS, which slim systems lack, comes with it
        return _started(unpacked / "chromium", {**environment, "LD_LIBRARY_PATH": str(unpacked / "lib")})


def _from_path() -> Found:
    found = [path for name in NAMES if (path := shutil.which(name))]
    if not found:
        raise peers.PeerUnavailable(f"none of {', '.join(NAMES)} is on the PATH")
    return _started(Path(found[0]), {})


def _started(executable: Path, environment: dict[str, str]) -> Found:
    """Once for its version: a library that is missing shows here, and not as a browser that never answers."""
    whole = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", **environment}
    try:
        command = [str(executable), "--version"]
        done = subprocess.run(
            command, env=whole, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise peers.PeerUnavailable(f"{executable} does not start: {error}") from error
    if done.returncode:
        said = done.stderr.strip().splitlines()[-1:] or [f"it ended with {done.returncode}"]
        raise peers.PeerUnavailable(f"{executable} does not start: {said[0]}")
    return Found(str(executable), whole)


def _unpack(packed: Path, unpacked: Path) -> None:
    """Into a folder of another name first: several test workers may do the same at once."""
    making = Path(tempfile.mkdtemp(dir=unpacked.parent, prefix="unpacking-"))
    try:
        _decompress(packed / "chromium.br", making / "chromium")
        for name in ("fonts", "al2023"):
            _decompress(packed / f"{name}.tar.br", making / f"{name}.tar")
            with tarfile.open(making / f"{name}.tar") as archive:
                archive.extractall(making, filter="data")
        fonts = _FONTS.format(fonts=unpacked / "fonts", cache=unpacked / "font-cache")
        (making / "fonts.conf").write_text(fonts, encoding="utf-8")
        making.chmod(0o755)
        os.rename(making, unpacked)
    except OSError as error:
        if not unpacked.exists():  # else somebody was faster
            raise peers.PeerUnavailable(f"{packed} cannot be unpacked: {error}") from error
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _decompress(packed: Path, to: Path) -> None:
    command = [peers.node_executable((18,)), "-e", _UNPACK, "--", str(packed), str(to)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise peers.PeerUnavailable(f"{packed.name} took too long to unpack") from error
    if done.returncode:
        raise peers.PeerUnavailable(f"{packed.name} cannot be unpacked: {done.stderr.strip()}")
