"""The tool gateway of one program: an application with a store of its own, and the gate in it."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import secrets
import shutil
import tempfile
import time
import weakref
from typing import TYPE_CHECKING, Any

import msgspec

from awf.bootstrap.app import App
from awf.domain.errors import AwfError, InvalidWorkflowError
from awf.domain.own_variables import handed_on

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from awf.application.tool_gateway import ToolGatewayService
    from awf.application.tool_gateway.server_link import OpenedServer
    from awf.bootstrap.sandboxes import Walls
    from awf.domain.gateway_file import GatewayFile, GatewayServer
    from awf.domain.manifest import McpServerConfig
    from awf.domain.problem import Problem
    from awf.domain.redaction import Masker

__all__ = ["ToolGatewayOptions", "open_tool_gateway", "unix_door"]

_KEYS = ("policy", "limits", "spool", "levels", "grants", "approvals", "redaction", "audit", "sandbox")
_FACTS = (
    "classification",
    "integrity",
    "open_world",
    "policy_action",
    "required_scopes",
    "requires_confirmation",
    "limits",
)


class ToolGatewayOptions(msgspec.Struct, frozen=True, kw_only=True):
    storage: str | None = None  # None: a private folder that is removed in the end
    config: str | dict[str, Any] | None = None  # a gateway's file, or its keys of the gate
    workspace: str | None = None  # None: where the process is
    user: str | None = None
    session: str | None = None  # the security context; None: one of its own


def open_tool_gateway(
    options: ToolGatewayOptions, environment: Mapping[str, str] | None = None, *, masker: Masker | None = None
) -> ToolGatewayService:
    """It belongs to the event loop in which it is used. Raises with everything that is wrong with the configuration.

    `masker`: one that is to know its secrets, too.
    """
    from awf.domain.security_context import is_context_id

    _check_options(options)
    surroundings = dict(os.environ if environment is None else environment)
    workspace = os.path.realpath(options.workspace or os.getcwd())
    if not os.path.isdir(workspace):
        raise AwfError(
            "USER.INPUT.MISSING_FILE", f"There is no folder {workspace}.", hint="Check `workspace`."
        )
    session = options.session or f"api_{secrets.token_hex(16)}"
    if not is_context_id(session):
        message = "`session` is a printable text of at most 256 characters."
        raise AwfError("USER.CONTEXT.INVALID", message, hint="Leave it out to get one.")
    storage = options.storage or tempfile.mkdtemp(prefix="awf-gateway-")
    try:
        app = App(cwd=workspace, environment=surroundings, flags={"storage": os.path.abspath(storage)})
        if masker is not None:
            app.masker = masker
        file = _gate_file(app, options.config)
        return _service(app, file, options, session, "" if options.storage else storage)
    except BaseException:
        if not options.storage:
            shutil.rmtree(storage, ignore_errors=True)
        raise


def _check_options(options: ToolGatewayOptions) -> None:
    from awf.application.tool_gateway.forms import LONGEST, invalid_call, is_name

    for name in ("storage", "config", "workspace", "user", "session"):
        given = getattr(options, name)
        if given == "":  # a variable that is not set must not mean that nothing is kept
            raise invalid_call(f"`{name}` is empty.", "Leave it out, or say what it is.")
        if name not in {"user", "session"} and isinstance(given, str) and not _is_path(given):
            said = f"`{name}` is no path: a NUL, or half of a surrogate pair, is in it."
            raise invalid_call(said, "Leave it out, or correct it.")
    if options.user is not None and not is_name(options.user):
        said = f"`user` is a printable text of up to {LONGEST} characters."
        raise invalid_call(said, "Leave it out to be who the environment says.")


def _is_path(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _service(
    app: App, file: GatewayFile, options: ToolGatewayOptions, session: str, private: str
) -> ToolGatewayService:
    from awf.application.gate.manifest_checks import ManifestRules
    from awf.application.tool_gateway import ToolGatewayParts, ToolGatewayService
    from awf.bootstrap.sandboxes import Walls
    from awf.domain.grant import Holder
    from awf.domain.policy import Policy

    user = app.environment.get("USER", "") if options.user is None else options.user
    gate = app.gate_rooms.gate(msgspec.structs.replace(file, overrides={}))
    assert gate is not None
    named = [os.path.join(app.cwd, options.config)] if isinstance(options.config, str) else []
    walls = Walls(app, file.sandbox, named)
    overrides = file.overrides

    def has_action(tool_id: str) -> bool:
        return tool_id in overrides and overrides[tool_id].policy_action is not None

    async def close() -> None:
        try:
            await app.close()
        finally:
            if private:
                shutil.rmtree(private, ignore_errors=True)

    parts = ToolGatewayParts(
        gate=gate,
        grants=app.gate_rooms.grants,
        log=app.audit,
        rules=ManifestRules(app.schemas.problem_with, (file.policy or Policy()).strict, has_action),
        checks=app.schemas,
        observers=app.observers(),
        overrides=overrides,
        open_server=lambda config, on_change: _opened(app, walls, config, on_change),
        clock=time.time,
        holder=Holder(app.cwd, user, session),
        close=close,
    )
    service = ToolGatewayService(parts)
    if private:  # also where nobody closes it
        weakref.finalize(service, shutil.rmtree, private, ignore_errors=True)
    return service


@contextlib.asynccontextmanager
async def unix_door(path: str, protocol: Callable[[], asyncio.Protocol]) -> AsyncIterator[None]:
    """A socket that only this user may enter. Raises OSError, also when somebody listens there."""
    from awf.infrastructure.http_server.listening import UnixPlace

    place = UnixPlace(path)
    server = await asyncio.get_running_loop().create_unix_server(protocol, sock=place.bind())
    try:
        yield
    finally:
        server.close()
        place.remove()


# -- configuration ---------------------------------------------------------------------------------------------------


def _gate_file(app: App, config: str | dict[str, Any] | None) -> GatewayFile:
    from awf.domain.gateway_file import GatewayFile

    found = GatewayFile()
    if isinstance(config, dict):
        found = _read_keys(app, config)
    elif config is not None:
        found = _read_file(app, os.path.join(app.cwd, config))
    kept = {name: getattr(found, name) for name in (*_KEYS, "overrides")}
    grants = msgspec.structs.replace(found.grants, actions="always")
    return GatewayFile(**{**kept, "grants": grants})


def _read_file(app: App, path: str) -> GatewayFile:
    from awf.infrastructure.gateway_files import read_gateway_file
    from awf.infrastructure.yaml_files.config_file import read_record
    from awf.infrastructure.yaml_files.nodes import parse_yaml

    if not os.path.isfile(path):
        raise AwfError("USER.INPUT.MISSING_FILE", f"There is no file {path}.", hint="Check `config`.")
    return read_gateway_file(
        path, read=read_record, parse=parse_yaml, conditions=app.expressions, serving=False
    )[0]


def _read_keys(app: App, config: dict[str, Any]) -> GatewayFile:
    """The same from values of a program. They go through the reader of files, so that they mean the same."""
    from awf.domain.gate_file import problems_of_gate
    from awf.domain.gateway_file import GatewayFile
    from awf.domain.policy_problems import problems_of_policy
    from awf.domain.problem import Problem
    from awf.domain.sandbox import problems_of_sandbox
    from awf.infrastructure.gateway_files import read_own_form
    from awf.infrastructure.yaml_files.config_file import read_record

    with tempfile.TemporaryDirectory(prefix="awf-gateway-") as folder:
        path = os.path.join(folder, "config.yaml")
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(_as_json(config))
        try:
            file = read_own_form(path, read_record)
        except InvalidWorkflowError as error:
            raise InvalidWorkflowError([_unplaced(one) for one in error.problems]) from None
    problems = [*problems_of_gate(file), *problems_of_sandbox(file.sandbox)]
    if file.policy is not None:
        # Any server may be registered later, so that no name of one is wrong.
        named = {pattern.partition(":")[0] for rule in file.policy.rules for pattern in rule.tools}
        problems += problems_of_policy(file.policy, named, app.expressions)
    code = "USER.GATEWAY.INVALID_FILE"
    for key in config.keys() - {*_KEYS, "overrides"}:
        message = f"`{key}` has no meaning for a tool gateway."
        hint = "Remove it; servers are registered with `registerServer`."
        problems.append(Problem(code=code, message=message, path=(key,), hint=hint))
    problems += _problems_of_overrides(file)
    if wrong := [one for one in problems if one.severity == "error"]:
        raise InvalidWorkflowError(wrong)
    assert isinstance(file, GatewayFile)
    return file


def _problems_of_overrides(file: GatewayFile) -> list[Problem]:
    from awf.domain.override import ToolOverride, problems_of_override
    from awf.domain.problem import Problem

    plain, found = ToolOverride(), list[Problem]()
    for key, said in file.overrides.items():
        found += problems_of_override(said, ("overrides", key))
        for name in said.__struct_fields__:
            if name not in _FACTS and getattr(said, name) != getattr(plain, name):
                message = f"`{name}` has no meaning for a tool gateway: tools are what their manifest says."
                code, path = "USER.GATEWAY.INVALID_FILE", ("overrides", key, name)
                found.append(Problem(code=code, message=message, path=path, hint="Remove it."))
    return found


def _as_json(config: dict[str, Any]) -> str:
    from awf.domain.json_form import why_no_json

    try:
        return json.dumps(config, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        message = f"`config` has a value without a JSON form: {why_no_json(config, error)}."
        raise AwfError("USER.GATEWAY.INVALID_FILE", message, hint="Use plain values.") from None


def _unplaced(problem: Problem) -> Problem:
    """There is no file that anybody could look into."""
    return msgspec.structs.replace(problem, place=None, source_line="")


# -- servers ---------------------------------------------------------------------------------------------------------


def _opened(app: App, walls: Walls, config: McpServerConfig, on_change: Callable[[], None]) -> OpenedServer:
    """Starts nothing yet. Raises with everything that is wrong, also where the machine has no such sandbox."""
    from awf.application.tool_gateway.server_link import OpenedServer
    from awf.domain.redaction.publishing import Publishing
    from awf.infrastructure.upstreams import open_server

    server = _server(app, walls, config)
    confined = server.command is not None and walls.rules(server.sandbox).confines
    runner = walls.runner(server.sandbox, app.cwd) if confined else app.runner
    environment = walls.environment(server.sandbox, handed_on(app.environment))
    on_token = functools.partial(app.masker.renew, f"{config.server_id}.oauth.token")
    seen = Publishing(app.masker, lists=False)
    way = (config.server_id, server, runner, environment, on_change)
    tools = open_server(*way, http=app.http, on_token=on_token, publishing=seen)
    return OpenedServer(tools, confined and runner is not app.runner, app.masker.mask)


def _server(app: App, walls: Walls, config: McpServerConfig) -> GatewayServer:
    from awf.application.gate.registry import RegistrationRefused
    from awf.domain.gateway_file import GatewayFile, load_values, problems_in
    from awf.domain.value_source import Sources
    from awf.infrastructure.gateway_files.reading import file_reader

    name = config.server_id
    written = GatewayFile(servers={name: _written(config)}, sandbox=walls.settings)
    problems = [one for one in problems_in(written) if one.path[:1] == ("mcpServers",) and len(one.path) > 2]
    if problems:
        raise RegistrationRefused([_renamed(one) for one in problems])
    loaded = load_values(written, Sources(app.environment, file_reader(app.cwd)))
    if loaded.problems:
        raise RegistrationRefused([_renamed(one) for one in loaded.problems])
    for about, value in loaded.secrets.items():
        app.masker.add(about, value)
    return loaded.file.servers[name].working_in(app.cwd)


def _written(config: McpServerConfig) -> GatewayServer:
    from awf.domain.gateway_file import GatewayServer
    from awf.domain.mcp_server import McpOAuth

    auth = config.auth
    return GatewayServer(
        command=config.command,
        args=config.args,
        env=config.env,
        cwd=config.cwd,
        url=config.url,
        headers=config.headers,
        transport=config.transport,
        oauth=None if auth is None else McpOAuth(**msgspec.structs.asdict(auth)),
        timeout=60.0 if config.timeout_ms is None else config.timeout_ms / 1000,
        sandbox=config.sandbox_profile or "",
    )


def _renamed(problem: Problem) -> Problem:
    """By the keys of the configuration that the program gave."""
    names = {"sandbox": "sandboxProfile", "oauth": "auth", "timeout": "timeoutMs"}
    path = tuple(names.get(str(part), part) for part in problem.path[2:])
    return msgspec.structs.replace(problem, path=path, place=None)
