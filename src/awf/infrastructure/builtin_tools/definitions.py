"""The six tools as a model sees them. Every word here is paid for in each request, so there are few."""

from __future__ import annotations

from typing import Any

from awf.domain.tool import ToolDefinition
from awf.infrastructure.builtin_tools.arguments import LONGEST_TIMEOUT, USUAL_TIMEOUT

__all__ = ["DEFINITIONS"]

_READS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
_FILE = {"type": "string", "minLength": 1, "description": "Absolute, or relative to the root folder"}


def _text(description: str = "", **more: Any) -> dict[str, Any]:
    return {"type": "string", **({"description": description} if description else {}), **more}


def _whole(description: str, minimum: int = 0, **more: Any) -> dict[str, Any]:
    return {"type": "integer", "minimum": minimum, "description": description, **more}


def _flag(description: str, *, default: bool = False) -> dict[str, Any]:
    return {"type": "boolean", "default": default, "description": description}


def _schema(required: tuple[str, ...], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _define(
    name: str, title: str, description: str, schema: dict[str, Any], annotations: dict[str, Any]
) -> ToolDefinition:
    return ToolDefinition(
        name=name,
        title=title,
        description=description,
        input_schema=schema,
        source="builtin",
        annotations=annotations,
    )


DEFINITIONS: tuple[ToolDefinition, ...] = (
    _define(
        "Read",
        "Read a file",
        "Read a text file with line numbers (a number and a tab, which are not part of the file), or look at a PNG, "
        "JPEG, GIF or WebP picture. Long files come in pages; the result says how to go on.",
        _schema(
            ("file_path",),
            file_path=_FILE,
            offset=_whole("First line to read, counted from 1", default=1),
            limit=_whole("Number of lines", minimum=1, default=2000),
        ),
        _READS,
    ),
    _define(
        "Write",
        "Write a file",
        "Create a file, or replace all of an existing one. Parent folders are made. To change a part, use Edit.",
        _schema(("file_path", "content"), file_path=_FILE, content=_text()),
        {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True, "openWorldHint": False},
    ),
    _define(
        "Edit",
        "Edit a file",
        "Replace exact text in a file. old_string must occur once, whitespace included, unless replace_all is set. "
        "Line endings and encoding are kept. An empty old_string creates the file.",
        _schema(
            ("file_path", "old_string", "new_string"),
            file_path=_FILE,
            old_string=_text("Text to replace, without line numbers"),
            new_string=_text("Text to put in its place"),
            replace_all=_flag("Replace every occurrence"),
        ),
        {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": False},
    ),
    _define(
        "Bash",
        "Run a command",
        "Run a shell command. Each call starts anew in the root folder; standard input is empty. Returns standard output "
        "and error in order, and the exit code. Of long output the end is shown, and the file that holds all of it. "
        "Processes left in the background are ended.",
        _schema(
            ("command",),
            command=_text(minLength=1),
            timeout=_whole("Milliseconds", minimum=1, maximum=LONGEST_TIMEOUT, default=USUAL_TIMEOUT),
            cwd=_text("Folder to run it in, relative to the root folder"),
            description=_text("What it does, in 5 to 10 words"),
        ),
        {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True},
    ),
    _define(
        "Glob",
        "Find files",
        "Find files by name, the newest first: *, ?, [a-z], {a,b}, and ** for any folders, as in src/**/*.{ts,tsx}. "
        "Skips what .gitignore names.",
        _schema(
            ("pattern",),
            pattern=_text(minLength=1),
            path=_text("Folder to look in; default: the root folder"),
        ),
        _READS,
    ),
    _define(
        "Grep",
        "Search in files",
        "Search file contents with a regular expression (ripgrep). Skips binary files and what .gitignore names.",
        _schema(
            ("pattern",),
            pattern=_text("Regular expression; escape characters meant literally", minLength=1),
            path=_text("File or folder; default: the root folder"),
            glob=_text("Only files that fit, such as *.{ts,tsx}"),
            type=_text("Only files of this type, such as py, js, rust"),
            output_mode=_text(
                "Lines that match, files that hold any (default), or matching lines per file",
                enum=["content", "files_with_matches", "count"],
                default="files_with_matches",
            ),
            **{
                "-i": _flag("Ignore case"),
                "-n": _flag("Show line numbers (content)", default=True),
                "-A": _whole("Lines of context after (content)"),
                "-B": _whole("Lines of context before (content)"),
                "-C": _whole("Lines of context before and after (content)"),
            },
            multiline=_flag("Let the pattern span lines; . matches line breaks"),
            head_limit=_whole("Most lines or files to show; 0: no limit", default=250),
            offset=_whole("Lines or files to skip first", default=0),
        ),
        _READS,
    ),
)
