"""The files that `awf plugin new` writes. Pure: names in, texts out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from awf.application.authoring.plugin_patterns import (
    KINDS,
    MANIFEST,
    NODE,
    NODE_MAIN,
    NODE_TEST,
    PYTHON,
    PYTHON_TEST,
    USES,
)
from awf.application.authoring.scaffold import NewFile
from awf.domain.errors import AwfError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["new_plugin"]

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_WORDS = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}  # YAML takes them for something else
_PROGRAMS = {"python": "module: plugin", "node": "command: [node, main.mjs]"}
_TESTS = {
    "python": "python -m pytest .awf/plugins/NAME",
    "node": "node --test .awf/plugins/NAME/plugin.test.mjs",
}
_IMPORTS = {
    "operation": ("OperationError", "call"),
    "step_type": ("StepOutcome", "step"),
    "validator": ("Issue", "validate"),
    "events": ("Event", "send_event"),
}


def new_plugin(name: str, language: str, kind: str) -> list[NewFile]:
    """`kind` is one of KINDS, or `all`. Raises USER.INPUT.USAGE for a name that cannot be one."""
    if not _NAME.fullmatch(name):
        raise AwfError(
            "USER.INPUT.USAGE",
            f"'{name}' cannot be the name of a plugin.",
            hint="Use lower-case letters, digits, - and _, beginning with a letter: awf plugin new my-plugin",
        )
    kinds = list(KINDS) if kind == "all" else [kind]
    program = _python(kinds) if language == "python" else _node(kinds)
    texts = {"plugin.yaml": _manifest(kinds, language), **program, "README.md": _readme(kinds, language)}
    quoted = f'"{name}"' if name in _WORDS else name
    return [
        NewFile(f".awf/plugins/{name}/{file}", text.replace("YAML_NAME", quoted).replace("NAME", name))
        for file, text in texts.items()
    ]


def _manifest(kinds: Sequence[str], language: str) -> str:
    text = _parts(MANIFEST, kinds).replace("PROGRAM", _PROGRAMS[language])
    return text.replace("CAPABILITIES", ", ".join(KINDS[kind] for kind in kinds))


def _python(kinds: Sequence[str]) -> dict[str, str]:
    wanted = sorted({"Plugin", *(_IMPORTS[kind][0] for kind in kinds)})
    text = _parts(PYTHON, kinds).replace("IMPORTS", ", ".join(wanted))
    if "validator" in kinds:
        text = text.replace(
            "from typing import Any\n", "from collections.abc import Iterator\nfrom typing import Any\n"
        )
    if kinds == ["events"]:
        text = text.replace("from typing import Any\n\n", "")
    tools = ", ".join(sorted(_IMPORTS[kind][1] for kind in kinds))
    return {"plugin.py": text, "test_plugin.py": _parts(PYTHON_TEST, kinds).replace("IMPORTS", tools)}


def _node(kinds: Sequence[str]) -> dict[str, str]:
    before = ""
    if {"operation", "step_type"} & set(kinds):
        before += "\nimport { Failure } from './awf_plugin.mjs'\n"
    if "operation" in kinds:
        before += "\nlet settings = { greeting: 'Hello' }\n"
    imported = "import { call } from './awf_plugin.mjs'\n" if "operation" in kinds else ""
    return {
        "plugin.mjs": _parts(NODE, kinds).replace("BEFORE\n", f"{before}\n"),
        "main.mjs": NODE_MAIN,
        "awf_plugin.mjs": _node_kit(),
        "plugin.test.mjs": _parts(NODE_TEST, kinds).replace("IMPORT_LINE", imported),
    }


def _node_kit() -> str:
    from importlib import resources

    folder = resources.files("awf.application.authoring") / "plugin_files"
    return (folder / "awf_plugin.mjs").read_text(encoding="utf-8")


def _readme(kinds: Sequence[str], language: str) -> str:
    head = f"# NAME\n\nA plugin of AWF.\n\n```sh\nawf plugin check NAME\n{_TESTS[language]}\n```\n"
    return head + "".join(USES[kind] for kind in kinds)


def _parts(texts: Mapping[str, str], kinds: Sequence[str]) -> str:
    return "".join(texts.get(part, "") for part in ("", *kinds, "end"))
