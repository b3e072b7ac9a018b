"""What is wrong with a workflow file."""

from __future__ import annotations

from awf.domain.catalogue.entry import Entry

__all__ = ["WORKFLOW_CODES"]

WORKFLOW_CODES: dict[str, Entry] = {
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
}
