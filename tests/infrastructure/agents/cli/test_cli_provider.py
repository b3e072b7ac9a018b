"""What programs do, good and bad, and what becomes of it."""

from __future__ import annotations

import asyncio
import os
import time

import psutil
import pytest

from awf.application.running.tasks import spawn
from awf.domain.agent import AgentFailure, TextDelta, ToolFinished, ToolStarted

READ = "prompt = sys.stdin.read()\n"


async def failure_of(world, body, **keys):
    world.program(body)
    with pytest.raises(AgentFailure) as caught:
        await world.run(**keys)
    return caught.value


async def test_the_prompt_goes_in_and_the_answer_comes_out(world):
    world.program(
        READ
        + 'emit(type="session", id="s1"); emit(type="text", text="so: "); emit(type="answer", text=prompt)'
    )

    reply = await world.run("what now?")

    assert reply.text == "what now?"
    assert reply.session.id == "s1"
    assert world.of(TextDelta) == [TextDelta("so: ")]


async def test_without_a_final_answer_what_was_said_is_the_answer(world):
    world.program(READ + 'emit(type="text", text="one "); emit(type="text", text="two")')

    assert (await world.run()).text == "one two"


async def test_usage_is_added_up(world):
    world.program(
        READ
        + 'emit(type="usage", input=1, output=2); emit(type="usage", input=10, output=20); emit(type="answer", text="")'
    )

    reply = await world.run()

    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (11, 22)
    assert (reply.usage.cost, reply.usage.cost_source) == (None, "unknown")


# -- endings -------------------------------------------------------------------------------------------------------------


async def test_an_error_inside_is_a_failure_although_the_exit_code_is_zero(world):
    failure = await failure_of(
        world, READ + 'emit(type="text", text="hm"); emit(type="error", message="overloaded")'
    )

    assert (failure.message, failure.retryable) == ("overloaded", True)


async def test_an_error_that_trying_again_does_not_mend_says_so(world):
    failure = await failure_of(
        world, READ + 'emit(type="error", message="bad key", retryable=False); sys.exit(1)'
    )

    assert not failure.retryable


async def test_an_exit_code_is_told_with_the_programs_last_words(world):
    failure = await failure_of(world, READ + 'sys.stderr.write("first\\nno such model: x\\n"); sys.exit(7)')

    assert "exit code 7" in failure.message
    assert "no such model: x" in failure.message


async def test_an_answer_before_a_failing_end_is_not_taken(world):
    failure = await failure_of(world, READ + 'emit(type="answer", text="fine"); sys.exit(2)')

    assert "exit code 2" in failure.message


async def test_an_end_without_a_word_is_a_failure(world):
    failure = await failure_of(world, READ + 'sys.stderr.write("nothing to do")')

    assert "without an answer" in failure.message
    assert "nothing to do" in failure.message


async def test_being_killed_from_outside_is_told_by_the_signals_name(world):
    failure = await failure_of(world, READ + "os.kill(os.getpid(), signal.SIGKILL)")

    assert "SIGKILL" in failure.message
    assert failure.retryable


async def test_a_launcher_that_does_not_find_its_program_is_not_tried_again(world):
    failure = await failure_of(
        world, 'sys.stderr.write("env: node: No such file or directory"); sys.exit(127)'
    )

    assert not failure.retryable
    assert "node" in failure.message


async def test_calls_that_nobody_works_on_any_more_are_closed(world):
    await failure_of(
        world,
        READ + 'emit(type="tool", id="c1", name="ours_Read"); emit(type="tool", id="c2", name="ours_Bash")\n'
        'emit(type="tool_result", id="c1", name="ours_Read", output="x"); os.kill(os.getpid(), signal.SIGSEGV)',
    )

    assert [call.call_id for call in world.of(ToolStarted)] == ["c1", "c2"]
    assert [(end.call_id, end.name, end.is_error) for end in world.of(ToolFinished)] == [
        ("c1", "Read", False),
        ("c2", "Bash", True),
    ]


async def test_a_program_that_closes_its_output_early_is_waited_for(world):
    world.program(
        READ + 'emit(type="answer", text="done"); sys.stdout.close(); os.close(1); time.sleep(0.2)\n'
        'open(os.path.join(os.environ["WORLD"], "late"), "w").close()'
    )

    assert (await world.run()).text == "done"
    assert (world.folder / "late").exists()


# -- what it prints ------------------------------------------------------------------------------------------------------


