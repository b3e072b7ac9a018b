"""Agent steps with stub programs, through the whole application."""

from __future__ import annotations

import json
import logging

import pytest

from awf.domain.agent import coexistence_warning
from awf.domain.events import AgentIsolation, AgentTool, StepFailed, ToolCallFinished, Warned

READ = "prompt = sys.stdin.read()\n"
ANSWER = READ + 'emit(type="answer", text="done")'


def error(ran):
    return ran.steps["work"].result.error


async def test_a_program_with_our_tools_uses_them_through_us(stubs):
    (stubs.folder / "note.txt").write_text("xyzzy\n", encoding="utf-8")
    stubs.program(
        READ
        + 'tools = Tools(); emit(type="offer", names=["ours_" + name for name in tools.names], connected=True)\n'
        'emit(type="tool", id="c1", name="ours_Read", input={"file_path": "note.txt"})\n'
        'said = tools.call("Read", file_path="note.txt")\n'
        'emit(type="tool_result", id="c1", name="ours_Read", output=said); emit(type="answer", text=said)'
    )

    ran = await stubs.step(proxy=True)

    assert "xyzzy" in ran.output("work")
    assert [event.name for event in ran.of(AgentTool)] == ["Read", "Read"]
    assert [event.tool for event in ran.of(ToolCallFinished)] == ["Read"]
    assert {event.isolation for event in ran.of(AgentIsolation)} == {"guaranteed"}
    assert ran.of(Warned) == []


async def test_a_program_that_never_starts_our_server_fails_the_step(stubs):
    stubs.program(READ + 'sys.stderr.write("mcp: gave up\\n"); emit(type="answer", text="done without")')

    ran = await stubs.step(proxy=True)

    assert error(ran).code == "EXECUTION.AGENT.NO_TOOLS"
    assert "mcp: gave up" in error(ran).hint


async def test_a_program_that_reports_our_server_as_failed_fails_the_step(stubs):
    stubs.program(
        READ + 'Tools(); emit(type="offer", names=[], connected=False); emit(type="answer", text="done")'
    )

    ran = await stubs.step(proxy=True)

    assert error(ran).code == "EXECUTION.AGENT.NO_TOOLS"


async def test_a_native_call_where_ours_should_be_the_only_tools_is_told_as_a_bypass(stubs):
    stubs.program(
        READ + 'Tools(); emit(type="tool", id="n1", name="Bash", input={"command": "ls"})\n'
        'emit(type="tool_result", id="n1", name="Bash", output=""); emit(type="answer", text="done")'
    )

    ran = await stubs.step(proxy=True)

    assert [event.bypass for event in ran.of(AgentTool) if event.phase == "started"] == [True]
    (warning,) = ran.of(Warned)
    assert warning.code == "USER.MCP_PROXY.UNSUPPORTED_PROVIDER"
    assert "Bash" in warning.message


async def test_a_native_call_where_native_tools_are_allowed_is_no_bypass(stubs):
    stubs.program(READ + 'emit(type="tool", id="n1", name="Bash"); emit(type="answer", text="done")')

    ran = await stubs.step()

    assert not any(event.bypass for event in ran.of(AgentTool))
    assert ran.of(Warned) == []


@pytest.mark.parametrize("version", ['print("0.1.0")', 'print("9.9.9")', "sys.exit(1)"])
async def test_a_version_that_nothing_is_proven_for_is_used_with_a_warning(stubs, version):
    stubs.program(READ + 'Tools(); emit(type="answer", text="done")', version=version)

    ran = await stubs.step(proxy=True)

    assert ran.outcome.status == "completed"
    assert {event.isolation for event in ran.of(AgentIsolation)} == {"best_effort"}
    assert [event.message for event in ran.of(Warned)] == [coexistence_warning("stub")]


@pytest.mark.parametrize("options", [{"extra_args": ["--tools", "all"]}, {"env": {"STUB_QUIET": "0"}}])
async def test_a_step_that_changes_how_the_program_is_started_has_no_guarantee(stubs, options):
    stubs.program(READ + 'Tools(); emit(type="answer", text="done")')

    ran = await stubs.step(proxy=True, options=options)

    assert ran.of(AgentIsolation)[0].isolation == "best_effort"


