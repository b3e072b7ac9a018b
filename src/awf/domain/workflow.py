"""What a workflow file says, once read: the states and how they lead to each other.

These types are the file format. The reader checks files against them, `awf schema` and the reference page are
generated from them. Nothing here is optional decoration: a key that exists is honoured by the engine.
"""

from typing import Annotated, Any, ClassVar, Literal

from awf.domain.mcp_proxy import McpProxy
from awf.domain.shape import Condition, Duration, Name, Record, Size, StateName, Template, Value

__all__ = [
    "PLUGIN_TYPE",
    "STATE_CLASSES",
    "STATE_TYPES",
    "AgentState",
    "Approval",
    "CallState",
    "Capture",
    "CommandState",
    "Conversation",
    "ForEachState",
    "Hook",
    "InlineFailure",
    "Input",
    "InputValidation",
    "Limits",
    "OperationState",
    "ParallelState",
    "PluginState",
    "Retry",
    "SkillRef",
    "State",
    "StepHooks",
    "TerminalState",
    "Transition",
    "WhileState",
    "Workflow",
    "WorkflowHooks",
    "approval_of",
    "plugin_and_member",
]


class InputValidation(Record, frozen=True, kw_only=True):
    """Rules that an input's value must meet."""

    pattern: Annotated[str | None, "A regular expression that must be found in the text."] = None
    enum: Annotated[list[Any] | None, "The values allowed."] = None
    min: Annotated[float | None, "The least number allowed."] = None
    max: Annotated[float | None, "The greatest number allowed."] = None
    file_exists: Annotated[bool, "The value must be the path of an existing file."] = False
    file_extension: Annotated[list[str] | None, "File name endings allowed, with the dot: [.yaml, .yml]."] = (
        None
    )


class Input(Record, frozen=True, kw_only=True):
    """A value the workflow is given when it starts."""

    name: Annotated[Name, "How templates refer to it: {{ inputs.NAME }}."]
    type: Annotated[
        Literal["string", "integer", "number", "boolean", "array", "object"], "The type; values keep it."
    ] = "string"
    description: Annotated[str, "What the person who runs the workflow should give."] = ""
    required: Annotated[bool, "Whether the run refuses to start without it."] = False
    default: Annotated[Any, "The value when none is given."] = None
    enum: Annotated[list[Any] | None, "The values allowed; the same as validation.enum."] = None
    secret: Annotated[bool, "Mask the value wherever it would be shown or stored."] = False
    validation: Annotated[InputValidation | None, "Rules the value must meet."] = None


class Retry(Record, frozen=True, kw_only=True):
    """Try a failed state again."""

    max_attempts: Annotated[int, "How often to try in all, the first time included."] = 3
    initial_delay: Annotated[Duration, "The pause before the second attempt."] = 1.0
    max_delay: Annotated[Duration | None, "The longest pause."] = None
    backoff: Annotated[
        Literal["constant", "linear", "exponential"], "How the pause grows: d, d·n, or d·multiplier^(n-1)."
    ] = "exponential"
    multiplier: Annotated[float, "The factor of exponential growth."] = 2.0
    jitter: Annotated[float, "Spread each pause by this fraction, 0 to 1."] = 0.0
    retryable_exit_codes: Annotated[
        list[int] | None, "Retry only on these exit codes; otherwise on any failure."
    ] = None


class Capture(Record, frozen=True, kw_only=True):
    """Name a command's output, and set how much of it is kept."""

    stdout: Annotated[Name | None, "Keep standard output as {{ vars.NAME }}."] = None
    stderr: Annotated[Name | None, "Keep standard error as {{ vars.NAME }}."] = None
    max_size: Annotated[
        Size, "How much of each stream templates can use; what is larger is kept whole in a file."
    ] = 1_048_576
    encoding: Annotated[str, "The text encoding of the output."] = "utf-8"


