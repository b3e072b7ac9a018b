"""Attempts to get out of every built-in profile, over every wall, as every kind of user: with real processes.

Whoever started them answers on, and nothing of them is left. Attempts are Python programs that print what they achieved.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import uuid
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

pytestmark = pytest.mark.journey

STAND = Path(__file__).with_name("stand.py")
NOBODY = 65534
PROFILES = ("workspace", "restricted")
USERS = ("self", "other")
WALLS = ("bubblewrap", "landlock")
PATIENCE = 60


def interpreter_for(uid: int) -> str:
    """A Python that this user can start; the one that runs the tests may lie in somebody's home."""
    for path in (os.path.realpath(sys.executable), "/usr/bin/python3", "/usr/local/bin/python3"):
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            who = {"user": uid, "group": uid, "extra_groups": []} if uid != os.getuid() else {}
            subprocess.run(
                [path, "-I", "-S", "-c", "import ctypes"], check=True, capture_output=True, cwd="/", **who
            )
            return os.path.realpath(path)
    return ""


class Answer(NamedTuple):
    exit_code: int
    output: str
    breach: str
    timed_out: bool
    error: str


class Stand:
    """A process with a wall, the folders of a person around it, and what is to be kept from the programs in it."""

    def __init__(self, wall: str, uid: int, profile: str, python: str, place: Path) -> None:
        self.profile, self.python, self.wall = profile, python, wall
        self.place, self.ends_with = place, 0
        self.root, self.home, self.outside = place / "project", place / "home", place / "outside"
        self._furnish()
        for folder in (place, *place.rglob("*")):
            os.chown(folder, uid, uid, follow_symlinks=False)
        self.process = subprocess.Popen(
            [sys.executable, str(STAND), wall, str(uid), python],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd="/",
        )
        self.missing = json.loads(self.process.stdout.readline())["missing"]

    def _furnish(self) -> None:
        gate = self.root / ".awf"
        for folder in (gate, self.root / "sub", self.home / ".ssh", self.outside):
            folder.mkdir(parents=True)
        (gate / "gateway.yaml").write_text("gate: shut\n")
        (self.root / "own.txt").write_text("own\n")
        (self.home / ".ssh" / "id_key").write_text("SECRET key\n")
        (self.outside / "secret.txt").write_text("SECRET text\n")
        (self.root / "sub" / "link").symlink_to(self.outside / "secret.txt")

    def attempt(self, code: str, *arguments: str, timeout: float = PATIENCE, **rules: object) -> Answer:
        token = self.begin(code, *arguments, timeout=timeout, **rules)
        said = json.loads(self.process.stdout.readline())
        assert left_of(token) == [], "something of it is left"
        return Answer(
            said.get("exit_code", -1),
            said["output"],
            said.get("breach", ""),
            said.get("timed_out", False),
            said.get("error", ""),
        )

    def begin(self, code: str, *arguments: str, timeout: float = PATIENCE, **rules: object) -> str:
        """Returns its last argument, by which it is found again."""
        token = f"attempt-{uuid.uuid4().hex}"
        order = {
            "profile": self.profile,
            "rules": {"read": [sys.base_prefix, os.path.dirname(os.path.dirname(self.python))], **rules},
            "root": str(self.root),
            "home": str(self.home),
            "protected": [str(self.root / ".awf")],
            "argv": [self.python, "-I", "-S", "-c", textwrap.dedent(code), *arguments, token],
            "timeout": timeout,
        }
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return token

    def close(self) -> None:
        self.process.stdin.close()
        assert self.process.wait(PATIENCE) == self.ends_with, "whoever started them was harmed"
        self.process.stdout.close()


def left_of(token: str) -> list[int]:
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            ended = process.status() == psutil.STATUS_ZOMBIE and process.num_threads() == 1
            if not ended and (process.name() == token[-14:] or token in process.cmdline()):
                found.append(process.pid)
    return found


@contextlib.contextmanager
def stand_for(wall: str, profile: str, user: str):
    if not sys.platform.startswith("linux"):
        pytest.skip("walls are for Linux")
    if user == "other" and os.getuid() != 0:
        pytest.skip("only root can become another user")
    uid = NOBODY if user == "other" else os.getuid()
    python = interpreter_for(uid)
    if not python:
        pytest.skip(f"no Python on this machine can be started by user {uid}")
    place = Path(tempfile.mkdtemp(prefix="awf-stand-", dir="/tmp"))  # pytest shuts others out of its folders
    made = Stand(wall, uid, profile, python, place)
    try:
        if made.missing:
            pytest.skip(f"this machine cannot enforce it: {'; '.join(made.missing)}")
        yield made
    finally:
        made.close()
        shutil.rmtree(place)