async def test_a_tool_of_its_own_in_the_list_that_it_reports_takes_the_guarantee_away(stubs):
    stubs.program(
        READ + 'Tools(); emit(type="offer", names=["ours_Read", "Bash"]); emit(type="answer", text="done")'
    )

    ran = await stubs.step(proxy=True)

    assert [event.isolation for event in ran.of(AgentIsolation)] == ["guaranteed", "best_effort"]
    assert ran.of(AgentIsolation)[1].tools == ["ours_Read", "Bash"]
    assert len(ran.of(Warned)) == 1


# -- trying again --------------------------------------------------------------------------------------------------------

COUNT = (
    READ
    + 'name = os.path.join(os.getcwd(), "tries"); tries = len(open(name).read()) if os.path.exists(name) else 0\n'
    'open(name, "a").write("x")\n'
)
RETRY = {"max_attempts": 4, "initial_delay": "1ms", "jitter": 0}


async def test_what_may_pass_is_tried_again(stubs):
    stubs.program(
        COUNT + 'emit(type="error", message="busy") if tries < 2 else emit(type="answer", text="at last")'
    )

    ran = await stubs.step(retry=RETRY)

    assert ran.output("work@3") == "at last"
    assert (stubs.folder / "tries").read_text(encoding="utf-8") == "xxx"


async def test_what_will_not_pass_is_not_tried_again(stubs):
    stubs.program(COUNT + 'emit(type="error", message="bad key", retryable=False); sys.exit(1)')

    ran = await stubs.step(retry=RETRY)

    assert error(ran).message == "bad key"
    assert (stubs.folder / "tries").read_text(encoding="utf-8") == "x"


async def test_a_missing_program_is_not_tried_again(stubs):
    ran = await stubs.step(retry=RETRY)

    assert error(ran).code == "EXECUTION.AGENT.NOT_FOUND"
    assert len(ran.of(StepFailed)) == 1


# -- secrets -------------------------------------------------------------------------------------------------------------

KEY = "sk-very-secret-0123"
TELL = (
    READ
    + 'emit(type="text", text="my key is " + os.environ["STUB_KEY"]); sys.stderr.write(os.environ["STUB_KEY"])\n'
)


@pytest.mark.parametrize(
    "end", ['emit(type="answer", text="it is " + os.environ["STUB_KEY"])', "sys.exit(3)"]
)
@pytest.mark.parametrize("written", [KEY, "${env:THE_KEY}"])
async def test_a_key_is_masked_in_events_and_in_the_store_however_it_was_given(stubs, written, end):
    stubs.environment["THE_KEY"] = KEY
    stubs.program(TELL + end)

    ran = await stubs.step(options={"api_key": written})

    told = json.dumps([str(stamped) for stamped in ran.events]) + str(ran.steps)
    stored = b"".join(path.read_bytes() for path in (stubs.folder / "storage").rglob("*") if path.is_file())
    assert KEY not in told
    assert "my key is ***" in told
    if written.startswith("$"):  # given plain, it is in the workflow's own text, which the run keeps
        assert KEY.encode() not in stored


@pytest.mark.parametrize("written", [KEY, "${env:THE_KEY}"])
async def test_a_key_is_masked_in_the_log(stubs, written):
    stubs.environment |= {"THE_KEY": KEY, "AWF_LOG_LEVEL": "debug", "AWF_LOG_FILE": str(stubs.folder / "log")}
    stubs.program(TELL + "sys.exit(3)")
    stubs.logs = True

    await stubs.step(options={"api_key": written})

    logged = (stubs.folder / "log").read_text(encoding="utf-8")
    assert "my key is ***" in logged
    assert KEY not in logged


async def test_a_reference_to_a_variable_that_is_not_set_is_told_by_its_name(stubs):
    stubs.program(ANSWER)

    ran = await stubs.step(options={"api_key": "${env:NOT_THERE}"}, retry=RETRY)

    assert error(ran).code == "USER.INPUT.MISSING_ENV"
    assert "NOT_THERE" in error(ran).message
    assert len(ran.of(StepFailed)) == 1


async def test_references_are_filled_in_inside_lists_and_mappings(stubs):
    stubs.environment["PLACE"] = "here-and-now"
    stubs.program(READ + 'emit(type="answer", text=sys.argv[1] + " " + os.environ["X"].replace("-", "+"))')

    ran = await stubs.step(options={"extra_args": ["at=${env:PLACE}"], "env": {"X": "${env:PLACE}"}})

    assert ran.output("work") == "at=*** here+and+now"


@pytest.fixture(autouse=True)
def _quiet_log():
    yield
    logger = logging.getLogger("awf")
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
        handler.close()
