"""What F102, the specification of `awf acp-serve`, asks for, and which tests show it; in the form of tests/requirements.py.

FR, NFR and SC are its own numbers; US1.2 is the second scenario of its first story, EDGE-3 its third edge case. What has a
name instead of a number is asked for by docs/decisions/0008. Where we depart from its text, `Departs:` says how.
"""

from __future__ import annotations

LEDGER: dict[str, tuple[str, list[str]]] = {
    "F102 FR-001": (
        "`awf acp-serve` is a command of its own, off the list for people; no option of the other commands can end it.",
        [
            "tests/interfaces/acp/test_acp_serve.py::test_help_names_every_option_and_says_what_it_is_for",
            "tests/interfaces/acp/test_acp_serve.py::test_a_command_line_that_makes_no_sense_is_refused_before_anything_is_served",
            "tests/interfaces/acp/test_acp_startup.py::test_the_handshake_is_answered_before_anything_heavy_is_loaded",
        ],
    ),
    "F102 FR-002": (
        "The engine speaks JSON-RPC 2.0 over standard streams and imports the standard library and itself only.",
        [
            "tests/architecture/test_boundaries.py::test_an_engine_imports_the_standard_library_and_itself_only",
            "tests/architecture/test_boundaries.py::test_an_engine_can_be_imported_in_an_empty_environment",
            "tests/acpserver/test_acp_stdio.py::test_a_conversation_ends_with_the_input",
            "tests/acpserver/test_acp_stdio.py::test_stray_output_never_reaches_the_wire",
        ],
    ),
    "F102 FR-003": (
        (
            "The methods are those of the schema, at protocol version 1, whatever version is asked for. Departs: "
            "load, resume, list, close, delete, modes and options are there as well, because editors need them."
        ),
        [
            "tests/acpserver/test_acp_methods.py::test_the_table_has_the_methods_of_the_schema",
            "tests/acpserver/test_acp_conversation.py::test_whatever_version_is_asked_for_the_answer_is_one",
            "tests/journeys/acp/test_acp_kit_rows.py::test_a_row_of_the_kit",
            "tests/journeys/acp/test_acp_kit_rows.py::test_every_turn_is_told_again_by_a_load",
            "tests/application/editor/test_sessions.py::test_a_session_is_told_again_as_it_was",
            "tests/application/editor/test_sessions.py::test_resuming_tells_nothing_again",
            "tests/application/editor/test_sessions.py::test_sessions_are_listed_by_folder_the_latest_first_in_pages",
            "tests/application/editor/test_sessions.py::test_a_deleted_session_is_forgotten",
        ],
    ),
    "F102 FR-004": (
        "What agents say is a message, what they think a thought; the first word of a tool call opens it, later ones change it.",
        [
            "tests/application/editor/projection/test_projecting_speech.py::test_text_is_a_message_and_a_tool_call_begins_the_next_one",
            "tests/application/editor/projection/test_projecting_speech.py::test_thoughts_have_messages_of_their_own",
            "tests/application/editor/projection/test_projecting_calls.py::test_a_call_through_awf_is_one_row_however_it_is_told",
            "tests/application/editor/projection/test_projecting_calls.py::test_a_beginning_that_is_told_twice_brings_the_input_with_it",
            "tests/journeys/acp/test_acp_parity.py::test_the_command_line_and_the_editor_give_the_same_output_by_the_same_calls",
            "tests/journeys/acp/test_acp_parity.py::test_words_are_shown_while_the_model_still_speaks",
            "tests/journeys/acp/test_acp_parity.py::test_tools_of_the_agents_own_and_ours_are_each_shown_once",
        ],
    ),
    "F102 FR-005": (
        "A prompt runs a whole workflow, as `awf run` does.",
        [
            "tests/application/editor/test_turns.py::test_a_run_shows_its_plan_its_steps_and_its_answer",
            "tests/application/editor/test_turns.py::test_a_failing_workflow_ends_its_turn_and_says_why",
            "tests/journeys/acp/test_acp_parity.py::test_the_answer_in_the_editor_is_what_the_command_prints",
            "tests/journeys/acp/test_acp_parity.py::test_what_goes_wrong_goes_wrong_in_the_same_way",
        ],
    ),
    "F102 FR-006": (
        "Every workflow that is found is a slash command; inputs are written behind it and checked against their definitions.",
        [
            "tests/application/editor/test_sessions.py::test_commands_are_listed_after_the_start_and_when_files_change",
            "tests/application/editor/test_commands.py::test_every_command_that_is_offered_is_understood",
            "tests/application/editor/test_commands.py::test_the_hint_shows_what_to_write",
            "tests/application/editor/test_slash_arguments.py::test_all_ways_to_write_an_input_mean_the_same",
            "tests/application/editor/test_slash_arguments.py::test_what_is_wrong_with_an_input_is_said_once",
            "tests/application/editor/test_slash_prompt.py::test_a_slash_and_a_name_are_a_command",
            "tests/application/editor/test_inputs.py::test_values_come_by_name_in_every_way_of_writing",
            "tests/application/editor/test_inputs.py::test_a_value_that_breaks_a_rule_is_refused_with_the_rule",
        ],
    ),
    "F102 FR-007": (
        (
            "A conversation waits for a line; the next prompt is that line, and an empty one ends it. Departs: `/end`"
            " does so, too, since no editor sends an empty prompt."
        ),
        [
            "tests/application/editor/test_conversations.py::test_a_conversation_waits_for_the_next_prompt_and_goes_on_in_the_same_run",
            "tests/application/editor/test_conversations.py::test_an_empty_prompt_ends_it",
            "tests/application/editor/test_conversations.py::test_end_with_more_words_ends_it_as_well",
        ],
    ),
    "F102 FR-008": (
        (
            "Where a conversation waits the turn ends `end_turn`, and the run stays. Departs: it stays beyond the "
            "life of the process."
        ),
        [
            "tests/application/editor/test_conversations.py::test_a_conversation_waits_for_the_next_prompt_and_goes_on_in_the_same_run",
            "tests/application/editor/test_conversations.py::test_it_goes_on_after_a_restart_with_what_the_agent_knew",
            "tests/application/editor/test_conversations.py::test_beside_a_branch_that_works_the_turn_goes_on_until_that_is_done",
            "tests/application/editor/projection/test_projecting_questions.py::test_a_conversation_parks_and_goes_on_under_a_fresh_id",
        ],
    ),
    "F102 FR-009": (
        "An approval is asked for with `session/request_permission` and does not end the turn.",
        [
            "tests/application/editor/test_approvals.py::test_a_step_is_shown_before_it_is_asked_about_and_runs_when_allowed",
            "tests/application/editor/test_approvals.py::test_a_tool_call_is_asked_about_with_its_tool_and_arguments",
            "tests/application/editor/test_approvals.py::test_an_approval_beside_a_conversation_that_waits_keeps_the_turn_open",
        ],
    ),
    "F102 FR-010": (
        (
            "`session/cancel` ends what the turn runs, by SIGTERM and after 5 s by SIGKILL; the turn is answered "
            "`cancelled`. Departs: between turns it does nothing, since some editors send it before every message."
        ),
        [
            "tests/application/editor/test_turns_cancelled.py::test_a_step_is_stopped_and_its_run_can_be_gone_on_with",
            "tests/application/editor/test_turns_cancelled.py::test_an_agent_is_stopped",
            "tests/application/editor/test_turns_cancelled.py::test_a_command_that_ignores_the_stop_does_not_keep_the_editor_waiting",
            "tests/application/editor/test_turns_cancelled.py::test_between_turns_there_is_nothing_to_stop",
            "tests/application/editor/test_turns_cancelled.py::test_a_conversation_that_waits_is_not_stopped",
            "tests/infrastructure/processes/test_cancellation.py::test_a_cancelled_command_that_ignores_sigterm_is_killed_after_the_grace",
        ],
    ),
    "F102 FR-011": (
        "The editor's MCP servers join the tools of every agent step; under one name the editor's counts.",
        [
            "tests/application/editor/test_servers_join.py::test_a_server_of_the_editor_is_offered_to_agents",
            "tests/application/editor/test_servers_join.py::test_a_server_of_the_editor_on_the_web_is_offered_to_agents",
            "tests/application/editor/test_servers_join.py::test_under_one_name_the_server_of_the_editor_counts",
            "tests/application/editor/test_servers.py::test_both_kinds_become_servers_and_nothing_is_left_to_fill_in",
        ],
    ),
    "F102 FR-012": (
        "The editor's own files and terminals are never asked for, even where it offers them.",
        [
            "tests/journeys/acp/test_acp_parity.py::test_the_command_line_and_the_editor_give_the_same_output_by_the_same_calls",
            "tests/journeys/acp/test_acp_kit_rows.py::test_a_row_of_the_kit",
            "tests/testing/test_acp_wire.py::test_a_fault_in_a_turn_is_caught",
        ],
    ),
    "F102 FR-013": (
        (
            "Bad input gets the error of JSON-RPC and the next line is served; what is wrong at the start is a "
            "USER.ACP code and exit status 1."
        ),
        [
            "tests/acpserver/test_acp_bad_frames.py::test_a_bad_frame_is_answered_once_and_the_next_is_served",
            "tests/acpserver/test_acp_bad_frames.py::test_what_asks_for_nothing_gets_nothing",
            "tests/acpserver/test_acp_fuzz.py::test_mutated_frames_never_stop_the_server",
            "tests/journeys/acp/test_acp_hostile.py::test_garbage_between_good_frames_harms_no_turn",
            "tests/acpserver/test_acp_pump.py::test_any_other_failure_is_one_sentence_and_the_trace_is_in_the_log",
            "tests/interfaces/acp/test_acp_serve.py::test_a_command_line_that_makes_no_sense_is_refused_before_anything_is_served",
            "tests/interfaces/acp/test_acp_serve.py::test_a_terminal_is_told_that_it_is_no_editor",
            "tests/interfaces/acp/test_acp_serve.py::test_a_file_that_cannot_be_written_is_refused_at_once",
            "tests/interfaces/acp/test_acp_serve.py::test_a_failure_that_nobody_foresaw_is_answered_and_its_traceback_is_for_the_log",
        ],
    ),
    "F102 FR-014": (
        (
            "Text and links become the words of the prompt; pictures, sounds and blobs are refused with an "
            "explanation and `refusal`. Departs: embedded text is accepted, since editors send it for every file that"
            " is mentioned."
        ),
        [
            "tests/application/editor/test_content.py::test_text_stays_as_it_was",
            "tests/application/editor/test_content.py::test_a_link_is_written_as_people_write_it",
            "tests/application/editor/test_content.py::test_the_text_of_a_file_comes_behind_under_its_path",
            "tests/application/editor/test_content.py::test_what_has_no_text_is_refused_in_a_sentence_of_its_own",
            "tests/application/editor/test_inputs.py::test_pictures_sounds_and_blobs_are_refused",
            "tests/application/editor/test_inputs.py::test_files_and_links_arrive_in_the_input",
        ],
    ),
    "F102 FR-015": (
        "Layers are kept by contracts that a machine checks, the engine's separation among them.",
        [
            "tests/architecture/test_boundaries.py::test_an_engine_imports_the_standard_library_and_itself_only",
            "tests/architecture/test_boundaries.py::test_the_inner_layers_know_the_standard_library_and_msgspec_only",
        ],
    ),
    "F102 FR-016": (
        (
            "Steps, branches, retries and failures are shown as they happen: a plan, and a call for each step with "
            "those of its agent below it; other listeners hear the same events."
        ),
        [
            "tests/application/editor/projection/test_projecting_plan.py::test_the_plan_lists_what_can_run_in_order_without_the_ends",
            "tests/application/editor/projection/test_projecting_plan.py::test_entries_follow_their_steps_and_a_loop_counts",
            "tests/application/editor/projection/test_projecting_steps.py::test_a_command_is_a_row_with_its_name_and_what_it_runs",
            "tests/application/editor/projection/test_projecting_steps.py::test_a_step_inside_another_names_the_row_around_it",
            "tests/application/editor/projection/test_projecting_steps.py::test_a_retried_step_keeps_its_row_and_counts_its_attempts",
            "tests/application/editor/projection/test_projecting_steps.py::test_a_failed_step_says_why_under_which_code_and_what_it_printed",
            "tests/application/editor/projection/test_projecting_output.py::test_the_first_output_is_shown_at_once_and_more_only_four_times_a_second",
            "tests/application/editor/projection/test_projecting_recordings.py::test_a_recorded_run_is_shown_as_before",
            "tests/application/editor/projection/test_projecting_examples.py::test_an_example_is_shown_soundly_to_its_end",
            "tests/interfaces/acp/test_acp_serve.py::test_the_log_is_a_file_in_the_data_directory_and_nothing_comes_on_standard_error",
        ],
    ),
    "F102 NFR-001": (
        "The engine is separable, covered, and holds under races.",
        [
            "tests/architecture/test_boundaries.py::test_an_engine_imports_the_standard_library_and_itself_only",
            "tests/acpserver/test_acp_pump.py::test_what_two_threads_tell_is_whole_in_their_order_and_before_the_answer",
            "tests/acpserver/test_acp_pump.py::test_an_answer_and_a_cancel_in_one_breath_leave_one_answer_and_nothing_open",
            "tests/acpserver/test_acp_pump.py::test_ten_thousand_requests_in_one_write_are_each_answered_once",
        ],
    ),
    "F102 NFR-002": (
        "What an agent says is written at once, never held back or gathered; how fast, `python -m bench acp` measures.",
        [
            "tests/application/editor/projection/test_projecting_output.py::test_text_of_an_agent_is_never_held_back",
            "tests/journeys/acp/test_acp_parity.py::test_words_are_shown_while_the_model_still_speaks",
            "tests/acpserver/test_acp_pump.py::test_a_slow_editor_is_congestion_and_its_cancel_gets_through",
        ],
    ),
    "F102 NFR-003": (
        "A line may have 10 MiB; a longer one is dropped to its end and answered with an error.",
        [
            "tests/acpserver/test_acp_framing.py::test_a_line_of_exactly_the_ceiling_is_read_and_one_byte_more_is_refused",
            "tests/acpserver/test_acp_framing.py::test_an_oversize_line_is_told_once_and_the_next_one_is_read",
            "tests/acpserver/test_acp_framing.py::test_an_oversize_line_is_not_kept_in_memory",
            "tests/acpserver/test_acp_bad_frames.py::test_a_line_of_the_ceiling_is_served",
        ],
    ),
    "F102 NFR-004": (
        "Whatever ends the connection, nothing that a session began is left: no task, no process.",
        [
            "tests/acpserver/test_acp_endings.py::test_the_end_of_input_cancels_what_runs_and_closes_the_agent_once",
            "tests/acpserver/test_acp_endings.py::test_an_editor_that_vanishes_cancels_its_own_turns_and_nobody_elses",
            "tests/application/editor/test_sessions.py::test_when_the_editor_goes_away_everything_ends",
            "tests/application/editor/test_sessions.py::test_closing_a_session_cancels_its_prompt",
            "tests/interfaces/acp/test_acp_serve.py::test_the_end_of_the_input_in_the_middle_of_a_step_ends_everything",
            "tests/interfaces/acp/test_acp_serve.py::test_a_signal_in_the_middle_of_a_step_ends_everything_in_good_order",
            "tests/interfaces/acp/test_acp_serve.py::test_an_editor_that_stops_reading_in_the_middle_of_a_step_is_noticed_and_everything_ends",
            "tests/interfaces/acp/test_acp_serve.py::test_killed_in_the_middle_of_a_step_it_leaves_no_process_and_a_run_that_can_go_on",
            "tests/journeys/acp/test_acp_parity.py::test_an_agent_does_not_outlive_whoever_drives_it",
        ],
    ),
    "F102 NFR-005": (
        "A plan of a workflow touches nothing and loads nothing of a live run; editors are not wired into it.",
        [
            "tests/interfaces/cli/test_plan_command.py::test_a_plan_starts_no_process_opens_no_socket_and_writes_no_file",
            "tests/interfaces/cli/test_plan_command.py::test_a_plan_loads_neither_a_store_nor_a_view",
        ],
    ),
    "F102 NFR-006": (
        "Secrets are masked in every frame, in the trace of the wire and in what is remembered of a session.",
        [
            "tests/application/editor/test_inputs.py::test_a_secret_typed_as_an_input_is_shown_nowhere",
            "tests/application/editor/test_inputs.py::test_a_secret_of_the_environment_is_shown_nowhere",
            "tests/application/editor/test_inputs.py::test_what_an_editor_gives_to_its_servers_is_shown_nowhere",
            "tests/interfaces/acp/test_acp_serve.py::test_the_trace_has_every_message_of_both_directions_and_no_secret",
            "tests/interfaces/acp/test_acp_serve.py::test_secrets_of_the_environment_are_masked_before_any_run_has_begun",
            "tests/interfaces/acp/test_acp_serve.py::test_what_is_sent_before_the_agent_is_there_is_masked_too",
        ],
    ),
    "F102 SC-001": (
        "All workflows are listed after `session/new`, hundreds of them, too; how soon, `python -m bench acp` measures.",
        [
            "tests/interfaces/acp/test_acp_serve.py::test_five_hundred_workflows_are_all_offered_after_the_session_is_made",
            "tests/application/editor/test_sessions.py::test_a_session_is_not_told_of_commands_before_the_editor_can_know_it",
            "tests/interfaces/acp/test_acp_startup.py::test_the_commands_are_listed_without_what_only_a_run_needs",
        ],
    ),
    "F102 SC-002": (
        "The same workflow by the command line and by an editor: the same output, the same tool calls, with all six providers.",
        [
            "tests/journeys/acp/test_acp_parity.py::test_the_command_line_and_the_editor_give_the_same_output_by_the_same_calls",
            "tests/journeys/acp/test_acp_parity.py::test_the_answer_in_the_editor_is_what_the_command_prints",
            "tests/journeys/acp/test_acp_parity.py::test_what_goes_wrong_goes_wrong_in_the_same_way",
        ],
    ),
    "F102 SC-003": (
        "A conversation of five turns comes to its end and leaves nothing behind.",
        [
            "tests/application/editor/test_conversations.py::test_a_conversation_of_five_turns",
            "tests/journeys/acp/test_acp_parity.py::test_a_conversation_of_five_turns_goes_on_over_restarts_of_the_agent",
            "tests/journeys/acp/test_acp_sdks.py::test_an_sdk_holds_a_conversation_of_five_turns",
        ],
    ),
    "F102 SC-004": (
        "A cancel gives control back at any moment, whatever the step does; how soon, `python -m bench acp` measures.",
        [
            "tests/application/editor/test_turns_cancelled.py::test_a_turn_is_stopped_at_any_moment",
            "tests/application/editor/test_turns_cancelled.py::test_a_command_that_ignores_the_stop_does_not_keep_the_editor_waiting",
            "tests/application/editor/test_turns_cancelled.py::test_a_turn_that_waits_for_an_approval_is_stopped_and_the_question_withdrawn",
        ],
    ),
    "F102 SC-005": (
        "Whatever the readers of agents' output produce has a form in the editor.",
        [
            "tests/application/editor/projection/test_projecting_providers.py::test_every_display_event_of_a_sample_is_shown",
            "tests/application/editor/projection/test_projecting_providers.py::test_the_samples_show_every_kind_of_display_event",
            "tests/application/editor/projection/test_projecting_any_stream.py::test_any_stream_of_events_is_shown_soundly_and_leaves_nothing_open",
        ],
    ),
    "F102 SC-006": (
        "The checks of the repository pass, and one of them keeps the engine from importing awf.",
        [
            "tests/architecture/test_boundaries.py::test_an_engine_imports_the_standard_library_and_itself_only",
            "tests/architecture/test_boundaries.py::test_an_engine_can_be_imported_in_an_empty_environment",
            "tests/architecture/test_budgets.py::test_every_code_that_is_used_is_explained_and_every_explained_code_is_used",
        ],
    ),
    "F102 US1.1": (
        (
            "After `initialize` and `session/new`: the version, what the agent can do, no way to log in, and then "
            "every workflow as a command."
        ),
        [
            "tests/acpserver/test_acp_conversation.py::test_whatever_version_is_asked_for_the_answer_is_one",
            "tests/acpserver/test_acp_conversation.py::test_authenticate_is_refused_because_nothing_was_offered",
            "tests/application/editor/test_sessions.py::test_commands_are_listed_after_the_start_and_when_files_change",
            "tests/interfaces/acp/test_acp_serve.py::test_five_hundred_workflows_are_all_offered_after_the_session_is_made",
        ],
    ),
    "F102 US1.2": (
        "A prompt shows a workflow step by step, with the words and tools of its agents, and ends `end_turn`.",
        [
            "tests/application/editor/test_turns.py::test_a_run_shows_its_plan_its_steps_and_its_answer",
            "tests/application/editor/test_turns.py::test_every_step_has_begun_before_it_changes",
            "tests/application/editor/test_turns.py::test_nothing_is_shown_after_the_answer",
            "tests/application/editor/projection/test_projecting_ending.py::test_a_good_end_gives_the_answer_exactly_and_then_one_short_line",
            "tests/journeys/acp/test_acp_parity.py::test_the_command_line_and_the_editor_give_the_same_output_by_the_same_calls",
        ],
    ),
    "F102 US1.3": (
        (
            "Missing inputs are told with a line that works once it is filled in, and `refusal`. Departs: where the "
            "editor has forms they are asked for first, secrets never."
        ),
        [
            "tests/application/editor/test_inputs.py::test_without_an_answer_a_line_is_given_that_works_once_it_is_filled_in",
            "tests/application/editor/test_inputs.py::test_what_is_missing_is_asked_for_with_a_form",
            "tests/application/editor/test_inputs.py::test_a_secret_is_never_asked_for_with_a_form",
            "tests/application/editor/test_forms.py::test_missing_is_what_a_run_would_refuse_to_start_without",
            "tests/application/editor/test_forms.py::test_secrets_are_never_asked_for",
        ],
    ),
    "F102 US2.1": (
        "A conversation that asks ends the turn after what the agent said, and waits.",
        [
            "tests/application/editor/test_conversations.py::test_a_conversation_waits_for_the_next_prompt_and_goes_on_in_the_same_run",
            "tests/application/editor/projection/test_projecting_questions.py::test_what_an_agent_said_is_shown_with_its_question_when_nothing_was_streamed",
        ],
    ),
    "F102 US2.2": (
        "The next prompt goes to the conversation that waits, and starts no other run.",
        [
            "tests/application/editor/test_conversations.py::test_a_conversation_waits_for_the_next_prompt_and_goes_on_in_the_same_run",
            "tests/application/editor/test_conversations.py::test_another_workflow_is_refused_politely_while_one_waits",
            "tests/journeys/acp/test_acp_parity.py::test_a_conversation_of_five_turns_goes_on_over_restarts_of_the_agent",
        ],
    ),
    "F102 US2.3": (
        "An empty prompt ends the conversation and the workflow comes to its end.",
        [
            "tests/application/editor/test_conversations.py::test_an_empty_prompt_ends_it",
            "tests/application/editor/test_conversations.py::test_without_a_conversation_there_is_nothing_to_end",
        ],
    ),
    "F102 US3.1": (
        "A cancel ends the run and its processes; the turn is answered `cancelled`.",
        [
            "tests/application/editor/test_turns_cancelled.py::test_a_step_is_stopped_and_its_run_can_be_gone_on_with",
            "tests/application/editor/test_turns_cancelled.py::test_an_agent_is_stopped",
            "tests/journeys/acp/test_acp_sdks.py::test_an_sdk_cancels_and_has_control_again",
            "tests/journeys/acp/test_acp_parity.py::test_words_are_shown_while_the_model_still_speaks",
        ],
    ),
    "F102 US3.2": (
        (
            "Every open call is closed before the answer. Departs: as `failed` with a sentence and "
            "`_meta.awf.cancelled`, for the protocol has no `cancelled`."
        ),
        [
            "tests/application/editor/projection/test_projecting_steps.py::test_a_cancelled_step_is_failed_and_says_that_it_was_cancelled",
            "tests/application/editor/projection/test_projecting_calls.py::test_a_cancelled_call_says_so",
            "tests/application/editor/projection/test_projecting_questions.py::test_a_turn_that_is_closed_marks_everything_as_cancelled",
        ],
    ),
    "F102 US4.1": (
        "A gate asks with allow and deny, waits, and goes on as answered. Departs: a third choice allows for the session.",
        [
            "tests/application/editor/test_approvals.py::test_a_step_is_shown_before_it_is_asked_about_and_runs_when_allowed",
            "tests/application/editor/test_approvals.py::test_a_yes_for_the_session_holds_for_later_runs_and_after_a_restart_but_not_elsewhere",
            "tests/application/editor/projection/test_projecting_questions.py::test_a_gate_is_a_pending_row_with_the_question_and_the_command",
            "tests/application/editor/projection/test_projecting_questions.py::test_a_step_that_was_approved_goes_on_in_the_same_row",
        ],
    ),
    "F102 US4.2": (
        "A no is a skip, an error or the end, as the step says, and is shown as such.",
        [
            "tests/application/editor/test_approvals.py::test_a_no_is_skipped_an_error_or_the_end",
            "tests/application/editor/test_approvals.py::test_a_no_that_the_workflow_has_a_way_on_from",
            "tests/application/editor/projection/test_projecting_questions.py::test_a_refusal_is_shown_at_once_and_what_comes_of_it_then",
            "tests/application/editor/projection/test_projecting_questions.py::test_a_refused_tool_call_is_failed_and_says_why",
        ],
    ),
    "F102 EDGE-1": (
        "Content that no workflow can take is refused with an explanation. Departs: embedded text can be taken.",
        [
            "tests/application/editor/test_inputs.py::test_pictures_sounds_and_blobs_are_refused",
            "tests/application/editor/test_content.py::test_what_has_no_text_is_refused_in_a_sentence_of_its_own",
        ],
    ),
    "F102 EDGE-2": (
        "A line that is no JSON, too long, or of an unknown method is answered with its error, and the loop goes on.",
        [
            "tests/acpserver/test_acp_bad_frames.py::test_a_bad_frame_is_answered_once_and_the_next_is_served",
            "tests/acpserver/test_acp_conversation.py::test_an_unknown_method_is_not_found_before_and_after_the_handshake",
            "tests/acpserver/test_acp_conversation.py::test_a_dropped_line_is_refused_under_null",
        ],
    ),
    "F102 EDGE-3": (
        "An agent that gives whole messages is shown message by message.",
        [
            "tests/journeys/acp/test_acp_parity.py::test_the_command_line_and_the_editor_give_the_same_output_by_the_same_calls",
            "tests/application/editor/projection/test_projecting_speech.py::test_an_answer_that_was_not_streamed_is_shown_in_the_row",
        ],
    ),
    "F102 EDGE-4": (
        "A tool call without an id gets one that stays.",
        [
            "tests/application/editor/projection/test_projecting_calls.py::test_calls_without_an_id_get_one_and_end_in_the_order_they_began",
            "tests/application/editor/projection/test_projecting_calls.py::test_an_id_that_is_used_again_means_another_call",
        ],
    ),
    "F102 EDGE-5": (
        (
            "A prompt during a live turn is refused and harms nothing. Departs: one that comes while a cancelled turn"
            " winds down waits for that."
        ),
        [
            "tests/application/editor/test_turns.py::test_a_second_prompt_during_a_turn_is_refused_and_harms_nothing",
            "tests/application/editor/test_turns_cancelled.py::test_a_prompt_right_after_a_stop_waits_and_then_runs",
            "tests/journeys/acp/test_acp_hostile.py::test_of_ten_thousand_prompts_in_one_write_the_first_runs_and_the_others_are_refused",
        ],
    ),
    "F102 EDGE-6": (
        (
            "When the editor goes while a conversation waits, the process lets go of it and ends. Departs: the run is"
            " kept, and goes on when the session is opened again."
        ),
        [
            "tests/application/editor/test_sessions.py::test_when_the_editor_goes_away_everything_ends",
            "tests/application/editor/test_sessions.py::test_closing_a_session_keeps_a_conversation_that_waits",
            "tests/journeys/acp/test_acp_hostile.py::test_a_client_that_goes_while_a_conversation_waits_finds_it_again",
        ],
    ),
    "F102 EDGE-7": (
        "Servers of the editor and of the workflow are joined; under one name the editor's counts (docs/decisions/0008).",
        [
            "tests/application/editor/test_servers_join.py::test_under_one_name_the_server_of_the_editor_counts",
            "tests/application/editor/test_servers_join.py::test_both_servers_are_there_under_two_names",
        ],
    ),
    "F102 sessions": (
        "A session is on disk as soon as it is made, and whole whatever happens to the disk or the process.",
        [
            "tests/application/editor/test_sessions.py::test_a_session_is_on_disk_as_soon_as_it_is_made",
            "tests/application/editor/test_sessions.py::test_a_full_disk_loses_no_turn",
            "tests/contracts/test_editor_sessions.py::test_several_processes_write_at_once_and_a_reader_sees_whole_sessions_only",
        ],
    ),
    "F102 clients": (
        (
            "Official clients, old and new, list commands, run, cancel, answer questions, converse, and go on after a"
            " restart; every frame is held to the schema."
        ),
        [
            "tests/journeys/acp/test_acp_clients.py::test_a_frame_that_is_wrong_is_found_in_what_was_recorded",
            "tests/journeys/acp/test_acp_kit_rows.py::test_what_clients_do_not_take_is_not_sent",
            "tests/journeys/acp/test_acp_kit_rows.py::test_zed_gets_terminals_and_forms",
            "tests/journeys/acp/test_acp_sdks.py::test_an_sdk_lists_the_commands_with_hints_and_runs_a_workflow",
            "tests/journeys/acp/test_acp_sdks.py::test_an_sdk_cancels_and_has_control_again",
            "tests/journeys/acp/test_acp_sdks.py::test_an_sdk_answers_permissions",
            "tests/journeys/acp/test_acp_sdks.py::test_an_sdk_loads_and_resumes_in_the_middle_of_a_conversation",
            "tests/journeys/acp/test_acp_sdks.py::test_the_servers_of_an_sdk_reach_an_agent_step",
            "tests/journeys/acp/test_acp_acpx.py::test_acpx_runs_a_workflow_and_hears_of_all_commands",
            "tests/journeys/acp/test_acp_acpx.py::test_acpx_allows_and_denies",
            "tests/journeys/acp/test_acp_acpx.py::test_acpx_cancels_from_another_process_and_has_control_again",
            "tests/journeys/acp/test_acp_acpx.py::test_acpx_holds_a_conversation_over_processes_and_resumes_it_in_the_middle",
        ],
    ),
}