@pytest.fixture(scope="module", params=[f"{w}-{p}-{u}" for w in WALLS for p in PROFILES for u in USERS])
def stand(request):
    with stand_for(*request.param.split("-")) as made:
        yield made


# -- files ---------------------------------------------------------------------------------------------------------------


WRITE = """
    import os, sys
    for place in sys.argv[1:-1]:
        try:
            with open(place, "w") as stream:
                stream.write("changed")
            print("wrote", place)
        except OSError as reason:
            print("no", place, reason.strerror)
"""


def test_nothing_outside_the_project_can_be_written(stand):
    places = [
        stand.outside / "new",
        stand.outside / "secret.txt",
        stand.root.parent / "beside",
        stand.root / "sub" / "link",
    ]
    answer = stand.attempt(WRITE, *map(str, places), "/usr/awf-was-here", "/etc/passwd", "/awf-was-here")
    # A private /tmp may hide all this; what is written there is nowhere afterwards.
    assert not {"wrote /usr/awf-was-here", "wrote /etc/passwd", "wrote /awf-was-here"} & {
        *answer.output.splitlines()
    }
    assert answer.exit_code == 0
    assert sorted(path.name for path in stand.outside.iterdir()) == ["secret.txt"]
    assert (stand.outside / "secret.txt").read_text() == "SECRET text\n"
    assert not (stand.root.parent / "beside").exists()
    assert not Path("/usr/awf-was-here").exists() and not Path("/awf-was-here").exists()


def test_the_project_is_writable_only_where_the_profile_says_so(stand):
    answer = stand.attempt(WRITE, str(stand.root / "own.txt"))
    try:
        assert ("wrote" in answer.output) == (stand.profile == "workspace"), answer.output
        assert (stand.root / "own.txt").read_text() == (
            "changed" if stand.profile == "workspace" else "own\n"
        )
    finally:
        (stand.root / "own.txt").write_text("own\n")


def test_the_gate_cannot_be_rewritten_by_those_it_holds(stand):
    code = """
        import os, sys
        root = sys.argv[1]
        def tried(what, work):
            try:
                work()
                print("DID", what)
            except OSError:
                pass
        tried("open", lambda: open(root + "/.awf/gateway.yaml", "w"))
        tried("make", lambda: open(root + "/.awf/other.yaml", "w"))
        tried("unlink", lambda: os.unlink(root + "/.awf/gateway.yaml"))
        tried("move", lambda: os.rename(root + "/.awf", root + "/sub/away"))
        tried("replace", lambda: os.rename(root + "/own.txt", root + "/.awf/gateway.yaml"))
        tried("link", lambda: os.link(root + "/own.txt", root + "/.awf/linked"))
        tried("cut", lambda: os.truncate(root + "/.awf/gateway.yaml", 0))
        print("end")
    """
    answer = stand.attempt(code, str(stand.root))
    assert answer.output == "end\n"
    assert (stand.root / ".awf" / "gateway.yaml").read_text() == "gate: shut\n"


def test_no_secret_outside_can_be_read_whatever_the_way_to_it(stand):
    code = """
        import os, sys
        outside, home, root = sys.argv[1:4]
        ways = [outside + "/secret.txt", root + "/sub/link", root + "/../outside/secret.txt", home + "/.ssh/id_key"]
        ways += ["/proc/1/root" + outside + "/secret.txt", "/proc/self/root" + outside + "/secret.txt"]
        ways += ["/proc/1/cwd/../outside/secret.txt", "/etc/shadow", "/etc/sudoers"]
        ways += ["/var/run/docker.sock", "/proc/kcore", "/proc/1/mem"]
        for way in ways:
            try:
                with open(way, "rb") as stream:
                    print("READ", way, stream.read(40))
            except OSError as reason:
                pass
        for fd in range(3, 256):
            try:
                os.stat("../outside/secret.txt", dir_fd=fd)
                print("FD", fd)
            except OSError:
                pass
        print("end")
    """
    answer = stand.attempt(code, str(stand.outside), str(stand.home), str(stand.root))
    assert answer.output == "end\n"


