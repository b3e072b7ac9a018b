"""Whatever is changed in a workflow, its schema and the reader of the files come to the same verdict."""

from __future__ import annotations

import copy
import json

import jsonschema_rs

from awf.application.authoring.json_schema import workflow_schema
from awf.infrastructure.yaml_files.workflow_file import read_workflow

SCHEMA = jsonschema_rs.validator_for(workflow_schema())


def reader_problems(document) -> list[str]:
    file = read_workflow("file.yaml", json.dumps(document).encode(), lambda name: (None, []))
    return [f"{problem.code} {problem.message}" for problem in file.problems]


RICH = {
    "name": "rich",
    "version": 1.5,
    "tags": ["a", 2],
    "env": {"MODE": "fast", "LEVEL": 3},
    "limits": {"tokens": 1000, "duration": "5m", "cost": 1},
    "hooks": {"workflow_start": [{"log": "start"}], "workflow_error": [{"command": "true"}]},
    "inputs": [{"name": "count", "type": "integer", "default": 3, "validation": {"min": 1, "max": 9.5}}],
    "outputs": {"answer": {"nested": ["{{ inputs.count }}"]}},
    "states": {
        "initial": "build",
        "build": {
            "type": "STEP",
            "command": "true",
            "timeout": 30,
            "retry": {"max_attempts": 2, "initial_delay": "100ms", "max_delay": None},
            "capture": {"stdout": "text", "max_size": "64KiB"},
            "hooks": {"pre": [{"log": "x"}], "post": []},
            "transitions": [{"when": "true", "goto": "fan"}],
            "on_failure": {"message": "no", "status": 4},
            "approval": {"message": "go?", "on_deny": "skip", "timeout": "1m"},
        },
        "fan": {"type": "parallel", "parallel": ["ask", "each"], "strategy": "best_effort", "on_success": "call"},
        "ask": {
            "type": "agent",
            "provider": "scripted",
            "prompt": "hello",
            "skills": ["review", {"path": "skills/x"}],
            "options": {"turns": ["hi"]},
            "output_schema": {"type": "object"},
            "conversation": {"continue_from": None},
        },
        "each": {"type": "for_each", "items": "{{ inputs.count }}", "body": ["one"], "max_iterations": "{{ 3 }}"},
        "one": {"type": "while", "while": "false", "body": ["two"], "max_iterations": 3},
        "two": {"type": "command", "script_file": "x.sh", "env": {"A": True}, "approval": True},
        "nested": {"type": "step", "agent": {"provider": "scripted", "prompt": "x"}, "timeout": "1h30m"},
        "call": {"type": "call_workflow", "workflow": "x", "inputs": {"a": [1]}, "outputs": {"b": "c"}},
        "done": {"type": "terminal", "status": "failure", "exit_code": 3},
    },
}  # fmt: skip
VALUES = [
    None, True, 0, -1, 3, 2.5, "", "text", "two words", "30s", "1KiB", "step", "STEP", "Agent", "success", [], ["a"],
    [None], [["a"]], {}, {"a": 1}, {"name": "x"}, {"goto": "done"}, [{"name": "x"}], [{"log": "x"}], {"provider": "x"},
]  # fmt: skip
KEYS = [
    "name", "type", "timeout", "retry", "approval", "agent", "provider", "body", "parallel", "items", "while", "goto",
    "parameters", "status", "capture", "limits", "hooks", "env", "inputs", "outputs", "unknown", "my key", "on_failure",
    "initial", "transitions", "max_iterations", "output_schema", "mode", "skills", "conversation",
]  # fmt: skip


def places_in(data, path=()):
    yield path
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in inside:
        yield from places_in(value, (*path, key))


def at(data, path):
    for part in path:
        data = data[part]
    return data


def test_the_document_that_is_mutated_has_the_right_form():
    assert reader_problems(RICH) == []
    assert SCHEMA.is_valid(RICH)


def mutations():
    """Every place of the document: with every other value, without its value, and with one more key."""
    for path in places_in(RICH):
        if path:
            yield f"remove {path}", changed(path[:-1], lambda parent, last=path[-1]: remove(parent, last))
        for value in VALUES if path else ():
            yield (
                f"{path} = {value!r}",
                changed(path[:-1], lambda parent, k=path[-1], v=value: put(parent, k, v)),
            )
        # Inside an agent block the reader passes over keys that belong to the state.
        if isinstance(at(RICH, path), dict) and path[-1:] != ("agent",):
            for key in KEYS:
                for value in ("text", {}):
                    yield (
                        f"{path} + {key}: {value!r}",
                        changed(path, lambda found, k=key, v=value: put(found, k, v)),
                    )


def remove(parent, key):
    if key in parent or isinstance(key, int):
        del parent[key]


def put(parent, key, value):
    parent[key] = value


def changed(path, change):
    """The document with the change, without the states that have nothing to do with it."""
    state = path[1] if path[:1] == ("states",) and len(path) > 1 else "done"
    kept = {name: value for name, value in RICH["states"].items() if name in {"initial", state}}
    frame = {} if path[:1] == ("states",) else RICH
    document = copy.deepcopy({**frame, "name": "rich", "states": kept})
    change(at(document, path))
    return document


def comparable(document, read) -> bool:
    """A schema cannot see a key twice; and the word null names a state in `initial`."""
    states = document.get("states")
    initial = states.get("initial", "") if isinstance(states, dict) else ""
    return initial is not None and not any("DUPLICATE_KEY" in problem for problem in read)


def test_reader_and_schema_agree_on_every_mutation():
    differences, seen = [], {True: 0, False: 0}
    for what, document in mutations():
        read = reader_problems(document)
        if not comparable(document, read):
            continue
        seen[not read] += 1
        if SCHEMA.is_valid(document) != (not read):
            differences.append((what, read[:1]))
    assert differences == []
    assert min(seen.values()) > 300
