"""Which files a confined program sees, and how: from a profile and the place where it works, without starting anything.

Every path is opened before it is trusted: what is bound or allowed later is the thing that was opened, whatever somebody
puts under its name meanwhile.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, NamedTuple

from awf.domain.errors import AwfError
from awf.infrastructure.sandboxes.keeping import keep, lies_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from awf.domain.ports.command_runner import Command
    from awf.domain.ports.sandbox import Grounds
    from awf.domain.sandbox import SandboxRules

__all__ = [
    "ETC_FILES",
    "ETC_FOLDERS",
    "SYSTEM",
    "Layout",
    "Spot",
    "check_reach",
    "lay_out",
    "lies_in",
    "may_change",
]

CODE = "USER.SANDBOX.OUT_OF_REACH"
STORAGE_CODE = "USER.SANDBOX.STORAGE_IN_REACH"
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store")
# Only these: root may read the passwords and keys that lie beside them. Files first, then folders.
_FILES = """
    ld.so.cache ld.so.conf passwd group nsswitch.conf hosts host.conf resolv.conf gai.conf protocols services localtime
    timezone ssl/openssl.cnf ssl/cert.pem pki/tls/cert.pem pki/tls/openssl.cnf profile bash.bashrc bashrc inputrc mime.types
    magic os-release debian_version lsb-release redhat-release gitattributes gitconfig shells login.defs locale.conf locale.alias
