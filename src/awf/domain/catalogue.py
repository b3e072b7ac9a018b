"""Every error code: what it means and what to do. `awf explain` prints it, the docs are made from it."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CATALOGUE", "Entry"]


class Entry(NamedTuple):
    title: str
    meaning: str
    remedy: str


CATALOGUE: dict[str, Entry] = {
    # The person at the keyboard can mend these.
    "USER.INPUT.USAGE": Entry(
        "The command line does not make sense",
        "An option is unknown, a value is missing, or two options contradict each other.",
        "Run the command with --help to see what it takes.",
    ),
    "USER.INPUT.MISSING_FILE": Entry(
        "A file that was named does not exist",
        "A workflow, prompt, script or configuration file could not be found where it was looked for.",
        "Check the spelling and the working directory; `awf list` shows the workflows that are found.",
    ),
    "USER.INPUT.INVALID_FORMAT": Entry(
        "An input is not written as name=value",
        "Inputs on the command line are given as --input name=value, once per input.",
        "Write --input name=value; use --input name=@FILE to take the value from a file.",
    ),
    "USER.INPUT.VALIDATION_FAILED": Entry(
        "One or more inputs are missing or wrong",
        "A required input has no value, a value has the wrong type, or a rule under `validation` is broken.",
        "`awf plan WORKFLOW` lists the inputs with their types; give each with --input name=value.",
    ),
    "USER.INPUT.MISSING_ENV": Entry(
        "A required environment variable is not set",
        "The workflow lists the variable under `env`, and the environment does not have it.",
        "Set the variable and run again.",
    ),
    "USER.INPUT.MISSING_ROLE": Entry(
        "A role was not found",
        "`role` names a directory with an AGENTS.md; none of the searched directories has it.",
        "Create .awf/roles/NAME/AGENTS.md, or set AWF_ROLES_PATH.",
    ),
    "USER.INPUT.MISSING_SKILL": Entry(
        "A skill was not found",
        "`skills` names directories with a SKILL.md; none of the searched directories has this one.",
        "Create .awf/skills/NAME/SKILL.md, or set AWF_SKILLS_PATH.",
    ),
    "USER.CONFIG.INVALID": Entry(
        "A configuration file is wrong",
        "A key in .awf/config.yaml, .awf/plugins.yaml, a plugin.yaml or the file of `awf mcp-serve` is unknown, or has "
        "a value of the wrong type.",
        "docs/reference/config.md lists the keys; `awf config show` prints every setting with its origin.",
    ),
    "USER.PLUGIN.UNKNOWN": Entry(
        "There is no such plugin",
        "Neither .awf/plugins.yaml nor a plugin folder declares it, or it is switched off there.",
        "`awf plugin list` shows the plugins that are found here; `awf plugin new NAME` writes one.",
    ),
    "USER.PLUGIN.UNKNOWN_OPERATION": Entry(
        "A plugin has no such operation",
        "The plugin was asked, and the name is not among those it offers.",
        "`awf plugin check NAME` lists what it offers.",
    ),
    "USER.PLUGIN.UNKNOWN_STEP_TYPE": Entry(
        "A plugin has no such step type",
        "The plugin was asked, and the name is not among those it offers.",
        "`awf plugin check NAME` lists what it offers.",
    ),
    "USER.PLUGIN.CONFIG": Entry(
        "A plugin's configuration does not fit",
        "A key is missing, unknown or of the wrong type, or a ${env:NAME} names a variable that is not set.",
        "Correct `config` or `env` of the plugin in .awf/plugins.yaml, or set the variable.",
    ),
    "USER.PLUGIN.VERSION": Entry(
        "A plugin is for another version of awf",
        "`awf_version` in its plugin.yaml excludes this version.",
        "Install a version of the plugin that fits, or another awf.",
    ),
    "USER.MCP_PROXY.UNKNOWN_KEY": Entry(
        "A key in an mcp_proxy block is not known",
        "The block knows enable, intercept_builtins, plugin_tools, mcp_servers, approve and approve_timeout; "
        "what lies inside them is checked as well.",
        "Check the spelling; docs/reference/workflow.md lists the keys.",
    ),
    "USER.MCP_PROXY.UNKNOWN_PLUGIN": Entry(
        "A plugin that tools should come from does not exist",
        "plugin_tools names a plugin that neither .awf/plugins.yaml nor a plugin folder declares.",
        "`awf plugin list` shows the plugins that are found here.",
    ),
    "USER.MCP_PROXY.UNKNOWN_OPERATION": Entry(
        "A plugin has no such operation",
        "expose names an operation that the plugin does not offer, or whose inputs cannot be described to an agent.",
        "`awf plugin check NAME` lists what the plugin offers.",
    ),
    "USER.MCP_PROXY.NAME_COLLISION": Entry(
        "Two tools would have the same name",
        "Built-in tools, plugin operations (PLUGIN_OPERATION) and tools of MCP servers share one list of names.",
        "Expose only one of the two, or rename the plugin or server.",
    ),
    "USER.MCP_PROXY.EMPTY_PROXY": Entry(
        "A proxy offers nothing",
        "It is enabled, does not intercept the built-in tools, and adds no plugin tools or MCP servers.",
        "Add plugin_tools or mcp_servers, set intercept_builtins: true, or remove the block.",
    ),
    "USER.MCP_PROXY.UNSUPPORTED_PROVIDER": Entry(
        "The agent may use tools beside those of the proxy",
        "A warning: this provider cannot be kept to the proxy's tools, so calls of its own tools bypass AWF.",
        "Use a provider with guaranteed isolation where every call must be seen.",
    ),
    "USER.RUN.NOT_FOUND": Entry(
        "No run has this id",
        "The id (or its beginning) matches no run in the store, or it matches several.",
        "`awf history` lists the runs.",
    ),
    "USER.RUN.NOT_RESUMABLE": Entry(
        "The run cannot be resumed",
        "The run has already completed.",
        "Start again with `awf rerun RUN`, or from one step with `awf rerun RUN --from STEP`.",
    ),
    "USER.RUN.BUSY": Entry(
        "Another process is running this run",
        "Exactly one process may own a run, and a living one holds it.",
        "Watch it with `awf logs -f RUN`, or stop it with `awf cancel RUN`.",
    ),
    "USER.RUN.DEFINITION_CHANGED": Entry(
        "The workflow file has changed since the run started",
        "A resumed run continues with the definition it started with, which is stored with the run.",
        "Nothing needs to be done. To use the new file, start a new run with `awf rerun RUN --from STEP`.",
    ),
    "USER.RUN.UNKNOWN_STEP": Entry(
        "The step is not in this run",
        "`--from` must name a state that the earlier run reached.",
        "`awf show RUN` lists the steps of a run.",
    ),
    "USER.RUN.NOTHING_WAITING": Entry(
        "Nothing is waiting for an answer",
        "The run has no open approval or question, or the named one has been answered.",
        "`awf status RUN` shows what a run is waiting for.",
    ),
    "USER.CODE.UNKNOWN": Entry(
        "No such error code",
        "`awf explain` knows the codes of this version only.",
        "`awf explain` without an argument lists them all.",
    ),
    "USER.FILE.EXISTS": Entry(
        "The file is already there",
        "Nothing is overwritten without being asked to.",
        "Choose another name, or pass --force.",
    ),
    # The workflow's author can mend these.
    "WORKFLOW.PARSE.YAML_SYNTAX": Entry(
        "The file is not valid YAML",
        "The parser stopped at the place shown.",
        "Look at the indentation, quotes and brackets just before that place.",
    ),
    "WORKFLOW.PARSE.DUPLICATE_KEY": Entry(
        "A key is given twice",
        "YAML keeps only one of them, so the other would be lost without notice.",
        "Remove or rename one of the two.",
    ),
    "WORKFLOW.PARSE.TOO_LARGE": Entry(
        "The file is too large for a workflow",
        "Workflow files may have up to 5 MiB, and nest up to 100 levels deep.",
        "Move bulk text to prompt or script files, and split the workflow with call_workflow.",
    ),
    "WORKFLOW.PARSE.ENCODING": Entry(
        "The file is not UTF-8 text",
        "Workflow files are UTF-8; some byte in this one cannot be read.",
        "Save the file as UTF-8.",
    ),
    "WORKFLOW.PARSE.UNKNOWN_FIELD": Entry(
        "A key that does not exist here",
        "Keys are checked strictly so that a typing mistake cannot be ignored without notice.",
        "Use the suggested key; `awf schema` and docs/reference/workflow.md list them all.",
    ),
    "WORKFLOW.PARSE.MISSING_FIELD": Entry(
        "A required key is missing", "This part of the file cannot work without it.", "Add the key."
    ),
    "WORKFLOW.PARSE.WRONG_TYPE": Entry(
        "A value has the wrong type",
        "For example text where a number is wanted, or a single value where a list is wanted.",
        "Write the value in the form that the message names.",
    ),
    "WORKFLOW.PARSE.INVALID_VALUE": Entry(
        "A value is not one of those allowed",
        "The key takes only certain values, or a value in a certain range or notation.",
        "Use one of the values that the message names.",
    ),
    "WORKFLOW.VALIDATION.UNKNOWN_PLUGIN": Entry(
        "A plugin does not exist",
        "An operation is written as PLUGIN.OPERATION, and no such plugin is declared here.",
        "`awf plugin list` shows the plugins that are found here.",
    ),
    "WORKFLOW.VALIDATION.UNKNOWN_OPERATION": Entry(
        "A plugin has no such operation",
        "The plugin was asked, and does not offer the operation, or its inputs cannot be described.",
        "`awf plugin check NAME` lists what the plugin offers.",
    ),
    "WORKFLOW.VALIDATION.PLUGIN_ISSUE": Entry(
        "A plugin objects to the workflow",
        "A plugin with validators has looked at the workflow; the message is its own.",
        "Do what the message says, or pass --skip-plugins to leave plugins out.",
    ),
    "WORKFLOW.VALIDATION.UNKNOWN_TYPE": Entry(
        "No such state type",
        "`type` decides what a state does; this one is not known.",
        "Use step, agent, parallel, for_each, while, call_workflow or terminal.",
    ),
    "WORKFLOW.VALIDATION.MISSING_STATE": Entry(
        "A state that does not exist is referred to",
        "`initial`, a transition, a branch or a loop body names a state that is not defined.",
        "Correct the name, or define the state.",
    ),
    "WORKFLOW.VALIDATION.UNREACHABLE_STATE": Entry(
        "A state can never be reached",
        "No transition, branch or loop body leads to it from the initial state.",
        "Lead a transition to it, or remove it.",
    ),
    "WORKFLOW.VALIDATION.CYCLE_DETECTED": Entry(
        "The workflow can never end",
        "These states lead only to each other; no way out reaches a terminal state.",
        "Add a transition to a state that ends the workflow.",
    ),
    "WORKFLOW.VALIDATION.NO_TERMINAL": Entry(
        "No terminal state",
        "A workflow ends in a state of type `terminal`.",
        "Add a state such as `done: {type: terminal}`.",
    ),
    "WORKFLOW.VALIDATION.INVALID_TRANSITION": Entry(
        "A state does not say where to go next, or says it where it has no effect",
        "Outside of parallel branches and loop bodies each state needs `on_success` or `transitions`.",
        "Add on_success: NEXT_STATE.",
    ),
    "WORKFLOW.VALIDATION.CONFLICT": Entry(
        "Two keys exclude each other, or one needs another",
        "For example both `command` and `script_file`, or `continue_from` a step of another provider.",
        "Keep one of the two, or add what is missing.",
    ),
    "WORKFLOW.VALIDATION.DUPLICATE_NAME": Entry(
        "A name is used twice",
        "Inputs, branches and body states are addressed by name, so each may appear once.",
        "Rename or remove one of them.",
    ),
    "WORKFLOW.VALIDATION.UNDEFINED_INPUT": Entry(
        "A template or condition uses an input that is not declared",
        "Only names listed under `inputs` can be used as inputs.NAME.",
        "Correct the name, or declare the input.",
    ),
    "WORKFLOW.VALIDATION.UNDEFINED_STEP": Entry(
        "A template or condition uses a state that does not exist",
        "states.NAME must name a state of this workflow.",
        "Correct the name.",
    ),
    "WORKFLOW.VALIDATION.UNDEFINED_VARIABLE": Entry(
        "A template or condition uses a name that does not exist",
        "Known names are inputs, states, vars, env, workflow, loop, error, context and awf, each with its fields.",
        "Use one of the known names; write {% raw %}…{% endraw %} around text meant for another program.",
    ),
    "WORKFLOW.VALIDATION.TEMPLATE_SYNTAX": Entry(
        "A template cannot be parsed",
        "Templates are Jinja: {{ inputs.name }}, {% if … %}…{% endif %}.",
        "Correct the place shown; write {% raw %}…{% endraw %} around text meant for another program.",
    ),
    "WORKFLOW.VALIDATION.CONDITION_SYNTAX": Entry(
        "A condition cannot be parsed",
        "Conditions are CEL, without braces: states.test.exit_code == 0 && inputs.env == 'prod'.",
        "Correct the place shown.",
    ),
    "WORKFLOW.VALIDATION.UNKNOWN_PROVIDER": Entry(
        "No agent provider has this name",
        "`provider` names the agent that runs the step.",
        "Use one of the providers that the message lists.",
    ),
    "WORKFLOW.VALIDATION.INVALID_OPTIONS": Entry(
        "An option does not fit the agent provider",
        "Each provider has its own typed options.",
        "Correct the option as the message says.",
    ),
    "WORKFLOW.VALIDATION.UNKNOWN_WORKFLOW": Entry(
        "A sub-workflow was not found",
        "`workflow` in a call_workflow state names another workflow file.",
        "`awf list` shows the names that can be called.",
    ),
    "WORKFLOW.VALIDATION.RECURSION": Entry(
        "Workflows call each other in a circle, or too deep",
        "Sub-workflows may nest up to 10 levels and may not lead back to a caller.",
        "Break the circle, or use a loop state.",
    ),
    "WORKFLOW.VALIDATION.UNKNOWN_TEMPLATE": Entry(
        "A step template was not found",
        "`use_template` names a file in .awf/templates.",
        "Create the file, or correct the name.",
    ),
    "WORKFLOW.VALIDATION.INVALID_TEMPLATE": Entry(
        "A step template cannot be used here",
        "A required parameter is missing, a parameter is unknown, or the template refers to itself.",
        "Give every required parameter under `parameters`.",
    ),
    "WORKFLOW.VALIDATION.INVALID_SCHEMA": Entry(
        "output_schema is not a valid JSON Schema",
        "The agent's answer is checked against it, so it must be valid itself.",
        "Correct the schema at the place shown.",
    ),
    # Something failed while running.
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
    "EXECUTION.AGENT.FAILED": Entry(
        "An agent failed",
        "The agent reported an error or ended without an answer.",
        "Look at its output with `awf show RUN --step STEP`.",
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
    # The surroundings.
    "SYSTEM.PLUGIN.UNAVAILABLE": Entry(
        "Plugins are used but not installed",
        "The workflow uses a plugin, and the gRPC packages are missing.",
        "Install the extra: pip install 'awf-suite[plugins]'.",
    ),
    "SYSTEM.STORE.UNAVAILABLE": Entry(
        "The run store cannot be opened",
        "The storage directory is missing, read-only, or holds a file that is not ours.",
        "Check its permissions, or choose another directory with --storage or AWF_STORAGE.",
    ),
    "SYSTEM.STORE.WRITE_FAILED": Entry(
        "The run store cannot be written",
        "The disk is full, or the directory has become read-only. The run stopped; finished steps are safe.",
        "Free some space, then continue with `awf resume RUN`.",
    ),
    "SYSTEM.STORE.NEWER": Entry(
        "The run store was written by a newer version",
        "This version does not know its layout, and leaves it alone.",
        "Upgrade awf, or choose another directory with --storage.",
    ),
    "SYSTEM.IO.READ_FAILED": Entry(
        "A file cannot be read", "It exists, but reading it failed.", "Check its permissions."
    ),
    "SYSTEM.IO.WRITE_FAILED": Entry(
        "A file cannot be written",
        "The directory is missing, read-only, or the disk is full.",
        "Check the permissions and the free space.",
    ),
    "SYSTEM.TELEMETRY.UNAVAILABLE": Entry(
        "Tracing is configured but not installed",
        "An OTLP endpoint is set, and the OpenTelemetry packages are missing.",
        "Install the extra: pip install 'awf-suite[otel]'.",
    ),
    "SYSTEM.INTERNAL.BUG": Entry(
        "A mistake in awf itself",
        "Something happened that should not be possible. The details were written to the file named.",
        "Please report it with that file.",
    ),
}
