"""What went wrong while something ran."""

from __future__ import annotations

from awf.domain.catalogue.entry import Entry

__all__ = ["EXECUTION_CODES"]

EXECUTION_CODES: dict[str, Entry] = {
    "EXECUTION.COMMAND.FAILED": Entry(
        "A command ended with a non-zero exit code",
        "The step failed and nothing in the workflow handles the failure.",
        "Look at its output with `awf show RUN --step STEP`; handle it with on_failure or continue_on_error.",
    ),
    "EXECUTION.COMMAND.NOT_FOUND": Entry(
        "A program could not be started",
        "The program, the shell or the working directory does not exist, or may not be executed.",
        "Install the program, or correct the path.",
    ),
    "EXECUTION.COMMAND.SIGNALLED": Entry(
        "A command was ended by a signal",
        "Something other than awf ended the process, for example the kernel when memory ran out.",
        "Look at its output with `awf show RUN --step STEP`.",
    ),
    "EXECUTION.STEP.TIMEOUT": Entry(
        "A step took longer than its timeout",
        "Its processes were ended (SIGTERM, then SIGKILL after 5 seconds).",
        "Raise `timeout`, or handle the failure with on_failure.",
    ),
    "EXECUTION.STEP.CANCELLED": Entry(
        "A step was cancelled",
        "A sibling branch decided the outcome, or the run was cancelled.",
        "Nothing needs to be done.",
    ),
    "EXECUTION.TEMPLATE.FAILED": Entry(
        "A template or condition could not be evaluated",
        "A value it uses does not exist at this point of the run, or has another type.",
        "Guard it, for example with `default(…)` in a template or has(…) in a condition.",
    ),
    "EXECUTION.PARALLEL.FAILED": Entry(
        "A parallel state did not meet its strategy",
        "all_succeed needs every branch to succeed, any_succeed at least one.",
        "Look at the failed branches with `awf show RUN`.",
    ),
    "EXECUTION.LOOP.FAILED": Entry(
        "An iteration of a loop failed",
        "A state in the loop's body failed and nothing handles it.",
        "Handle it with on_failure or continue_on_error in the body.",
    ),
    "EXECUTION.LOOP.LIMIT": Entry(
        "A loop reached its limit of iterations",
        "A while loop stops after max_iterations (100 unless given); no loop may pass 10 000.",
        "Raise max_iterations, or give the loop an on_complete state that handles it.",
    ),
    "EXECUTION.LOOP.ITEMS": Entry(
        "The items of a loop are not a list",
        "`items` must be a list, a JSON array, lines, or values separated by commas.",
        "Correct `items`.",
    ),
    "EXECUTION.WORKFLOW.FAILED": Entry(
        "The workflow ended in a failure state",
        "It reached a terminal state with status failure, or an inline on_failure.",
        "The message of that state says why.",
    ),
    "EXECUTION.WORKFLOW.CANCELLED": Entry(
        "The run was cancelled", "By Ctrl+C, a signal, or `awf cancel`.", "Continue it with `awf resume RUN`."
    ),
    "EXECUTION.WORKER.NO_FOLDER": Entry(
        "A worker does not have the folder of the run",
        "A run goes on in the folder where it was submitted; that folder is not there on the machine that took it.",
        "Give every worker the project at the same place, or a tag to those that have it: awf run --submit --tag NAME.",
    ),
    "EXECUTION.WORKER.DIED": Entry(
        "Workers died one after the other with this run",
        "Ten workers in a row ended without a word while they ran the same step, so it is not tried on an eleventh.",
        "Look at the step: does it use up the memory of the machine? Then `awf resume RUN --submit`.",
    ),
    "EXECUTION.SUBWORKFLOW.FAILED": Entry(
        "A sub-workflow failed",
        "The called workflow ended in failure; its own error is in the message.",
        "Look at its steps with `awf show RUN`.",
    ),
    "EXECUTION.APPROVAL.DENIED": Entry(
        "A person said no",
        "The approval in front of a state was rejected, and on_deny is `error` or `abort`.",
        "Nothing needs to be done; with on_deny: skip the run would go on without the state.",
    ),
    "EXECUTION.APPROVAL.TIMEOUT": Entry(
        "Nobody answered an approval in time",
        "This is not a no: the state did not run because the time ran out.",
        "Continue with `awf resume RUN` and answer, or raise the approval's timeout.",
    ),
    "EXECUTION.INPUT.UNAVAILABLE": Entry(
        "Nobody can answer",
        "The run needs an answer, and it was started with --no-input.",
        "Run it on a terminal, answer from elsewhere with `awf approve`, or pass --yes for approvals.",
    ),
    "EXECUTION.LIMIT.EXCEEDED": Entry(
        "A limit was reached",
        "`limits` on tokens, cost, duration or tool calls stops the run before the next step.",
        "Raise the limit and start again with `awf rerun RUN --from STEP`.",
    ),
    "EXECUTION.AUDIT.BROKEN": Entry(
        "The audit is not as it was written",
        "A record was changed, removed, moved or replaced, the end was cut off, or a signature does not hold. The message "
        "names the place; everything before it is sound.",
        "Compare with an export, a copy or the witness file; `awf audit show SEQUENCE` shows the record at the place.",
    ),
    "EXECUTION.AGENT.FAILED": Entry(
        "An agent failed",
        "The agent reported an error or ended without an answer.",
        "Look at its output with `awf show RUN --step STEP`.",
    ),
    "EXECUTION.AGENT.NOT_FOUND": Entry(
        "An agent's program is not installed",
        "The provider is a program of its own, and neither the PATH nor the option `program` leads to it.",
        "Install it as the hint says; `awf doctor` shows which agents are found.",
    ),
    "EXECUTION.AGENT.NO_TOOLS": Entry(
        "An agent worked without the tools of AWF",
        "Its program went on although the tool server did not come up in it; its answer is not used.",
        "Try again; if it stays, `awf doctor` tells whether this version of the agent is known to work.",
    ),
    "EXECUTION.AGENT.OUTPUT_INVALID": Entry(
        "An agent's answer does not have the form that was asked for",
        "output_format or output_schema was not met, also after one request to repair it.",
        "Make the prompt clearer about the form, or loosen the schema.",
    ),
    "EXECUTION.PLUGIN.FAILED": Entry(
        "A plugin reported a failure",
        "The operation or step ran, and the plugin says that it did not succeed.",
        "Look at its output with `awf show RUN --step STEP`.",
    ),
    "EXECUTION.PLUGIN.START_FAILED": Entry(
        "A plugin did not start",
        "Its program is missing, ended at once, did not print its line, or did not become ready in time.",
        "The message says what it printed; `awf plugin check NAME` starts it by itself.",
    ),
    "EXECUTION.PLUGIN.CRASHED": Entry(
        "A plugin died while it was working",
        "Its process ended before it answered. It is started again for the next call.",
        "The message ends with what it last wrote; `awf plugin check NAME` starts it by itself.",
    ),
    "EXECUTION.PLUGIN.TIMEOUT": Entry(
        "A plugin did not answer in time",
        "The call was given up after the plugin's or the step's timeout; an answer that comes later is ignored.",
        "Raise `timeout` in the step or in .awf/plugins.yaml.",
    ),
    "EXECUTION.PLUGIN.PROTOCOL": Entry(
        "A plugin answered something that makes no sense",
        "Its answer is not what plugin.proto describes, or a value in it is not JSON.",
        "`awf plugin check NAME` shows more; docs/plugins.md describes the protocol.",
    ),
    "EXECUTION.PLUGIN.UNAVAILABLE": Entry(
        "A plugin cannot be used",
        "It could not be started, did not introduce itself, or has died several times in a row.",
        "`awf plugin check NAME` starts it by itself and says what happens.",
    ),
    "EXECUTION.MCP_SERVER.UNAVAILABLE": Entry(
        "An MCP server cannot be used",
        "It could not be started or reached, ended, or did not answer in time.",
        "The message ends with what it last wrote; start it by hand with the same command.",
    ),
    "EXECUTION.MCP_SERVER.TIMEOUT": Entry(
        "An MCP server took too long",
        "It did not answer a request in the time that its configuration allows; it was told to stop.",
        "Raise `timeout` of the server, or ask for less at once.",
    ),
    "EXECUTION.SANDBOX.STOPPED": Entry(
        "A sandbox ended a program",
        "It used more than its profile allows, or made a system call that no confined program may make.",
        "The message names the limit; raise it in a profile of your own, or find out what the program was up to.",
    ),
    "EXECUTION.MCP_SERVER.DENIED": Entry(
        "An MCP server refused us",
        "It answered that we are not allowed in (HTTP 401 or 403).",
        "Check `headers` of the server, and the key or token in them.",
    ),
    "EXECUTION.MCP_SERVER.PROTOCOL": Entry(
        "An MCP server answered something that makes no sense",
        "Its answer is not what the protocol describes, or it speaks no revision that AWF knows.",
        "Check the address or the command; the server's own log may say more.",
    ),
}
