"""From a declaration to a plugin that is ready: program, handshake, connection, health, GetInfo, Init."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, get_args

from awf.domain.errors import AwfError
from awf.domain.ports.plugins import Capability
from awf.infrastructure.plugins.config_values import configuration, extra_environment
from awf.infrastructure.plugins.connection import CallFailed, Connection, load_grpc
from awf.infrastructure.plugins.output import LOG
from awf.infrastructure.plugins.process import PluginProcess
from awf.infrastructure.plugins.running import RunningPlugin
from awf.infrastructure.plugins.values import encode_values
from awf.infrastructure.plugins.versions import satisfies

if TYPE_CHECKING:
    from awf.infrastructure.plugins.declaration import Declaration
    from awf.infrastructure.plugins.surroundings import Surroundings

__all__ = ["start_plugin"]

_CAPABILITIES: tuple[Capability, ...] = get_args(Capability)
_SERVING = 1
_HEALTH = {0: "UNKNOWN", 2: "NOT_SERVING", 3: "SERVICE_UNKNOWN"}
_BETWEEN_CHECKS = 0.05


async def start_plugin(declaration: Declaration, surroundings: Surroundings) -> RunningPlugin:
    """Raises `AwfError`, with nothing left behind, when the plugin does not become ready."""
    load_grpc()
    _refuse_misfit(declaration, surroundings.version)
    config = configuration(declaration, surroundings.environment)
    process = PluginProcess(
        surroundings.runner,
        declaration.name,
        declaration.argv,
        cwd=declaration.cwd,
        project=surroundings.project,
        env={**surroundings.inherited(), **extra_environment(declaration, surroundings.environment)},
    )
    connection: Connection | None = None
    try:
        deadline = asyncio.get_running_loop().time() + surroundings.patience.start
        target = await process.target(surroundings.patience.start)
        connection = Connection(target)
        await _until_healthy(process, connection, target, surroundings.patience.connect, deadline)
        running = RunningPlugin(declaration, process, connection, surroundings)
        await _introduce(running, process, connection, config, deadline)
    except BaseException:
        if connection is not None:
            await connection.close()
        await process.end()
        raise
    return running


def _refuse_misfit(declaration: Declaration, version: str) -> None:
    if version and declaration.awf_version and not satisfies(version, declaration.awf_version):
        raise AwfError(
            "USER.PLUGIN.VERSION",
            f"The plugin '{declaration.name}' works with awf {declaration.awf_version}, and this is {version}.",
            hint=f"Install a version of the plugin that fits; its declaration is {declaration.origin}.",
        )


async def _until_healthy(
    process: PluginProcess, connection: Connection, target: str, patience: float, deadline: float
) -> None:
    """The health service may say that it is not ready yet; a plugin without that service is taken as ready."""
    clock = asyncio.get_running_loop().time
    connected_by = min(deadline, clock() + patience)
    while True:
        why, until = await _ailment(connection, target, deadline - clock()), deadline
        if not why:
            return
        if why.startswith("announced"):
            until = connected_by
        if await process.outcome(_BETWEEN_CHECKS) is not None or clock() > until:
            raise process.failure(why)


async def _ailment(connection: Connection, target: str, timeout: float) -> str:
    from grpc_health.v1 import health_pb2

    request, answer = health_pb2.HealthCheckRequest(service="plugin"), health_pb2.HealthCheckResponse
    try:
        said = await connection.call(
            "Health/Check", request, answer, timeout=max(timeout, _BETWEEN_CHECKS), service="grpc.health.v1."
        )
    except CallFailed as failed:
        if failed.status == "UNIMPLEMENTED":
            return ""
        if failed.status == "UNAVAILABLE":
            return f"announced {target}, but nobody answers there"
        return f"did not become ready: its health service answers {failed.status} for 'plugin'"
    state = _HEALTH.get(said.status, str(said.status))
    return "" if said.status == _SERVING else f"did not become ready: its health service says {state}"


async def _introduce(
    running: RunningPlugin,
    process: PluginProcess,
    connection: Connection,
    config: dict[str, Any],
    deadline: float,
) -> None:
    from awf.plugin.protocol import plugin_pb2

    left = max(deadline - asyncio.get_running_loop().time(), _BETWEEN_CHECKS)
    try:
        info = await connection.call(
            "PluginService/GetInfo", plugin_pb2.GetInfoRequest(), plugin_pb2.GetInfoResponse, timeout=left
        )
        _take_info(running, info)
        await connection.call(
            "PluginService/Init",
            plugin_pb2.InitRequest(config=encode_values("the config key", config)),
            plugin_pb2.InitResponse,
            timeout=running.declaration.timeout,
        )
    except CallFailed as failed:
        await process.outcome(_BETWEEN_CHECKS)
        raise process.failure(
            f"did not start: {failed.status}, {failed.details or 'no reason given'}"
        ) from None


def _take_info(running: RunningPlugin, info: Any) -> None:
    declared = running.declaration.shown
    if info.name != running.name:
        LOG.warning("The plugin %s calls itself '%s'.", running.name, info.name)
    unknown = sorted(set(info.capabilities) - set(_CAPABILITIES))
    if unknown:
        LOG.warning("The plugin %s has capabilities AWF does not know: %s.", running.name, ", ".join(unknown))
    said = tuple(one for one in _CAPABILITIES if one in info.capabilities)
    missing = [one for one in declared.capabilities if one not in said]
    if said and missing:
        LOG.warning("The plugin %s declares %s, and does not have it.", running.name, ", ".join(missing))
    running.capabilities = said or declared.capabilities
    running.version = info.version or declared.version
    running.description = info.description or declared.description
