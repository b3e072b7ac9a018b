"""Step templates: a state written once, used with different parameters.

``.awf/templates/NAME.yaml`` holds ``name``, ``parameters`` and ``states`` with one state. A state that says
``use_template: NAME`` takes over the template's keys, and its own keys win. ``{{ parameters.X }}`` is replaced when the
file is read, in every text of the template; alone in a value it keeps the parameter's type.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import yaml

from awf.infrastructure.yaml_files.nodes import YamlText, entries, key_text
from awf.infrastructure.yaml_files.reader import BAD, Reader

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.domain.problem import NodePath
    from awf.domain.step_template import Parameter

__all__ = ["apply_template"]

_PLACEHOLDER = re.compile(r"\{\{-?\s*\.?parameters\.([A-Za-z_][\w-]*)\s*-?\}\}")
_MAX_CHAIN = 10


def apply_template(
    reader: Reader,
    found: dict[str, yaml.Node],
    path: NodePath,
    load: Callable[[str], tuple[YamlText | None, list[str]]],
    chain: tuple[str, ...] = (),
) -> dict[str, yaml.Node]:
    """The entries of a state with its template's entries below its own."""
    name = key_text(found["use_template"]) or ""
    where = (*path, "use_template")
    if name in chain or len(chain) >= _MAX_CHAIN:
        reader.note(
            "WORKFLOW.VALIDATION.INVALID_TEMPLATE",
            f"Step templates lead in a circle: {' → '.join((*chain, name))}.",
            where,
        )
        return found
    document, names = load(name)
    if document is not None and document.root is None:
        reader.problems += [one for one in document.problems if one not in reader.problems]
        return found
    if document is None:
        from awf.domain.problem import suggest

        close = suggest(name, names)
        reader.note(
            "WORKFLOW.VALIDATION.UNKNOWN_TEMPLATE",
            f"No step template is named '{name}'.",
            where,
            hint=f"did you mean '{close}'?" if close else f"Create .awf/templates/{name}.yaml.",
        )
        return found
    inner = _template_state(reader, document, name, where)
    if inner is None:
        return found
    declared, state = inner
    before = len(reader.problems)
    values = _parameter_nodes(reader, declared, found.get("parameters"), path, name)
    if len(reader.problems) > before:
        return found  # told once is enough
    merged = {key: _fill(reader, node, values, where, document.file, 0) for key, node in state.items()}
    if "use_template" in merged:
        merged = apply_template(reader, merged, path, load, (*chain, name))
    own = {key: node for key, node in found.items() if key not in {"use_template", "parameters"}}
    return {**{k: v for k, v in merged.items() if k not in {"use_template", "parameters"}}, **own}


def _template_state(
    reader: Reader, document: YamlText, name: str, where: NodePath
) -> tuple[dict[str, tuple[Parameter, yaml.Node | None]], dict[str, yaml.Node]] | None:
    def refuse(message: str) -> None:
        reader.note(
            "WORKFLOW.VALIDATION.INVALID_TEMPLATE",
            f"Step template '{name}' ({document.file}): {message}",
            where,
        )

    if not isinstance(document.root, yaml.MappingNode):
        refuse("it must be a mapping.")
        return None
    top = {key_text(key) or "": value for key, value in entries(document.root)}
    for key in top.keys() - {"name", "description", "parameters", "states"}:
        refuse(f"unknown key '{key}'.")
    from awf.domain.step_template import Parameter

    declared: dict[str, tuple[Parameter, yaml.Node | None]] = {}
    parameters = top.get("parameters")
    for node in parameters.value if isinstance(parameters, yaml.SequenceNode) else []:
        probe = Reader()
        parameter = probe.record(Parameter, node, ())
        for problem in probe.problems:
            refuse(problem.message)
        if parameter is not BAD:
            default = next((v for k, v in entries(node) if key_text(k) == "default"), None)
            declared[parameter.name] = (parameter, default)
    states = top.get("states")
    if not isinstance(states, yaml.MappingNode):
        refuse("it needs `states` with one state.")
        return None
    inner = {key_text(key) or "": value for key, value in entries(states) if key_text(key) != "initial"}
    if len(inner) != 1:
        refuse(f"it must have exactly one state, not {len(inner)}.")
        return None
    state = next(iter(inner.values()))
    if not isinstance(state, yaml.MappingNode):
        refuse("its state must be a mapping.")
        return None
    return declared, {key_text(key) or "": value for key, value in entries(state)}


def _parameter_nodes(
    reader: Reader,
    declared: dict[str, tuple[Parameter, yaml.Node | None]],
    given: yaml.Node | None,
    path: NodePath,
    name: str,
) -> dict[str, yaml.Node]:
    from awf.domain.problem import suggest

    where = (*path, "parameters")
    nodes = (reader.mapping(given, where, "a mapping of parameters") or {}) if given is not None else {}
    for key in nodes.keys() - declared.keys():
        close = suggest(key, declared)
        reader.note(
            "WORKFLOW.VALIDATION.INVALID_TEMPLATE",
            f"Step template '{name}' has no parameter '{key}'.",
            (*where, key),
            at_key=True,
            hint=f"did you mean '{close}'?" if close else "",
        )
    values: dict[str, yaml.Node] = {}
    for key, (parameter, default) in declared.items():
        if key in nodes:
            values[key] = nodes[key]
        elif default is not None:
            values[key] = default
        elif parameter.required:
            reader.note(
                "WORKFLOW.VALIDATION.INVALID_TEMPLATE",
                f"Step template '{name}' needs the parameter '{key}'.",
                (*path, "use_template"),
                hint=f"Add parameters: {{{key}: …}}",
            )
    return values


def _fill(
    reader: Reader, node: yaml.Node, values: dict[str, yaml.Node], where: NodePath, file: str, depth: int
) -> yaml.Node:
    """The node with parameters filled in; it remembers the template file as its place."""
    reader.count(1, depth)
    mark = node.start_mark
    own_mark = yaml.Mark(file, 0, mark.line, mark.column, None, 0)
    if isinstance(node, yaml.SequenceNode):
        items = [_fill(reader, item, values, where, file, depth + 1) for item in node.value]
        return yaml.SequenceNode(node.tag, items, own_mark, node.end_mark)
    if isinstance(node, yaml.MappingNode):
        pairs = [(key, _fill(reader, value, values, where, file, depth + 1)) for key, value in entries(node)]
        return yaml.MappingNode(node.tag, pairs, own_mark, node.end_mark)
    assert isinstance(node, yaml.ScalarNode)
    whole = _PLACEHOLDER.fullmatch(node.value.strip())
    if whole and whole.group(1) in values:
        return values[whole.group(1)]

    def text(found: re.Match[str]) -> str:
        value = values.get(found.group(1))
        if value is None:
            reader.note(
                "WORKFLOW.VALIDATION.INVALID_TEMPLATE",
                f"{file}: the parameter '{found.group(1)}' is not declared or has no value.",
                where,
            )
            return ""
        if not isinstance(value, yaml.ScalarNode):
            reader.note(
                "WORKFLOW.VALIDATION.INVALID_TEMPLATE",
                f"{file}: '{found.group(1)}' is not plain text and must stand alone in its value.",
                where,
            )
            return ""
        return str(value.value)

    filled = _PLACEHOLDER.sub(text, node.value)
    return yaml.ScalarNode(node.tag, filled, own_mark, node.end_mark, node.style)