async def test_lines_that_are_no_events_are_counted_and_passed_over(world, caplog):
    world.program(
        READ + 'print("Warning: something"); print("[1, 2]"); print("null"); print("{broken"); print()\n'
        'sys.stdout.buffer.write(b"\\xff\\xfe\\n"); emit(type="answer", text="done")'
    )

    with caplog.at_level("DEBUG", logger="awf.agents"):
        reply = await world.run()

    assert reply.text == "done"
    assert "5 lines were no events" in caplog.text


async def test_events_of_an_unknown_kind_or_form_are_counted_and_passed_over(world, caplog):
    world.program(
        READ
        + 'emit(type="news", x=1); emit(type="news"); emit(no="type"); emit(type="text"); emit(type=["odd"])\n'
        'emit(type="answer", text="done")'
    )

    with caplog.at_level("DEBUG", logger="awf.agents"):
        reply = await world.run()

    assert reply.text == "done"
    assert "news 2x" in caplog.text
    assert "text 1x" in caplog.text


async def test_characters_that_are_none_are_replaced_and_the_event_is_kept(world):
    world.program(
        READ + 'sys.stdout.buffer.write(b\'{"type": "text", "text": "a\\xffb"}\\n\'); sys.stdout.flush()\n'
        'print(\'{"type": "text", "text": "\\\\ud83d"}\'); print(\'{"type": "text", "text": "\\\\ud83d\\\\ude00"}\')'
    )

    reply = await world.run()

    assert reply.text == "a�b�😀"
    reply.text.encode("utf-8")


async def test_an_event_nested_deeper_than_one_can_follow_is_passed_over(world):
    world.program(
        READ + 'print(\'{"type": "text", "text": \' + "[" * 200000 + "]" * 200000 + "}")\n'
        'emit(type="answer", text="done")'
    )

    assert (await world.run()).text == "done"


async def test_a_line_of_twenty_megabytes_is_one_event(world):
    world.program(READ + 'emit(type="text", text="x" * (20 << 20)); emit(type="answer", text="done")')

    assert (await world.run()).text == "done"
    assert [len(text.text) for text in world.of(TextDelta)] == [20 << 20]


async def test_a_line_beyond_all_measure_is_dropped_and_the_next_is_heard(world, caplog):
    world.program(READ + 'emit(type="text", text="x" * (70 << 20)); emit(type="answer", text="done")')

    with caplog.at_level("DEBUG", logger="awf.agents"):
        assert (await world.run()).text == "done"

    assert world.of(TextDelta) == []
    assert "lines were no events" in caplog.text


async def test_a_flood_of_words_on_standard_error_takes_no_memory(world):
    world.program(
        READ + 'for number in range(2000): sys.stderr.write("x" * 65536)\nemit(type="answer", text="done")'
    )
    process = psutil.Process()
    before = process.memory_info().rss

    reply = await world.run()

    assert reply.text == "done"
    assert process.memory_info().rss - before < 60 << 20  # of the 125 MiB that were written


# -- its input -----------------------------------------------------------------------------------------------------------


async def test_a_prompt_larger_than_the_pipe_arrives_whole(world):
    world.program(READ + 'emit(type="answer", text=str(len(prompt)))')

    assert (await world.run("x" * 3_000_000)).text == "3000000"


async def test_a_program_that_never_reads_its_prompt_is_heard_all_the_same(world):
    world.program('for _ in range(40): emit(type="text", text="y" * 65536)\nemit(type="answer", text="done")')

    assert (await world.run("x" * 3_000_000)).text == "done"


async def test_a_prompt_with_bytes_that_are_no_text_is_handed_on(world):
    world.program('raw = sys.stdin.buffer.read(); emit(type="answer", text=raw.hex())')

    assert (await world.run("a\udcff")).text == "61ff"
    assert (await world.run("a\ud800")).text == "613f"


# -- its surroundings ----------------------------------------------------------------------------------------------------


async def test_its_temporary_folder_is_private_and_gone_afterwards(world):
    world.program(
        READ + 'place = os.environ["TMPDIR"]; open(os.path.join(place, "left"), "w").close()\n'
        'emit(type="answer", text=f"{place} {os.stat(place).st_mode & 0o777:o}")'
    )

    place, mode = (await world.run()).text.split()

    assert mode == "700"
    assert not os.path.exists(os.path.dirname(place))


