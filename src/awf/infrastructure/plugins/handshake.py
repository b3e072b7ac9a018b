"""The one line by which a plugin says where it listens: `1|1|unix|/path|grpc|`.

The form is that of HashiCorp's go-plugin: core version, protocol version, network, address, protocol, and optionally a
certificate and whether its broker shares one connection.
"""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["COOKIE", "PROTOCOL_VERSION", "RefusedHandshake", "plugin_environment", "read_handshake"]

COOKIE = "awf-plugin-v1"
PROTOCOL_VERSION = "1"
_LOOKS_LIKE_ONE = re.compile(rb"\s*\d+\|\d+\|")
_LONGEST_SOCKET_PATH = 107


class RefusedHandshake(Exception):  # noqa: N818  the plugin's doing; its reason is told to the person
    """The plugin announced something that cannot be used."""


def plugin_environment(folder: str, project: str) -> Mapping[str, str]:
    """What tells a program that AWF has started it as a plugin."""
    return {
        "AWF_PLUGIN": COOKIE,
        "AWF_PLUGIN_DIR": folder,
        "AWF_PROJECT_DIR": project,
        "PLUGIN_PROTOCOL_VERSIONS": PROTOCOL_VERSION,
        "PLUGIN_UNIX_SOCKET_DIR": folder,
    }


class _Fields(msgspec.Struct, frozen=True):
    core: str
    version: str
    network: str
    address: str
    protocol: str
    certificate: str = ""


def read_handshake(line: bytes) -> str | None:
    """The gRPC target to connect to; None for a line that is something else."""
    if not _LOOKS_LIKE_ONE.match(line):
        return None
    shown = line[:200].decode("utf-8", "replace").strip()
    fields = shown.split("|")
    if len(fields) < 5:
        raise RefusedHandshake(f"it announced '{shown}', which lacks fields; five are needed")
    said = _Fields(*(field.strip() for field in fields[:6]))
    if said.core != "1" or said.version != PROTOCOL_VERSION:
        raise RefusedHandshake(
            f"it speaks plugin protocol {said.core}|{said.version}, and AWF speaks 1|{PROTOCOL_VERSION}"
        )
    if said.protocol != "grpc":
        raise RefusedHandshake(f"it speaks '{said.protocol}', and AWF speaks grpc")
    if said.certificate:
        raise RefusedHandshake("it sent a certificate; AutoMTLS is not supported, turn it off in the plugin")
    return _target(said.network, said.address)


def _target(network: str, address: str) -> str:
    if network == "unix":
        if not address.startswith("/"):
            raise RefusedHandshake(f"its socket '{address}' is not an absolute path")
        if len(address.encode()) > _LONGEST_SOCKET_PATH:
            raise RefusedHandshake("the path of its socket is too long; put it into $AWF_PLUGIN_DIR")
        return f"unix:{address}"
    if network == "tcp":
        return _loopback(address)
    raise RefusedHandshake(f"it listens on '{network}', which is neither unix nor tcp")


def _loopback(address: str) -> str:
    host, _, port = address.rpartition(":")
    try:
        ours = host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        ours = False
    if not ours or not port.isdecimal() or not 0 < int(port) < 65536:
        raise RefusedHandshake(f"its address '{address}' is not one of this machine's loopback, host:port")
    return address
