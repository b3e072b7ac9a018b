"""What `awf gateway` serves, as its configuration file says: `.awf/gateway.yaml`, or a sidecar's `sidecar_config.json`.

These types are the file format; the reader takes its checks from their annotations. What needs the whole file, and no
file system and no server, is checked here.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, ClassVar, Literal, NamedTuple

import msgspec

from awf.domain.gate_file import GateKeys, bad_amount, problems_of_gate
from awf.domain.mcp_server import McpServer, problems_with
from awf.domain.override import ToolOverride, problems_of_override
from awf.domain.pinning import Pinning, problems_of_pinning
from awf.domain.problem import NodePath, Problem, suggest
from awf.domain.sandbox import SandboxSettings, problems_of_sandbox
from awf.domain.server_secrets import secrets_of
from awf.domain.shape import Duration, Record, Size
from awf.domain.value_source import Loading, Sources, is_reference

__all__ = [
    "ANSWERED_HERE",
    "REQUESTS",
    "GatewayFile",
    "GatewayServer",
    "Listen",
    "ListenOAuth",
    "LoadedGateway",
    "Profile",
    "is_loopback",
    "load_values",
    "problems_in",
]

REQUESTS = (
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/get",
    "completion/complete",
)  # what a gate treats like tools of a server
ANSWERED_HERE = frozenset(
    [
        "initialize",
        "ping",
        "logging/setLevel",
        "server/discover",
        "tools/list",
        "tools/call",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "subscriptions/listen",
    ]
)  # what a gateway answers by itself, so that no rule is asked about it
_SERVER_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")
_PROFILE_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(:[0-9]{1,5})?")
_ORIGIN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#@*]+")
_TOKEN = re.compile(r"[\x21-\x7e]+")  # what a header can carry
_TOKEN_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")
_USUAL_TIMEOUT = 60.0
_EMPTY = "USER.GATEWAY.EMPTY"
_FILE = "USER.GATEWAY.INVALID_FILE"
_SERVER = "USER.GATEWAY.INVALID_SERVER"
_UNKNOWN = "USER.GATEWAY.UNKNOWN_SERVER"
_DOOR = "USER.GATEWAY.OPEN_DOOR"
# What changes how a tool looks, and is only done to those of servers.
_SHAPING = frozenset(
    {
        "rename",
        "title",
        "description",
        "hide_fields",
        "defaults",
        "rename_fields",
        "enum",
        "output_fields",
        "enabled",
    }
)


class GatewayServer(McpServer, frozen=True, kw_only=True):
    """A server behind the gateway."""

    timeout_ms: Annotated[int | None, "The same as `timeout`, in milliseconds."] = None
    deny: Annotated[list[str], "Not these tools, by name or with * and ?; counts more than `tools`."] = []
    start: Annotated[
        Literal["eager", "lazy"],
        "When it is started: with the gateway, or when something of it is first used.",
    ] = "eager"
    session: Annotated[
        Literal["auto", "shared", "client"],
        "One connection for all clients, or one for each; `auto` goes by what the server says of itself.",
    ] = "auto"
    concurrency: Annotated[int, "How many calls it may have at the same time; more wait."] = 64
    sandbox: Annotated[str, "The sandbox profile of its program; `sandbox.default` when left out."] = ""

    @property
    def patience(self) -> float:
        """Seconds that its start, and each call, may take."""
        return self.timeout if self.timeout_ms is None else self.timeout_ms / 1000


class Profile(Record, frozen=True, kw_only=True):
    """A choice of tools under an address of its own: /mcp/NAME."""

    tools: Annotated[list[str] | None, "Only these tools, as `server:tool`, with * and ?."] = None
    deny: Annotated[list[str], "Not these tools, in the same form; counts more than `tools`."] = []
    description: Annotated[str, "What it is for; told to clients."] = ""


class ListenOAuth(Record, frozen=True, kw_only=True):
    """An authorization server whose tokens open the door."""

    issuer: Annotated[str, "The authorization server, exactly as it names itself in its tokens."]
    audience: Annotated[str, "For whom tokens must be made: exactly this has to be in their `aud`."]
    jwks_url: Annotated[
        str | None, "The address of its public keys; its metadata tells it when left out."
    ] = None
    jwks_file: Annotated[str | None, "A file with its public keys, instead; relative to this file."] = None
    scopes: Annotated[list[str], "What every token must allow; all of these."] = []
    resource: Annotated[
        str,
        "The address by which clients know the gateway, where a proxy stands before it, "
        "such as https://example.org/mcp.",
    ] = ""


class Listen(Record, frozen=True, kw_only=True):
    """Where clients come in, and what they may do there."""

    host: Annotated[str, "The address to listen at."] = "127.0.0.1"
    port: Annotated[int, "The port; 0 takes a free one."] = 8931
    allowed_hosts: Annotated[
        list[str], "More names under which clients may speak of it, with or without the port."
    ] = []
    allowed_origins: Annotated[list[str], "Web pages that may use it, such as https://example.org."] = []
    tokens: Annotated[
        list[str] | dict[str, str],
        "Bearer tokens, one of which a client must send, as references such as ${env:GATEWAY_TOKEN}; with names by which the "
        'gate and its record know who sent one (`{ci: "${env:CI_TOKEN}"}`), or a mere list.',
    ] = []
    oauth: Annotated[
        ListenOAuth | None, "Take tokens of an authorization server, beside `tokens` or instead of them."
    ] = None
    max_request: Annotated[Size, "The longest request."] = 4 * 1024 * 1024
    concurrency: Annotated[int, "How many requests may be worked on at the same time."] = 256
    rate: Annotated[float | None, "How many requests a second each client may send."] = None
    quiet: Annotated[
        Duration | None,
        "End the stream of an answer that has been silent for so long; clients of 2025-11-25 come back for the rest. "
        "For places where long connections are cut.",
    ] = None
    stay_awake: Annotated[
        bool,
        "After a call, look for the next one for a fraction of a millisecond before going to sleep, which "
        "takes a third off a plain call. Where nothing comes so soon it is hardly tried, on a single processor never.",
    ] = True

    def __repr__(self) -> str:
        issuer = f", tokens of {self.oauth.issuer}" if self.oauth else ""
        return f"Listen({self.host}:{self.port}, {len(self.tokens)} tokens{issuer})"

    @property
    def needs_token(self) -> bool:
        """Whether clients have to prove who they are."""
        return bool(self.tokens) or self.oauth is not None


class GatewayFile(GateKeys, frozen=True, kw_only=True):
    """`.awf/gateway.yaml`."""

    unknown_key: ClassVar[str] = "USER.GATEWAY.INVALID_FILE"
    keys: ClassVar[dict[str, str]] = {"servers": "mcpServers"}
    servers: Annotated[dict[str, GatewayServer], "The servers, by name."] = {}
    overrides: Annotated[dict[str, ToolOverride], "How tools are reshaped, by `server:tool`."] = {}
    profiles: Annotated[dict[str, Profile], "Choices of tools, by name."] = {}
    listen: Annotated[Listen, "Where clients come in."] = Listen()
    pinning: Annotated[Pinning, "What is done when the definition of a tool changes."] = Pinning()
    sandbox: Annotated[SandboxSettings, "How programs that are started for tools are confined."] = (
        SandboxSettings()
    )


# -- what can be said of a file by itself ----------------------------------------------------------------------------


def problems_in(file: GatewayFile, *, serving: bool = True) -> list[Problem]:
    """Everything that is wrong with it; references are taken on trust.

    `serving`: whether a gateway is to serve it; else only its gate is wanted, for the tools of workflow steps.
    """
    if serving and not file.servers:
        message = "The file names no server, so there is nothing to serve."
        return [
            _found(_EMPTY, (), message, "Add one under `mcpServers`; `awf mcp import` finds those of others.")
        ]
    return [
        *_problems_of_servers(file),
        *_problems_of_overrides(file),
        *_problems_of_profiles(file),
        *_problems_of_the_door(file.listen),
        *problems_of_pinning(file.pinning),
        *problems_of_gate(file),
        *problems_of_sandbox(file.sandbox, {name: one.sandbox for name, one in file.servers.items()}),
    ]


def _found(code: str, path: NodePath, message: str, hint: str, *, at_key: bool = False) -> Problem:
    return Problem(code=code, message=message, path=path, hint=hint, at_key=at_key)


def _problems_of_servers(file: GatewayFile) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    for name, server in file.servers.items():
        path = ("mcpServers", name)
        if name == "builtin":
            message = "“builtin” means AWF's own tools, and cannot be the name of a server."
            yield _found(_FILE, path, message, "Rename the server.", at_key=True)
        if not _SERVER_NAME.fullmatch(name):
            hint = "Use up to 40 letters, digits, _ and -."
            yield _found(_FILE, path, f"“{name}” cannot be the name of a server.", hint, at_key=True)
        twin = seen.setdefault(name.lower().replace("-", "_"), name)
        if twin != name:
            message = f"The servers “{twin}” and “{name}” cannot be told apart in the names of tools."
            yield _found(_FILE, path, message, "Rename one of the two.", at_key=True)
        for field, message, hint in [*problems_with(server), *_limits(server)]:
            yield _found(_SERVER, (*path, *field.split(".", 1)), message, hint)


def _limits(server: GatewayServer) -> Iterator[tuple[str, str, str]]:
    if wrong := bad_amount(server.timeout_ms):
        yield "timeout_ms", f"The timeout {wrong}.", "Write it in milliseconds, such as 20000."
    if server.timeout_ms is not None and server.timeout != _USUAL_TIMEOUT:
        yield "timeout_ms", "`timeout` and `timeout_ms` say the same thing twice.", "Remove one of the two."
    if server.concurrency < 1:
        yield "concurrency", "At least one call must be allowed at a time.", "Write 1 or more."
    if server.sandbox and server.command is None:
        yield "sandbox", "`sandbox` has no effect without a `command`.", "Remove it."
    if not all(server.deny):
        yield "deny", "The name of a tool is empty.", "Remove it."


def _problems_of_overrides(file: GatewayFile) -> Iterator[Problem]:
    for key in file.overrides:
        path = ("overrides", key)
        server, colon, tool = key.partition(":")
        if not colon or not server or not tool:
            hint = f"Write it as SERVER:TOOL, such as “{next(iter(file.servers), 'builtin')}:{key.strip(':') or 'TOOL'}”."
            yield _found(_FILE, path, f"“{key}” does not say of which server the tool is.", hint, at_key=True)
        elif server not in file.servers and not _is_ours(server):
            yield _unknown_server(path, server, file.servers, at_key=True)
        elif (_is_ours(server) or tool in REQUESTS) and (
            shaping := _SHAPING & set(_told(file.overrides[key]))
        ):
            message = f"Only what the gate knows of {key} can be changed, not `{min(shaping)}`."
            yield _found(_FILE, (*path, min(shaping)), message, "Remove it.")
        yield from problems_of_override(file.overrides[key], path)


def _is_ours(server: str) -> bool:
    """Tools of AWF itself, which a gate governs as well."""
    return server == "builtin" or server.startswith("plugin.")


def _told(override: ToolOverride) -> list[str]:
    plain = ToolOverride()
    return [key for key in override.__struct_fields__ if getattr(override, key) != getattr(plain, key)]


def _problems_of_profiles(file: GatewayFile) -> Iterator[Problem]:
    for name, profile in file.profiles.items():
        if not _PROFILE_NAME.fullmatch(name):
            message = f"“{name}” cannot be the name of a profile: it is part of an address."
            hint = "Use up to 64 letters, digits, _ and -."
            yield _found(_FILE, ("profiles", name), message, hint, at_key=True)
        for field, patterns in (("tools", profile.tools or []), ("deny", profile.deny)):
            for at, pattern in enumerate(patterns):
                yield from _problems_of_pattern(("profiles", name, field, at), pattern, file.servers)


def _problems_of_pattern(path: NodePath, pattern: str, servers: Iterable[str]) -> Iterator[Problem]:
    server, colon, tool = pattern.partition(":")
    if pattern == "*":
        return
    if not colon or not server or not tool:
        hint = "Write it as SERVER:TOOL; SERVER:* means all tools of a server."
        yield _found(_FILE, path, f"“{pattern}” does not say of which server the tool is.", hint)
    elif not any(_matches(server, name) for name in servers):
        yield _unknown_server(path, server, servers)


def _matches(pattern: str, name: str) -> bool:
    meant = "".join({"*": ".*", "?": "."}.get(sign, re.escape(sign)) for sign in pattern)
    return re.fullmatch(meant, name) is not None


def _unknown_server(path: NodePath, name: str, servers: Iterable[str], *, at_key: bool = False) -> Problem:
    close = suggest(name, servers)
    hint = f"did you mean “{close}”?" if close else f"Servers here: {', '.join(sorted(servers))}."
    return _found(_UNKNOWN, path, f"No server is named “{name}”.", hint, at_key=at_key)


def _problems_of_the_door(listen: Listen) -> Iterator[Problem]:
    if not 0 <= listen.port <= 65535:
        yield _found(_FILE, ("listen", "port"), f"{listen.port} is no port.", "Write 0 to 65535.")
    for field in ("concurrency", "max_request"):
        if getattr(listen, field) < 1:
            yield _found(
                _FILE, ("listen", field), f"`{field}` must be more than nothing.", "Write 1 or more."
            )
    if listen.rate is not None and not 0 < listen.rate < float("inf"):
        yield _found(
            _FILE, ("listen", "rate"), "`rate` must be more than nothing.", "Remove it for no limit."
        )
    yield from _problems_of_names(listen)
    if listen.oauth is not None:
        yield from _problems_of_oauth(listen.oauth)
    for name in listen.tokens if isinstance(listen.tokens, dict) else ():
        if not _TOKEN_NAME.fullmatch(name):
            hint = "Use up to 64 letters, digits, ., _ and -."
            message = f"“{name}” cannot be the name of a token."
            yield _found(_FILE, ("listen", "tokens", name), message, hint, at_key=True)
    for at, token in _each(listen.tokens):
        if not is_reference(token):
            message = "A token stands in the file itself, for everyone to read."
            hint = "Write ${env:NAME} or ${file:PATH}, and put the token there."
            yield _found(_DOOR, ("listen", "tokens", at), message, hint)
    if not is_loopback(listen.host) and not listen.needs_token:
        message = f"Anyone who can reach {listen.host or 'this machine'} could use every tool."
        hint = "Add `tokens` or `oauth`, or listen at 127.0.0.1."
        yield _found(_DOOR, ("listen", "host"), message, hint)


def _problems_of_names(listen: Listen) -> Iterator[Problem]:
    for at, host in enumerate(listen.allowed_hosts):
        if not _HOST.fullmatch(host):
            hint = "Write a name alone, such as gateway.example.org or gateway.example.org:8931."
            yield _found(_FILE, ("listen", "allowed_hosts", at), f"“{host}” is not the name of a host.", hint)
    for at, origin in enumerate(listen.allowed_origins):
        if not _ORIGIN.fullmatch(origin):
            message = f"“{origin}” is not the origin of a web page."
            hint = "Write scheme, name and port only, such as https://example.org; each one by itself."
            yield _found(_FILE, ("listen", "allowed_origins", at), message, hint)


def _problems_of_oauth(oauth: ListenOAuth) -> Iterator[Problem]:
    """The values are not told: they may come from a reference."""
    path = ("listen", "oauth")
    for field, address, unfit in (("issuer", oauth.issuer, "?"), ("jwks_url", oauth.jwks_url, "#")):
        if address is None or is_reference(address):
            continue
        if unfit in address or not _is_safe_address(address):
            hint = f"Write an https:// address without user and {unfit}; http:// is for this machine only."
            yield _found(_FILE, (*path, field), f"`{field}` is not an address to trust.", hint)
    if oauth.resource and not is_reference(oauth.resource) and not _is_address(oauth.resource):
        hint = "Write the whole address that clients use, such as https://example.org/mcp."
        yield _found(_FILE, (*path, "resource"), "`resource` is not an HTTP address.", hint)
    if not oauth.audience.strip():
        message = "Without an audience, tokens that were made for others would open the door."
        yield _found(_DOOR, (*path, "audience"), message, "Write what the issuer puts in `aud` for it.")
    if oauth.jwks_file is not None and (oauth.jwks_url is not None or not oauth.jwks_file.strip()):
        message = "Keys come either from `jwks_url` or from a file that `jwks_file` names."
        yield _found(_FILE, (*path, "jwks_file"), message, "Remove one of the two.")
    for at, scope in enumerate(oauth.scopes):
        if not is_reference(scope) and not _SCOPE.fullmatch(scope):
            message = "This cannot be a scope: it is empty, or has spaces or quotes in it."
            yield _found(_FILE, (*path, "scopes", at), message, "Write each scope by itself.")


def _is_safe_address(text: str) -> bool:
    """One whose answers nobody on the way can change."""
    from urllib.parse import urlsplit  # late: only files with `oauth` need it

    if not _is_address(text):
        return False
    parts = urlsplit(text)
    return parts.scheme == "https" or is_loopback(parts.hostname or "")


def _is_address(text: str) -> bool:
    from urllib.parse import urlsplit  # late, as above

    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    plain = re.fullmatch(r"[\x21-\x7e]+", text) is not None and not re.search(r'["#@\\]', text)
    return plain and parts.scheme in {"http", "https"} and bool(host)


def is_loopback(host: str) -> bool:
    """Whether only this machine can get there."""
    import ipaddress  # late: only this asks for it

    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


# -- references filled in --------------------------------------------------------------------------------------------


class LoadedGateway(NamedTuple):
    file: GatewayFile  # env and file references filled in; those of calls wait in `defaults`
    problems: list[Problem]
    secrets: dict[str, str]  # for masking: what it is → the value


def load_values(file: GatewayFile, sources: Sources) -> LoadedGateway:
    """Fill in what the environment and files say. Servers that are not enabled need not have their values."""
    loading = Loading(sources)
    servers = {name: _loaded_server(name, one, loading) for name, one in file.servers.items()}
    overrides = {
        key: msgspec.structs.replace(
            one, defaults=loading.value(one.defaults, ("overrides", key, "defaults"), per_call=True)
        )
        for key, one in file.overrides.items()
    }
    tokens: list[str] | dict[str, str] = loading.value(file.listen.tokens, ("listen", "tokens"))
    oauth: ListenOAuth | None = loading.value(file.listen.oauth, ("listen", "oauth"))
    problems = [*loading.problems, *_unusable_tokens(tokens)]
    secrets = loading.secrets | {f"listen.tokens.{at}": token for at, token in _each(tokens) if token}
    listen = msgspec.structs.replace(file.listen, tokens=tokens, oauth=oauth)
    loaded = msgspec.structs.replace(file, servers=servers, overrides=overrides, listen=listen)
    if not problems:
        problems = [*_spoiled(file, loaded), *(_problems_of_oauth(oauth) if oauth else ())]
    for name, server in loaded.servers.items():
        secrets |= secrets_of(name, server)
    return LoadedGateway(loaded, problems, secrets)


def _loaded_server(name: str, server: GatewayServer, loading: Loading) -> GatewayServer:
    if not server.enabled:
        return server
    loaded: GatewayServer = loading.value(server, ("mcpServers", name))
    return loaded


def _each(tokens: list[str] | dict[str, str]) -> list[tuple[int | str, str]]:
    """With where each stands."""
    return list(tokens.items() if isinstance(tokens, dict) else enumerate(tokens))


def _unusable_tokens(tokens: list[str] | dict[str, str]) -> Iterator[Problem]:
    first: dict[str, int | str] = {}
    for at, token in _each(tokens):
        path: NodePath = ("listen", "tokens", at)
        if isinstance(tokens, dict) and first.setdefault(token, at) != at:
            message = f"This is the same token as “{first[token]}”: nobody could tell who sent it."
            yield _found(_FILE, path, message, "Give each its own.")
        if not token.strip():
            message = "The token is empty, so that everyone would have it."
            yield _found(_DOOR, path, message, "Set the variable or fill the file it comes from.")
        elif not is_reference(token) and not _TOKEN.fullmatch(token):
            message = (
                "No client can send this token: it has a space, a line break or a special character in it."
            )
            yield _found(_FILE, path, message, "Use letters, digits and signs of ASCII only.")


def _spoiled(file: GatewayFile, loaded: GatewayFile) -> list[Problem]:
    """What only shows once the values are there. They are not told: they may be secret."""
    found = []
    for name, server in loaded.servers.items():
        if not server.enabled or server == file.servers[name]:
            continue
        for field, _, _ in problems_with(server):
            message = f"`{field}` is not usable once its references are filled in."
            hint = "Look at the value of the variable or file for line breaks, missing parts and a user name."
            found.append(_found(_SERVER, ("mcpServers", name, *field.split(".", 1)), message, hint))
    return found
