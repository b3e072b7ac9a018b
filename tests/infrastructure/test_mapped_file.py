"""Memory of a file that somebody cuts short: whoever writes to it lives on, and hears of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from awf.infrastructure.mapped_file import Mapped

SIZE = 1 << 16


@pytest.fixture
def file(tmp_path):
    handle = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    os.ftruncate(handle, SIZE)
    yield handle
    os.close(handle)


def test_what_is_written_is_in_the_file(file):
    memory = Mapped(file, SIZE)
    memory.make_ready(3)
    memory[0:3] = b"abc"
    memory.close()
    assert os.pread(file, 4, 0) == b"abc\0"
    assert not memory.cut


def test_who_writes_behind_the_end_is_told_and_lives_on(file):
    memory = Mapped(file, SIZE)
    os.ftruncate(file, 0)
    assert not memory.cut
    memory[5000:5003] = b"abc"
    assert memory.cut
    memory[9000:9003] = b"def"  # it goes nowhere
    memory.close()
    assert os.fstat(file).st_size == 0


def test_in_whichever_thread_it_happens_and_of_whichever_of_several_files(file, tmp_path):
    with open(tmp_path / "other", "wb+") as other:
        other.truncate(SIZE)
        first, second = Mapped(file, SIZE), Mapped(other.fileno(), SIZE)
        other.truncate(0)

        def write():
            for memory in (first, second):
                memory[SIZE - 3 : SIZE] = b"end"

        writer = threading.Thread(target=write)
        writer.start()
        writer.join()
        assert (first.cut, second.cut) == (False, True)
        for memory in (first, second):
            memory.close()
    assert os.pread(file, 3, SIZE - 3) == b"end"


FOREIGN = """
import mmap, os, sys
from awf.infrastructure.mapped_file import Mapped
handles = [os.open(name, os.O_RDWR | os.O_CREAT) for name in sys.argv[1:]]
for handle in handles:
    os.ftruncate(handle, 1 << 16)
ours, others = Mapped(handles[0], 1 << 16), mmap.mmap(handles[1], 1 << 16)
if len(handles) == 3:
    ours.close()
os.ftruncate(handles[1], 0)
print("before", flush=True)
others[0:3] = b"abc"
print("after")
"""


@pytest.mark.parametrize("names", [("a", "b"), ("a", "b", "c")], ids=["watching", "after the last file"])
def test_memory_of_others_is_none_of_its_business(tmp_path, names):
    done = subprocess.run(
        [sys.executable, "-c", FOREIGN, *names], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (-signal.SIGBUS, "before\n")