class Hook(Record, frozen=True, kw_only=True):
    """Something small done beside the work. A hook that fails is a warning, never a failure."""

    log: Annotated[Template | None, "Write a line to the run's log."] = None
    command: Annotated[Template | None, "Run a shell command."] = None


class StepHooks(Record, frozen=True, kw_only=True):
    """Hooks around one state."""

    pre: Annotated[list[Hook], "Before the state runs."] = []
    post: Annotated[list[Hook], "After it has run, whatever the outcome."] = []


class WorkflowHooks(Record, frozen=True, kw_only=True):
    """Hooks around the whole workflow."""

    workflow_start: Annotated[list[Hook], "Before the first state."] = []
    workflow_end: Annotated[list[Hook], "After a successful end."] = []
    workflow_error: Annotated[
        list[Hook], "After a failure; {{ error.message }} and others say what it was."
    ] = []
    workflow_cancel: Annotated[list[Hook], "After a cancellation."] = []


class Transition(Record, frozen=True, kw_only=True):
    """One way on. The first whose condition holds is taken."""

    when: Annotated[Condition | None, "A CEL condition; none means always."] = None
    goto: Annotated[StateName, "The state to go to."]


class InlineFailure(Record, frozen=True, kw_only=True):
    """End the workflow as failed, right here."""

    message: Annotated[Template, "What to tell the person."] = ""
    status: Annotated[int, "The exit status of `awf run`, 1 to 255."] = 1


class Approval(Record, frozen=True, kw_only=True):
    """Ask a person before the state runs."""

    message: Annotated[Template, "The question."] = ""
    on_deny: Annotated[
        Literal["skip", "error", "abort"],
        "On a no: go on without the state, let the state fail, or end the run.",
    ] = "abort"
    timeout: Annotated[
        Duration | None, "How long to wait; running out of time is its own outcome, not a no."
    ] = None


class Limits(Record, frozen=True, kw_only=True):
    """What may be spent. The run stops before the next step once a limit is passed."""

    tokens: Annotated[int | None, "Input and output tokens of all agents."] = None
    cost: Annotated[float | None, "US dollars, as far as agents report or their price is known."] = None
    duration: Annotated[Duration | None, "Wall-clock time."] = None
    tool_calls: Annotated[int | None, "Tool calls of all agents."] = None


class Conversation(Record, frozen=True, kw_only=True):
    """Keep an agent's session, so that it can be continued."""

    continue_from: Annotated[StateName | None, "Continue the session of this earlier agent state."] = None


class SkillRef(Record, frozen=True, kw_only=True):
    """A skill by its directory."""

    path: Annotated[Template, "A directory that holds a SKILL.md."]


class StateCommon(Record, frozen=True, kw_only=True):
    """Keys that every state may have."""

    kind: ClassVar[str] = ""
    keys: ClassVar[dict[str, str]] = {}
    description: Annotated[str, "What the state is for; shown in plans and reports."] = ""


class Runnable(StateCommon, frozen=True, kw_only=True):
    """Keys of every state that does something."""

    on_success: Annotated[StateName | None, "The state to go to when this one succeeds."] = None
    on_failure: Annotated[
        StateName | InlineFailure | None, "The state to go to when this one fails, or a message to end with."
    ] = None
    transitions: Annotated[list[Transition], "Ways on, tried in order before on_success and on_failure."] = []
    continue_on_error: Annotated[bool, "Go on as if it had succeeded when it fails."] = False
    timeout: Annotated[Duration | None, "How long one attempt may take."] = None
    retry: Annotated[Retry | None, "Try again when it fails."] = None
    hooks: Annotated[StepHooks | None, "Small things to do before and after."] = None
    env: Annotated[dict[str, Template], "Environment variables for the state's processes."] = {}
    depends_on: Annotated[
        list[StateName], "As a parallel branch: wait for these branches to succeed first."
    ] = []
    approval: Annotated[
        Approval | str | bool | None, "Ask a person first: true, the question, or the details."
    ] = None
    limits: Annotated[Limits | None, "What this state may spend."] = None