def test_swapping_a_link_as_fast_as_possible_opens_no_way_out(stand):
    code = """
        import os, sys, tempfile, threading
        secret, root, profile = sys.argv[1:4]
        folder = root + "/sub" if profile == "workspace" else tempfile.mkdtemp()
        door, harmless = folder + "/door", folder + "/harmless"
        open(harmless, "w").write("harmless")
        over = False
        def swap():
            while not over:
                for target in (harmless, secret):
                    os.symlink(target, door + ".new")
                    os.rename(door + ".new", door)
        threading.Thread(target=swap, daemon=True).start()
        seen = set()
        for _ in range(5000):
            try:
                with open(door) as stream:
                    seen.add(stream.read())
            except OSError:
                seen.add("refused")
            try:
                with open(door, "r+") as stream:
                    stream.write("harmless")
            except OSError:
                pass
        over = True
        print(sorted(seen))
    """
    answer = stand.attempt(code, str(stand.outside / "secret.txt"), str(stand.root), stand.profile)
    assert "SECRET" not in answer.output
    assert answer.output.startswith("["), answer.output
    assert (stand.outside / "secret.txt").read_text() == "SECRET text\n"


def test_devices_can_neither_be_opened_nor_made(stand):
    code = """
        import glob, os, stat, sys
        for path in ["/dev/mem", "/dev/kmsg", "/dev/port", "/dev/fuse", "/dev/kvm", *glob.glob("/dev/[svn]d*"), "/dev/vsock"]:
            try:
                os.close(os.open(path, os.O_RDONLY))
                print("OPENED", path)
            except OSError:
                pass
        for folder in (os.environ["HOME"], sys.argv[1]):
            for kind, number in ((stat.S_IFBLK, os.makedev(254, 0)), (stat.S_IFCHR, os.makedev(1, 1))):
                try:
                    os.mknod(folder + "/device", kind | 0o600, number)
                    print("MADE", folder)
                except OSError:
                    pass
        open("/dev/null", "w").write("x")
        print(len(open("/dev/urandom", "rb").read(4)))
    """
    assert stand.attempt(code, str(stand.root)).output == "4\n"


def test_without_walls_the_same_attempts_succeed(tmp_path):
    """Or else the others would show nothing."""
    token = f"\0awf-{uuid.uuid4().hex}"
    with listening(socket.AF_UNIX, token) as (_, heard):
        for code, arguments in (
            (WRITE, [str(tmp_path / "new")]),
            (CONNECT, ["unix", token.replace("\0", "@")]),
        ):
            argv = [sys.executable, "-I", "-S", "-c", textwrap.dedent(code), *arguments, "end"]
            subprocess.run(argv, check=True, capture_output=True, timeout=PATIENCE)
        deadline = time.monotonic() + PATIENCE
        while not heard and time.monotonic() < deadline:
            time.sleep(0.01)
    assert (tmp_path / "new").read_text() == "changed"
    assert heard == [b"hello from inside"]


# -- network and sockets -------------------------------------------------------------------------------------------------


CONNECT = """
    import socket, sys
    family, address = sys.argv[1], sys.argv[2]
    try:
        if family == "tcp":
            link = socket.create_connection(("127.0.0.1", int(address)), 5)
        elif family == "udp":
            link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            link.connect(("127.0.0.1", int(address)))
        else:
            link = socket.socket(socket.AF_UNIX)
            link.connect(address.replace("@", chr(0)))
        link.send(b"hello from inside")
        print("CONNECTED")
    except OSError as reason:
        print("no", reason.strerror)
"""


@contextlib.contextmanager
def listening(family: int, address, kind: int = socket.SOCK_STREAM):
    """Hears who comes, and what is said."""
    heard: list[bytes] = []
    with socket.socket(family, kind) as door:
        door.bind(address)
        if kind == socket.SOCK_STREAM:
            door.listen()
        door.settimeout(0.05)
        over = threading.Event()

        def hear():
            while not over.is_set():
                with contextlib.suppress(TimeoutError):
                    if kind == socket.SOCK_DGRAM:
                        heard.append(door.recv(100))
                    else:
                        link, _ = door.accept()
                        with link:
                            heard.append(link.recv(100))

        thread = threading.Thread(target=hear)
        thread.start()
        try:
            yield door.getsockname(), heard
        finally:
            over.set()
            thread.join()


