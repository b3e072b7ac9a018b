"""What the specifications ask for, and which tests show it. `tests/architecture/test_requirements.py` checks both ways.

F099 is the specification of the tool proxy; its acceptance criteria, in the reading that docs/decisions/0007 settles.
F102 has a file of its own, requirements_of_editors.py.
"""

from __future__ import annotations

LEDGER: dict[str, tuple[str, list[str]]] = {
    "F099 AC-1": (
        "With the proxy an agent's Read and Bash go through AWF alone; a span below the step's span, one log line.",
        [
            "tests/journeys/test_tool_traces.py::test_a_tool_call_is_a_span_below_its_step_in_the_one_trace_of_the_run",
            "tests/application/tools/test_router.py::test_each_call_writes_one_log_line",
            "tests/journeys/test_tool_processes.py::test_all_goes_well_and_nothing_is_left_either",
            "tests/journeys/agents/test_all_agents.py::test_every_agent_gives_the_same_answer_by_the_same_calls",
            "tests/journeys/agents/test_all_agents.py::test_calls_of_every_agent_are_spans_of_the_run_and_lines_in_the_log",
            "tests/journeys/agents/test_claude_cli.py::test_its_model_has_our_tools_and_no_other_and_they_go_through_us",
            "tests/journeys/agents/test_gemini_cli.py::test_its_model_has_our_tools_and_no_other_and_nothing_is_written_elsewhere",
        ],
    ),
    "F099 AC-2": (
        "With intercept_builtins: false an agent keeps its tools and gets the plugin's, whose calls reach the plugin.",
        [
            "tests/application/running/test_tool_steps.py::test_an_operation_of_a_plugin_becomes_a_tool",
            "tests/application/authoring/test_plugin_checks.py::test_additive_mode_with_a_plugin_tool_is_no_empty_proxy",
            "tests/journeys/agents/test_all_agents.py::test_every_agent_can_use_a_plugin_beside_its_own_tools",
            "tests/journeys/agents/test_claude_cli.py::test_in_additive_mode_its_own_tools_and_ours_are_both_there",
            "tests/journeys/agents/test_codex_cli.py::test_its_own_tools_and_ours_are_both_there_when_asked_for",
        ],
    ),
    "F099 AC-3": (
        "Two tools of one name are refused when the step starts; at run time there can be no collision.",
        [
            "tests/application/tools/test_router.py::test_two_plugin_tools_of_one_name_are_refused_when_the_router_is_built",
            "tests/application/tools/test_router.py::test_a_plugin_tool_named_like_a_builtin_is_refused",
            "tests/application/authoring/test_plugin_checks.py::test_the_same_tool_twice_is_a_collision",
        ],
    ),
    "F099 AC-4": (
        "awf validate refuses unknown keys, plugins and operations, and a proxy that offers nothing.",
        [
            "tests/application/authoring/test_plugin_checks.py::test_an_unknown_key_is_found_at_any_depth",
            "tests/application/authoring/test_plugin_checks.py::test_an_unknown_plugin_is_found_and_the_right_one_suggested",
            "tests/application/authoring/test_plugin_checks.py::test_an_operation_that_the_plugin_does_not_have_is_found_and_the_right_one_suggested",
            "tests/application/authoring/test_broken_files.py::test_a_broken_file_is_reported_with_its_code_and_its_place",
        ],
    ),
    "F099 AC-5": (
        "Ctrl+C in a step with the proxy ends its tool server; no process is left.",
        [
            "tests/journeys/test_tool_processes.py::test_asked_to_stop_in_a_tool_call",
            "tests/journeys/test_tool_processes.py::test_awf_is_killed_in_a_tool_call",
        ],
    ),
    "F099 AC-6": (
        "Codex and OpenCode are kept to the proxy; where an agent cannot be, the coexistence warning is given.",
        [
            "tests/journeys/agents/test_codex_cli.py::test_its_model_has_our_tools_and_no_other_and_nothing_is_written_elsewhere",
            "tests/journeys/agents/test_opencode_cli.py::test_its_model_has_our_tools_and_no_other_and_nothing_is_written_elsewhere",
            "tests/application/authoring/test_plugin_checks.py::test_a_provider_that_cannot_be_kept_to_the_proxy_is_a_warning",
            "tests/application/running/test_tool_steps.py::test_an_agent_that_may_bypass_the_proxy_is_warned_about_when_it_starts",
        ],
    ),
    "F099 AC-7": (
        "finish_reason tool_calls without a tool call is an error, not a loop.",
        [
            "tests/infrastructure/agents/openai_compatible/test_openai_loop.py::test_a_turn_that_wants_tools_and_calls_none_is_stopped"
        ],
    ),
    "F099 AC-9": (
        "The MCP server engine imports nothing of awf.",
        [
            "tests/architecture/test_boundaries.py::test_an_engine_imports_the_standard_library_and_itself_only",
            "tests/architecture/test_boundaries.py::test_an_engine_can_be_imported_in_an_empty_environment",
        ],
    ),
    "F099 mcpserver": (
        "initialize, initialized, tools/list, tools/call and shutdown; official clients of both generations work with it.",
        [
            "tests/journeys/peers/test_mcp_clients.py::test_an_official_client_lists_and_calls_every_built_in_tool",
            "tests/mcpserver/test_fuzz.py::test_mutated_frames_never_stop_the_server",
        ],
    ),
}