class CommandState(Runnable, frozen=True, kw_only=True):
    """Run a shell command or a script."""

    kind: ClassVar[str] = "step"
    command: Annotated[Template | None, "The command, run by the shell."] = None
    script_file: Annotated[
        Template | None, "A script to run instead; its #! line chooses the interpreter."
    ] = None
    dir: Annotated[Template | None, "The working directory."] = None
    shell: Annotated[str | None, "The shell to use; else $SHELL, else /bin/sh."] = None
    capture: Annotated[Capture | None, "Name the output, and set how much of it is kept."] = None


class AgentState(Runnable, frozen=True, kw_only=True):
    """Give a task to an agent."""

    kind: ClassVar[str] = "agent"
    provider: Annotated[Template, "The agent that does it."]
    prompt: Annotated[Template | None, "The task."] = None
    prompt_file: Annotated[
        Template | None, "A file that holds the task; placeholders in it are filled in."
    ] = None
    system_prompt: Annotated[Template | None, "Standing instructions for the agent."] = None
    role: Annotated[
        Template | None, "A role, by name or directory: its AGENTS.md goes before the system prompt."
    ] = None
    skills: Annotated[
        list[str | SkillRef], "Skills, by name or directory: their text goes before the prompt."
    ] = []
    mode: Annotated[Literal["single", "conversation"], "One answer, or a conversation with the person."] = (
        "single"
    )
    conversation: Annotated[Conversation | None, "Keep the session; continue an earlier one."] = None
    options: Annotated[dict[str, Value], "Options of the provider, such as model."] = {}
    output_format: Annotated[Literal["text", "json"] | None, "Take the answer as plain text or as JSON."] = (
        None
    )
    output_schema: Annotated[
        dict[str, Any] | None, "A JSON Schema that the answer must meet; one repair is asked for."
    ] = None
    dir: Annotated[Template | None, "The agent's working directory."] = None
    mcp_proxy: Annotated[McpProxy | None, "Give the agent its tools through AWF."] = None


class ParallelState(Runnable, frozen=True, kw_only=True):
    """Run several states at the same time."""

    kind: ClassVar[str] = "parallel"
    parallel: Annotated[list[StateName], "The states to run."]
    strategy: Annotated[
        Literal["all_succeed", "any_succeed", "best_effort"],
        "all_succeed stops at the first failure, any_succeed at the first success, best_effort never fails.",
    ] = "all_succeed"
    max_concurrent: Annotated[int, "How many may run at once; 0 means all."] = 0


class LoopState(Runnable, frozen=True, kw_only=True):
    """Keys of both loops."""

    body: Annotated[list[StateName], "The states of one iteration, in order."]
    max_iterations: Annotated[int | Template | None, "The most iterations allowed, up to 10000."] = None
    break_when: Annotated[Condition | None, "Stop after an iteration for which this holds."] = None
    on_complete: Annotated[StateName | None, "The state to go to after the last iteration."] = None


class ForEachState(LoopState, frozen=True, kw_only=True):
    """Run states once for every item."""

    kind: ClassVar[str] = "for_each"
    items: Annotated[list[Value] | Template, "A list, or a template that gives one (JSON, lines, or commas)."]


class WhileState(LoopState, frozen=True, kw_only=True):
    """Run states as long as a condition holds."""

    kind: ClassVar[str] = "while"
    keys: ClassVar[dict[str, str]] = {"condition": "while"}  # field → key in the file
    condition: Annotated[Condition, "The condition, checked before each iteration."]


class CallState(Runnable, frozen=True, kw_only=True):
    """Run another workflow as one step."""

    kind: ClassVar[str] = "call_workflow"
    workflow: Annotated[str, "The name of the workflow, or a path that starts with ./ or ../."]
    inputs: Annotated[dict[str, Value], "Its inputs."] = {}
    outputs: Annotated[
        dict[str, Name], "What to keep: state of the called workflow → name under states.THIS.outputs."
    ] = {}