@pytest.mark.parametrize(("family", "kind"), [("tcp", socket.SOCK_STREAM), ("udp", socket.SOCK_DGRAM)])
def test_a_network_is_reached_only_where_the_profile_allows_it(stand, family, kind):
    with listening(socket.AF_INET, ("127.0.0.1", 0), kind) as (address, heard):
        answer = stand.attempt(CONNECT, family, str(address[1]))
        deadline = time.monotonic() + PATIENCE
        while "CONNECTED" in answer.output and stand.profile == "workspace" and not heard:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    reached = bool(heard)
    assert reached == (stand.profile == "workspace"), answer.output
    if not reached and family == "tcp":
        assert answer.output.startswith("no ")


def test_unix_sockets_of_others_are_out_of_reach_with_and_without_a_path(stand):
    abstract = f"@awf-{uuid.uuid4().hex}"
    path = stand.outside / "s.sock"
    try:
        with (
            listening(socket.AF_UNIX, abstract.replace("@", "\0")) as (_, heard),
            listening(socket.AF_UNIX, os.path.relpath(path)) as (_, heard_by_path),
        ):
            path.chmod(0o777)
            assert stand.attempt(CONNECT, "unix", abstract).output.startswith("no ")
            if len(str(path)) < 100:
                assert stand.attempt(CONNECT, "unix", str(path)).output.startswith("no ")
        assert (heard, heard_by_path) == ([], [])
    finally:
        path.unlink(missing_ok=True)


def test_datagrams_reach_no_socket_of_others_from_a_pair_either(stand):
    code = """
        import socket, sys
        kinds = (socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET, socket.SOCK_STREAM)
        for address in (sys.argv[1].replace("@", chr(0)), sys.argv[2]):
            for kind in kinds:
                for way in ("sendto", "connect"):
                    try:
                        one, _ = socket.socketpair(socket.AF_UNIX, kind)
                        one.sendto(b"hello", address) if way == "sendto" else (one.connect(address), one.send(b"hello"))
                        if kind != socket.SOCK_SEQPACKET:  # for these the address is overlooked
                            print("SENT", kind, way)
                    except OSError:
                        pass
        one, other = socket.socketpair()
        one.send(b"to ourselves")
        print(other.recv(100).decode())
    """
    abstract = f"@awf-{uuid.uuid4().hex}"
    path = stand.outside / "d.sock"
    try:
        with (
            listening(socket.AF_UNIX, abstract.replace("@", "\0"), socket.SOCK_DGRAM) as (_, heard),
            listening(socket.AF_UNIX, os.path.relpath(path), socket.SOCK_DGRAM) as (_, heard_by_path),
        ):
            path.chmod(0o777)
            answer = stand.attempt(code, abstract, str(path))
        assert (heard, heard_by_path) == ([], [])
        assert answer.output == "to ourselves\n"
    finally:
        path.unlink(missing_ok=True)


def test_families_of_sockets_that_know_no_network_are_refused(stand):
    code = """
        import socket
        for family in (socket.AF_VSOCK, socket.AF_PACKET, socket.AF_ALG):
            try:
                socket.socket(family, socket.SOCK_STREAM if family != socket.AF_ALG else socket.SOCK_SEQPACKET)
                print("MADE", family)
            except OSError:
                pass
        print("end")
    """
    assert stand.attempt(code).output == "end\n"


# -- using things up -----------------------------------------------------------------------------------------------------


def test_a_fork_bomb_stops_at_its_limit(stand):
    code = """
        import os, time
        count = 0
        while count < 3000:
            try:
                pid = os.fork()
            except OSError as reason:
                print("stopped at", count, reason, flush=True)
                os._exit(1)
            if pid == 0:
                time.sleep(600)
                os._exit(0)
            count += 1
        print("MADE", count)
    """
    answer = stand.attempt(code, processes=40)
    made = int(answer.output.split("stopped at ")[1].split()[0])
    assert 10 < made <= 40
    assert answer.exit_code != 0
    assert "its limit of 40 processes" in answer.breach or "Resource temporarily unavailable" in answer.output
    assert stand.attempt("print('still here')").output == "still here\n"


