"""`awf mcp-serve`: the MCP server that an agent starts.

When its file names a socket, a step of a running workflow owns the tools, and this process only carries bytes between
its standard streams and that socket. An agent waits for it before it can begin, so nothing is imported for that but a
few modules of the standard library. It holds no state: it ends when either side goes away.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # `typing` is too heavy here
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["main", "relay"]

_CAN_READ, _CAN_WRITE, _GONE = 0x001, 0x004, 0x008 | 0x010 | 0x020  # of poll(2), the same everywhere

_CHUNK = 1 << 16
_MOST_WAITING = 1 << 20  # bytes one side may be ahead of the other
_USAGE = """Usage: awf mcp-serve [--config FILE] [--root DIR]

Serve tools over MCP on standard input and output: Read, Write, Edit, Bash, Glob and
Grep, plugin operations, and the tools of other MCP servers.

Options:
  --config FILE  JSON or YAML: intercept_builtins, plugin_tools, mcp_servers, root_dir.
                 Without it: the built-in tools.
  --root DIR     Confine file tools to this folder instead of the working directory.
  -h, --help     Show this message and exit.
"""


def main(arguments: list[str]) -> int:
    """The command line of `awf mcp-serve`; the exit status."""
    config, root = "", ""
    rest = arguments[1:] if arguments[:1] == ["mcp-serve"] else list(arguments)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if name in {"-h", "--help"}:
            print(_USAGE, end="")
            return 0
        if name not in {"--config", "--root"} or (not equals and not rest):
            sys.stderr.write(f"awf mcp-serve: {word}: not understood\n{_USAGE}")
            return 1
        value = value if equals else rest.pop(0)
        config, root = (value, root) if name == "--config" else (config, value)
    owner = _owner(config) if config and not root else None
    if owner is not None:
        return relay(*owner)
    from awf.interfaces.mcp.serve import serve_alone

    return serve_alone(config, root)


def _owner(path: str) -> tuple[str, str] | None:
    """The socket and the token in the file, if it belongs to a step of a running workflow."""
    try:
        with open(path, "rb") as stream:
            data = stream.read()
    except OSError:
        return None  # said properly by whoever reads it next
    if b'"socket"' not in data:
        return None
    import json

    try:
        found = json.loads(data)
        return str(found["socket"]), str(found["token"])
    except (ValueError, KeyError, TypeError):
        return None


def relay(address: str, token: str) -> int:
    """Carry bytes until one side ends."""
    import _socket  # `socket` itself would take longer to import than all the rest
    import os

    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.connect(address)
        connection.sendall(token.encode() + b"\n")
    except OSError as error:
        sys.stderr.write(f"awf mcp-serve: the step that owns these tools is gone ({error.strerror})\n")
        return 4
    blocking = os.get_blocking(1)
    os.set_blocking(1, False)
    os.set_blocking(connection.fileno(), False)
    try:
        _Pump(connection.fileno(), lambda: connection.shutdown(_socket.SHUT_WR)).run()
    except (KeyboardInterrupt, OSError):
        pass  # one side has gone away in the middle of something; there is nobody left to tell
    finally:
        os.set_blocking(1, blocking)
        connection.close()
    return 0


class _Pump:
    """Both directions at once. A side that does not read holds up the other, not our memory."""

    def __init__(self, owner: int, no_more_input: Callable[[], None]) -> None:
        import select

        self._owner = owner
        self._no_more_input = no_more_input
        self._to_owner, self._to_agent = bytearray(), bytearray()
        self._agent_speaks = self._owner_speaks = True
        self._said_all = False
        self._poll = select.poll()

    def run(self) -> None:
        while self._owner_speaks or self._to_agent:
            ready = self._wait()
            if ready.get(1, 0) & _GONE:
                return
            if 0 in ready:
                self._agent_speaks = _take(0, self._to_owner)
            if self._owner_speaks and ready.get(self._owner, 0) & ~_CAN_WRITE:
                self._owner_speaks = _take(self._owner, self._to_agent)
            if ready.get(self._owner, 0) & _CAN_WRITE:
                _give(self._owner, self._to_owner)
            if ready.get(1, 0) & _CAN_WRITE:
                _give(1, self._to_agent)
            if not self._agent_speaks and not self._to_owner:
                self._say_no_more()

    def _wait(self) -> dict[int, int]:
        reads_agent = self._agent_speaks and len(self._to_owner) < _MOST_WAITING
        reads_owner = self._owner_speaks and len(self._to_agent) < _MOST_WAITING
        wanted = {1: _CAN_WRITE if self._to_agent else 0}  # 0: only whether anybody is there
        if reads_agent:
            wanted[0] = _CAN_READ
        if reads_owner or self._to_owner:
            wanted[self._owner] = (_CAN_READ if reads_owner else 0) | (_CAN_WRITE if self._to_owner else 0)
        for number, events in wanted.items():
            self._poll.register(number, events)
        ready = dict(self._poll.poll())
        for number in wanted:
            self._poll.unregister(number)  # a side that has ended would wake us for ever
        return ready

    def _say_no_more(self) -> None:
        if not self._said_all:
            self._said_all = True
            self._no_more_input()


def _take(number: int, into: bytearray) -> bool:
    """Whether there may be more."""
    import os

    try:
        data = os.read(number, _CHUNK)
    except BlockingIOError:
        return True
    into += data
    return bool(data)


def _give(number: int, data: bytearray) -> None:
    import os

    if data:
        try:
            del data[: os.write(number, data)]
        except BlockingIOError:
            return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
