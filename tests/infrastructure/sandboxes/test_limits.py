"""Limits of single processes, and which limit it was."""

from __future__ import annotations

import resource
import shutil
import subprocess

import pytest

from awf.domain.ports.command_runner import CommandOutcome
from awf.domain.sandbox import BUILT_IN, SandboxRules
from awf.infrastructure.sandboxes.limits import amount, breach_of, process_limits, shell_limits, tasks_of_user

RULES = SandboxRules(name="all", cpu=2.4, memory=64 << 20, processes=9, file_size=1 << 20, open_files=99)


class FullCell:
    def __init__(self, memory: bool, processes: bool) -> None:
        self._full = memory, processes

    def ran_out_of_memory(self) -> bool:
        return self._full[0]

    def ran_out_of_processes(self) -> bool:
        return self._full[1]


def test_memory_and_processes_are_limited_one_by_one_only_where_that_is_needed():
    alone = process_limits(RULES, memory=True, processes=9)
    assert alone == {
        "CPU": 2,
        "FSIZE": 1 << 20,
        "NOFILE": 99,
        "DATA": 64 << 20,
        "AS": (128 << 20) + (4 << 30),
        "NPROC": 9,
    }
    together = process_limits(RULES, memory=False, processes=0)
    assert together.keys() == {"CPU", "FSIZE", "NOFILE"}
    assert process_limits(BUILT_IN["none"], memory=True, processes=0) == {}


def test_a_stricter_limit_that_is_there_already_stays():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    rules = SandboxRules(name="many", open_files=hard + 1000)
    assert process_limits(rules, memory=False, processes=0) == {"NOFILE": hard}


@pytest.mark.parametrize("shell", ["sh", "bash", "dash", "busybox"])
def test_shells_set_them_as_they_are_meant(shell):
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"there is no {shell}")
    limits = process_limits(RULES, memory=True, processes=0)
    script = shell_limits(limits) + ' && exec "$@"'
    argv = [
        path,
        *(["sh"] if shell == "busybox" else []),
        *(["--posix"] if shell == "bash" else []),
        "-c",
        script,
    ]
    told = subprocess.run(
        [*argv, "sh", "cat", "/proc/self/limits"], capture_output=True, text=True, check=True
    ).stdout
    found = {line[:26].strip(): line[26:].split()[:2] for line in told.splitlines()}
    assert found["Max cpu time"] == ["2", "3"]
    assert found["Max file size"] == [str(1 << 20)] * 2
    assert found["Max open files"] == ["99", "99"]
    assert found["Max data size"] == [str(64 << 20)] * 2


def test_every_limit_has_a_name():
    def breach(code: int, *, signal: int = 0, cell=None) -> str:
        return breach_of(RULES, CommandOutcome(exit_code=code, signal=signal), cell)

    assert breach(137, cell=FullCell(True, False)) == "its memory limit (64 MiB)"
    assert breach(1, cell=FullCell(False, True)) == "its limit of 9 processes"
    assert breach(152) == breach(152, signal=24) == "its processor time limit (2.4 s)"
    assert breach(153) == "its file size limit (1 MiB)"
    assert breach(159) == "a system call that the sandbox forbids"
    assert breach(0) == breach(1) == breach(137) == breach(137, cell=FullCell(False, False)) == ""


def test_amounts_are_told_as_people_write_them():
    assert [amount(n) for n in (100, 2048, 5 << 20, 3 << 29)] == ["100 bytes", "2 KiB", "5 MiB", "1.5 GiB"]


def test_processes_of_this_user_are_counted():
    assert tasks_of_user() >= 1