def test_a_memory_bomb_stops_at_its_limit(stand):
    code = """
        hoard = []
        for _ in range(64):
            hoard.append(bytearray(b"x" * (32 << 20)))
        print("HELD", len(hoard))
    """
    answer = stand.attempt(code, memory=256 << 20)
    assert "HELD" not in answer.output
    assert answer.exit_code != 0
    assert answer.breach == "its memory limit (256 MiB)" or "MemoryError" in answer.output
    assert stand.attempt("print('still here')").output == "still here\n"


def test_a_program_that_only_computes_stops_at_its_limit(stand):
    answer = stand.attempt("while True: pass", cpu=1.0)
    assert (answer.breach, answer.timed_out) == ("its processor time limit (1 s)", False)


def test_a_file_that_grows_without_end_stops_at_its_limit(stand):
    code = """
        import os, signal
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        with open(os.environ["HOME"] + "/large", "wb") as stream:
            for _ in range(64):
                stream.write(bytes(1 << 20))
        print("WROTE")
    """
    answer = stand.attempt(code, file_size=4 << 20)
    assert (answer.breach, answer.output) == ("its file size limit (4 MiB)", "")


def test_folders_without_end_or_rights_are_removed_and_the_result_is_told(stand):
    code = """
        import os
        os.chdir(os.environ["HOME"])
        os.makedirs("shut/inner")
        os.chmod("shut/inner", 0)
        os.chmod("shut", 0)
        print(os.getcwd(), flush=True)
        for _ in range(1200):
            os.mkdir("deep")
            os.chdir("deep")
        os.chmod(os.environ["HOME"], 0)
    """
    answer = stand.attempt(code)
    assert (answer.exit_code, answer.error) == (0, "")
    if stand.wall == "landlock":
        assert not os.path.lexists(answer.output.strip())


def test_a_program_that_takes_for_ever_stops_at_its_time_limit(stand):
    answer = stand.attempt("import time; time.sleep(600)", time=0.5)
    assert (answer.breach, answer.timed_out) == ("its time limit (0.5 s)", True)


# -- other processes -----------------------------------------------------------------------------------------------------


@pytest.fixture
def neighbour(stand):
    """A process of the same user, outside."""
    uid = stand.root.stat().st_uid
    who = {"user": uid, "group": uid, "extra_groups": []} if uid != os.getuid() else {}
    process = subprocess.Popen(["/bin/sleep", "600"], cwd="/", env={"TOKEN": "SECRET of a neighbour"}, **who)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_process_outside_cannot_be_traced_and_trying_ends_the_program(stand, neighbour):
    code = """
        import ctypes, sys
        result = ctypes.CDLL(None).ptrace(16, int(sys.argv[1]), 0, 0)
        print("CAME BACK", result)
    """
    answer = stand.attempt(code, str(neighbour.pid))
    assert "CAME BACK" not in answer.output
    assert answer.breach == "a system call that the sandbox forbids"
    assert neighbour.poll() is None


def test_a_process_outside_cannot_be_signalled(stand, neighbour):
    code = """
        import os, signal, sys
        for target in (int(sys.argv[1]), int(sys.argv[2])):
            try:
                os.kill(target, signal.SIGKILL)
                print("SENT", target)
            except OSError:
                pass
        print("end")
    """
    answer = stand.attempt(code, str(neighbour.pid), str(stand.process.pid))
    assert answer.output == "end\n"
    assert neighbour.poll() is None
    assert stand.process.poll() is None


def test_the_limits_of_a_process_outside_cannot_be_changed(stand, neighbour):
    code = """
        import resource, sys
        for target in (int(sys.argv[1]), int(sys.argv[2])):
            try:
                resource.prlimit(target, resource.RLIMIT_CORE, (0, 7))
                print("SET", target)
            except OSError:
                pass
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        print(resource.getrlimit(resource.RLIMIT_CORE))
    """
    processes = (neighbour.pid, stand.process.pid)
    limits = [Path(f"/proc/{pid}/limits") for pid in processes]
    before = [path.read_text() for path in limits]
    answer = stand.attempt(code, *map(str, processes))
    assert answer.output == "(0, 0)\n"
    assert [path.read_text() for path in limits] == before


