"""What a program that AWF starts may touch and use up: the section `sandbox:` of the gate's file, and what follows from it."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

import msgspec

from awf.domain.problem import NodePath, Problem, suggest
from awf.domain.shape import Duration, Record, Size

__all__ = [
    "BUILT_IN",
    "Abilities",
    "Demand",
    "FileAccess",
    "SandboxProfile",
    "SandboxRules",
    "SandboxSettings",
    "problems_of_sandbox",
    "rules_named",
]

FileAccess = Literal["all", "workspace", "read_only"]
Demand = Literal["files", "network", "sockets", "listening", "processes", "memory", "cpu", "others"]

_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")
_FILE = "USER.GATEWAY.INVALID_FILE"
_UNKNOWN = "USER.SANDBOX.UNKNOWN_PROFILE"
_GIB = 1024**3
_MIB = 1024**2


class SandboxProfile(Record, frozen=True, kw_only=True):
    """A profile of your own. What it does not say is as in the profile that it extends."""

    extends: Annotated[
        Literal["none", "workspace", "restricted"],
        "The built-in profile that gives everything not said here.",
    ] = "restricted"
    files: Annotated[
        FileAccess | None,
        "`workspace`: the project's folder can be changed; `read_only`: it can be read; in both the system's programs can be read, "
        "and all else is hidden. `all`: every file, as without a sandbox.",
    ] = None
    read: Annotated[
        list[str],
        "More files and folders that can be read; relative to the project's folder, ~ is your home.",
    ] = []
    write: Annotated[list[str], "More files and folders that can be changed."] = []
    env: Annotated[
        list[str],
        "Variables of AWF's own environment that it gets although their names look secret; others of that kind only come by a server's `env`.",
    ] = []
    network: Annotated[
        bool | None, "Whether it can reach a network, this machine's own addresses included."
    ] = None
    memory: Annotated[Size | None, "How much memory it may use; 0 for no limit."] = None
    cpu: Annotated[
        Duration | None, "How much processor time each of its processes may use; 0 for no limit."
    ] = None
    processes: Annotated[
        int | None, "How many processes and threads it may have at once; 0 for no limit."
    ] = None
    time: Annotated[
        Duration | None, "How long a call of Bash may take; 0 for no limit but the call's own."
    ] = None
    file_size: Annotated[Size | None, "The largest file it may write; 0 for no limit."] = None
    open_files: Annotated[
        int | None, "How many files each of its processes may have open; 0 for no limit."
    ] = None


class SandboxSettings(Record, frozen=True, kw_only=True):
    """How the programs that AWF starts for tools are confined."""

    default: Annotated[
        str, "The profile of every server, of plugins and of Bash, where nothing else is said."
    ] = "none"
    bash: Annotated[str, "The profile of the built-in Bash."] = ""
    plugins: Annotated[str, "The profile of plugins."] = ""
    on_unavailable: Annotated[
        Literal["error", "warn"],
        "What is done when this machine cannot enforce a profile: refuse to start, or go on with what it can, and say so.",
    ] = "error"
    profiles: Annotated[dict[str, SandboxProfile], "Profiles of your own, by name."] = {}


class SandboxRules(msgspec.Struct, frozen=True, kw_only=True):
    """A profile with everything said. None means no limit."""

    name: str
    files: FileAccess = "all"
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    network: bool = True
    memory: int | None = None
    cpu: float | None = None
    processes: int | None = None
    time: float | None = None
    file_size: int | None = None
    open_files: int | None = None

    @property
    def confines(self) -> bool:
        """Whether there is anything to enforce."""
        return self != SandboxRules(name=self.name, read=self.read, write=self.write, env=self.env)

    def demands(self, *, listens: bool = False) -> list[Demand]:
        """What a machine must be able to do for it. `listens`: we reach it by a socket that it makes."""
        wanted: list[tuple[Demand, bool]] = [
            ("files", self.files != "all"),
            ("network", not self.network),
            ("sockets", self.files != "all"),
            ("listening", self.files != "all" and self.network and listens),
            ("others", self.files != "all" or not self.network),
            ("processes", self.processes is not None),
            ("memory", self.memory is not None),
            ("cpu", self.cpu is not None),
        ]
        return [demand for demand, asked in wanted if asked]


BUILT_IN: Mapping[str, SandboxRules] = {
    "none": SandboxRules(name="none"),
    "workspace": SandboxRules(
        name="workspace",
        files="workspace",
        memory=4 * _GIB,
        processes=512,
        file_size=4 * _GIB,
        open_files=4096,
    ),
    "restricted": SandboxRules(
        name="restricted",
        files="read_only",
        network=False,
        memory=512 * _MIB,
        cpu=3600.0,
        processes=64,
        time=600.0,
        file_size=256 * _MIB,
        open_files=1024,
    ),
}


class Abilities(msgspec.Struct, frozen=True, kw_only=True):
    """What a wall enforces on this machine. A demand that stands in `cannot` is not met, for the reason given there."""

    wall: str  # bubblewrap, landlock; empty: there is none
    cannot: dict[Demand, str] = {}
    notes: tuple[str, ...] = ()  # how the rest is met, where that is not obvious

    def missing(self, rules: SandboxRules, *, listens: bool = False) -> list[str]:
        """What of this profile would not be enforced, each with its reason."""
        wanted = rules.demands(listens=listens)
        return [f"{demand}: {self.cannot[demand]}" for demand in wanted if demand in self.cannot]


# -- from names to rules -----------------------------------------------------------------------------------------------


def rules_named(settings: SandboxSettings, name: str) -> SandboxRules:
    """The profile of this name, or the default one for an empty name. Names have been checked."""
    wanted = name or settings.default
    own = settings.profiles.get(wanted)
    return BUILT_IN[wanted] if own is None else _extended(wanted, own)


def _extended(name: str, own: SandboxProfile) -> SandboxRules:
    base = BUILT_IN[own.extends]

    def limit(said: float | None, usual: float | None) -> float | None:
        return usual if said is None else said or None

    def count(said: int | None, usual: int | None) -> int | None:
        return usual if said is None else said or None

    return SandboxRules(
        name=name,
        files=own.files or base.files,
        read=tuple(own.read),
        write=tuple(own.write),
        env=tuple(own.env),
        network=base.network if own.network is None else own.network,
        memory=count(own.memory, base.memory),
        cpu=limit(own.cpu, base.cpu),
        processes=count(own.processes, base.processes),
        time=limit(own.time, base.time),
        file_size=count(own.file_size, base.file_size),
        open_files=count(own.open_files, base.open_files),
    )


# -- what is wrong with it ---------------------------------------------------------------------------------------------


def problems_of_sandbox(
    settings: SandboxSettings, servers: Mapping[str, str] | None = None
) -> Iterator[Problem]:
    """Everything, by itself; `servers`: the profile that each server names, if it does."""
    known = [*BUILT_IN, *settings.profiles]
    chosen: list[tuple[NodePath, str]] = [
        (("sandbox", field), name)
        for field, name in (
            ("default", settings.default or "none"),
            ("bash", settings.bash),
            ("plugins", settings.plugins),
        )
    ]
    chosen += [(("mcpServers", server, "sandbox"), name) for server, name in (servers or {}).items()]
    for path, name in chosen:
        if name and name not in known:
            yield _unknown(path, name, known)
    for name, profile in settings.profiles.items():
        yield from _problems_of_profile(name, profile)


def _unknown(path: NodePath, name: str, known: list[str]) -> Problem:
    close = suggest(name, known)
    hint = f"did you mean “{close}”?" if close else f"Profiles here: {', '.join(known)}."
    return Problem(code=_UNKNOWN, message=f"No sandbox profile is named “{name}”.", path=path, hint=hint)


def _problems_of_profile(name: str, profile: SandboxProfile) -> Iterator[Problem]:
    path = ("sandbox", "profiles", name)

    def found(field: str, message: str, hint: str, *more: int) -> Problem:
        return Problem(code=_FILE, message=message, path=(*path, field, *more), hint=hint)

    if not _NAME.fullmatch(name) or name in BUILT_IN:
        why = "is built in" if name in BUILT_IN else "cannot be the name of a profile"
        hint = "Choose another name of up to 40 letters, digits, _ and -."
        yield Problem(code=_FILE, message=f"“{name}” {why}.", path=path, hint=hint, at_key=True)
    for field in ("memory", "cpu", "processes", "time", "file_size", "open_files"):
        said = getattr(profile, field)
        if said is not None and said < 0:
            yield found(field, f"`{field}` cannot be less than nothing.", "Write 0 for no limit.")
    if profile.memory is not None and 0 < profile.memory < 16 * _MIB:
        yield found("memory", "No program starts with so little memory.", "Write 16MiB or more.")
    if profile.processes is not None and 0 < profile.processes < 4:
        yield found("processes", "The sandbox itself needs some processes.", "Write 4 or more.")
    if profile.open_files is not None and 0 < profile.open_files < 16:
        yield found("open_files", "No program starts with so few open files.", "Write 16 or more.")
    for field in ("read", "write"):
        for at, place in enumerate(getattr(profile, field)):
            if not place.strip() or "\0" in place:
                yield found(field, f"{place!r} cannot be a path.", "Remove it.", at)
            elif not place.strip().strip("/"):
                yield found(field, "This is every file there is.", "Say `files: all` if that is meant.", at)
    if (profile.files or BUILT_IN[profile.extends].files) == "all" and (profile.read or profile.write):
        field = "read" if profile.read else "write"
        yield found(field, f"`{field}` has no effect with `files: all`.", "Remove one of the two.")
