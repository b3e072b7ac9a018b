"""Everything that the gate writes down passes here: names, values and patterns.

`suspicious` is for the way of every call: it looks at the JSON that is about to be hashed anyway, and where it says no,
nothing has to be redacted. It may say yes too often, never no too often.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.redaction.custom_patterns import CustomPatterns
from awf.domain.redaction.json_pairs import pair_spans
from awf.domain.redaction.names import DROPPED, FOLDED, folded, is_secret_key
from awf.domain.redaction.rebuilding import rebuilt
from awf.domain.redaction.spans import MASK, covered, merged
from awf.domain.redaction.token_patterns import token_spans
from awf.domain.redaction.value_index import ValueIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from awf.domain.redaction.masker import Masker

__all__ = ["Redactor"]

_PASSES = 16
_SPELLED_OUT = b'"$awf"'  # RFC 8785 has another form for some numbers and texts (see canonical.py)
_TOGETHER = 64 * 1024  # bytes; more are looked at one by one, lest one of them has all looked at twice
# In small letters without separators: each secret name has one of these in it, each pattern without a long run, too.
# They are told by their rarest letters, since most places must be passed over quickly.
_STEMS = re.compile(
    rb"k(?:e(?:n(?<=token)|y(?<=(?:pi|te|ss|th|on|ng|et|nt)key))|ie(?<=cookie))|c(?:re(?:t(?<=secret)|dential)|onnectionstring)"
    rb"|w(?<=passw)|z(?<=authoriz)|ph(?<=passph)|b(?:earer|asic)|@|\\u"
)
_KEEPING_AT = bytes(sign for sign in DROPPED if sign != ord("@"))
_RUNS = bytes(97 if chr(code) in "_-" or (code < 128 and chr(code).isalnum()) else 32 for code in range(256))
_RUN = b"a" * 16
# The end of one text may be taken for the beginning of a key, so what was looked at is looked at again.
_KEYS = re.compile(rb'(["\\])(?=([^"\\]*+)\\*+" *+:)')
# A key with a quotation mark in it, of which the other expression sees only what stands behind that.
_QUOTED_KEY = re.compile(rb'\\"[^"\\]*+" *+:')
_BINARY = ("image", "audio")
_BLOCKS = (
    *_BINARY,
    "text",
    "resource",
    "resource_link",
)  # a secret that is such a word must not break results
_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+"')


class Redactor:
    def __init__(self, masker: Masker, *, keys: Iterable[str] = (), patterns: Iterable[str] = ()) -> None:
        self._masker = masker
        self._own = _folded_all(keys)
        own = b"".join(b"|" + re.escape(name) for name in sorted(self._own))
        self._stems = re.compile(_STEMS.pattern + own) if own else _STEMS
        self._custom = CustomPatterns(patterns)
        self._has_custom = bool(self._custom)
        self._seen: object = None  # the state of the masker at which
        self._may_hold = ValueIndex(()).may_hold  # was made: of its spellings in JSON

    # -- the way of every call ---------------------------------------------------------------------------------------

    def suspicious(self, encoded: bytes, keys: Iterable[str] = ()) -> bool:
        """Whether `redacted` may change what this is the JSON of: as msgspec writes it, or RFC 8785."""
        if self._masker.state is not self._seen:
            self._look_anew()
        if self._may_hold(encoded) or encoded.find(_SPELLED_OUT) >= 0:
            return True
        plain = encoded.translate(FOLDED, _KEEPING_AT)
        if self._stems.search(plain) is not None or encoded.translate(_RUNS).find(_RUN) >= 0:
            return self._looks_close(encoded, plain, keys)
        if keys and self._names_own(plain, keys):
            return True
        return self._has_custom and self._fits_custom(encoded)

    def suspects(self, joined: bytes, lines: Sequence[bytes]) -> Collection[int]:
        """The places of those lines that are suspicious. Most often none is, and one look at all of them tells."""
        if len(joined) <= _TOGETHER and not self.suspicious(joined):
            return ()
        return {at for at, line in enumerate(lines) if self.suspicious(line)}

    def holds_values(self, encoded: bytes) -> bool:
        """Whether a known secret may be in what this is the JSON of."""
        if self._masker.state is not self._seen:
            self._look_anew()
        return self._may_hold(encoded) or encoded.find(_SPELLED_OUT) >= 0

    def _look_anew(self) -> None:
        self._seen = self._masker.state
        self._may_hold = _in_json(self._masker.index).may_hold

    def _looks_close(self, encoded: bytes, plain: bytes, keys: Iterable[str]) -> bool:
        if b"\\u" in encoded or _QUOTED_KEY.search(encoded) is not None or self._names_own(plain, keys):
            return True
        for before, name in _KEYS.findall(encoded):
            if before == b"\\" or is_secret_key(name.decode("utf-8", "replace")):
                return True
        if token_spans(encoded.decode("utf-8", "replace")):
            return True
        return bool(self._custom) and self._fits_custom(encoded)

    def _names_own(self, plain: bytes, keys: Iterable[str]) -> bool:
        return any(name in plain for name in (*self._own, *_folded_all(keys)))

    def _fits_custom(self, encoded: bytes) -> bool:
        """Expressions may have borders in them, so they are held against each text by itself."""
        return any(self._custom.fit(msgspec.json.decode(one)) for one in _STRINGS.findall(encoded))

    # -- what is written down ----------------------------------------------------------------------------------------

    def mask(self, text: str, keys: Iterable[str] = ()) -> str:
        """A text by itself: known values, patterns, and JSON in it."""
        return self._mask(text, self._is_secret(keys))

    def redacted(self, value: Any, keys: Iterable[str] = ()) -> Any:
        """Plain data of the same shape; the same object where nothing is secret. `keys`: more names whose values are."""
        is_secret = self._is_secret(keys)

        def change(one: Any, secret: bool) -> Any:
            if isinstance(one, str):
                return (MASK if one else one) if secret else self._mask(one, is_secret)
            return MASK if _is_number(one) and (secret or self._is_known(one)) else one

        def name(key: Any, secret: bool) -> tuple[Any, bool]:
            """What it says counts before and after: who redacts again has only the latter."""
            shown = self._mask(key, is_secret) if isinstance(key, str) else key
            return shown, secret or is_secret(str(key)) or (shown != key and is_secret(str(shown)))

        return rebuilt(value, change, name, mark=False)

    def _is_known(self, number: float) -> bool:
        """One that is too long to be written is taken for one."""
        try:
            return bool(self._masker.index.spans(msgspec.json.encode(number)))
        except ValueError:
            return True

    def _is_secret(self, keys: Iterable[str]) -> Callable[[str], bool]:
        own = self._own | _folded_all(keys) if keys else self._own
        return (lambda name: is_secret_key(name) or folded(name) in own) if own else is_secret_key

    def _mask(self, text: str, is_secret: Callable[[str], bool]) -> str:
        """Again until nothing changes, since one mask can uncover the border of another word."""
        for _ in range(_PASSES):
            masked = self._masker.mask(text)
            if _is_worth_a_look(masked) or (is_secret is not is_secret_key and '"' in masked):
                spans = [*token_spans(masked), *pair_spans(masked, is_secret)]
                masked = covered(masked, merged(spans), MASK) if spans else masked
            masked = self._custom.masked(masked)
            if masked == text:
                return text
            text = masked
        return MASK

    # -- what agents get ---------------------------------------------------------------------------------------------

    def without_values(self, value: Any) -> Any:
        """Only known values masked, in all texts: for results, which are otherwise the server's own words.

        The same object where there are none.
        """
        return rebuilt(value, self._without_values, self._without_values_in_name, "")

    def _without_values(self, value: Any, key: str) -> Any:
        if isinstance(value, str):
            return value if key == "type" and value in _BLOCKS else self._masker.mask(value)
        if isinstance(value, dict) and value.get("type") in _BINARY:
            data = value.get("data")
            if isinstance(data, str) and self._masker.mask(data) != data:
                return {"type": "text", "text": f"{MASK} ({value['type']} left out: a secret is in it)"}
        return MASK if _is_number(value) and self._is_known(value) else value

    def _without_values_in_name(self, key: Any, _above: str) -> tuple[Any, str]:
        return (self._masker.mask(key), key) if isinstance(key, str) else (key, "")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_worth_a_look(text: str) -> bool:
    data = text.encode("utf-8", "surrogatepass")
    return _STEMS.search(data.translate(FOLDED, _KEEPING_AT)) is not None or _RUN in data.translate(_RUNS)


def _folded_all(names: Iterable[str]) -> frozenset[bytes]:
    """Letters beyond ASCII are compared as they are, so the usual cases of them are all taken."""
    cases = (case for name in names for case in (name, name.lower(), name.upper(), name.title()))
    return frozenset(name for name in map(folded, cases) if name)


def _in_json(index: ValueIndex) -> ValueIndex:
    """Most spellings are the same in JSON."""
    changed = {
        msgspec.json.encode(text.decode("utf-8", "replace"))[1:-1]
        for text in index.texts
        if b'"' in text or b"\\" in text or min(text) < 32
    }
    return ValueIndex([*index.texts, *changed]) if changed else index
