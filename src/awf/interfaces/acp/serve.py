"""`awf acp-serve`: the agent that an editor starts.

The first question is answered before anything heavy is loaded: an editor's patience is short.
"""

from __future__ import annotations

import os
import sys

from acpserver import Server, run_stdio
from awf import __version__

TYPE_CHECKING = False  # `typing` would have to be imported before the first answer
if TYPE_CHECKING:
    from acpserver import Agent, Client
    from awf.interfaces.acp.wire_trace import WireTrace

__all__ = ["main"]

_USAGE = """Usage: awf acp-serve [--trace-wire FILE] [--storage DIR] [--log-file FILE] [--log-level LEVEL]

Be an agent for an editor: speak the Agent Client Protocol on standard input and output.
Editors start it by themselves; docs/editors.md has the settings for each.

Options:
  --trace-wire FILE  Write every message in both directions to this file, secrets masked.
  --storage DIR      Directory of the run store [env: AWF_STORAGE].
  --log-file FILE    Where to log; else acp-serve.log in the data directory.
  --log-level LEVEL  debug, info, warning or error.
  -h, --help         Show this message and exit.
"""
_FLAGS = {"--trace-wire", "--storage", "--log-file", "--log-level"}
_LEVELS = {"debug", "info", "warning", "error"}
CAPABILITIES = {
    "loadSession": True,
    "promptCapabilities": {"image": False, "audio": False, "embeddedContext": True},
    "mcpCapabilities": {"http": True, "sse": False},
    "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}},
}
_KINDS = {
    "parse": "USER.ACP.PARSE_ERROR",
    "invalid_request": "USER.ACP.INVALID_REQUEST",
    "too_long": "USER.ACP.INVALID_REQUEST",
    "unknown_method": "USER.ACP.UNKNOWN_METHOD",
    "invalid_params": "USER.ACP.INVALID_PARAMS",
    "internal": "SYSTEM.INTERNAL.BUG",
}


def main(arguments: list[str]) -> int:
    """The command line; the exit status."""
    flags: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if name in {"-h", "--help"}:
            print(_USAGE, end="")
            return 0
        if name not in _FLAGS:
            return _refuse("USER.ACP.USAGE", f"{name}: there is no such option", _USAGE)
        value = value if equals or not rest else rest.pop(0)
        if not value:
            return _refuse("USER.ACP.USAGE", f"{name} needs a value", _USAGE)
        flags[name[2:].replace("-", "_")] = value
    if flags.get("log_level", "info") not in _LEVELS:
        return _refuse("USER.ACP.USAGE", f"--log-level: there is no level {flags['log_level']}", _USAGE)
    if sys.stdin is not None and sys.stdin.isatty():
        return _refuse(
            "USER.ACP.NO_EDITOR",
            "This is for editors: it speaks the Agent Client Protocol, and a terminal is no editor.",
            "Name `awf acp-serve` as an agent in the settings of your editor: docs/editors.md shows how.\n",
        )
    return _serve(flags)


def _serve(flags: dict[str, str]) -> int:
    trace: WireTrace | None = None
    try:
        if "log_file" in flags:  # else the first request would be the first to fail
            option = "--log-file"
            os.close(
                os.open(flags["log_file"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK, 0o666)
            )
        if path := flags.pop("trace_wire", ""):
            from awf.interfaces.acp.wire_trace import WireTrace

            option = "--trace-wire"
            trace = WireTrace(path, os.environ)
    except OSError as error:
        why = f"{option}: {error.filename} cannot be written: {error.strerror}"
        return _refuse("USER.ACP.USAGE", why, "")

    def make(client: Client) -> Agent:
        from awf.interfaces.acp.agent import make_agent

        return make_agent(client, os.environ, flags, trace)

    server = Server(
        info={"name": "awf", "title": "AWF workflows", "version": __version__},
        capabilities=CAPABILITIES,
        agent=make,
        explain=explain,
        trace=trace,
    )
    try:
        return run_stdio(server)
    except Exception as error:  # noqa: BLE001  the last line of defence: a person sees no traceback
        from awf.interfaces.cli.failure import report_failure

        return report_failure(error, [])
    finally:
        sys.stdout = sys.stderr  # whatever is printed on the way out is not for the editor either


def explain(kind: str, text: str) -> str:
    """What editors show of an error begins with its code."""
    from awf.interfaces.acp.masking import environment_masker

    return f"{_KINDS[kind]}: {environment_masker(os.environ).mask(text)}"


def _refuse(code: str, message: str, more: str) -> int:
    sys.stderr.write(f"awf acp-serve: {code}: {message}\n{more}")
    return 1
