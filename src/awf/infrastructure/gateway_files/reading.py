"""A gateway's configuration → checked values: our own form to the letter, files of other clients as they come."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from awf.domain.errors import InvalidWorkflowError
from awf.domain.gateway_file import GatewayFile, LoadedGateway, load_values, problems_in
from awf.domain.policy_problems import problems_of_policy
from awf.domain.problem import Place, Problem, as_note
from awf.domain.value_source import Sources
from awf.infrastructure.gateway_files.client_file import client_file, is_own_form
from awf.infrastructure.gateway_files.json_text import parse_json, read_text, shown_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from awf.domain.ports.expressions import Conditions
    from awf.domain.shape import Record

__all__ = [
    "ParseYaml",
    "ReadRecord",
    "file_reader",
    "load_gateway",
    "locate",
    "read_gateway_file",
    "read_own_form",
]

R = TypeVar("R", bound="Record")
_PRIVATE = {"env", "headers", "tokens", "oauth"}
_LONGEST_VALUE = 1024 * 1024


class ReadRecord(Protocol):
    """Reads a file strictly; None when there is none."""

    def __call__(self, path: str, form: type[R]) -> R | None: ...


class Located(Protocol):
    def locate(self, problem: Problem) -> Problem: ...


# The name and the bytes of a file → what knows the places in it, and why it could not be parsed.
ParseYaml = Callable[[str, bytes], tuple[Located, list[Problem]]]


def load_gateway(
    path: str,
    *,
    read: ReadRecord,
    parse: ParseYaml,
    environment: Mapping[str, str],
    conditions: Conditions,
    serving: bool = True,
) -> tuple[LoadedGateway, list[str]]:
    """The file with its references filled in, and notes. Raises with everything that is wrong."""
    file, notes = read_gateway_file(path, read=read, parse=parse, conditions=conditions, serving=serving)
    loaded = load_values(file, Sources(environment, file_reader(os.path.dirname(os.path.abspath(path)))))
    if loaded.problems:
        raise InvalidWorkflowError(_located(path, read_text(path), loaded.problems, parse))
    return loaded, notes


def read_gateway_file(
    path: str, *, read: ReadRecord, parse: ParseYaml, conditions: Conditions, serving: bool = True
) -> tuple[GatewayFile, list[str]]:
    """What the file says, and what in it has no effect. Raises with everything that is wrong with it, and where.

    `serving`: whether it must name a server.
    """
    text = read_text(path)
    document = _document(path, text)
    if document is None or is_own_form(path, document):
        file, notes = read_own_form(path, read), []
    else:
        found = client_file(path, document)
        file, notes = GatewayFile(servers=found.servers), found.notes
    problems = problems_in(file, serving=serving)
    if file.policy is not None:
        problems += problems_of_policy(file.policy, file.servers, conditions)
    if any(one.severity == "error" for one in problems):
        raise InvalidWorkflowError(_located(path, text, problems, parse))
    return file, [*notes, *map(as_note, _located(path, text, problems, parse) if problems else ())]


def file_reader(folder: str) -> Callable[[str], str]:
    """Reads what `${file:…}` names; relative to the folder of the configuration."""

    def read(name: str) -> str:
        with open(os.path.join(folder, os.path.expanduser(name)), "rb") as stream:
            data = stream.read(_LONGEST_VALUE + 1)
        if len(data) > _LONGEST_VALUE:
            raise ValueError(f"it has more than {_LONGEST_VALUE:,} bytes")
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise ValueError("it is not UTF-8 text") from None

    return read


def _document(path: str, text: str) -> Any:
    """None: it is YAML."""
    if path.endswith((".yaml", ".yml")) or not text.lstrip().startswith(("{", "//", "/*")):
        return None
    return parse_json(path, text)


def read_own_form(path: str, read: ReadRecord) -> GatewayFile:
    """Our own form alone, and only its form; an empty one when there is no file."""
    try:
        return read(path, GatewayFile) or GatewayFile()
    except InvalidWorkflowError as error:
        raise InvalidWorkflowError([_of_gateway(_discreet(one)) for one in error.problems]) from None


def _of_gateway(problem: Problem) -> Problem:
    if problem.code != "USER.CONFIG.INVALID":
        return problem
    code = "USER.GATEWAY.INVALID_FILE"
    return msgspec.structs.replace(problem, code=code, hint=problem.hint.replace(problem.code, code))


def locate(path: str, problems: Sequence[Problem], parse: ParseYaml) -> list[Problem]:
    """The same problems, with their places in the file."""
    return _located(path, read_text(path), problems, parse)


def _located(path: str, text: str, problems: Sequence[Problem], parse: ParseYaml) -> list[Problem]:
    document, broken = parse(shown_path(path), text.encode())
    found = problems if broken else [document.locate(one) for one in problems]
    return [_discreet(_named(path, one)) for one in found]


def _named(path: str, problem: Problem) -> Problem:
    """In a file of another client, whose servers may stand elsewhere, words say which server is meant."""
    if problem.place is not None and (problem.place.line > 1 or len(problem.path) < 2):
        return problem
    where = ".".join(map(str, problem.path))
    message = f"{where}: {problem.message}" if where else problem.message
    place = problem.place or Place(shown_path(path))
    return msgspec.structs.replace(problem, message=message, place=place)


def _discreet(problem: Problem) -> Problem:
    """Never the line on which a secret may stand."""
    private = _PRIVATE & {str(part) for part in problem.path}
    return msgspec.structs.replace(problem, source_line="") if private else problem
