"""The life of a plugin's process: listen, say where, answer, and end when AWF says so or is no more."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote

from awf.plugin.parent import watch_parent
from awf.plugin.running import RunningCalls
from awf.plugin.standard_output import claim_standard_output

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from awf.plugin.author import Plugin

__all__ = ["serve"]

_GRACE = 1.0  # seconds that calls still have when the plugin is asked to end
_LONGEST_SOCKET_PATH = 100  # the smallest limit of the systems in use is 103


def serve(plugin: Plugin) -> NoReturn:
    parent, output = os.getppid(), claim_standard_output()
    if output is None:
        print(_for_a_person(plugin), file=sys.stderr)
        sys.exit(1)
    try:
        import grpc  # noqa: F401
        import grpc_health.v1  # noqa: F401
    except ImportError as error:
        print(
            f"The plugin '{plugin.name}' needs gRPC: pip install 'awf-suite[plugins]' ({error})",
            file=sys.stderr,
        )
        sys.exit(1)
    # Not asyncio.run: it would wait for ever for a call that takes no cancellation.
    loop = asyncio.new_event_loop()
    loop.run_until_complete(_serve(plugin, output, parent))
    loop.close()
    sys.exit(0)


async def _serve(plugin: Plugin, output: int, parent: int) -> None:
    stopped, running = asyncio.Event(), RunningCalls()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stopped.set)
    # Ctrl+C reaches everything in the terminal; what it means for plugins is AWF's to say.
    loop.add_signal_handler(signal.SIGINT, lambda: None)
    with _socket() as path:
        watch_parent(parent, lambda: loop.call_soon_threadsafe(stopped.set), lambda: _remove(path))
        server, health = await _listening(plugin, path, running, stopped)
        os.write(output, f"1|1|unix|{path}|grpc|\n".encode())
        await stopped.wait()
        await health.enter_graceful_shutdown()
        await running.end(_GRACE)
        await server.stop(_GRACE)


async def _listening(
    plugin: Plugin, path: str, running: RunningCalls, stopped: asyncio.Event
) -> tuple[Any, Any]:
    import grpc
    from grpc_health.v1 import health, health_pb2, health_pb2_grpc

    from awf.plugin.services import service_handlers

    # Both sides are this machine's; how large a value may be is for the workflow to say.
    unlimited = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
    server = grpc.aio.server(options=unlimited)
    server.add_generic_rpc_handlers(service_handlers(plugin, running, stopped.set))
    servicer = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    for service in ("", "plugin"):
        await servicer.set(service, health_pb2.HealthCheckResponse.SERVING)
    server.add_insecure_port(f"unix:{quote(path)}")
    await server.start()
    os.chmod(path, 0o600)
    return server, servicer


@contextlib.contextmanager
def _socket() -> Iterator[str]:
    """Where to listen: in AWF's private folder, or in one of its own where the path would be too long."""
    folder = os.getenv("AWF_PLUGIN_DIR", "")
    path = os.path.join(os.path.abspath(folder), f"{os.getpid()}.sock")
    if folder and len(os.fsencode(path)) <= _LONGEST_SOCKET_PATH:
        try:
            yield path
        finally:
            _remove(path)
        return
    with tempfile.TemporaryDirectory(prefix="awf-plugin-", ignore_cleanup_errors=True) as own:
        yield os.path.join(own, "socket")


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def _for_a_person(plugin: Plugin) -> str:
    subscribed = [pattern for patterns, _ in plugin.subscriptions for pattern in patterns]
    has: dict[str, Iterable[str]] = {
        "operations": plugin.operations,
        "step types": plugin.step_types,
        "events": subscribed,
    }
    lines = [f"  {what}: {', '.join(things)}" for what, things in has.items() if things]
    version = f" {plugin.version}" if plugin.version else ""
    return "\n".join(
        [
            f"This is {plugin.name}{version}, a plugin of AWF. It is started by awf and does nothing by itself.",
            *lines,
            f"To try it:  awf plugin check {plugin.name}",
            "It has to be in .awf/plugins/ or be named in .awf/plugins.yaml.",
        ]
    )
