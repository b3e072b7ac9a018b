"""Calls over one gRPC channel, and what comes instead of an answer. Answers are read here, so that garbage is ours to tell."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from awf.domain.errors import AwfError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CallFailed", "Connection", "Message", "load_grpc"]

BIGGEST_MESSAGE = 64 * 1024 * 1024
_OPTIONS = (
    ("grpc.max_receive_message_length", BIGGEST_MESSAGE),
    ("grpc.max_send_message_length", BIGGEST_MESSAGE),
    ("grpc.use_local_subchannel_pool", 1),  # no memory of an earlier plugin at the same address
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 500),
    ("grpc.enable_http_proxy", 0),
    ("grpc.enable_retries", 0),
)
_TRACE = frozenset({"traceparent", "tracestate", "baggage"})


class Message(Protocol):
    """A protobuf message, as far as it matters here."""

    def SerializeToString(self) -> bytes: ...  # noqa: N802
    @classmethod
    def FromString(cls, data: bytes, /) -> Self: ...  # noqa: N802


A = TypeVar("A", bound=Message)


class CallFailed(Exception):  # noqa: N818  translated by whoever knows the plugin
    """No usable answer: the gRPC status (or GARBAGE for an answer that cannot be read) and its details."""

    def __init__(self, status: str, details: str) -> None:
        super().__init__(f"{status}: {details}")
        self.status = status
        self.details = details


def load_grpc() -> Any:
    """The gRPC library, which only those who use plugins have to install."""
    try:
        import grpc.aio
        import grpc_health.v1.health_pb2  # noqa: F401

        import awf.plugin.protocol.plugin_pb2  # noqa: F401
    except ImportError as error:
        raise AwfError(
            "SYSTEM.PLUGIN.UNAVAILABLE",
            f"Plugins need the gRPC library, which cannot be loaded: {error}.",
            hint="Install awf-suite[plugins].",
        ) from error
    return grpc


class Connection:
    def __init__(self, target: str) -> None:
        self._grpc = load_grpc()
        self._channel = self._grpc.aio.insecure_channel(target, options=_OPTIONS)
        self._closed = False

    async def call(
        self,
        method: str,
        request: Message,
        answer: type[A],
        *,
        timeout: float,
        trace: Mapping[str, str] | None = None,
        service: str = "plugin.v1.",
    ) -> A:
        """One call. Cancelling whoever awaits this cancels the call."""
        from google.protobuf.message import DecodeError, EncodeError

        if self._is_closed():
            raise CallFailed("UNAVAILABLE", "the connection is closed")
        send = self._channel.unary_unary(f"/{service}{method}")
        try:
            data = await send(request.SerializeToString(), timeout=timeout, metadata=_metadata(trace))
            return answer.FromString(data)
        except asyncio.CancelledError:
            if (
                self._closed and not _is_cancelled()
            ):  # gRPC's way to say that the channel was closed meanwhile
                raise CallFailed("UNAVAILABLE", "the connection was closed") from None
            raise
        except self._grpc.aio.AioRpcError as error:
            raise CallFailed(error.code().name, error.details() or "") from None
        except DecodeError as error:
            raise CallFailed("GARBAGE", f"its answer to {method} cannot be read: {error}") from None
        except (EncodeError, ValueError) as error:
            raise CallFailed("RESOURCE_EXHAUSTED", f"the request cannot be written: {error}") from None

    def _is_closed(self) -> bool:
        return self._closed

    async def close(self) -> None:
        self._closed = True
        await self._channel.close()


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _metadata(trace: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    """Only what belongs to the trace, and only what a header may hold."""
    return tuple(
        (name.lower(), value)
        for name, value in (trace or {}).items()
        if name.lower() in _TRACE and value.isascii() and value.isprintable()
    )
