"""Where a configured value comes from: `${env:X}`, `${file:P}`, `${uuid()}`, `${uuid(session)}`, `${now()}`, `${header:X}`.

`${env:X:-text}` and `${header:X:-text}` say what to take when there is none; `$${` stands for a plain `${`.
What comes from the environment and from files is filled in once, when the file is loaded. The rest has a value only
in a call: such a text is kept as a `ValueSource`, which still is the text that was written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from awf.domain.errors import AwfError
from awf.domain.problem import NodePath, Problem, suggest
from awf.domain.redaction import looks_secret

__all__ = [
    "CallFacts",
    "Loading",
    "Reference",
    "Sources",
    "ValueSource",
    "asks_headers",
    "chosen",
    "is_reference",
    "parse_value",
    "resolve",
    "without_headers",
]

_TOKEN = re.compile(r"\$\$\{|\$\{([^{}]*)\}|\$\{")
_NAMED = re.compile(r"(env|header):(.*?)(?::-(.*))?", re.DOTALL)
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FUNCTIONS = {"uuid()": "uuid", "uuid(session)": "uuid_of_session", "now()": "now"}
_WRITTEN = {kind: form for form, kind in _FUNCTIONS.items()}
_FORMS = ("env:NAME", "file:PATH", "header:NAME", *_FUNCTIONS)
_STATIC = frozenset({"env", "file"})
# By these a client proves who it is to this gateway; no other server may have them.
_CREDENTIALS = frozenset({"authorization", "proxy-authorization", "cookie", "mcp-session-id"})
_NO_HEADERS: Mapping[str, str] = {}
_SESSIONS = "9a4f7c1e-52d0-5b0e-8f0c-6c1d8a3e7b25"  # the space in which a session's name becomes a UUID


class Reference(NamedTuple):
    kind: str  # env, file, header, uuid, uuid_of_session or now
    name: str = ""
    default: str | None = None

    @property
    def text(self) -> str:
        """As it is written."""
        named = _WRITTEN.get(self.kind, f"{self.kind}:{self.name}")
        return f"${{{named}}}" if self.default is None else f"${{{named}:-{self.default}}}"


Part = str | Reference


class Sources(NamedTuple):
    """What is there when a file is loaded. `read_file` raises OSError or ValueError (no text)."""

    environment: Mapping[str, str]
    read_file: Callable[[str], str]


class CallFacts(NamedTuple):
    """What is known of one call."""

    session: str  # empty: there is none
    headers: Mapping[str, str]  # of the client's request, names in lower case
    now: Callable[[], float]  # seconds since 1970
    new_uuid: Callable[[], str]


class ValueSource(str):
    """A text with references in it and its parts; just a text to whoever only looks, as the composition of tools does."""

    __slots__ = ("parts",)
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, text: str, parts: tuple[Part, ...]) -> ValueSource:
        made = cls(text)
        made.parts = parts
        return made

    @property
    def references(self) -> list[Reference]:
        return [part for part in self.parts if isinstance(part, Reference)]

    @property
    def is_static(self) -> bool:
        """Whether it has the same value in every call."""
        return all(one.kind in _STATIC for one in self.references)

    def asks_one_of(self, headers: Mapping[str, str] | None = None) -> bool:
        """Whether it takes a header that is among these; None: any header."""
        asked = (one.name.lower() for one in self.references if one.kind == "header")
        return any(headers is None or name in headers for name in asked)

    def with_headers(self, headers: Mapping[str, str]) -> str:
        """Only what comes from headers is filled in, with what is to be taken where there is none."""
        return "".join(part if type(part) is str else _said(part, headers) for part in self.parts)  # type: ignore[arg-type]

    def filled(self, facts: CallFacts) -> str:
        return "".join(part if type(part) is str else _called(part, facts) for part in self.parts)  # type: ignore[arg-type]


def is_reference(text: str) -> bool:
    """Whether there is a reference in it, be it a right one or not."""
    return "${" in text and any(found[0] != "$${" for found in _TOKEN.finditer(text))


def parse_value(text: str) -> ValueSource:
    """Raises USER.GATEWAY.INVALID_REFERENCE."""
    parts: list[Part] = []
    end = 0
    for found in _TOKEN.finditer(text):
        parts.append(text[end : found.start()])
        parts.append("${" if found[0] == "$${" else _reference(found[1]))
        end = found.end()
    parts.append(text[end:])
    return ValueSource.of(text, tuple(part for part in parts if part != ""))


def resolve(value: Any, facts: CallFacts) -> Any:
    """A loaded value as it is in this call; the same object when nothing in it depends on the call."""
    return _with(value, lambda source: source.filled(facts))


def chosen(value: Any, headers: Mapping[str, str]) -> Any:
    """A loaded value with what a client chose by its headers; the same object when it chose nothing of it.

    What is nobody's choice, such as the time, stays as it is written. Names of headers are in lower case.
    """
    if not asks_headers(value, headers):
        return value
    return without_headers(value, headers)


def without_headers(value: Any, headers: Mapping[str, str] = _NO_HEADERS) -> Any:
    """A loaded value as it is for a client that sends none of the headers it asks for, or only these."""
    return _with(value, lambda source: source.with_headers(headers))


def asks_headers(value: Any, headers: Mapping[str, str] | None = None) -> bool:
    """Whether a loaded value takes a header that is among these; None: any header of the client's request."""
    asked = False

    def look(source: ValueSource) -> str:
        nonlocal asked
        asked = asked or source.asks_one_of(headers)
        return source

    _with(value, look)
    return asked