def test_shared_memory_does_not_outlive_its_command(stand):
    code = """
        import ctypes, sys
        print(ctypes.CDLL(None).shmget(int(sys.argv[1]), 1 << 20, 0o1600))
    """
    key = uuid.uuid4().int & 0x7FFFFFFF
    stand.attempt(code, str(key))
    keys = [line.split()[0] for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    assert str(key) not in keys


def test_neither_environment_nor_memory_nor_command_lines_of_others_can_be_read(stand, neighbour):
    code = """
        import glob, sys
        for path in glob.glob("/proc/[0-9]*/*") + ["/proc/%s/%s" % (pid, name) for pid in sys.argv[1:3] for name in ("environ", "cmdline", "maps")]:
            if path.endswith(("/environ", "/cmdline", "/maps")):
                try:
                    text = open(path, "rb").read()
                except OSError:
                    continue
                if any(word.encode()[::-1] in text for word in ("TERCES_DNATS", "fo TERCES", "peels/nib/")):
                    print("READ", path, text[:80])
        print("end")
    """
    assert stand.attempt(code, str(neighbour.pid), str(stand.process.pid)).output == "end\n"


def test_a_daemon_that_cuts_every_tie_is_gone_with_its_command(stand):
    code = """
        import os, sys, time
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.closerange(0, 3)
                os.chdir("/")
                os.execve(sys.executable, [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)", sys.argv[-1]], {})
            os._exit(0)
        os.wait()
        print("left")
    """
    assert stand.attempt(code).output == "left\n"  # what is left is looked for after every attempt


# It ignores whom it can, wipes what it is known by, and its first thread ends.
STUBBORN = """
    import ctypes, os, resource, signal, sys, threading, time
    def detach():
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                for fd in (0, 1, 2):
                    os.dup2(os.open("/dev/null", os.O_RDWR), fd)
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                try:
                    resource.setrlimit(10, (0, 0))
                except (OSError, ValueError):
                    pass
                os.execve(sys.executable, [sys.executable, "-I", "-S", "-c", lasting, "daemon", sys.argv[-1]], {})
            os._exit(0)
        os.wait()
    lasting = "import ctypes, os, sys, threading, time; libc = ctypes.CDLL(None);"
    lasting += "libc.prctl(15, sys.argv[-1][-14:].encode());"
    lasting += "threading.Thread(target=time.sleep, args=(600,)).start();"
    lasting += "libc.syscall({'x86_64': 60, 'aarch64': 93}[os.uname().machine], 0)"
    detach()
"""


def test_a_daemon_that_nothing_impresses_is_gone_with_its_command(stand):
    assert stand.attempt(STUBBORN + '    print("left")\n').output == "left\n"


def test_a_daemon_is_gone_with_a_command_that_has_to_be_killed(stand):
    hang = """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("hanging", flush=True)
    time.sleep(600)
    """
    answer = stand.attempt(STUBBORN + hang.lstrip("\n"), timeout=1.0)
    assert (answer.output, answer.timed_out) == ("hanging\n", True)


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("wall", WALLS)
def test_a_daemon_is_gone_with_one_who_is_killed_while_it_runs(wall, user):
    with stand_for(wall, "restricted", user) as stand:
        token = stand.begin(STUBBORN + "    time.sleep(600)\n")
        wait_until(lambda: any(name_of(pid) == token[-14:] for pid in left_of(token)))
        stand.ends_with = -signal.SIGKILL
        stand.process.kill()
        wait_until(lambda: not left_of(token))


def name_of(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().rstrip()
    return ""


def wait_until(check) -> None:
    deadline = time.monotonic() + PATIENCE
    while not check():
        assert time.monotonic() < deadline, "this did not come true in time"
        time.sleep(0.01)


def test_no_namespace_mount_or_key_can_be_had(stand):
    code = """
        import ctypes, os
        libc = ctypes.CDLL(None, use_errno=True)
        def tried(what, result):
            if result >= 0:
                print("DID", what)
        tried("user namespace", libc.unshare(0x10000000))
        tried("mount namespace", libc.unshare(0x20000))
        tried("mount", libc.mount(b"none", os.environ["HOME"].encode(), b"tmpfs", 0, None))
        tried("chroot", libc.chroot(os.environ["HOME"].encode()))
        number = {"x86_64": (250, 425), "aarch64": (219, 425)}[os.uname().machine]
        tried("keyring", libc.syscall(number[0], 0, -3, 1))
        tried("io_uring", libc.syscall(number[1], 4, ctypes.create_string_buffer(256)))
        with open("/proc/self/status") as status:
            powers = [line.split()[1] for line in status if line.startswith(("CapEff", "CapPrm"))]
        print({int(one, 16) for one in powers} == {0})
    """
    assert stand.attempt(code).output == "True\n"
