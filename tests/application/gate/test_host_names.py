"""One host has one name, however it is written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from awf.application.gate.host_names import file_of, host_of, is_address


@pytest.mark.parametrize(
    ("written", "host"),
    [
        ("https://Example.ORG/path?x#y", "example.org"),
        ("https://example.org.:8443", "example.org"),
        ("https://good.org@evil.org/", "evil.org"),
        ("https://user:pa@ss@evil.org", "evil.org"),
        ("https://evil.org\\@good.org/", "evil.org"),
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
        ("", ""),
    ],
)
def test_a_host_is_written_in_one_way(written, host):
    assert host_of(written) == host


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("file:///etc/passwd", "/etc/passwd"),
        ("FILE:/etc/passwd", "/etc/passwd"),
        (" file://localhost/etc/pass%77d?x", "/etc/passwd"),
        ("file://alone", "/alone"),
        ("file:notes.txt", "notes.txt"),
        ("profile:x", None),
        ("https://file:/x", None),
    ],
)
def test_a_file_url_names_a_file(written, path):
    assert file_of(written) == path


def test_only_what_begins_like_one_is_an_address():
    assert is_address("https://a")
    assert is_address("  ws://a")
    assert not is_address("see https://a")
    assert not is_address("a://" * 0)


@given(st.text(st.characters(exclude_categories=())))
def test_no_text_is_too_odd_for_a_host(text):
    for written in (text, f"https://{text}", f"http://[{text}]", f"file:{text}"):
        assert isinstance(host_of(written), str)
        file_of(written)
        is_address(written)
