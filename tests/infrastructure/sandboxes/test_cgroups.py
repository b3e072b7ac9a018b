"""Control groups: made, entered, read and removed."""

from __future__ import annotations

import os
import select
import subprocess
import sys

import pytest

from awf.domain.sandbox import BUILT_IN, SandboxRules
from awf.infrastructure.sandboxes import cgroups
from awf.infrastructure.sandboxes.cgroups import Cells

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="control groups are for Linux")


@pytest.fixture
def cells():
    made = Cells()
    if not (made.memory and made.processes):
        pytest.skip("no control groups can be made here")
    yield made
    made.close()


def test_a_cell_limits_what_enters_it_and_tells_which_limit_was_met(cells):
    cell = cells.make(SandboxRules(name="few", memory=64 << 20, processes=5))
    join = 'for door; do echo 0 > "$door"; done; for i in 1 2 3 4 5 6 7 8; do sleep 0.2 & done; wait'
    subprocess.run(["/bin/sh", "-c", join, "sh", *cell.doors], capture_output=True, check=False)
    assert cell.ran_out_of_processes()
    assert not cell.ran_out_of_memory()
    cell.release()
    again = cells.make(SandboxRules(name="few", memory=64 << 20, processes=5))
    assert again is cell, "it is used again"
    assert not again.ran_out_of_processes(), "what was before does not count"
    again.release()


def test_whatever_is_left_in_a_cell_is_ended(cells):
    cell = cells.make(BUILT_IN["restricted"])
    left = subprocess.Popen(["/bin/sh", "-c", 'for door; do echo 0 > "$door"; done; echo in; exec sleep 600', "sh", *cell.doors],
                            stdout=subprocess.PIPE)  # fmt: skip
    assert left.stdout.read(3) == b"in\n"
    folders = [os.path.dirname(door) for door in cell.doors]
    cell.release()
    assert left.wait(60) == -9
    left.stdout.close()
    cells.close()
    assert not any(map(os.path.exists, folders))


def test_nothing_is_made_where_nothing_is_limited(cells):
    assert cells.make(BUILT_IN["none"]) is None


def test_without_a_place_for_them_there_are_none(monkeypatch):
    monkeypatch.setattr(cgroups, "_candidates", lambda _kind: iter(["/no/such/place"]))
    cells = Cells()
    assert (cells.memory, cells.processes, cells.describe()) == (False, False, "")
    assert "files in memory (memfd, tmpfs) do not count" in cells.memory_note()
    assert cells.make(BUILT_IN["restricted"]) is None


def test_a_cell_in_which_memory_is_left_is_not_used_again(cells):
    rules = SandboxRules(name="poisoned", memory=64 << 20)
    cell = cells.make(rules)
    join = 'for door; do echo 0 > "$door"; done; exec head -c 40000000 /dev/zero'
    with open("/dev/shm/awf-test-cells", "wb") as left:
        os.unlink(left.name)
        subprocess.run(["/bin/sh", "-c", join, "sh", *cell.doors], stdout=left, check=True)
        cell.release()
        after = cells.make(rules)
        assert after is not cell
        after.release()
    assert cells.make(rules) is after
    after.release()


def test_what_a_killed_process_left_is_swept_away(tmp_path):
    here = cgroups._namespace()
    kept = [f"awf-{os.getpid()}-{here}-bb-1", "awf-999999999-1-cc-1", "other"]
    for name in (f"awf-999999999-{here}-aa-1", *kept):
        (tmp_path / name).mkdir()
    cgroups._sweep(str(tmp_path))
    assert sorted(os.listdir(tmp_path)) == sorted(kept)


def test_daemons_in_a_cell_end_when_the_next_one_comes_after_a_kill(cells):
    script = """
import os, subprocess
from awf.domain.sandbox import BUILT_IN
from awf.infrastructure.sandboxes.cgroups import Cells
cell = Cells().make(BUILT_IN["restricted"])
join = 'for door; do echo 0 > "$door"; done; echo $$; exec sleep 600'
subprocess.Popen(["/bin/sh", "-c", join, "sh", *cell.doors], env={}, start_new_session=True)
os.kill(os.getpid(), 9)
"""
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env=env) as killed:
        daemon = os.pidfd_open(int(killed.stdout.readline()))
        assert killed.wait(60) == -9
        try:
            Cells().close()
            assert select.select([daemon], [], [], 60)[0], "it lives on"
        finally:
            os.close(daemon)


@pytest.mark.parametrize(
    ("own", "mounts", "wanted"),
    [
        ("0::/user/me\n", "cgroup2 {0} cgroup2 rw 0 0\n", ["user", ""]),
        (
            "4:pids:/mine\n0::/\n",
            "cgroup {0} cgroup rw,pids 0 0\ncgroup2 /none cgroup2 rw 0 0\n",
            ["mine", ""],
        ),
    ],
)
def test_places_are_looked_for_from_our_own_group_upwards(monkeypatch, tmp_path, own, mounts, wanted):
    (tmp_path / "user" / "me").mkdir(parents=True)
    for folder, said in (("user/me", ""), ("user", "memory pids"), (".", "pids")):
        (tmp_path / folder / "cgroup.subtree_control").write_text(said)
    files = {"own": own, "mounts": mounts.format(tmp_path)}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(cgroups, "_OWN", str(tmp_path / "own"))
    monkeypatch.setattr(cgroups, "_MOUNTS", str(tmp_path / "mounts"))
    found = [os.path.relpath(path, tmp_path) for path in cgroups._candidates("pids")]
    assert found == [name or "." for name in wanted]