def _with(value: Any, change: Callable[[ValueSource], str]) -> Any:
    """The same object when nothing in it changes."""
    kind = type(value)
    if kind is ValueSource:
        return change(value)
    if kind is dict:
        changed = {
            key: new for key, item in value.items() if (new := _with(item, change)) is not item
        }  # fmt: skip
        return {**value, **changed} if changed else value
    if kind is list:
        made = [_with(item, change) for item in value]
        return made if any(new is not old for new, old in zip(made, value, strict=True)) else value
    return value


class Loading:
    """Fills in what is known when a file is loaded, and keeps what is wrong and what must be masked."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self.problems: list[Problem] = []
        self.secrets: dict[str, str] = {}  # what it is → the value

    def value(self, value: Any, path: NodePath, *, per_call: bool = False) -> Any:
        """`per_call` says whether the place is one where a call may decide. A wrong text stays as it is."""
        if isinstance(value, str):
            return self._text(value, path, per_call=per_call) if "${" in value else value
        if isinstance(value, dict):
            return {key: self.value(item, (*path, key), per_call=per_call) for key, item in value.items()}
        if isinstance(value, list):
            return [self.value(item, (*path, at), per_call=per_call) for at, item in enumerate(value)]
        return self._record(value, path) if isinstance(value, msgspec.Struct) else value

    def _record(self, record: msgspec.Struct, path: NodePath) -> msgspec.Struct:
        old = {name: getattr(record, name) for name in record.__struct_fields__}
        return msgspec.structs.replace(
            record, **{name: self.value(item, (*path, name)) for name, item in old.items()}
        )

    def _text(self, text: str, path: NodePath, *, per_call: bool) -> str:
        try:
            source = parse_value(text)
            if not per_call and not source.is_static:
                raise _known_too_late(source)
            parts = tuple(self._loaded(part) for part in source.parts)
        except AwfError as error:
            self.problems.append(Problem(code=error.code, message=error.message, path=path, hint=error.hint))
            return text
        return "".join(map(str, parts)) if source.is_static else ValueSource.of(text, parts)

    def _loaded(self, part: Part) -> Part:
        if isinstance(part, str):
            return part
        if part.kind == "env":
            return self._variable(part)
        return self._file(part.name) if part.kind == "file" else part

    def _variable(self, reference: Reference) -> str:
        value = self._sources.environment.get(reference.name, reference.default)
        if value is None:
            raise _wrong(
                f"The environment variable {reference.name} is not set.",
                f"Set it, or write ${{env:{reference.name}:-…}} with what to take instead.",
            )
        if looks_secret(reference.name) and value:
            self.secrets[reference.name] = value
        return value

    def _file(self, name: str) -> str:
        try:
            text = self._sources.read_file(name)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise _wrong(f"The file {name} cannot be read: {reason}.", "Check the path.") from error
        except ValueError as error:
            raise _wrong(f"The file {name} is not usable: {error}.", "Save it as UTF-8 text.") from error
        value = text.removesuffix("\n").removesuffix("\r")
        if value:
            self.secrets[f"file:{name}"] = value
        return value


def _reference(body: str | None) -> Reference:
    if body is None:
        raise _wrong("A ${ is never closed.", "Close it with }, or write $${ for a plain ${.")
    if body in _FUNCTIONS:
        return Reference(_FUNCTIONS[body])
    if body.startswith("file:") and body != "file:":
        return Reference("file", body.removeprefix("file:"))
    named = _NAMED.fullmatch(body)
    if named is None:
        raise _unknown(body)
    kind, name, default = named.groups()
    if not (_ENV_NAME if kind == "env" else _HEADER_NAME).fullmatch(name):
        what = "an environment variable" if kind == "env" else "a header"
        raise _wrong(f"“{name}” in ${{{body}}} cannot be the name of {what}.", "Correct the name.")
    if kind == "header" and name.lower() in _CREDENTIALS:
        raise _wrong(
            f"The header {name} is what a client proves itself with here, and is never passed on.",
            "Let the client send another header, or use ${env:…}.",
        )
    return Reference(kind, name, default)


def _called(part: Reference, facts: CallFacts) -> str:
    if part.kind == "uuid":
        return facts.new_uuid()
    if part.kind == "now":
        return _timestamp(facts.now())
    if part.kind == "uuid_of_session":
        return _uuid_of(facts.session) if facts.session else facts.new_uuid()
    value = facts.headers.get(part.name.lower(), part.default)
    if value is None:
        raise _wrong(
            f"The request came without the header {part.name}, which the gateway's configuration asks for.",
            f"Send the header, or write ${{header:{part.name}:-…}} in the configuration.",
        )
    return value


def _said(part: Reference, headers: Mapping[str, str]) -> str:
    said = headers.get(part.name.lower(), part.default) if part.kind == "header" else None
    return part.text if said is None else said


def _uuid_of(session: str) -> str:
    import uuid  # late: few files ask for it

    return str(uuid.uuid5(uuid.UUID(_SESSIONS), session))


def _timestamp(seconds: float) -> str:
    from datetime import UTC, datetime  # late, as above

    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _known_too_late(source: ValueSource) -> AwfError:
    late = next(one for one in source.references if one.kind not in _STATIC)
    shown = _WRITTEN.get(late.kind, f"header:{late.name}")
    return _wrong(
        f"${{{shown}}} has a value only in a call, and this is needed before the first one.",
        "Use ${env:…} or ${file:…} here; values of calls belong under `defaults` of an override.",
    )


def _unknown(body: str) -> AwfError:
    if _ENV_NAME.fullmatch(body):
        return _wrong(f"${{{body}}} is no reference.", f"Write ${{env:{body}}}, or $${{ for a plain ${{.")
    close = suggest(body, _FUNCTIONS) or next((form for form in _FORMS if _same_kind(form, body)), "")
    known = "There are " + ", ".join(f"${{{form}}}" for form in _FORMS) + "; $${ is a plain ${."
    return _wrong(f"${{{body}}} is no reference.", f"did you mean ${{{close}}}?" if close else known)


def _same_kind(form: str, body: str) -> bool:
    kind, colon, _ = form.partition(":")
    return bool(colon) and suggest(body.partition(":")[0], [kind]) == kind


def _wrong(message: str, hint: str) -> AwfError:
    return AwfError("USER.GATEWAY.INVALID_REFERENCE", message, hint=hint)
