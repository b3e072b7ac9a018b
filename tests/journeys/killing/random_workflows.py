"""Random workflows whose result depends only on what they say, never on how often a step was tried."""

from __future__ import annotations

import json
import random
from typing import Any

LOG = 'echo "$AWF_STEP@$AWF_ATTEMPT" >> log; '


class Maker:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.states: dict[str, Any] = {}
        self.used: list[str] = []  # states that are sure to have run by now
        self.names = 0

    def name(self, kind: str) -> str:
        self.names += 1
        return f"{kind}{self.names}"

    def command(self, inside: str = "") -> str:
        name = self.name("step")
        earlier = self.random.choice(self.used) if self.used and self.random.random() < 0.6 else None
        text = f"echo {name}{inside}" + (
            f" after {{{{ states.{earlier}.output | length }}}}" if earlier else ""
        )
        state: dict[str, Any] = {"type": "step", "command": LOG + text}
        roll = self.random.random()
        if roll < 0.15:
            flag = f"flag-{name}-$(echo $AWF_STEP | tr -c 'a-zA-Z0-9\\n' _)"
            state["command"] = LOG + f"if [ -e {flag} ]; then {text}; else touch {flag}; exit 1; fi"
            state["retry"] = {"max_attempts": 3, "initial_delay": "1ms"}
        elif roll < 0.25:
            state["command"] = LOG + f"{text}; exit 3"
            state["continue_on_error"] = True
        elif roll < 0.35:
            state["hooks"] = {
                "pre": [{"command": "true"}],
                "post": [{"log": "done {{ states." + name + ".output }}"}],
            }
        elif roll < 0.45:
            state["capture"] = {"stdout": f"v_{name}"}
        elif roll < 0.5:
            state["approval"] = "go on?"
        self.states[name] = state
        return name

    def agent(self) -> str:
        name = self.name("agent")
        earlier = self.random.choice(self.used) if self.used else None
        text = f"answer of {name}" + (f" about {{{{ states.{earlier}.output | length }}}}" if earlier else "")
        self.states[name] = {
            "type": "agent",
            "provider": "scripted",
            "prompt": "go",
            "options": {"turns": [[{"say": text}, {"usage": {"input_tokens": 3}}]]},
        }
        return name

    def parallel(self, depth: int) -> str:
        name = self.name("fan")
        branches = [self.block(depth + 1, inner=True) for _ in range(self.random.randint(2, 4))]
        self.states[name] = {
            "type": "parallel",
            "parallel": branches,
            "max_concurrent": self.random.choice([0, 1, 2]),
        }
        return name

    def loop(self, depth: int) -> str:
        name = self.name("loop")
        count = self.random.randint(1, 3)
        body = [
            self.block(depth + 1, inner=True, inside=" {{ loop.index }}")
            for _ in range(self.random.randint(1, 2))
        ]
        if self.random.random() < 0.5:
            self.states[name] = {"type": "for_each", "items": list(range(count)), "body": body}
        else:
            self.states[name] = {
                "type": "while",
                "while": f"loop.index < {count}",
                "max_iterations": 5,
                "body": body,
            }
        return name

    def call(self) -> str:
        name = self.name("call")
        self.states[name] = {
            "type": "call_workflow",
            "workflow": "./child.yaml",
            "inputs": {"n": self.random.randint(1, 9)},
        }
        return name

    def block(self, depth: int, *, inner: bool = False, inside: str = "") -> str:
        roll = self.random.random()
        if depth < 2 and roll < 0.2:
            name = self.parallel(depth)
        elif depth < 2 and roll < 0.4:
            name = self.loop(depth)
        elif roll < 0.5:
            name = self.call()
        elif roll < 0.6:
            name = self.agent()
        else:
            name = self.command(inside)
        if not inner:
            self.used.append(name)
        return name


CHILD = {
    "name": "child",
    "inputs": [{"name": "n", "type": "integer", "required": True}],
    "outputs": {"sum": "{{ inputs.n + 1 }}"},
    "states": {
        "initial": "one",
        "one": {"type": "step", "command": LOG + "echo child {{ inputs.n }}", "on_success": "two"},
        "two": {"type": "step", "command": LOG + "echo then {{ states.one.output }}", "on_success": "end"},
        "end": {"type": "terminal", "message": "child {{ states.two.output }}"},
    },
}


def make_workflow(seed: int) -> str:
    """The text of a workflow (JSON, which is YAML)."""
    maker = Maker(seed)
    chain = [maker.block(0) for _ in range(maker.random.randint(2, 5))]
    for name, following in zip(chain, [*chain[1:], "done"], strict=True):
        maker.states[name]["on_success"] = following
    outputs = {name: f"{{{{ states.{name}.output }}}}" for name in chain}
    outputs |= {
        f"{name}_sum": f"{{{{ states.{name}.outputs.sum }}}}" for name in chain if name.startswith("call")
    }
    states = {
        "initial": chain[0],
        **maker.states,
        "done": {"type": "terminal", "message": "end {{ states." + chain[-1] + ".status }}"},
    }
    return json.dumps({"name": f"random-{seed}", "outputs": outputs, "states": states}, indent=1)
