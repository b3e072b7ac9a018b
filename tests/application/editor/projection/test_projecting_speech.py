from __future__ import annotations

from awf.domain.events import (
    AgentIsolation,
    AgentText,
    AgentThought,
    AgentTool,
    AgentUsage,
    LogLine,
    StepCompleted,
    StepStarted,
)


def started(path):
    return StepStarted(path=path, step=path.rpartition("/")[2], kind="agent", detail="claude")


def completed(path, output=""):
    name = path.rpartition("/")[2]
    return StepCompleted(path=path, step=name, kind="agent", duration_ms=5, output=output)


def says(path, text):
    return AgentText(path=path, step=path.rpartition("/")[2], text=text)


def thinks(path, text):
    return AgentThought(path=path, step=path.rpartition("/")[2], text=text)


def uses_tool(path, call_id="1"):
    name = path.rpartition("/")[2]
    return AgentTool(path=path, step=name, call_id=call_id, name="Read", phase="started")


def test_text_is_a_message_and_a_tool_call_begins_the_next_one(play):
    run = play()
    run.tell(started("ask"), says("ask", "Let me "), says("ask", "look."), uses_tool("ask"))
    run.tell(says("ask", "Done."), completed("ask", "Done."))

    assert run.screen.messages == {"run-1/ask/1": "Let me look.", "run-1/ask/2": "Done."}
    assert run.screen.rows["run-1/ask"]["content"] == []


def test_thoughts_have_messages_of_their_own(play):
    run = play()
    run.tell(started("ask"), thinks("ask", "hm"), thinks("ask", "m"), says("ask", "Hi."), uses_tool("ask"))
    run.tell(thinks("ask", "next"))

    assert run.screen.thoughts == {"run-1/ask/thought-1": "hmm", "run-1/ask/thought-2": "next"}
    assert run.screen.messages == {"run-1/ask/1": "Hi."}


def test_an_answer_that_was_not_streamed_is_shown_in_the_row(play):
    run = play()
    run.tell(started("ask"), completed("ask", "Forty-two."))

    assert run.screen.text_of("run-1/ask") == "Forty-two."


def test_agents_side_by_side_do_not_talk_into_each_other(play):
    run = play()
    run.tell(started("fan/a"), started("fan/b"))
    run.tell(says("fan/a", "A1 "), says("fan/b", "B1 "), says("fan/a", "A2"), says("fan/b", "B2"))
    assert run.screen.said() == ["A1 A2"]

    run.tell(completed("fan/a"))
    assert run.screen.said() == ["A1 A2", "**b**\n\nB1 B2"]
    run.tell(says("fan/b", "B3"))
    assert run.screen.messages["run-1/fan/b/1"] == "**b**\n\nB1 B2B3"


def test_a_tool_call_gives_the_floor_away(play):
    run = play()
    run.tell(started("fan/a"), started("fan/b"), says("fan/a", "A1"), says("fan/b", "B1"))
    run.tell(uses_tool("fan/a"))
    assert run.screen.said() == ["A1", "**b**\n\nB1"]

    run.tell(says("fan/a", "A2"), completed("fan/b"))
    assert run.screen.said() == ["A1", "**b**\n\nB1", "**a**\n\nA2"]


def test_the_rest_of_a_message_goes_on_in_another_when_somebody_spoke_in_between(play):
    run = play()
    run.tell(*(started(f"fan/{name}") for name in "abc"))
    run.tell(says("fan/a", "A1"), says("fan/b", "B1"), says("fan/c", "C1"), completed("fan/a"))
    run.tell(says("fan/b", "B2"), completed("fan/c"))

    assert run.screen.said() == ["A1", "**b**\n\nB1", "**c**\n\nC1", "**b**\n\nB2"]


