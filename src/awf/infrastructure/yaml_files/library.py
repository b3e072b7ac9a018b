"""Finds workflow files and step templates, and reads a workflow with everything it calls."""

from __future__ import annotations

import contextlib
import gc
import os
import stat
from typing import TYPE_CHECKING, Protocol

from awf.domain.errors import AwfError
from awf.domain.problem import suggest
from awf.domain.program import Definition, LoadedFile, LoadedProgram, WorkflowHead
from awf.domain.workflow import CallState

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from awf.infrastructure.yaml_files.nodes import YamlText

__all__ = ["WorkflowLibrary"]

_ENDINGS = (".yaml", ".yml")
_MAX_FILES = 500


class _Texts(Protocol):
    """Where texts come from: the disk for a new run, the definition for a resumed one."""

    def read(self, file: str) -> bytes: ...
    def called(self, caller: str, written: str) -> str | None: ...
    def template(self, name: str) -> str | None: ...
    def template_names(self) -> list[str]: ...


class WorkflowLibrary:
    """`roots` are the searched directories with what to call them, first hit wins. Paths are told as seen from `cwd`."""

    def __init__(
        self, roots: Sequence[tuple[str, str]], template_dirs: Sequence[str], cwd: str = "."
    ) -> None:
        self._roots = roots
        self._cwd = os.path.abspath(cwd)
        self._template_dirs = template_dirs
        self._heads: dict[str, tuple[tuple[int, int, int], WorkflowHead]] = {}

    def names(self) -> list[tuple[str, str, str]]:
        found: dict[str, tuple[str, str, str]] = {}
        for root, source in self._roots:
            for file in _yaml_files(root):
                name = os.path.splitext(os.path.relpath(file, root))[0].replace(os.sep, "/")
                found.setdefault(name, (name, file, source))
        return [found[name] for name in sorted(found)]

    def heads(self) -> list[WorkflowHead]:
        found = [(name, file, _version(file)) for name, file, _ in self.names()]
        with _no_collection():
            self._heads = {
                file: (version, self._known_head(file, version) or self._read_head(name, file))
                for name, file, version in found
            }
        return [head for _, head in self._heads.values()]

    def _known_head(self, file: str, version: tuple[int, int, int]) -> WorkflowHead | None:
        known = self._heads.get(file)
        return known[1] if known is not None and known[0] == version else None

    def _read_head(self, name: str, file: str) -> WorkflowHead:
        from awf.infrastructure.yaml_files.nodes import MAX_BYTES
        from awf.infrastructure.yaml_files.workflow_head import read_head

        try:
            with open(file, "rb") as stream:
                data = stream.read(MAX_BYTES + 1)
        except OSError as error:
            return WorkflowHead(name=name, file=file, problem=f"it cannot be read: {error.strerror}")
        return read_head(name, file, _short(file, self._cwd), data)

    def load(self, reference: str) -> LoadedProgram:
        file = self.find(reference)
        if file is None:
            raise self._missing(reference)
        with _no_collection():
            return _read_program(file, _Disk(self), self._cwd)

    def reload(self, definition: Definition) -> LoadedProgram:
        with _no_collection():
            return _read_program(definition.root, _Stored(definition), self._cwd)

    def find(self, reference: str, *, beside: str = "") -> str | None:
        """The file of a workflow named by its name, or by a path."""
        looks_like_path = reference.endswith(_ENDINGS) or reference.startswith((".", "/"))
        if looks_like_path:
            path = os.path.join(os.path.dirname(beside) if beside else self._cwd, reference)
            for candidate in (path, *(path + ending for ending in _ENDINGS)):
                if os.path.isfile(candidate):
                    return os.path.abspath(candidate)
        if ".." in reference.split("/") or reference.startswith("/"):
            return None
        for root, _ in self._roots:
            for ending in _ENDINGS:
                candidate = os.path.join(root, reference + ending)
                if os.path.isfile(candidate):
                    return os.path.abspath(candidate)
        plain = os.path.join(self._cwd, reference)
        return os.path.abspath(plain) if not beside and os.path.isfile(plain) else None

    def find_template(self, name: str) -> str | None:
        if ".." in name.split("/") or name.startswith("/"):
            return None
        for folder in self._template_dirs:
            for ending in _ENDINGS:
                candidate = os.path.join(folder, name + ending)
                if os.path.isfile(candidate):
                    return os.path.abspath(candidate)
        return None

    def template_names(self) -> list[str]:
        return [
            os.path.splitext(os.path.relpath(file, folder))[0]
            for folder in self._template_dirs
            for file in _yaml_files(folder)
        ]

    def _missing(self, reference: str) -> AwfError:
        if os.path.isdir(os.path.join(self._cwd, reference)):
            return AwfError(
                "USER.INPUT.MISSING_FILE",
                f"'{reference}' is a directory, not a workflow file.",
                hint="Name a file in it; `awf list` shows the workflows that have a name.",
            )
        close = suggest(reference, [name for name, _, _ in self.names()])
        looked = ", ".join(_short(root, self._cwd) for root, _ in self._roots) or "no directory"
        return AwfError(
            "USER.INPUT.MISSING_FILE",
            f"There is no workflow '{reference}'.",
            hint=f"did you mean '{close}'?"
            if close
            else f"Looked in {looked}. `awf list` shows what is there.",
        )


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """A big file makes many small objects at once; looking for garbage among them takes longer than reading it."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _version(file: str) -> tuple[int, int, int]:
    """Changes when the file does."""
    try:
        status = os.stat(file)
    except OSError:
        return (0, 0, 0)
    return (status.st_ino, status.st_mtime_ns, status.st_size)


def _short(path: str, cwd: str) -> str:
    relative = os.path.relpath(path, cwd)
    return path if relative.startswith("..") else relative


def _yaml_files(root: str) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found = (os.path.join(folder, name) for name in sorted(files) if name.endswith(_ENDINGS))
        yield from filter(_can_be_opened, found)


def _can_be_opened(file: str) -> bool:
    """Opening a pipe would wait for a writer. What is not there after all is told by whoever reads it."""
    try:
        return stat.S_ISREG(os.stat(file).st_mode)
    except OSError:
        return True


class _Disk:
    def __init__(self, library: WorkflowLibrary) -> None:
        self._library = library

    def read(self, file: str) -> bytes:
        from awf.infrastructure.yaml_files.nodes import MAX_BYTES

        try:
            with open(file, "rb") as stream:
                return stream.read(MAX_BYTES + 1)
        except OSError as error:
            raise AwfError(
                "SYSTEM.IO.READ_FAILED",
                f"{file} cannot be read: {error.strerror}.",
                hint="Check its permissions.",
            ) from error

    def called(self, caller: str, written: str) -> str | None:
        return self._library.find(written, beside=caller)

    def template(self, name: str) -> str | None:
        return self._library.find_template(name)

    def template_names(self) -> list[str]:
        return self._library.template_names()


class _Stored:
    def __init__(self, definition: Definition) -> None:
        self._definition = definition

    def read(self, file: str) -> bytes:
        return self._definition.texts[file].encode()

    def called(self, caller: str, written: str) -> str | None:
        return self._definition.called(caller, written)

    def template(self, name: str) -> str | None:
        return self._definition.templates.get(name)

    def template_names(self) -> list[str]:
        return list(self._definition.templates)


def _read_program(root: str, source: _Texts, cwd: str) -> LoadedProgram:
    # Late, so that a listing of names does not pay for the parser.
    from awf.infrastructure.yaml_files.nodes import MAX_BYTES, parse_yaml
    from awf.infrastructure.yaml_files.workflow_file import read_workflow

    texts: dict[str, str] = {}
    links: dict[str, str] = {}
    templates: dict[str, str] = {}
    files: dict[str, LoadedFile] = {}

    def load_template(name: str) -> tuple[YamlText | None, list[str]]:
        file = source.template(name)
        if file is None:
            return None, source.template_names()
        data = source.read(file)
        texts[file] = data.decode("utf-8", "replace")
        templates[name] = file
        document, problems = parse_yaml(_short(file, cwd), data)
        document.problems = problems
        return document, []

    todo = [root]
    while todo and len(files) < _MAX_FILES:
        file = todo.pop()
        if file in files:
            continue
        data = source.read(file)
        texts[file] = data.decode("utf-8", "replace") if len(data) <= MAX_BYTES else ""
        loaded = read_workflow(_short(file, cwd), data, load_template)
        files[file] = loaded
        for state in loaded.draft.states.values():
            if isinstance(state, CallState):
                target = source.called(file, state.workflow)
                if target is not None:
                    links[f"{file}\n{state.workflow}"] = target
                    todo.append(target)
    definition = Definition(root=root, texts=texts, links=links, templates=templates)
    return LoadedProgram(definition=definition, files=files)