class OperationState(Runnable, frozen=True, kw_only=True):
    """Run an operation of a plugin."""

    kind: ClassVar[str] = "operation"
    operation: Annotated[str, "The operation, as PLUGIN.OPERATION."]
    inputs: Annotated[dict[str, Value], "Its inputs."] = {}
    operation_inputs: Annotated[dict[str, Value], "The same under its older name."] = {}


class PluginState(Runnable, frozen=True, kw_only=True):
    """Run a step of a type that a plugin brings: `type: PLUGIN.TYPE`."""

    kind: ClassVar[str] = "plugin"
    keys: ClassVar[dict[str, str]] = {"step_type": "type"}
    step_type: Annotated[str, "The type, as PLUGIN.TYPE."]
    config: Annotated[dict[str, Value], "What the plugin is to do; its own documentation says how."] = {}


class TerminalState(StateCommon, frozen=True, kw_only=True):
    """End the workflow."""

    kind: ClassVar[str] = "terminal"
    status: Annotated[Literal["success", "failure"], "How it ends."] = "success"
    message: Annotated[Template, "What to tell the person."] = ""
    exit_code: Annotated[int | None, "The exit status of `awf run` after a failure, 1 to 255."] = None


State = (
    CommandState
    | AgentState
    | ParallelState
    | ForEachState
    | WhileState
    | CallState
    | OperationState
    | PluginState
    | TerminalState
)

STATE_TYPES: dict[str, type[State]] = {
    "step": CommandState,
    "command": CommandState,
    "agent": AgentState,
    "parallel": ParallelState,
    "for_each": ForEachState,
    "while": WhileState,
    "call_workflow": CallState,
    "operation": OperationState,
    "terminal": TerminalState,
}


PLUGIN_TYPE = r"^[A-Za-z_][A-Za-z0-9_-]*\.[A-Za-z_][A-Za-z0-9_.-]*$"  # PLUGIN.TYPE

STATE_CLASSES: tuple[type[State], ...] = (*dict.fromkeys(STATE_TYPES.values()), PluginState)


class Workflow(Record, frozen=True, kw_only=True):
    """A workflow: what it is given, its states, and what it gives back."""

    name: Annotated[str, "The name shown to people."]
    description: Annotated[str, "One line for listings."] = ""
    version: Annotated[str, "Your version of the workflow."] = ""
    author: Annotated[str, "Who to ask."] = ""
    tags: Annotated[list[str], "Words to find it by."] = []
    inputs: Annotated[list[Input], "Values given at the start."] = []
    env: Annotated[
        list[str] | dict[str, Template], "Variables that must be set, or variables to set for every process."
    ] = []
    plugins: Annotated[dict[str, str], "Short names for plugins: short name → plugin."] = {}
    limits: Annotated[Limits | None, "What the whole run may spend."] = None
    hooks: Annotated[WorkflowHooks | None, "Small things to do at the start and the end."] = None
    outputs: Annotated[dict[str, Value], "What the workflow gives back: name → template."] = {}
    initial: Annotated[StateName, "The first state."]
    states: Annotated[dict[str, State], "The states by name; `initial` names the first."]


def approval_of(state: Runnable) -> Approval | None:
    """The gate in front of a state, whichever of its three forms it was written in."""
    written = state.approval
    if isinstance(written, Approval):
        return written
    if not written:
        return None
    return Approval(message=written) if isinstance(written, str) else Approval()


def plugin_and_member(written: str, short_names: dict[str, str]) -> tuple[str, str]:
    """`kubernetes.kubectl_get` → the plugin and what is meant in it; the second is empty where it is missing."""
    plugin, _, member = written.partition(".")
    return short_names.get(plugin, plugin), member