def test_who_is_silent_for_long_does_not_keep_the_others_from_being_heard(play):
    run = play()
    run.tell(started("fan/a"), started("fan/b"), says("fan/a", "A1"), says("fan/b", "B1"))
    assert run.projector.next_tick() == 1005.0
    assert run.tick(4.0) == []
    run.tick(1.0)

    assert run.screen.said() == ["A1", "**b**\n\nB1"]


def test_nothing_kept_is_lost_when_the_turn_ends(play):
    for end in ("park", "close"):
        run = play()
        run.tell(started("fan/a"), started("fan/b"), says("fan/a", "A1"), says("fan/b", "B1"))
        getattr(run, end)()

        assert run.screen.said() == ["A1", "**b**\n\nB1"]


def test_what_a_step_kept_to_itself_is_heard_even_after_it_ended(play):
    run = play()
    run.tell(started("fan/a"), started("fan/b"), says("fan/a", "A1"), says("fan/b", "B1"), completed("fan/b"))
    assert run.screen.said() == ["A1"]
    run.tell(completed("fan/a"))

    assert run.screen.said() == ["A1", "**b**\n\nB1"]


def test_steps_say_their_names_where_the_workflow_has_several_agents(play, workflow):
    two = workflow(
        "plan",
        {
            "plan": {"type": "agent", "provider": "claude", "prompt": "x", "on_success": "write"},
            "write": {"type": "agent", "provider": "claude", "prompt": "x", "on_success": "done"},
            "done": {"type": "terminal"},
        },
    )
    run = play(workflow=two)
    run.tell(started("plan"), says("plan", "P"), uses_tool("plan"), says("plan", "Q"), completed("plan"))
    run.tell(started("write"), says("write", "W"))

    assert run.screen.said() == ["**plan**\n\nP", "Q", "**write**\n\nW"]


def test_messages_stay_apart_in_editors_that_join_text(play):
    run = play()
    run.tell(started("ask"), says("ask", "Hello."), LogLine(message="half way"), says("ask", " More."))

    joined = "".join(run.screen.messages.values())
    assert "Hello.\n\n" in joined
    assert run.screen.messages["run-1/note-1"].startswith("half way")


def test_a_very_long_text_goes_in_several_chunks(play):
    run = play()
    run.tell(started("ask"))
    for text in ("x" * 600_000, "é" * 200_000):
        updates = run.tell(says("ask", text))
        assert len(updates) > 1
        assert all(len(one["content"]["text"].encode()) <= 256 * 1024 for one in updates)
        assert "".join(one["content"]["text"] for one in updates) == text


def test_broken_surrogates_become_readable(play):
    run = play()
    run.tell(started("ask"), says("ask", "a\ud83d b"))

    assert run.screen.said() == ["a? b"]


def test_usage_is_shown_where_the_size_of_the_context_is_known(play):
    run = play()
    run.tell(started("ask"), AgentUsage(path="ask", step="ask", input_tokens=10, output_tokens=5))
    assert run.screen.usage is None
    run.tell(
        AgentUsage(
            path="ask", step="ask", input_tokens=100, output_tokens=20, cost=0.5, context_window=200_000
        )
    )

    assert (run.screen.usage["used"], run.screen.usage["size"]) == (120, 200_000)
    assert run.screen.usage["cost"] == {"amount": 0.5, "currency": "USD"}
    assert run.projector.usage.tokens == 135


def test_usage_counted_over_several_requests_does_not_overflow_the_context(play):
    run = play()
    run.tell(started("ask"), AgentUsage(path="ask", step="ask", input_tokens=900, context_window=500))

    assert (run.screen.usage["used"], run.screen.usage["size"]) == (500, 500)


def test_isolation_is_a_fact_of_the_row(play):
    run = play()
    run.tell(
        started("ask"),
        AgentIsolation(path="ask", step="ask", provider="claude", isolation="guaranteed", version="2.1"),
    )

    told = run.screen.rows["run-1/ask"]["_meta"]["awf"]["isolation"]
    assert told == {"level": "guaranteed", "provider": "claude", "version": "2.1"}
