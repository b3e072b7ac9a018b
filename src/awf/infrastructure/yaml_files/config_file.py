"""`config.yaml` → settings, with the same strictness as workflow files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

import msgspec

from awf.domain.errors import AwfError, InvalidWorkflowError
from awf.domain.settings import ConfigFile
from awf.infrastructure.yaml_files.nodes import TooLargeError, parse_yaml, too_large
from awf.infrastructure.yaml_files.reader import BAD, Reader

if TYPE_CHECKING:
    from awf.domain.problem import Problem
    from awf.domain.shape import Record

__all__ = ["read_config", "read_record"]

R = TypeVar("R", bound="Record")


def read_config(path: str) -> ConfigFile | None:
    return read_record(path, ConfigFile)


def read_record(path: str, form: type[R]) -> R | None:
    """What a configuration file says, or None when there is none. Raises with everything that is wrong with it."""
    try:
        with open(path, "rb") as stream:
            data = stream.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise AwfError(
            "SYSTEM.IO.READ_FAILED",
            f"{path} cannot be read: {error.strerror}.",
            hint="Check its permissions.",
        ) from error
    shown = os.path.relpath(path) if not os.path.relpath(path).startswith("..") else path
    document, problems = parse_yaml(shown, data)
    if [problem.code for problem in problems] == ["WORKFLOW.PARSE.MISSING_FIELD"]:  # nothing but comments
        return form()
    if document.root is not None:
        reader = Reader()
        try:
            config = reader.record(form, document.root, ())
        except TooLargeError:
            config, problems = BAD, [too_large(shown)]
        problems += [document.locate(problem) for problem in reader.problems]
        if config is not BAD and not problems:
            assert isinstance(config, form)
            return config
    raise InvalidWorkflowError([_about_settings(problem) for problem in problems])


def _about_settings(problem: Problem) -> Problem:
    if problem.code.startswith("USER."):
        return problem
    code = "USER.CONFIG.INVALID"
    return msgspec.structs.replace(problem, code=code, hint=problem.hint.replace(problem.code, code))
