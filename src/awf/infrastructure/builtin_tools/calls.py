"""The six tools at work."""

from __future__ import annotations

import asyncio
import functools
import os
from typing import TYPE_CHECKING, Any

from awf.infrastructure.builtin_tools import arguments as args
from awf.infrastructure.builtin_tools import listing, searching
from awf.infrastructure.builtin_tools.capture import Capture
from awf.infrastructure.builtin_tools.editing import edit_file
from awf.infrastructure.builtin_tools.off_loop import SMALL, off_loop
from awf.infrastructure.builtin_tools.reading import Page, open_regular, read_opened
from awf.infrastructure.builtin_tools.ripgrep import Ripgrep
from awf.infrastructure.builtin_tools.shell import run_command
from awf.infrastructure.builtin_tools.territory import Spool, Territory
from awf.infrastructure.builtin_tools.wording import failure_of
from awf.infrastructure.builtin_tools.writing import encoded, write_file

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from awf.domain.ports.command_runner import CommandRunner
    from awf.domain.tool import CallContext, ToolResult
    from awf.infrastructure.builtin_tools.paths import Folder

__all__ = ["Calls"]


class Calls:
    def __init__(
        self,
        root: Folder,
        runners: tuple[CommandRunner, CommandRunner],
        environment: Mapping[str, str],
        spool: str | Callable[[], str],
        room: int,
    ) -> None:
        """`runners`: for our own search program, and for the commands of Bash."""
        search, self._shell = runners
        self._environment = environment
        self._spool = Spool(spool)
        self._territory = Territory(root, self._spool)
        self._ripgrep = Ripgrep(search, environment)
        self._room = room  # characters of output
        self._changing = asyncio.Lock()  # agents make calls at the same time; each change sees the one before
        self._tools: dict[str, Callable[[Mapping[str, Any], CallContext], Awaitable[ToolResult]]] = {
            "Read": self._read,
            "Write": self._write,
            "Edit": self._edit,
            "Bash": self._bash,
            "Glob": self._glob,
            "Grep": self._grep,
        }

    async def call(self, name: str, arguments: Mapping[str, Any], context: CallContext) -> ToolResult:
        try:
            return await self._tools[name](args.normalise(name, arguments), context)
        except OSError as reason:  # what is not foreseen where it happens, such as too many open files
            raise failure_of(reason, f"The {name} call") from reason

    async def _read(self, arguments: Mapping[str, Any], _context: CallContext) -> ToolResult:
        wanted = args.parsed(args.ReadArguments, arguments)
        page = Page(max(1, wanted.offset), wanted.limit, self._room)
        with self._territory.readable(wanted.file_path) as spot:
            fd, status = open_regular(spot)
            try:
                return await off_loop(functools.partial(read_opened, spot, fd, status, page), status.st_size)
            finally:
                os.close(fd)

    async def _write(self, arguments: Mapping[str, Any], _context: CallContext) -> ToolResult:
        wanted = args.parsed(args.WriteArguments, arguments)
        data = encoded(wanted.content, "content")
        async with self._changing:
            with self._territory.writable(wanted.file_path) as spot:
                return await off_loop(functools.partial(write_file, spot, data), len(data))

    async def _edit(self, arguments: Mapping[str, Any], _context: CallContext) -> ToolResult:
        wanted = args.parsed(args.EditArguments, arguments)
        find = self._territory.changeable if wanted.old_string else self._territory.writable
        async with self._changing:
            with find(wanted.file_path) as spot:
                # Always apart: finding out why a text is not there can take a while.
                return await off_loop(functools.partial(edit_file, spot, wanted), SMALL + 1)

    async def _bash(self, arguments: Mapping[str, Any], context: CallContext) -> ToolResult:
        wanted = args.parsed(args.BashArguments, arguments)
        cwd = self._territory.folder(wanted.cwd)
        capture = Capture(self._spool, self._room)
        return await run_command(self._shell, wanted, cwd, self._environment, capture, context)

    async def _glob(self, arguments: Mapping[str, Any], _context: CallContext) -> ToolResult:
        wanted = args.parsed(args.GlobArguments, arguments)
        place = listing.locate(self._territory, wanted)
        if place is None:
            return listing.no_folder(wanted)
        try:
            names = await listing.list_names(self._ripgrep, place.folder)
            work = functools.partial(listing.find_files, place, names, self._room)
            return await off_loop(work, 8 * len(names))  # looking up dates costs more than reading bytes
        finally:
            os.close(place.folder)

    async def _grep(self, arguments: Mapping[str, Any], _context: CallContext) -> ToolResult:
        wanted = args.parsed(args.GrepArguments, arguments)
        place = searching.start(self._territory, wanted.path)
        try:
            answer = await searching.search(self._ripgrep, place, wanted)
            work = functools.partial(searching.rendered, place, wanted, answer, self._room)
            return await off_loop(work, len(answer.output))
        finally:
            os.close(place.folder)
