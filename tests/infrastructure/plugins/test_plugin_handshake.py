from __future__ import annotations

import pytest

from awf.infrastructure.plugins.handshake import RefusedHandshake, read_handshake


@pytest.mark.parametrize(
    ("line", "target"),
    [
        (b"1|1|unix|/tmp/p/s|grpc|", "unix:/tmp/p/s"),
        (b"1|1|unix|/tmp/p/s|grpc", "unix:/tmp/p/s"),
        (b"  1|1|unix|/tmp/p/s|grpc|\r", "unix:/tmp/p/s"),
        (b"1|1|tcp|127.0.0.1:1234|grpc|", "127.0.0.1:1234"),
        (b"1|1|tcp|[::1]:1234|grpc", "[::1]:1234"),
        (b"1|1|tcp|localhost:1234|grpc||true", "localhost:1234"),
        (b"Listening on 1|1", None),
        (b"", None),
        (b"\xff\xfe", None),
    ],
)
def test_a_line_says_where_to_connect_or_is_something_else(line, target):
    assert read_handshake(line) == target


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"1|1|unix", "lacks fields"),
        (b"2|1|unix|/s|grpc", "2|1"),
        (b"1|5|unix|/s|grpc", "1|5"),
        (b"1|1|unix|/s|netrpc", "netrpc"),
        (b"1|1|unix|/s|", "grpc"),
        (b"1|1|unix|/s|grpc|MIICert", "AutoMTLS"),
        (b"1|1|unix|s|grpc", "absolute"),
        (b"1|1|unix|/" + b"x" * 120 + b"|grpc", "too long"),
        (b"1|1|tcp|0.0.0.0:80|grpc", "loopback"),
        (b"1|1|tcp|example.org:80|grpc", "loopback"),
        (b"1|1|tcp|127.0.0.1|grpc", "loopback"),
        (b"1|1|tcp|127.0.0.1:99999|grpc", "loopback"),
        (b"1|1|pipe|x|grpc", "neither unix nor tcp"),
    ],
)
def test_a_handshake_that_cannot_be_used_is_refused_with_the_reason(line, reason):
    with pytest.raises(RefusedHandshake, match=reason.replace("|", r"\|")):
        read_handshake(line)