async def test_variables_come_from_the_step_then_from_us_then_from_the_options(world):
    world.program(
        READ + 'names = ["A", "STUB_QUIET", "STUB_UNWANTED", "TMPDIR"]\n'
        'emit(type="answer", text=json.dumps([os.environ.get(name) for name in names]))'
    )

    plain = await world.run(env={"A": "step", "STUB_QUIET": "step", "STUB_UNWANTED": "step"})
    chosen = await world.run(options={"env": {"A": "option", "STUB_QUIET": "option", "TMPDIR": "/tmp"}})

    assert plain.text.startswith('["step", "1", null, ')
    assert chosen.text == '["option", "option", null, "/tmp"]'


async def test_more_arguments_are_handed_on(world):
    world.program(READ + 'emit(type="answer", text=" ".join(sys.argv[1:]))')

    assert (await world.run(options={"extra_args": ["--fast", "two words"]})).text == "--fast two words"


async def test_files_are_for_the_user_alone(world):
    world.program(
        READ + 'folder = os.path.dirname(os.environ["STUB_MCP"]); name = os.path.join(folder, "system.txt")\n'
        'emit(type="answer", text=f"{os.stat(name).st_mode & 0o777:o} {open(name).read()}")'
    )

    assert (await world.run(system_prompt="Be brief.")).text == "600 Be brief."


# -- ends that we bring about --------------------------------------------------------------------------------------------


async def ended(world, until, body):
    """Run until it is under way, then give it up, as a step's timeout does."""
    world.program(body)
    working = spawn(world.run(), "agent", awaited=True)
    await until((world.folder / "under-way").exists, "its start")
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working


UNDER_WAY = 'open(os.path.join(os.environ["WORLD"], "under-way"), "w").close()\n'


async def test_a_program_that_hangs_before_its_first_event_is_ended(world, until):
    await ended(world, until, UNDER_WAY + "time.sleep(600)")

    assert world.processes() == []


async def test_its_whole_family_is_ended_with_it(world, until):
    await ended(world, until, 'subprocess.Popen(["sleep", "600"])\n' + UNDER_WAY + "time.sleep(600)")

    assert world.processes() == []


async def test_a_program_that_ignores_sigterm_is_killed_after_the_grace(world, until):
    start = time.monotonic()

    await ended(
        world, until, "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + UNDER_WAY + "time.sleep(600)"
    )

    assert world.processes() == []
    assert time.monotonic() - start >= 0.3


async def test_what_a_program_leaves_running_is_ended(world):
    world.program(
        READ + 'emit(type="answer", text="done")\n'
        'subprocess.Popen(["sleep", "600"], start_new_session=True, stdout=subprocess.DEVNULL)'
    )

    assert (await world.run()).text == "done"
    assert world.processes() == []


async def test_the_step_fails_when_its_time_is_over(stubs):
    stubs.program("time.sleep(600)")

    ran = await stubs.step(timeout="300ms")

    assert ran.steps["work"].result.error.code == "EXECUTION.STEP.TIMEOUT"


# -- first runs ----------------------------------------------------------------------------------------------------------


async def test_programs_that_share_a_lock_set_themselves_up_one_after_another(world):
    """Each has set itself up when it says its first word; only then the next one starts."""
    world.program(
        """
        log = open(os.path.join(os.environ["WORLD"], "log"), "a", buffering=1)
        log.write("begin\\n"); time.sleep(0.05); log.write("ready\\n")
        emit(type="text", text="hello")
        flag = os.path.join(os.environ["WORLD"], "all")
        while open(log.name).read().count("ready") < 3: time.sleep(0.01)
        """
    )
    lock = str(world.folder / "locks" / "first")

    await asyncio.gather(*(world.run(options={"lock": lock}) for _ in range(3)))

    assert (world.folder / "log").read_text(encoding="utf-8").split() == ["begin", "ready"] * 3


async def test_a_lock_is_given_back_when_its_holder_is_ended(world, until):
    lock = {"lock": str(world.folder / "lock")}
    world.program(UNDER_WAY + "time.sleep(600)")
    holder = spawn(world.run(options=lock), "agent", awaited=True)
    await until((world.folder / "under-way").exists)
    waiter = spawn(world.run(options=lock), "agent", awaited=True)
    world.program(READ + 'emit(type="answer", text="done")')

    holder.cancel()

    with pytest.raises(asyncio.CancelledError):
        await holder
    assert (await asyncio.wait_for(waiter, 60)).text == "done"