"""
_FOLDERS = "ssl/certs pki/tls/certs pki/ca-trust/extracted crypto-policies alternatives java-17-openjdk java-21-openjdk"
ETC_FILES = tuple(f"/etc/{name}" for name in _FILES.split())
ETC_FOLDERS = tuple(f"/etc/{name}" for name in _FOLDERS.split())


class Spot(NamedTuple):
    """Something that is shown. It stays open until the program runs."""

    path: str  # where it really lies
    fd: int
    writable: bool
    folder: bool
    given: str  # under which name it was asked for


class Layout(NamedTuple):
    everything: bool  # no files are hidden
    root: str
    cwd: str
    spots: list[Spot]  # what is shown, outer before inner; those of the system are not among them
    protected: list[Spot]  # folders inside something writable that can only be read
    system: list[str]
    private: tuple[
        str, ...
    ] = ()  # the home and what is secret: whatever holds it is nothing to add to `read`

    def close(self) -> None:
        for spot in (*self.spots, *self.protected):
            os.close(spot.fd)

    def shows(self, path: str) -> bool:
        places = (*self.system, *(spot.path for spot in self.spots))
        return self.everything or any(lies_in(path, place) for place in places)


def lay_out(rules: SandboxRules, grounds: Grounds, cwd: str) -> Layout:
    """Raises `AwfError` for a place that cannot be used. The caller closes it."""
    root = os.path.realpath(grounds.root)
    start = os.path.realpath(os.path.join(root, cwd)) if cwd else root
    if rules.files == "all":
        return Layout(everything=True, root=root, cwd=start, spots=[], protected=[], system=["/"])
    if root == "/":
        hint = "Work in a folder of its own, or choose a profile with `files: all`."
        raise AwfError(CODE, "The project's folder is /, so nothing could be hidden.", hint=hint)
    private = tuple(os.path.realpath(path) for path in (grounds.home, *grounds.secret) if path)
    layout = Layout(False, root, start, [], [], [*_system()], private)
    try:
        _show(layout.spots, _wanted(rules, grounds, root), root)
        _keep_from(grounds.secret, [*(spot.path for spot in layout.spots), *layout.system], rules.name)
        writable = [spot.path for spot in layout.spots if spot.writable]
        kept = keep(grounds.protected, grounds.protected_files, writable, rules.name)
        layout.spots.extend(_held(path, writable=True) for path in kept.held)
        layout.protected.extend(_held(path, writable=False) for path in kept.folders)
    except BaseException:
        layout.close()
        raise
    return layout


def _system() -> Iterator[str]:
    """Folders and files of the system; /bin and its like are often links into /usr."""
    for path in (*SYSTEM, *ETC_FILES, *ETC_FOLDERS):
        if os.path.exists(path):
            yield path
    target = os.path.realpath("/etc/resolv.conf")
    if not target.startswith("/etc/") and os.path.exists(target):
        yield target


def _wanted(rules: SandboxRules, grounds: Grounds, root: str) -> list[tuple[str, bool]]:
    places = [(root, rules.files == "workspace")]
    places += [(_absolute(path, root, grounds.home), True) for path in rules.write]
    places += [(_absolute(path, root, grounds.home), False) for path in rules.read]
    return [*places, *((path, True) for path in grounds.shared)]


def _absolute(path: str, root: str, home: str) -> str:
    if home and (path == "~" or path.startswith("~/")):
        return os.path.normpath(home + path[1:])
    return os.path.normpath(os.path.join(root, path))


def _show(spots: list[Spot], wanted: Iterable[tuple[str, bool]], root: str) -> None:
    """Outer places first. What lies in a place that can be changed can be changed already, so it needs nothing more;
    and whoever can change a place must not decide what a name in it means to us.
    """
    for path, writable in sorted(wanted, key=lambda one: (one[0].count("/"), not one[1])):
        if any(spot.writable and lies_in(path, spot.path) for spot in spots):
            continue
        spot = _opened(path, root, writable=writable)
        if spot is not None:
            spots.append(spot)


def _keep_from(secret: Iterable[str], shown: Iterable[str], profile: str) -> None:
    """A part of what is shown cannot be hidden for good: whoever may write around it can move it. So it is refused."""
    places = [*dict.fromkeys(map(os.path.realpath, shown))]
    for path in map(os.path.realpath, secret):
        place = next((one for one in places if lies_in(path, one) or lies_in(one, path)), "")
        if place:
            text = f"AWF keeps its audit, its keys and grants in {path}, and programs in the sandbox profile “{profile}” would be shown {place}."
            hint = "Choose a directory elsewhere with --storage DIR or AWF_STORAGE (a key of the audit: AWF_AUDIT_KEY), or do not show this one."
            raise AwfError(STORAGE_CODE, text, hint=hint)


def may_change(rules: SandboxRules, grounds: Grounds, path: str) -> bool:
    """Whether this place can be written by programs of a profile, were nothing protected in there."""
    if rules.files == "all":
        return False
    root, real = os.path.realpath(grounds.root), os.path.realpath(path)
    return any(
        writable and lies_in(real, os.path.realpath(one)) for one, writable in _wanted(rules, grounds, root)
    )


def _opened(path: str, root: str, *, writable: bool) -> Spot | None:
    """None for what does not exist, or may not be opened by us either."""
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return None
    real = os.readlink(f"/proc/self/fd/{fd}")
    inside = lies_in(path, root)
    if real == "/" or (inside and not lies_in(real, root)):
        os.close(fd)
        what = f"{path} leads out of the project, to {real}"
        raise AwfError(CODE, f"{what}.", hint="Name the place itself under `read` or `write` if it is meant.")
    return Spot(real, fd, writable, os.path.isdir(f"/proc/self/fd/{fd}"), path)


def _held(path: str, *, writable: bool) -> Spot:
    """A folder of which we know where it really lies."""
    try:
        fd = os.open(path, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as reason:
        text = f"{path} is to be kept from programs, and cannot be opened: {reason.strerror}."
        raise AwfError(CODE, text, hint="Look whether it is moved about at this moment.") from reason
    return Spot(path, fd, writable, True, path)


# -- whether the program itself is in reach ----------------------------------------------------------------------------


def check_reach(command: Command, layout: Layout, profile: str) -> None:
    """Raises `AwfError` when the program or its folder is hidden, which it could only tell in riddles."""
    if layout.everything:
        return
    if not layout.shows(layout.cwd):
        hint = f"Add it to `read` or `write` of the profile “{profile}”, or start the program elsewhere."
        raise AwfError(
            CODE, f"The folder {layout.cwd} is hidden by the sandbox profile “{profile}”.", hint=hint
        )
    hidden, program = "", command.argv[0] if command.argv else ""
    for path in _candidates(program, command.env, layout.cwd):
        real = os.path.realpath(path)
        if layout.shows(os.path.abspath(path)) and layout.shows(real):
            return
        hidden = hidden or real
    if hidden:
        folder = _installed_in(hidden, layout.private)
        hint = f"Add the folder it is installed in to `read` of a profile that extends it, such as {folder}."
        raise AwfError(CODE, f"The program {hidden} is hidden by the sandbox profile “{profile}”.", hint=hint)
    text = f'Cannot start "{program}": there is no such program.'
    raise AwfError("EXECUTION.COMMAND.NOT_FOUND", text, hint="Install the program, or correct its path.")


def _installed_in(program: str, private: Iterable[str]) -> str:
    """The folder above its own, as of `x/bin/program`, where that does not hold too much; at the least the program itself."""
    own = os.path.dirname(program)
    around = (os.path.dirname(own), own)
    fitting = (one for one in around if one != "/" and not any(lies_in(path, one) for path in private))
    return next(fitting, program)


def _candidates(program: str, env: Mapping[str, str], cwd: str) -> Iterator[str]:
    if "/" in program:
        path = os.path.join(cwd, program)
        if os.path.exists(path):
            yield path
        return
    for folder in env.get("PATH", os.defpath).split(os.pathsep):
        found = shutil.which(program, path=folder) if program and folder else None
        if found:
            yield os.path.join(cwd, found)
