"""One host has one name, however it is written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from awf.application.gate.host_names import files_of, hosts_of, is_address


@pytest.mark.parametrize(
    ("written", "host"),
    [
        ("https://Example.ORG/path?x#y", "example.org"),
        ("https://example.org.:8443", "example.org"),
        ("https://good.org@evil.org/", "evil.org"),
        ("https://user:pa@ss@evil.org", "evil.org"),
        ("https:\\\\evil.org/", "evil.org"),
        ("https:///evil.org/", "evil.org"),
        (" \thttps://ev\nil.org", "evil.org"),
        ("https://evil.org?@good.org", "evil.org"),
        ("https://evil.org#@good.org", "evil.org"),
        ("https://ev%69l.org/", "evil.org"),
        ("//evil.org/x", "evil.org"),
        ("evil.org:443/x", "evil.org"),
        ("evil.org", "evil.org"),
        ("https://bücher.example/", "xn--bcher-kva.example"),
        ("https://BÜCHER。example", "xn--bcher-kva.example"),
        ("http://127.0.0.1:80/", "127.0.0.1"),
        ("http://2130706433/", "127.0.0.1"),
        ("http://0x7f.1/", "127.0.0.1"),
        ("http://0177.0.0.01/", "127.0.0.1"),
        ("http://999.1.1.1/", "999.1.1.1"),
        ("http://[::1]:8080/", "::1"),
        ("http://[0:0:0:0:0:0:0:1]/", "::1"),
        ("http://[fe80::1%25eth0]/", "fe80::1"),
        ("http://[nonsense", "[nonsense"),
        ("::1", "::1"),
        ("http://[::ffff:169.254.169.254]/", "169.254.169.254"),
        ("http:/evil.org", "evil.org"),
        ("http:evil.org", "evil.org"),
        (" " * 3000 + "http://evil.org", "evil.org"),
        ("ht\ntp:/\t/evil.org", "evil.org"),
        ("http://good.org:" + "0" * 1000 + "@evil.org/", "evil.org"),
        ("https://evil.org/" + "x" * 10_000, "evil.org"),
        ("", ""),
    ],
)
def test_a_host_is_written_in_one_way(written, host):
    assert hosts_of(written) == (host,)


@pytest.mark.parametrize(
    ("written", "hosts"),
    [
        ("https://evil.org\\@good.org/", {"evil.org", "good.org"}),
        ("https://good.org\\@evil.org/", {"evil.org", "good.org"}),
        ("http://fa\u00df.de/", {"fass.de", "xn--fa-hia.de"}),
        ("http://FA\u1e9e.de/", {"fass.de", "xn--fa-hia.de"}),
    ],
)
def test_where_programs_differ_all_that_they_take_it_for_are_hosts(written, hosts):
    assert set(hosts_of(written)) == hosts


def test_of_what_is_too_long_nobody_can_tell_the_host():
    assert hosts_of("http://good.org:" + "0" * 3000 + "@evil.org/") == ()


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("file:///etc/passwd", ["/etc/passwd"]),
        ("FILE:/etc/passwd", ["/etc/passwd"]),
        (" file://localhost/etc/pass%77d?x", ["/etc/passwd"]),
        (" " * 100 + "file:///etc/passwd", ["/etc/passwd"]),
        ("fi\nl" + "\t" * 100 + "e:///etc/passwd", ["/etc/passwd"]),
        ("file:\\\\\\etc\\passwd", ["\\\\\\etc\\passwd", "/\\\\\\etc\\passwd", "/etc/passwd"]),
        ("file://alone", ["/alone"]),
        ("file:notes.txt", ["notes.txt", "/notes.txt"]),
        ("profile:x", []),
        ("https://file:/x", []),
    ],
)
def test_a_file_url_names_a_file(written, path):
    assert list(files_of(written)) == path


def test_only_what_begins_like_one_is_an_address():
    assert is_address("https://a")
    assert is_address("  ws://a")
    assert not is_address("see https://a")
    assert not is_address("http: a protocol")
    assert not is_address("note:this")
    assert not is_address("")


@given(st.text(st.characters(exclude_categories=())))
def test_no_text_is_too_odd_for_a_host(text):
    for written in (text, f"https://{text}", f"http://[{text}]", f"file:{text}"):
        assert all(isinstance(host, str) for host in hosts_of(written))
        files_of(written)
        is_address(written)
