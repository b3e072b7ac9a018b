from __future__ import annotations

import asyncio
import os
import resource
import shutil
from pathlib import Path

import psutil
import pytest

from awf.infrastructure.builtin_tools import capture, shell
from awf.infrastructure.builtin_tools.capture import plain_text


def facts(result):
    return result.meta["awf"]


async def test_output_and_errors_come_in_order_with_the_exit_code(bench):
    result = await bench.call("Bash", command="echo one; echo two >&2; echo three; exit 3")
    assert result.text == "one\ntwo\nthree\n[exit code 3]"
    assert result.is_error
    assert facts(result) == {"exit_code": 3, "timed_out": False}


async def test_success_is_no_error_and_silence_is_said(bench):
    result = await bench.call("Bash", command="true")
    assert result.text == "(no output)\n[exit code 0]"
    assert not result.is_error


async def test_the_text_is_not_hidden_behind_structured_content(bench):
    from awf.domain.tool import ToolResult

    result = await bench.call("Bash", command="echo hi")
    assert result.structured is ToolResult().structured


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
async def test_it_is_bash_where_there_is_one(bench):
    assert "b\n" in await bench.text("Bash", command="x=(a b); [[ ${x[1]} == b ]] && echo ${x[1]}")


async def test_without_bash_it_is_sh(bench, tmp_path):
    plain = bench.again(environment={"PATH": str(tmp_path / "nowhere")})
    assert shell.shell_argv("x", plain.environment)[0] == "/bin/sh"
    assert "hi\n" in await plain.text("Bash", command="echo hi")


async def test_a_syntax_error_is_told_by_the_shell(bench):
    result = await bench.call("Bash", command="echo first\nif then")
    assert result.is_error
    assert "syntax error" in result.text.lower()


async def test_line_numbers_in_messages_are_those_of_the_command(bench):
    result = await bench.call("Bash", command="true\nno_such_command_here\n")
    assert "line 2" in result.text
    assert "[exit code 127]" in result.text


async def test_it_starts_in_the_root_and_sees_only_the_given_environment(bench):
    text = await bench.text("Bash", command="pwd -P; echo ${HOME:-unset}; cat; echo end")
    assert text.splitlines()[:3] == [str(bench.root.resolve()), "unset", "end"]


async def test_cwd_is_a_folder_of_the_root(bench):
    bench.write("a b/file", "")
    assert (await bench.text("Bash", command="ls", cwd="a b")).startswith("file\n")
    assert (await bench.text("Bash", command="ls", cwd=str(bench.root / "a b"))).startswith("file\n")
    await bench.fails("RESOURCE_NOT_FOUND", "Bash", command="ls", cwd="missing")
    await bench.fails("RESOURCE_NOT_FOUND", "Bash", command="ls", cwd="missing/deeper")
    assert "not a folder" in await bench.fails("INVALID_ARGUMENTS", "Bash", command="ls", cwd="a b/file")


async def test_a_command_that_takes_too_long_is_ended_with_what_it_said(bench):
    result = await bench.call("Bash", command="echo begun; sleep 1000", timeout_seconds=0.5)
    assert result.text.startswith("begun\n[timed out after 0.5 s and was ended")
    assert result.is_error
    assert facts(result)["timed_out"]
    assert result.meta["awf/error"] == {"code": "TIMEOUT"}


async def test_a_command_ended_by_a_signal_says_which(bench):
    result = await bench.call("Bash", command="kill -KILL $$")
    assert "[exit code 137: ended by SIGKILL]" in result.text


async def test_a_background_process_is_ended_and_reported(bench):
    result = await bench.call("Bash", command="sleep 1000 & echo $!")
    assert "1 background process that it left behind was ended" in result.text
    assert not psutil.pid_exists(int(result.text.splitlines()[0]))


