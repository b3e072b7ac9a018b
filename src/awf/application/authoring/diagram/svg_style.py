"""How the drawn picture looks, by day and by night."""

from __future__ import annotations

__all__ = ["EDGE_CLASSES", "stylesheet"]

EDGE_CLASSES = ("plain", "failure", "quiet")

_RULES = """
.awf-diagram { --ground: #ffffff; --ink: #1d2433; --soft: #5d6778; --line: #7b8496; --box: #f7f8fa; --edge: #a3abba;
  --group: #8490a414; --agent: #f1ebfd; --agent-edge: #8a63d2; --call: #e6f0fb; --call-edge: #4a86c8;
  --good: #e4f5e8; --good-edge: #3c9a58; --bad: #fdeae8; --bad-edge: #cc4b40; --warn: #fff4d6; --warn-edge: #b98a12; --warn-ink: #855f00;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Noto Sans", sans-serif; }
@media (prefers-color-scheme: dark) {
  .awf-diagram { --ground: #12151c; --ink: #e6e9f0; --soft: #a0a9ba; --line: #8b95a8; --box: #1d222d; --edge: #566073;
    --group: #8f9bb114; --agent: #2a2140; --agent-edge: #9d7ce0; --call: #182c42; --call-edge: #5b99dd;
    --good: #16301f; --good-edge: #4fb36d; --bad: #3a1b1a; --bad-edge: #e0685d; --warn: #352a10; --warn-edge: #d3a732; --warn-ink: #e2bd55; }
}
.awf-diagram .ground { fill: var(--ground); }
.awf-diagram .box rect { fill: var(--box); stroke: var(--edge); stroke-width: 1.2; }
.awf-diagram .agent rect { fill: var(--agent); stroke: var(--agent-edge); }
.awf-diagram .call_workflow rect { fill: var(--call); stroke: var(--call-edge); }
.awf-diagram .success rect { fill: var(--good); stroke: var(--good-edge); }
.awf-diagram .failure rect { fill: var(--bad); stroke: var(--bad-edge); }
.awf-diagram .missing rect { fill: var(--warn); stroke: var(--warn-edge); stroke-dasharray: 5 3; }
.awf-diagram .jump rect { fill: none; stroke: none; }
.awf-diagram .start circle { fill: var(--soft); }
.awf-diagram .group rect { fill: var(--group); stroke: var(--edge); }
.awf-diagram text { fill: var(--ink); }
.awf-diagram .name { font-size: 13px; font-weight: 600; }
.awf-diagram .detail { font-size: 11px; fill: var(--soft); }
.awf-diagram .mark { font-size: 11px; fill: var(--warn-ink); }
.awf-diagram .label { font-size: 10.5px; fill: var(--soft); stroke: var(--ground); stroke-width: 5px;
  stroke-linejoin: round; paint-order: stroke; }
.awf-diagram .label.failure { fill: var(--bad-edge); }
.awf-diagram .arrow { fill: none; stroke: var(--line); stroke-width: 1.4; }
.awf-diagram .arrow.failure { stroke: var(--bad-edge); stroke-dasharray: 5 4; }
.awf-diagram .arrow.quiet { stroke-dasharray: 1.5 3.5; stroke-linecap: round; }
.awf-diagram .head-plain { fill: var(--line); } .awf-diagram .head-quiet { fill: var(--line); }
.awf-diagram .head-failure { fill: var(--bad-edge); }
.awf-diagram .was-success > rect { stroke: var(--good-edge); stroke-width: 2.4; }
.awf-diagram .was-failed > rect { stroke: var(--bad-edge); stroke-width: 3; }
.awf-diagram .was-skipped > rect { stroke-dasharray: 4 4; opacity: .65; }
.awf-diagram .was-cancelled > rect, .awf-diagram .was-waiting > rect { stroke: var(--warn-edge); stroke-width: 2.4; }
.awf-diagram .was-running > rect { stroke: var(--call-edge); stroke-width: 3; }
.awf-diagram .sign circle { stroke: var(--ground); stroke-width: 1.5; fill: var(--soft); }
.awf-diagram .sign text { font-size: 10px; font-weight: 700; fill: var(--ground); }
.awf-diagram .sign.was-success circle { fill: var(--good-edge); } .awf-diagram .sign.was-failed circle { fill: var(--bad-edge); }
.awf-diagram .sign.was-cancelled circle, .awf-diagram .sign.was-waiting circle { fill: var(--warn-edge); }
.awf-diagram .sign.was-running circle { fill: var(--call-edge); }
"""


def stylesheet() -> str:
    return _RULES.strip()
