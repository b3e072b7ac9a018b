"""The counts of the call book as Prometheus reads them: text format 0.0.4. Pure."""

from __future__ import annotations

import math
import platform
from typing import TYPE_CHECKING, TypedDict

from awf import __version__
from awf.application.gateway.call_book import BOUNDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from awf.application.gateway.call_book import CallBook, Latency

__all__ = ["CONTENT_TYPE", "Gauges", "exposition"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Sample = tuple[str, dict[str, str], float]  # the ending of the name, labels, value


class Gauges(TypedDict, total=False):
    """What others than the book know. Whatever is left out is not told."""

    server_up: Mapping[str, bool]
    server_restarts: Mapping[str, int]
    sessions: int
    streams: int
    in_flight: int  # requests; without it, the calls that the book knows to run


def exposition(book: CallBook, gauges: Gauges) -> bytes:
    lines = [line for family in _families(book, gauges) for line in family]
    return "\n".join([*lines, ""]).encode()


def _families(book: CallBook, gauges: Gauges) -> Iterator[Iterator[str]]:
    yield _family("awf_gateway_calls_total", "counter", "Calls of tools, by how they ended.", _calls(book))
    help_text = "How long calls took that reached a server."
    yield _family("awf_gateway_call_seconds", "histogram", help_text, _latencies(book))
    help_text = "Requests of clients, by method and HTTP status."
    yield _family("awf_gateway_requests_total", "counter", help_text, _requests(book))
    up = _by_server(gauges.get("server_up", {}))
    yield _family("awf_gateway_server_up", "gauge", "Whether a server can be used.", up)
    restarts = _by_server(gauges.get("server_restarts", {}))
    help_text = "How often a server was started again."
    yield _family("awf_gateway_server_restarts_total", "counter", help_text, restarts)
    if "sessions" in gauges:
        yield _single("awf_gateway_sessions", "Sessions of clients that are open.", gauges["sessions"])
    if "streams" in gauges:
        yield _single("awf_gateway_streams", "Event streams that are open.", gauges["streams"])
    in_flight = gauges.get("in_flight", book.in_flight)
    yield _single("awf_gateway_in_flight", "Requests that are being worked on.", in_flight)
    reloads = [("", {"outcome": outcome}, float(times)) for outcome, times in book.reloads.items()]
    yield _family("awf_gateway_reloads_total", "counter", "Times the configuration was read again.", reloads)
    build = {"version": __version__, "python": platform.python_version()}
    yield _family("awf_build_info", "gauge", "What is running; always 1.", [("", build, 1.0)])


# -- samples ---------------------------------------------------------------------------------------------------------


def _calls(book: CallBook) -> Iterator[Sample]:
    """Of a tool that was called, all outcomes: the first error then is a step from 0, which a rate can see."""
    for server, tool, outcomes in book.tallies():
        for outcome, times in outcomes.items():
            yield "", {"server": server, "tool": tool, "outcome": outcome}, times


def _latencies(book: CallBook) -> Iterator[Sample]:
    for server, latency in book.latencies():
        yield from _histogram(server, latency)


def _histogram(server: str, latency: Latency) -> Iterator[Sample]:
    total = 0
    for bound, calls in zip((*BOUNDS, math.inf), latency.buckets, strict=True):
        total += calls
        yield "_bucket", {"server": server, "le": _number(bound)}, total
    yield "_sum", {"server": server}, latency.seconds
    yield "_count", {"server": server}, total


def _requests(book: CallBook) -> Iterator[Sample]:
    for (method, status), times in sorted(book.requests.items()):
        yield "", {"method": method, "status": str(status)}, times


def _by_server(values: Mapping[str, float]) -> Iterator[Sample]:
    for server in sorted(values):
        yield "", {"server": server}, values[server]


# -- text ------------------------------------------------------------------------------------------------------------


def _single(name: str, help_text: str, value: float) -> Iterator[str]:
    return _family(name, "gauge", help_text, [("", {}, value)])


def _family(name: str, kind: str, help_text: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# HELP {name} {help_text}"
    yield f"# TYPE {name} {kind}"
    for ending, labels, value in samples:
        inside = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        yield f"{name}{ending}{{{inside}}} {_number(value)}" if inside else f"{name}{ending} {_number(value)}"


def _escaped(text: str) -> str:
    """Lone surrogates are written out: the text has to be UTF-8."""
    legal = text.encode("utf-8", "backslashreplace").decode()
    return legal.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    if value == math.inf:
        return "+Inf"
    return str(int(value)) if float(value).is_integer() else repr(float(value))
