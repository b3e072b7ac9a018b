"""What templates and conditions can speak of, in words. A name without a text here fails the making of the page."""

from __future__ import annotations

from awf.domain.checks.references import NAMESPACES, STATE_FIELDS

__all__ = ["names_section"]

_NAMESPACES = {
    "inputs": "Inputs by name; one that was not given is null.",
    "states": "Results of states by name, once they have run.",
    "vars": "Output that a state captured, by the name it was given.",
    "env": "Environment variables by name.",
    "workflow": "The workflow and its run.",
    "loop": "The iteration, in the states of a loop's body.",
    "error": "The last failure; empty as long as there was none.",
    "context": "The surroundings.",
    "awf": "Directories and the version of awf.",
}
_FIELDS = {
    "workflow": {
        "id": "The id of the run.",
        "name": "The name of the workflow.",
        "version": "Its version.",
        "current_state": "The state that is running.",
        "started_at": "When the run started, in seconds since 1970.",
        "duration": "For how many seconds it has been running.",
        "dir": "The directory of the workflow file.",
    },
    "loop": {
        "item": "The item; null in a `while` loop.",
        "index": "The number of the iteration, from 0.",
        "index1": "The same from 1.",
        "first": "Whether it is the first.",
        "last": "Whether it is the last; never in a `while` loop.",
        "length": "How many items there are; null in a `while` loop.",
        "parent": "The same of the loop around this one.",
    },
    "error": {
        "message": "What went wrong.",
        "state": "Where.",
        "exit_code": "The exit code of the command, if it was one.",
        "code": "The [error code](errors.md).",
        "type": "The first part of the code, in lower case.",
    },
    "context": {
        "working_dir": "The directory in which awf was started.",
        "user": "The name of the user.",
        "hostname": "The name of the machine.",
    },
    "awf": {
        "prompts_dir": "Where prompts are looked up first.",
        "scripts_dir": "`.awf/scripts` of the project.",
        "config_dir": "The user's configuration directory.",
        "data_dir": "The directory of the run store.",
        "workflows_dir": "`.awf/workflows` of the project.",
        "skills_dir": "Where skills are looked up first.",
        "roles_dir": "Where roles are looked up first.",
        "templates_dir": "`.awf/templates` of the project.",
        "version": "The version of awf.",
    },
}
_STATE = {
    "output": "Standard output of a command, the answer of an agent, or a short summary.",
    "stderr": "Standard error of a command.",
    "exit_code": "The exit code; -1 in a condition when the state has not run.",
    "status": "`success`, `failed`, `skipped`, `cancelled`; in a condition also `pending`.",
    "json": "The answer of an agent, or the output, as data; null when it is not JSON.",
    "response": "The answer of an agent.",
    "usage": "`input_tokens`, `output_tokens`, `tokens`, `cost`, `cost_source`, `tool_calls`.",
    "error": "`code` and `message` of its failure, or null.",
    "attempts": "How often it was tried.",
    "outputs": "What a called workflow gave back, by name.",
    "branches": "The results of a parallel state's branches, by name.",
    "iterations": "The results of a loop's iterations: a list of states by name.",
    "duration": "How many seconds it took.",
    "truncated": "Whether `output` is only the beginning and the end.",
    "output_file": "The file with the whole output, when it is larger than `capture.max_size`.",
    "session": "The id of an agent's session.",
}

_INTRO = """\
## Templates

Text with placeholders, in the language of Jinja: `{{ inputs.name }}`, `{{ states.build.output | trim }}`,
`{% if inputs.fast %}…{% endif %}`. A template that is one placeholder and nothing else keeps the type of its value.
Filters beside Jinja's own: `shellquote`, `tojson`, `fromjson`, `trim`, `lines`, `split`, `join`, `regex_replace`,
`basename`, `dirname` and `default`, which counts null as missing too. Text meant for another program goes between
`{% raw %}` and `{% endraw %}`.

A name that does not exist is found by `awf validate`, with its place.

## Conditions

Expressions in CEL, without braces: `states.test.exit_code == 0 && inputs.stage == 'live'`. Text has `contains`,
`startsWith`, `endsWith`, `matches`, `lower`, `upper`, `trim`, `lines` and `size`; lists have `exists`, `all`, `filter`,
`map` and `size`. A state that has not run is `pending`, with exit code -1.

## Names

What both of them can use:

"""


def names_section() -> str:
    from awf.testing.reference.markdown import table

    _complete("namespaces", set(_NAMESPACES), set(NAMESPACES))
    _complete("fields of states", set(_STATE), set(STATE_FIELDS))
    parts = [_INTRO, table(["name", "meaning"], [[f"`{name}`", text] for name, text in _NAMESPACES.items()])]
    parts.append("\n### states.NAME\n\n")
    parts.append(table(["field", "meaning"], [[f"`{field}`", text] for field, text in _STATE.items()]))
    for name, fields in _FIELDS.items():
        _complete(f"fields of {name}", set(fields), NAMESPACES[name] or set())
        rows = [[f"`{name}.{field}`", text] for field, text in fields.items()]
        parts.append(f"\n### {name}\n\n{table(['field', 'meaning'], rows)}")
    return "".join(parts)


def _complete(what: str, described: set[str], known: set[str]) -> None:
    if described != known:
        raise LookupError(
            f"{what}: no text for {sorted(known - described)}, unknown {sorted(described - known)}"
        )
