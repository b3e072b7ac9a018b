"""The thread that starts programs which cannot reach abstract sockets."""

from __future__ import annotations

import socket
import subprocess
import sys
import uuid

import pytest

from awf.infrastructure.sandboxes.airlock import airlock
from awf.infrastructure.sandboxes.kernel import landlock_interface

pytestmark = pytest.mark.skipif(landlock_interface() < 6, reason="Landlock of this kernel is older than 6")
CONNECT = "import socket, sys; socket.socket(socket.AF_UNIX).connect(chr(0) + sys.argv[1])"


def test_what_it_starts_cannot_reach_abstract_sockets_and_we_can_still():
    name = f"awf-{uuid.uuid4().hex}"
    argv = [sys.executable, "-I", "-S", "-c", CONNECT, name]
    with socket.socket(socket.AF_UNIX) as door:
        door.bind("\0" + name)
        door.listen()
        inside = airlock().start(lambda: subprocess.run(argv, capture_output=True, check=False))
        outside = subprocess.run(argv, capture_output=True, check=False)
    assert inside.returncode == 1 and b"PermissionError" in inside.stderr
    assert outside.returncode == 0, outside.stderr


def test_there_is_one_and_it_passes_on_what_went_wrong():
    assert airlock() is airlock()
    with pytest.raises(ZeroDivisionError):
        airlock().start(lambda: 1 / 0)
    assert airlock().start(lambda: 7) == 7