@pytest.mark.race
async def test_a_cancelled_command_is_gone_with_all_its_children(bench, until):
    note = bench.root / "pids"
    call = bench.call("Bash", command="sleep 1000 & echo $$ $! > pids.tmp; mv pids.tmp pids; wait")
    task = asyncio.get_running_loop().create_task(call)
    await until(note.exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not any(psutil.pid_exists(int(pid)) for pid in note.read_text().split())


async def test_of_long_output_the_end_is_shown_and_all_of_it_is_kept(bench):
    result = await bench.call("Bash", command="seq 1 50000")
    head, *lines = result.text.splitlines()
    path = facts(result)["output_file"]
    assert head.startswith("[The last ")
    assert path in head
    assert lines[-2:] == ["50000", "[exit code 0]"]
    assert [int(line) for line in lines[:-1]] == list(range(int(lines[0]), 50001))
    assert len(result.text) < 20_500
    assert Path(path).read_text() == "".join(f"{n}\n" for n in range(1, 50001))
    assert os.stat(path).st_mode & 0o077 == 0
    assert "     1\t1\n" in await bench.text("Read", file_path=path, limit=1)
    assert f"{path}:777:777" in await bench.text("Grep", pattern="^777$", path=path, output_mode="content")


async def test_output_that_just_fits_is_not_kept_in_a_file(bench):
    bench = bench.again(max_output=100)
    result = await bench.call("Bash", command="printf %0100d 7")
    assert result.text == "0" * 99 + "7\n[exit code 0]"
    assert not bench.spool.exists()


async def test_the_spool_folder_is_made_when_it_is_first_needed(bench, tmp_path):
    made = []

    def make():
        made.append(1)
        (tmp_path / "late").mkdir()
        return str(tmp_path / "late")

    late = bench.again(made_spool=make)
    await late.text("Bash", command="echo short")
    assert made == []
    first = await late.call("Bash", command="seq 1 10000")
    second = await late.call("Bash", command="seq 1 20000")
    assert made == [1]
    assert facts(first)["output_file"] != facts(second)["output_file"]
    assert "     1\t1" in await late.text("Read", file_path=facts(first)["output_file"])


async def test_output_without_end_takes_little_memory_and_a_bounded_file(bench, monkeypatch):
    monkeypatch.setattr(capture, "LARGEST_FILE", 1_000_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = await bench.call("Bash", command="yes 0123456789abcdef | head -c 200000000; echo; echo the end")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert result.text.endswith("the end\n[exit code 0]")
    assert "of 200.0 MB. The first 1.0 MB are in" in result.text
    assert os.path.getsize(facts(result)["output_file"]) == 1_000_000
    assert grown < 50_000  # kB, of 200 MB


async def test_a_spool_that_cannot_be_written_does_not_fail_the_command(bench, tmp_path):
    (tmp_path / "file").write_text("")
    broken = bench.again(made_spool=str(tmp_path / "file" / "spool"))
    result = await broken.call("Bash", command="seq 1 10000")
    assert not result.is_error
    assert "The rest was not kept: Not a directory." in result.text
    assert "10000\n" in result.text
    assert "output_file" not in facts(result)


async def test_output_that_is_no_text_is_shown_as_well_as_possible(bench):
    result = await bench.call("Bash", command=r"printf 'a\377b\nc\n'")
    assert result.text.startswith("a\ufffdb\nc\n")


@pytest.mark.parametrize(
    ("raw", "seen"),
    [
        (b"10%\r50%\r100%\ndone\n", "100%\ndone\n"),
        (b"a\r\nb\r\n", "a\nb\n"),
        (b"\x1b[31mred\x1b[0m \x1b]0;title\x07x", "red x"),
        (b"plain", "plain"),
        (b"half\r", "half"),
    ],
)
def test_text_is_what_a_terminal_would_leave(raw, seen):
    assert plain_text(raw) == seen


async def test_progress_tells_the_last_line_while_it_runs(bench, monkeypatch, until):
    monkeypatch.setattr(shell, "BEAT", 0.02)
    call = bench.call(
        "Bash", command="echo working; while [ ! -e stop ]; do sleep 0.01; done", description="waits"
    )
    task = asyncio.get_running_loop().create_task(call)
    await until(lambda: any(told[2] == "working" for told in bench.progress))
    told = len(bench.progress)
    (bench.root / "stop").touch()
    await task
    assert told <= 2 + bench.progress[-1][0] / 0.02  # only when there is news, or seldom
    assert [seconds for seconds, *_ in bench.progress] == sorted(seconds for seconds, *_ in bench.progress)
    after = len(bench.progress)
    await asyncio.sleep(0.1)
    assert len(bench.progress) == after


async def test_a_silent_command_is_told_by_its_description(bench, monkeypatch, until):
    monkeypatch.setattr(shell, "BEAT", 0.02)
    call = bench.call(
        "Bash", command="while [ ! -e stop ]; do sleep 0.01; done", description="waits for a file"
    )
    task = asyncio.get_running_loop().create_task(call)
    await until(lambda: len(bench.progress) >= 2)
    (bench.root / "stop").touch()
    await task
    assert {told[2] for told in bench.progress} == {"waits for a file"}


async def test_commands_that_cannot_be_started_are_told(bench):
    assert "null character" in await bench.fails("INVALID_ARGUMENTS", "Bash", command="a\0b")
    assert "surrogate" in await bench.fails("INVALID_ARGUMENTS", "Bash", command="\ud800")
    assert "too long" in await bench.fails("EXECUTION_FAILED", "Bash", command="true " + "x" * 3_000_000)


async def test_commands_at_the_same_time_do_not_mix(bench):
    results = await asyncio.gather(
        *(bench.text("Bash", command=f"echo {n}; sleep 0.05; echo {n}") for n in range(8))
    )
    assert results == [f"{n}\n{n}\n[exit code 0]" for n in range(8)]
