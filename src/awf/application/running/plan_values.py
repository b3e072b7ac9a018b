"""A plan: what a run would do, as far as it can be known before the run. Plain values, ready for JSON."""

from typing import Any, Literal

import msgspec

from awf.domain.workflow import Limits

__all__ = [
    "AgentPlan",
    "ApprovalPlan",
    "CallPlan",
    "CapturePlan",
    "CutText",
    "EndingPlan",
    "EnvironmentPlan",
    "ExpectedApproval",
    "HookPlan",
    "InputPlan",
    "LoopPlan",
    "ParallelPlan",
    "Plan",
    "PluginPlan",
    "ProxyPlan",
    "RetryPlan",
    "RoutePlan",
    "StatePlan",
    "Wave",
]


class _Always(msgspec.Struct, frozen=True, kw_only=True):
    """Every field is there in JSON, so that a reader can rely on it."""


class _Sparse(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Fields that say nothing are left out in JSON."""


class CutText(_Always, frozen=True):
    text: str  # the beginning
    length: int  # characters of the whole


class InputPlan(_Always, frozen=True):
    name: str
    type: str
    value: Any
    origin: Literal[
        "given", "default", "unset", "missing", "later"
    ]  # later: not known, or not to be shown, before the run
    secret: bool
    description: str


class EnvironmentPlan(_Always, frozen=True):
    required: dict[str, bool]  # variable → whether it is set
    sets: list[str]


class HookPlan(_Sparse, frozen=True):
    log: str | None = None
    command: str | None = None


class Wave(_Sparse, frozen=True):
    """States that can come next: one of them, or all of them together where branches run side by side."""

    states: list[str]
    after: Literal["success", "failure"] = "success"
    together: bool = False
    inside: dict[str, list["Wave"]] = {}  # of parallel states and loops: what they run


class RoutePlan(_Sparse, frozen=True):
    on: Literal["when", "always", "success", "failure", "complete"]
    to: str = ""  # empty: the workflow ends here, failed
    when: str = ""
    holds: bool | None = None  # known only where the condition depends on nothing that is still to come
    message: str = ""
    exit_status: int | None = None


class RetryPlan(_Sparse, frozen=True):
    attempts: int
    delays: list[float] = []  # seconds before the second attempt, the third …; only the first few
    jitter: float = 0.0
    exit_codes: list[int] = []


class CapturePlan(_Sparse, frozen=True):
    max_size: int
    stdout: str = ""
    stderr: str = ""


class ApprovalPlan(_Sparse, frozen=True):
    message: str
    on_deny: str
    timeout: float | None = None


class ExpectedApproval(_Always, frozen=True):
    path: str
    times: int | None  # None: as often as a loop of unknown length runs


class ProxyPlan(_Sparse, frozen=True):
    """Where the agent's tools come from."""

    only_these: bool  # whether its own tools are replaced
    sources: list[str] = []  # builtin, plugin:NAME …
    approve: list[str] = []
    isolation: str = ""  # how well the agent is kept to them, as far as that is known before it runs


class PluginPlan(_Sparse, frozen=True):
    plugin: str
    member: str  # the operation or the step type
    inputs: dict[str, Any] = {}


class AgentPlan(_Sparse, frozen=True):
    provider: str
    prompt: CutText
    options: dict[str, Any] = {}
    prompt_file: str = ""
    system_prompt: CutText | None = None
    role: str = ""
    skills: list[str] = []
    mode: str = "single"
    continues: str = ""  # the state whose session it goes on with
    output_format: str = ""
    output_schema: bool = False
    tools: ProxyPlan | None = None


class ParallelPlan(_Always, frozen=True):
    strategy: str
    max_concurrent: int  # 0: all at once


class LoopPlan(_Sparse, frozen=True):
    items: list[Any] | None = None  # None: not known yet; only the first ones of many
    count: int | None = None
    written: str = ""  # where the items come from, as long as they are not known
    condition: str = ""
    break_when: str = ""
    max_iterations: int | str | None = None


class CallPlan(_Sparse, frozen=True):
    workflow: str
    outputs: dict[str, str] = {}
    plan: "Plan | None" = None  # None: too deep or too many to show


class EndingPlan(_Always, frozen=True):
    status: str
    message: str
    exit_status: int


class StatePlan(_Sparse, frozen=True):
    name: str
    kind: str
    description: str = ""
    within: str = ""  # the parallel state or loop that runs it
    command: str | None = None
    script_file: str = ""
    script: CutText | None = None
    agent: AgentPlan | None = None
    parallel: ParallelPlan | None = None
    loop: LoopPlan | None = None
    call: CallPlan | None = None
    plugin: PluginPlan | None = None
    ending: EndingPlan | None = None
    dir: str = ""
    shell: str = ""
    timeout: float | None = None
    retry: RetryPlan | None = None
    capture: CapturePlan | None = None
    env: list[str] = []
    depends_on: list[str] = []
    approval: ApprovalPlan | None = None
    limits: Limits | None = None
    hooks: dict[str, list[HookPlan]] = {}
    continue_on_error: bool = False
    routes: list[RoutePlan] = []
    problems: list[str] = []  # what would fail if nothing changed until then


class Plan(_Always, frozen=True):
    workflow: str
    file: str
    version: str
    description: str
    cwd: str
    inputs: list[InputPlan]
    environment: EnvironmentPlan
    limits: Limits | None
    hooks: dict[str, list[HookPlan]]
    waves: list[Wave]
    states: list[StatePlan]
    outputs: dict[str, Any]
    approvals: list[ExpectedApproval]
    missing_inputs: list[str]
    missing_env: list[str]
    problems: list[str]
