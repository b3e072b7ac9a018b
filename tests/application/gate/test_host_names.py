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
        ("http://999.1.1.1/", "999.1.1.1"),
        ("http://[::1]:8080/", "::1"),
        ("http://[0:0:0:0:0:0:0:1]/", "::1"),
        ("http://[fe80::1%25eth0]/", "fe80::1"),
        ("::1", "::1"),
        ("http://[::ffff:169.254.169.254]/", "169.254.169.254"),
        ("http:/evil.org", "evil.org"),
        ("http:evil.org", "evil.org"),
        (" " * 3000 + "http://evil.org", "evil.org"),
        ("ht\ntp:/\t/evil.org", "evil.org"),
        ("http://good.org:" + "0" * 1000 + "@evil.org/", "evil.org"),
        ("https://evil.org/" + "x" * 10_000, "evil.org"),
        ("", ""),
        ("\u00a0\u3000http://evil.org/", "evil.org"),
        ("\ufeffhttp://evil.org/", "evil.org"),
        ("<http://evil.org/>", "evil.org"),
        ("<URL:http://evil.org/>", "evil.org"),
        ("url: http://evil.org/", "evil.org"),
        ("http://127.0.0.1:+80/", "127.0.0.1"),
        ("http://127.0.0.1: 80/", "127.0.0.1"),
        ("http://127.0.0.1:8_0/", "127.0.0.1"),
        ("http://127.0.0.1:\uff18\uff10/", "127.0.0.1"),
        ("http://127.0.0.1%3a80/", "127.0.0.1"),
        ("http://%5B::1%5D/", "::1"),
        ("http://[::1%e0]/", "::1"),
        ("http://evil.org:80:80/", "evil.org"),
        ("evil.org\\x", "evil.org"),
        ("http://0x" + "0" * 50 + "7f.1/", "127.0.0.1"),
        ("git@evil.org:foo/bar", "evil.org"),
        ("git@[::1]:foo/bar", "::1"),
        ("git@localhost:foo", "localhost"),
        ("evil.org:foo/bar", "evil.org"),
        ("*.example.org", "*.example.org"),
        ("https://evil.org, and more words: many", "evil.org"),
        ("https://evil.org> is a link", "evil.org"),
        (":8080", ""),
        ("view-source:http://evil.org/", "evil.org"),
        ("jdbc:postgresql://evil.org/db", "evil.org"),
        ("git::https://evil.org/x", "evil.org"),
        ("a:b:c::https://evil.org/x", "evil.org"),
        ("jar:http://evil.org/x.jar!/y", "evil.org"),
        ("https://evil.org/?at=10:30", "evil.org"),
        ("https://evil.org/to?u=http://good.org", "evil.org"),
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
        ("http://0177.0.0.01/", {"127.0.0.1", "177.0.0.1"}),
        ("http://" + "0" * 50 + "177.0.0.1/", {"127.0.0.1", "177.0.0.1"}),
        ("http://089.0.0.1/", {"89.0.0.1"}),
        ("git@evil.org:foo@good.org", {"evil.org", "good.org"}),
        ("evil.org, good.org:80;third.org", {"evil.org", "good.org", "third.org"}),
        ("mongodb://me:pw@evil.org:1,good.org:2/x", {"evil.org", "good.org"}),
        ("http://evil.org bob@good.org", {"evil.org", "good.org"}),
        ("http:http://evil.org", {"http", "evil.org"}),
        ("http://good.org/ http://evil.org", {"good.org", "evil.org"}),
        ("http://good.org/,git@evil.org:x", {"good.org", "evil.org"}),
        ("http://good.org/;view-source:http://evil.org", {"good.org", "evil.org"}),
        ("look at http://evil.org", {"look", "at", "http", "evil.org"}),
    ],
)
def test_where_programs_differ_all_that_they_take_it_for_are_hosts(written, hosts):
    assert set(hosts_of(written)) == hosts


@pytest.mark.parametrize(
    "written",
    ["http://[nonsense", "http://good.org%2f.evil.org/", "http://evil.org%00.good.org/", "http://127.0.0.[1-2]/", "http://{127.0.0.1,good.org}/", "http://%2531/", "http://evil.org\uff0fgood.org/"],
)  # fmt: skip
def test_of_what_can_be_no_host_nobody_can_tell_what_programs_make_of_it(written):
    assert is_address(written)
    assert hosts_of(written) == ()


@pytest.mark.parametrize("words", ["machine learning", "R&D", "Biology (cs.LG)", "GET /users", "about:blank"])
def test_prose_where_a_host_is_expected_is_judged_word_by_word(words):
    assert hosts_of(words)


@pytest.mark.parametrize(
    "written",
    [
        "view-source:http://evil.org",
        "jdbc:postgresql://evil.org/x",
        "git::https://evil.org",
        "a:http:evil.org",
    ],
)
def test_an_address_in_an_address_is_one(written):
    assert is_address(written)


@pytest.mark.parametrize(
    "written", ["a:b:c", "urn:isbn:1", "10:30", "note: see http://evil.org", "x:" * 50_000]
)
def test_words_with_colons_are_none(written):
    assert not is_address(written)


def test_of_an_address_in_too_many_others_nobody_can_tell_the_host():
    assert hosts_of("http:" * 1000 + "//evil.org") == ()


@pytest.mark.parametrize(
    ("written", "files"),
    [
        ("view-source:file:///etc/passwd", {"/etc/passwd"}),
        ("jar:file:/x.jar!/y", {"/x.jar!/y"}),
        ("http:file:///x", set()),
        ("a:b", set()),
    ],
)
def test_a_file_may_be_named_in_an_address(written, files):
    assert set(files_of(written)) == files


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
        ("\u00a0<URL:file:///etc/passwd>", ["/etc/passwd"]),
        ("profile:x", []),
        ("https://file:/x", []),
    ],
)
def test_a_file_url_names_a_file(written, path):
    assert list(files_of(written)) == path


def test_only_what_begins_like_one_is_an_address():
    assert is_address("https://a")
    assert is_address("  ws://a")
    assert is_address("git@evil.org:foo/bar")
    assert is_address("git@127.0.0.1:foo")
    assert not is_address("nginx@sha256:0123abcd")
    assert not is_address("left-pad@npm:right-pad")
    assert not is_address("bob@example.org")
    assert not is_address("bob@example.org: hello there")
    assert not is_address("see https://a")
    assert not is_address("http: a protocol")
    assert not is_address("note:this")
    assert not is_address("")


PIECES = [
    "http",
    "https",
    "://",
    "/",
    "?",
    "#",
    ".",
    ":",
    "80",
    "0",
    "127",
    "evil",
    "a-b",
    "xn--x",
    "@",
    "[::1]",
    " ",
    "\n",
    "\\",
    "%41",
    ",",
]


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_the_usual_form_means_what_it_does_with_a_user_in_front_too(rest):
    """Who is named there makes it unusual, and changes nothing."""
    if not set("@ \n") & set(rest):
        assert hosts_of(f"https://{rest}") == hosts_of(f"https://me@{rest}") or rest[:1] in {"", "/", "\\"}


@given(st.text(st.characters(exclude_categories=())))
def test_no_text_is_too_odd_for_a_host(text):
    for written in (text, f"https://{text}", f"git@{text}:x", f"http://[{text}]", f"file:{text}"):
        assert all(isinstance(host, str) for host in hosts_of(written))
        files_of(written)
        is_address(written)
