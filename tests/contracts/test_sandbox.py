"""What every wall keeps to, whichever it is built of."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
import threading
import time

import msgspec
import pytest

from awf.domain.errors import AwfError
from awf.domain.ports.command_runner import Command
from awf.domain.ports.sandbox import Grounds
from awf.domain.sandbox import BUILT_IN, SandboxRules
from awf.infrastructure.processes import ProcessRunner
from awf.infrastructure.sandboxes import ConfinedRunner

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="walls are for Linux"),
]

ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
WORKSPACE = BUILT_IN["workspace"]
RESTRICTED = BUILT_IN["restricted"]


@pytest.fixture
async def runner():
    made = ProcessRunner()
    yield made
    await made.close()


@pytest.fixture(params=["bubblewrap", "landlock"])
async def wall(request, runner):
    from awf.infrastructure.sandboxes.bubblewrap import Bubblewrap
    from awf.infrastructure.sandboxes.cgroups import Cells
    from awf.infrastructure.sandboxes.choosing import bubblewrap_program
    from awf.infrastructure.sandboxes.kernel import landlock_interface
    from awf.infrastructure.sandboxes.landlock import Landlock

    if request.param == "bubblewrap":
        program, trouble = bubblewrap_program(os.environ)
        if not program:
            pytest.skip(f"bubblewrap: {trouble}")
        made = Bubblewrap(program, Cells(), runner.scratch)
    else:
        interface = landlock_interface()
        if interface < 3:
            pytest.skip(f"Landlock {interface} of this kernel cannot keep files")
        made = Landlock(interface, Cells(), runner.scratch)
    yield made
    made.close()
    assert cells() == []


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "project"
    (root / "sub").mkdir(parents=True)
    return root


class Said(msgspec.Struct):
    exit_code: int
    text: str
    breach: str
    profile: str


@pytest.fixture
def run(wall, runner, project):
    async def run(script: str, rules: SandboxRules = WORKSPACE, *, env=ENV, stdin=None, **grounds) -> Said:
        confined = ConfinedRunner(runner, wall, rules, Grounds(root=str(project), **grounds))
        said = bytearray()
        argv = ("/bin/sh", "-c", script, "sh")
        command = Command(argv=argv, cwd=str(project), env=env, timeout=60, stdin=stdin)
        outcome = await confined.run(command, lambda _stream, chunk: said.extend(chunk))
        return Said(outcome.exit_code, said.decode("utf-8", "replace"), outcome.breach, outcome.profile)

    return run


async def test_what_the_program_says_and_how_it_ends_come_through(run):
    said = await run("cat; echo loud >&2; exit 7", stdin=b"hello\n")
    assert (said.exit_code, said.text, said.breach) == (7, "hello\nloud\n", "")
    assert said.profile == "workspace"


@pytest.mark.parametrize("rules", [WORKSPACE, RESTRICTED, SandboxRules(name="limits", memory=1 << 28)])
async def test_the_program_gets_the_environment_that_it_was_given_and_nothing_else(run, rules):
    said = await run("env", rules, env={**ENV, "ODD": "two words\nand a line", "EMPTY": ""})
    names = {line.partition("=")[0] for line in said.text.splitlines() if "=" in line}
    own = {"PWD", "OLDPWD", "SHLVL", "_", "HOME", "TMPDIR", "TMP", "TEMP", "AWF_PROCESS_TOKEN"}
    assert names - own == {"PATH", "ODD", "EMPTY"}
    assert "ODD=two words\nand a line\n" in said.text


async def test_variables_for_the_program_lead_nobody_outside_the_wall(run, project):
    """A library in the project would otherwise be loaded by what builds the wall."""
    log = project / "sub" / "log"
    said = await run(
        "echo fine", env={**ENV, "BASH_ENV": str(log), "ENV": str(log), "LD_PRELOAD": "/no/such.so"}
    )
    assert "fine" in said.text
    assert not log.exists()


async def test_secrets_in_the_environment_stand_in_no_command_line(wall, project):
    command = Command(argv=("/bin/true",), cwd=str(project), env={**ENV, "KEY": "very-secret"})
    confined = wall.prepare(command, WORKSPACE, Grounds(root=str(project)))
    try:
        assert "very-secret" not in " ".join(confined.command.argv)
        assert "very-secret" not in confined.command.env.values()
    finally:
        confined.close()


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
async def test_git_works_also_where_it_has_settings_for_the_whole_machine(run, project):
    """It gives up when it may not read them."""
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    said = await run("test -e /etc/gitconfig && echo there; git status --short && echo fine")
    assert said.text == ("there\nfine\n" if os.path.exists("/etc/gitconfig") else "fine\n")


async def test_home_and_temporary_files_are_private_and_gone_afterwards(run, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "letter").write_text("dear")
    script = 'echo x > "${TMPDIR:-/tmp}/mine" && echo y > "$HOME/mine" && ls -A "$HOME" && cat "$HOME/letter"'
    said = await run(script, RESTRICTED, env={**ENV, "HOME": str(home)}, home=str(home))
    assert "mine" in said.text
    assert "dear" not in said.text
    assert [path.name for path in home.iterdir()] == ["letter"]


@pytest.mark.parametrize("rules", [WORKSPACE, RESTRICTED], ids=lambda one: one.name)
async def test_the_settings_of_the_kernel_can_be_changed_by_nobody_inside(run, rules):
    """Root owns them, and needs no powers for them. They are opened only: a hole would be one in this machine."""
    found = "find /proc -path '/proc/[0-9]*' -prune -o -type f -print 2>/dev/null"
    known = "/proc/sys/kernel/core_pattern /proc/sys/vm/overcommit_memory /proc/sysrq-trigger"
    said = await run(
        f"for one in {known} $({found}); do (exec 3>>$one) 2>/dev/null && echo $one; done; true", rules
    )
    assert (said.text, said.exit_code) == ("", 0)


async def test_extra_places_are_shown_as_the_profile_says(run, tmp_path):
    for name in ("library", "cache"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(f"{name}\n")
    rules = msgspec.structs.replace(
        RESTRICTED, read=(str(tmp_path / "library"), "/no/such/place"), write=(str(tmp_path / "cache"),)
    )
    script = (
        f"cat {tmp_path}/library/file; echo new > {tmp_path}/cache/file; echo bad > {tmp_path}/library/file"
    )
    said = await run(script, rules)
    assert said.text.startswith("library\n")
    assert (tmp_path / "cache" / "file").read_text() == "new\n"
    assert (tmp_path / "library" / "file").read_text() == "library\n"


async def test_a_folder_of_a_project_that_can_only_be_read_may_be_writable(run, project):
    rules = msgspec.structs.replace(RESTRICTED, write=("sub",))
    await run("echo in > sub/file; echo out > file", rules)
    assert (project / "sub" / "file").read_text() == "in\n"
    assert not (project / "file").exists()


async def test_a_listed_place_that_leads_out_of_the_project_is_refused(run, project, tmp_path):
    (tmp_path / "outside").mkdir()
    (project / "build").symlink_to(tmp_path / "outside")
    with pytest.raises(AwfError, match="leads out of the project") as caught:
        await run("touch build/file", msgspec.structs.replace(RESTRICTED, write=("build",)))
    assert caught.value.code == "USER.SANDBOX.OUT_OF_REACH"


async def test_a_listed_place_that_is_swapped_for_a_link_meanwhile_never_leads_out(run, project, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (project / "build").mkdir()
    rules = msgspec.structs.replace(RESTRICTED, write=("build",))
    over = threading.Event()

    def swap():
        while not over.is_set():
            os.rename(project / "build", project / "aside")
            os.symlink(outside, project / "build")
            time.sleep(0)
            os.unlink(project / "build")
            os.rename(project / "aside", project / "build")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(40):
            try:
                await run("touch build/file", rules)
            except AwfError as error:
                assert error.code == "USER.SANDBOX.OUT_OF_REACH"
    finally:
        over.set()
        thread.join()
    assert list(outside.iterdir()) == []


async def test_a_program_that_would_be_hidden_from_itself_is_told_before_it_starts(wall, project, tmp_path):
    program = tmp_path / "tools" / "program"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    command = Command(argv=(str(program),), cwd=str(project), env=ENV)
    with pytest.raises(AwfError, match="is hidden by the sandbox") as caught:
        wall.prepare(command, RESTRICTED, Grounds(root=str(project)))
    assert caught.value.code == "USER.SANDBOX.OUT_OF_REACH"
    assert "`read`" in caught.value.hint
    elsewhere = msgspec.structs.replace(command, argv=("/bin/true",), cwd=str(tmp_path / "tools"))
    with pytest.raises(AwfError, match=r"The folder .* is hidden"):
        wall.prepare(elsewhere, RESTRICTED, Grounds(root=str(project)))


async def test_a_program_that_does_not_exist_is_told_as_without_walls(wall, project):
    command = Command(argv=("no-such-program",), cwd=str(project), env=ENV)
    with pytest.raises(AwfError, match="there is no such program") as caught:
        wall.prepare(command, RESTRICTED, Grounds(root=str(project)))
    assert caught.value.code == "EXECUTION.COMMAND.NOT_FOUND"


@pytest.mark.parametrize("rules", [WORKSPACE, RESTRICTED], ids=lambda one: one.name)
@pytest.mark.parametrize("place", ["store/audit", "."])
async def test_a_place_that_holds_the_audit_is_not_shown(run, project, rules, place):
    with pytest.raises(AwfError) as caught:
        await run("true", rules, secret=(str(project / place),))
    assert caught.value.code == "USER.SANDBOX.STORAGE_IN_REACH"
    assert "AWF_STORAGE" in caught.value.hint


async def test_a_project_beside_the_audit_is_shown(run, project, tmp_path):
    assert (await run("true", secret=(str(tmp_path / "storage/audit"),))).exit_code == 0


def test_storage_among_the_programs_of_the_system_is_shown_as_little(wall, project):
    """`/opt` is shown to every program, whatever the project."""
    command = Command(argv=("/bin/true",), cwd=str(project), env=ENV)
    with pytest.raises(AwfError) as caught:
        wall.prepare(command, RESTRICTED, Grounds(root=str(project), secret=("/usr/awf-storage/audit",)))
    assert caught.value.code == "USER.SANDBOX.STORAGE_IN_REACH"


# -- what governs us ----------------------------------------------------------------------------------------------------


@pytest.fixture
def talk(wall, runner, project):
    """A shell in the walls that does what it is told, line by line, while things happen around it."""

    @contextlib.asynccontextmanager
    async def talk(rules: SandboxRules = WORKSPACE, **grounds):
        confined = ConfinedRunner(runner, wall, rules, Grounds(root=str(project), **grounds))
        script = 'while IFS= read -r line; do eval "$line" >&2; echo done; done'
        command = Command(argv=("/bin/sh", "-c", script), cwd=str(project), env=ENV)
        async with confined.start(command, with_stdin=True) as process:
            answers = process.lines(lambda _chunk: None)

            async def say(line: str) -> None:
                assert await process.write(line.encode() + b"\n")
                assert await anext(answers) == b"done"

            yield say

    return talk


@pytest.fixture
def gate(project):
    file = project / "conf" / "inner" / "gateway.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("gate: shut\n")
    return file


REWRITE = "{ mkdir -p conf/inner; echo open > conf/inner/gateway.yaml; echo open > conf/inner/gateway.pins.json; } 2>/dev/null"


@pytest.mark.parametrize(
    "move", ["mv conf old", "mv conf/inner old", "mv conf/inner/gateway.yaml old", "rm -rf conf"]
)
async def test_a_file_that_governs_us_is_kept_with_the_folders_around_it(run, gate, move):
    await run(f"{move}; {REWRITE}; echo mine > conf/file", protected_files=(str(gate),))
    assert gate.read_text() == "gate: shut\n"
    assert os.listdir(gate.parent) == ["gateway.yaml"]


async def test_a_place_around_the_project_does_not_give_the_gate_away(run, project, tmp_path):
    (project / ".awf").mkdir()
    (project / ".awf" / "gateway.yaml").write_text("gate: shut\n")
    rules = msgspec.structs.replace(RESTRICTED, write=("..",))
    script = "cd ..; mv project old; mkdir -p project/.awf; echo open > project/.awf/gateway.yaml; echo in > beside"
    await run(script, rules, protected=(str(project / ".awf"),))
    assert (project / ".awf" / "gateway.yaml").read_text() == "gate: shut\n"


async def test_a_file_stays_kept_when_its_owner_saves_it_anew(talk, gate):
    async with talk(protected_files=(str(gate),)) as say:
        (gate.parent / "new").write_text("gate: shut again\n")
        os.replace(gate.parent / "new", gate)
        await say(REWRITE)
        await say("mv conf old")
    assert gate.read_text() == "gate: shut again\n"
    assert os.listdir(gate.parent) == ["gateway.yaml"]


async def test_what_governs_us_cannot_be_made_where_nothing_was(run, project):
    script = (
        "mkdir .awf; echo open > .awf/gateway.yaml; mv .awf old; mkdir .awf; echo open > .awf/plugins.yaml"
    )
    await run(script, protected=(str(project / ".awf"),))
    assert os.listdir(project / ".awf") == []


async def test_nothing_is_made_where_nobody_could_write(run, project):
    await run("true", RESTRICTED, protected=(str(project / ".awf"),))
    assert os.listdir(project) == ["sub"]


async def refused(run, rules=WORKSPACE, **grounds) -> AwfError:
    with pytest.raises(AwfError) as caught:
        await run("true", rules, **grounds)
    assert caught.value.code == "USER.SANDBOX.GATE_IN_REACH"
    assert caught.value.hint
    return caught.value


async def test_a_file_that_governs_us_right_in_a_writable_place_is_refused(run, project):
    """Its folder cannot be kept, and the file alone is another one once its owner has saved it."""
    (project / "gw.yaml").write_text("gate: shut\n")
    grounds = {"protected_files": (str(project / "gw.yaml"),)}
    error = await refused(run, **grounds)
    assert str(project / "gw.yaml") in error.message
    assert "mkdir gate && mv gw.yaml gate/" in error.hint
    assert (await run("true", RESTRICTED, **grounds)).exit_code == 0


async def test_a_link_on_the_way_to_what_governs_us_is_refused_where_it_could_be_exchanged(run, project):
    (project / "real").mkdir()
    (project / ".awf").symlink_to("real")
    error = await refused(run, protected=(str(project / ".awf"),))
    assert error.message.startswith(f"{project}/.awf is a link")
    assert (await run("true", RESTRICTED, protected=(str(project / ".awf"),))).exit_code == 0


async def test_a_link_that_is_kept_itself_may_lead_to_what_is_kept_too(run, project, gate):
    (project / ".awf").mkdir()
    (project / ".awf" / "gateway.yaml").symlink_to(gate)
    way = str(project / ".awf" / "gateway.yaml")
    await run(f"rm {way}; mv .awf old; mv conf old; {REWRITE}", protected_files=(way,))
    assert gate.read_text() == "gate: shut\n"
    assert os.readlink(way) == str(gate)


@pytest.mark.parametrize("place", [".awf", ".awf/plugins", ".awf/gateway.yaml"])
async def test_a_profile_cannot_give_away_what_governs_us(run, project, place):
    (project / ".awf" / "plugins").mkdir(parents=True)
    (project / ".awf" / "gateway.yaml").write_text("gate: shut\n")
    rules = msgspec.structs.replace(RESTRICTED, write=(place,))
    await refused(run, rules, protected=(str(project / ".awf"),))


async def test_a_project_that_is_the_whole_machine_is_refused(wall):
    command = Command(argv=("/bin/true",), cwd="/", env=ENV)
    with pytest.raises(AwfError, match="nothing could be hidden"):
        wall.prepare(command, RESTRICTED, Grounds(root="/"))


async def test_limits_hold_also_where_no_files_are_hidden(run, tmp_path):
    rules = SandboxRules(name="limits", file_size=1 << 20)
    said = await run(f"echo here > {tmp_path}/file; head -c 4M /dev/zero > {tmp_path}/large; exit 3", rules)
    assert said.exit_code == 3
    assert (tmp_path / "file").read_text() == "here\n"
    assert (tmp_path / "large").stat().st_size == 1 << 20


@pytest.mark.parametrize("wall", ["bubblewrap"], indirect=True)
async def test_where_no_files_are_hidden_the_limits_can_be_left_by_nobody(run):
    """By root neither. Files are opened only: a hole would be one in this machine. Landlock cannot do this."""
    rules = SandboxRules(name="limits", memory=1 << 28, processes=64)
    doors = "$(find /sys/fs/cgroup -name cgroup.procs -o -name tasks -o -name memory.max 2>/dev/null)"
    known = "/proc/sys/kernel/core_pattern /proc/sys/vm/overcommit_memory"
    said = await run(
        f"for one in {known} {doors}; do (exec 3>>$one) 2>/dev/null && echo $one; done; true", rules
    )
    assert (said.text, said.exit_code) == ("", 0)


@pytest.mark.parametrize("count", [2900, 4000])
async def test_more_variables_than_a_wall_can_pass_on_are_an_error_that_says_so(wall, run, count):
    env = {**ENV, **{f"V{number}": "x" for number in range(count)}}
    if count > 2900 and wall.abilities().wall == "bubblewrap":
        with pytest.raises(AwfError, match="cannot pass on 4001 environment variables") as caught:
            await run("true", env=env)
        assert caught.value.code == "SYSTEM.SANDBOX.UNAVAILABLE"
    else:
        assert (await run("echo $V2899", env=env)).text == "x\n"


async def test_a_shared_folder_is_for_the_next_program_alone(wall, runner, project):
    confined = ConfinedRunner(runner, wall, RESTRICTED, Grounds(root=str(project)))
    folder = confined.scratch()
    said = bytearray()
    for name in ("first", "second"):
        argv = ("/bin/sh", "-c", f"echo {name} > {folder}/{name}")
        await confined.run(
            Command(argv=argv, cwd=str(project), env=ENV, timeout=60), lambda _s, chunk: said.extend(chunk)
        )
    assert os.listdir(folder) == ["first"]


async def test_nothing_is_held_when_programs_have_ended(run):
    await run("true", RESTRICTED)
    before = len(os.listdir("/proc/self/fd")), cells()
    for _ in range(5):
        await run("true", RESTRICTED)
    assert (len(os.listdir("/proc/self/fd")), cells()) == before


def cells() -> list[str]:
    """Control groups of this process."""
    own = f"awf-{os.getpid()}-"
    return sorted(name for place in _places() for name in os.listdir(place) if name.startswith(own))


def _places() -> set[str]:
    from awf.infrastructure.sandboxes import cgroups

    return {
        place for kind in ("memory", "pids") for place in cgroups._candidates(kind) if os.path.isdir(place)
    }


async def test_many_programs_at_once_do_not_get_in_each_others_way(run):
    said = await asyncio.gather(*(run(f"echo {n}", WORKSPACE if n % 2 else RESTRICTED) for n in range(12)))
    assert [one.text for one in said] == [f"{n}\n" for n in range(12)]


async def test_a_program_one_talks_to_is_confined_and_can_be_ended(wall, runner, project):
    confined = ConfinedRunner(runner, wall, RESTRICTED, Grounds(root=str(project)))
    command = Command(
        argv=("/bin/sh", "-c", "while read line; do echo got $line; done"), cwd=str(project), env=ENV
    )
    async with confined.start(command, with_stdin=True) as process:
        assert await process.write(b"one\n")
        async for line in process.lines(lambda _chunk: None):
            assert line == b"got one"
            break
    outcome = await process.wait()
    assert outcome.profile == "restricted"


async def test_abilities_name_the_wall_and_only_what_it_cannot_do(wall):
    abilities = wall.abilities()
    assert abilities.wall in {"bubblewrap", "landlock"}
    assert all(reason for reason in abilities.cannot.values())
    assert abilities.missing(BUILT_IN["none"]) == []
