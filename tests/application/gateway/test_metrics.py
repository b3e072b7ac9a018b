"""The text that Prometheus reads, checked by its own parser."""

from __future__ import annotations

import json
import subprocess

import pytest

from awf import __version__
from awf.application.gateway.call_book import BOUNDS, CallBook
from awf.application.gateway.metrics import CONTENT_TYPE, exposition
from awf.testing.peers import python_peer, requested

READER = """
import json, sys
from prometheus_client.parser import text_string_to_metric_families
text = sys.stdin.buffer.read().decode("utf-8")
families = [
    [family.name, family.type, family.documentation,
     [[sample.name, sample.labels, sample.value] for sample in family.samples]]
    for family in text_string_to_metric_families(text)
]
print(json.dumps(families))
"""
ODD = 'back\\slash "quoted"\nline\\n\r\t{a="b"} é 😀 # HELP'
ALL = {
    "server_up": {"a": True, ODD: False},
    "server_restarts": {"a": 3},
    "sessions": 4,
    "streams": 5,
    "in_flight": 6,
}


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def a_book():
    clock = Clock()
    book = CallBook(clock=clock, wall=clock)
    book.offers({"a": ["x", ODD], ODD: ["x"], "silent": []})
    for server, tool, seconds, outcome in [
        ("a", "x", 0.25, "ok"),
        ("a", "x", 0.5, "error"),
        ("a", "x", 1000.0, "cancelled"),
        ("a", ODD, 0.0, "ok"),
        (ODD, "x", 0.0, "refused"),
        ("a", "made up", 0.0, "refused"),
    ]:
        entry = book.begun(server, tool, tool, "c")
        clock.now = entry.began + seconds
        book.ended(entry, outcome, "")
        clock.now = 0.0
    book.requested("tools/call", 200)
    book.requested("nonsense", 400)
    book.reloaded("ok")
    return book


def lines(book, gauges):
    return exposition(book, gauges).decode().splitlines()


def test_prometheus_reads_every_number_as_it_was_meant():
    python = requested(lambda: python_peer("prometheus-client==0.22.1"))
    done = subprocess.run(
        [python, "-I", "-c", READER],
        input=exposition(a_book(), ALL),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    families = {name: (kind, samples) for name, kind, _, samples in json.loads(done.stdout)}
    assert {name: kind for name, (kind, _) in families.items()} == {
        "awf_gateway_calls": "counter",
        "awf_gateway_call_seconds": "histogram",
        "awf_gateway_requests": "counter",
        "awf_gateway_server_up": "gauge",
        "awf_gateway_server_restarts": "counter",
        "awf_gateway_sessions": "gauge",
        "awf_gateway_streams": "gauge",
        "awf_gateway_in_flight": "gauge",
        "awf_gateway_reloads": "counter",
        "awf_build_info": "gauge",
    }
    read = {}
    for _, samples in families.values():
        for name, labels, value in samples:
            key = (name, *sorted(labels.items()))
            assert key not in read, "the same series twice"
            read[key] = value

    def of(name, **labels):
        return read[(name, *sorted(labels.items()))]

    assert of("awf_gateway_calls_total", server="a", tool="x", outcome="error") == 1
    assert of("awf_gateway_calls_total", server="a", tool="x", outcome="refused") == 0
    assert of("awf_gateway_calls_total", server="a", tool=ODD, outcome="ok") == 1
    assert of("awf_gateway_calls_total", server=ODD, tool="x", outcome="refused") == 1
    assert of("awf_gateway_calls_total", server="a", tool="(unknown)", outcome="refused") == 1
    assert of("awf_gateway_call_seconds_bucket", server="a", le="0.1") == 1
    assert of("awf_gateway_call_seconds_bucket", server="a", le="0.25") == 2
    assert of("awf_gateway_call_seconds_bucket", server="a", le="60") == 3
    assert of("awf_gateway_call_seconds_bucket", server="a", le="+Inf") == 4
    assert of("awf_gateway_call_seconds_count", server="a") == 4
    assert of("awf_gateway_call_seconds_sum", server="a") == 1000.75
    assert of("awf_gateway_call_seconds_count", server="silent") == 0
    assert of("awf_gateway_requests_total", method="tools/call", status="200") == 1
    assert of("awf_gateway_requests_total", method="(unknown)", status="400") == 1
    assert (of("awf_gateway_server_up", server="a"), of("awf_gateway_server_up", server=ODD)) == (1, 0)
    assert of("awf_gateway_server_restarts_total", server="a") == 3
    assert (of("awf_gateway_sessions"), of("awf_gateway_streams"), of("awf_gateway_in_flight")) == (4, 5, 6)
    assert (
        of("awf_gateway_reloads_total", outcome="ok"),
        of("awf_gateway_reloads_total", outcome="error"),
    ) == (1, 0)
    (build,) = families["awf_build_info"][1]
    assert (build[1]["version"], build[2]) == (__version__, 1)


def test_every_family_is_explained_before_its_samples_and_the_text_ends_with_a_line_break():
    text = exposition(a_book(), ALL).decode()
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    explained = []
    for line in text.removesuffix("\n").split("\n"):
        if line.startswith("# "):
            explained.append(line.split(" ")[1:3])
        else:
            assert line.startswith(explained[-1][1])
    assert [sign for sign, _ in explained] == ["HELP", "TYPE"] * 10
    assert [name for _, name in explained[::2]] == [name for _, name in explained[1::2]]


def test_labels_are_escaped_to_the_letter():
    book = CallBook()
    book.offers({"a": ['\\"\n']})
    book.ended(book.begun("a", '\\"\n', "n", "c"), "ok", "")
    assert 'awf_gateway_calls_total{server="a",tool="\\\\\\"\\n",outcome="ok"} 1' in lines(book, {})


def test_names_that_are_no_unicode_break_nothing_and_are_mistaken_for_no_other():
    names = ["\ud800", "\ud801", "\\ud800", "?"]
    book = CallBook()
    book.offers({"a": names})
    for name in names:
        book.ended(book.begun("a", name, "n", "c"), "ok", "")
    told = [line for line in lines(book, {"server_up": {"\ud800": True}}) if 'outcome="ok"' in line]
    assert [line.partition("tool=")[2] for line in told if "calls_total" in line] == [
        '"(unknown)",outcome="ok"} 2',
        '"?",outcome="ok"} 1',
        '"\\\\ud800",outcome="ok"} 1',
    ]


def test_what_nobody_knows_is_not_told_and_calls_in_flight_are_the_books():
    book = CallBook()
    book.begun("", "", "n", "c")
    told = lines(book, {})
    assert "awf_gateway_in_flight 1" in told
    assert not any("sessions" in line or "streams" in line for line in told)
    assert not any(line.startswith("awf_gateway_server_up") for line in told)


def test_a_bucket_holds_all_that_are_shorter():
    counts = [
        int(line.rpartition(" ")[2]) for line in lines(a_book(), {}) if 'seconds_bucket{server="a"' in line
    ]
    assert len(counts) == len(BOUNDS) + 1
    assert counts == sorted(counts)


@pytest.mark.parametrize("part", ["text/plain", "version=0.0.4", "charset=utf-8"])
def test_the_content_type_names_the_format(part):
    assert part in CONTENT_TYPE
