"""What stands for a missing value while Jinja works, and how results leave it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from jinja2 import StrictUndefined, UndefinedError
from jinja2.utils import missing

from awf.infrastructure.expressions.values import Part, shown

__all__ = ["Absent", "MissingValueError", "final_text", "native"]


class MissingValueError(UndefinedError):
    """A value that is not there was used. `tail` is the part of its path that leads nowhere."""

    def __init__(self, tail: tuple[Part, ...]) -> None:
        super().__init__(".".join(map(str, tail)))
        self.tail = tail


class Absent(StrictUndefined):
    """Strict when used; but one may ask further down, so that ``a.b.c | default(1)`` covers the whole path."""

    __slots__ = ("_tail",)

    def __init__(
        self, hint: str | None = None, obj: Any = missing, name: Any = None, exc: type[Any] = UndefinedError
    ) -> None:
        super().__init__(hint, obj, name, exc)
        self._tail: tuple[Part, ...] = (_part(name),)

    def below(self, part: Any) -> Absent:
        deeper = Absent(
            self._undefined_hint, self._undefined_obj, self._undefined_name, self._undefined_exception
        )
        deeper._tail = (*self._tail, _part(part))
        return deeper

    def _fail_with_undefined_error(self, *_arguments: Any, **_named: Any) -> NoReturn:
        if issubclass(self._undefined_exception, UndefinedError) and not self._undefined_hint:
            raise MissingValueError(self._tail)
        raise self._undefined_exception(self._undefined_message)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _fail_with_undefined_error
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _fail_with_undefined_error
    __mod__ = __rmod__ = __pow__ = __rpow__ = __pos__ = __neg__ = _fail_with_undefined_error
    __call__ = __getitem__ = __int__ = __float__ = __complex__ = _fail_with_undefined_error
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __hash__ = _fail_with_undefined_error
    __iter__ = __str__ = __len__ = __bool__ = __contains__ = _fail_with_undefined_error


def _part(name: Any) -> Part:
    return name if isinstance(name, str | int) else str(name)


def native(value: Any) -> Any:
    """The value of a template that is one placeholder."""
    if isinstance(value, str):
        return value if type(value) is str else str(value)
    if isinstance(value, Absent):
        str(value)  # raises
    if isinstance(value, Iterator | range):
        return list(value)
    if callable(value) and not isinstance(value, Mapping):
        raise MissingValueError((getattr(value, "__name__", "function"),))
    return value


def final_text(value: Any) -> str:
    return shown(native(value))
