"""What servers tell of themselves, without the secrets that are known: lists, greetings, and errors.

Free text is masked. What has to come back to its server as it was is left alone: names of tools, prompts and arguments,
addresses, cursors, and whatever arguments are held against in a schema. A default with a secret in it goes as a whole:
whoever does not give the argument gets it all the same, and nobody sends a mask in its place.

Where nothing is known to be secret, the same objects come back.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.mcp import RpcError
from awf.domain.redaction.rebuilding import by_masked_keys, rebuilt
from awf.domain.redaction.spans import MASK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from awf.domain.mcp import Era
    from awf.domain.redaction.masker import Masker
    from awf.domain.redaction.pieces import TextMasker

__all__ = ["LISTS", "Publishing"]

LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
_OF_A_PAGE = frozenset({"nextCursor", "requestState", "resultType", "ttlMs", "cacheScope"})
_OF_AN_ITEM = {
    "tools": frozenset({"name"}),
    "prompts": frozenset({"name"}),
    "resources": frozenset({"uri", "mimeType", "size"}),
    "resourceTemplates": frozenset({"uriTemplate", "mimeType"}),
}
# A secret that is a word of the protocol is none worth keeping, and must not break anything.
_WORDS = frozenset({"user", "assistant", "forbidden", "optional", "required", "light", "dark"})

# Schemas: keys under which names lead to schemas, those with schemas below, and those that arguments are held against.
_NAMED = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)
_INNER = frozenset(
    {"items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"}
    | {"additionalProperties", "unevaluatedProperties", "propertyNames"}
    | {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "contentSchema"}
)
_HELD = frozenset(
    {"type", "const", "enum", "required", "dependentRequired", "pattern", "format", "x-mcp-header"}
    | {"$schema", "$id", "id", "$ref", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef"}
    | {"$recursiveAnchor", "$vocabulary", "contentEncoding", "contentMediaType", "uniqueItems"}
    | {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"}
    | {"minItems", "maxItems", "minContains", "maxContains", "minProperties", "maxProperties"}
)


class Publishing:
    def __init__(self, masker: Masker, *, lists: bool = True) -> None:
        """`lists`: not where they are only held against what is known already, and shown to nobody."""
        self._masker = masker
        self._lists = lists

    @property
    def state(self) -> object:
        """Another one as soon as another value is known."""
        return self._masker.state

    def page(self, method: str, result: dict[str, Any]) -> dict[str, Any]:
        """The answer to one of `LISTS`. What is nested too deeply to be looked through is left out."""
        if not self._lists or not self._is_told_in(result):
            return result
        kind = LISTS[method]
        made: list[tuple[Any, Any]] = []
        for key, value in result.items():
            if key == kind and isinstance(value, list):
                items = (self._item(kind, item) for item in value)
                made.append((key, [item for item in items if item is not None]))
            elif key in _OF_A_PAGE:
                made.append((key, value))
            else:
                made.append((self._masker.mask(key), self._free(value)))
        return by_masked_keys(made)

    def tool(self, definition: dict[str, Any]) -> dict[str, Any] | None:
        """None: it is nested too deeply to be looked through."""
        found: dict[str, Any] | None = self._item("tools", definition)
        return found

    def era(self, era: Era) -> Era:
        """What a server says of itself when it is first spoken to. Names of capabilities stay what they are."""
        told = {
            "instructions": era.instructions,
            "server_info": era.server_info,
            "capabilities": era.capabilities,
        }
        if not self._is_told_in(told):
            return era
        return msgspec.structs.replace(
            era,
            instructions=self._masker.mask(era.instructions),
            server_info=self._free(era.server_info),
            capabilities=rebuilt(era.capabilities, self._told, _as_it_is, None),
        )

    def error(self, error: RpcError) -> RpcError:
        if not self._is_told_in([error.message, error.data]):
            return error
        return RpcError(error.code, self._masker.mask(error.message), self._free(error.data))

    def words(self) -> TextMasker:
        """For what it says beside its messages, in one stream."""
        return self._masker.text()

    # -- looking -----------------------------------------------------------------------------------------------------

    def _is_told_in(self, value: Any) -> bool:
        return any(self._masker.mask(text) != text for text in _texts(value))

    def _item(self, kind: str, item: Any) -> Any:
        if not self._is_told_in(item):
            return item
        try:
            return self._definition(kind, item) if isinstance(item, dict) else self._free(item)
        except RecursionError:
            return None

    def _definition(self, kind: str, item: dict[str, Any]) -> dict[str, Any]:
        kept = _OF_AN_ITEM[kind]
        made: list[tuple[Any, Any]] = []
        for key, value in item.items():
            if key in kept:
                made.append((key, value))
            elif kind == "tools" and key in {"inputSchema", "outputSchema"}:
                made.append((key, self._schema(value)))
            elif kind == "prompts" and key == "arguments" and isinstance(value, list):
                made.append((key, [self._argument(one) for one in value]))
            else:
                made.append(self._entry(key, value))
        return by_masked_keys(made)

    def _argument(self, argument: Any) -> Any:
        return self._definition("prompts", argument) if isinstance(argument, dict) else self._free(argument)

    # -- schemas -----------------------------------------------------------------------------------------------------

    def _schema(self, schema: Any) -> Any:
        if isinstance(schema, list):
            return [self._schema(one) for one in schema]
        if not isinstance(schema, dict):
            return self._free(schema)
        made: list[tuple[Any, Any]] = []
        for key, value in schema.items():
            if key in _HELD:
                made.append((key, value))
            elif key in _NAMED and isinstance(value, dict):
                made.append((key, {name: self._named(one) for name, one in value.items()}))
            elif key in _INNER:
                made.append((key, self._schema(value)))
            elif key != "default" or not self._is_told_in(value):
                made.append(self._entry(key, value))
        return by_masked_keys(made)

    def _named(self, schema: Any) -> Any:
        """Under `dependencies` there may be a list of names."""
        names = isinstance(schema, list) and all(isinstance(one, str) for one in schema)
        return schema if names else self._schema(schema)

    # -- free text ---------------------------------------------------------------------------------------------------

    def _free(self, value: Any) -> Any:
        return rebuilt(value, self._told, self._named_so, None)

    def _told(self, value: Any, _mark: None) -> Any:
        if isinstance(value, str):
            return value if value in _WORDS else self._masker.mask(value)
        return MASK if _is_number(value) and self._is_told_in(value) else value

    def _named_so(self, key: Any, _mark: None) -> tuple[Any, None]:
        return self._masker.mask(key) if isinstance(key, str) else key, None

    def _entry(self, key: Any, value: Any) -> tuple[Any, Any]:
        return self._masker.mask(key) if isinstance(key, str) else key, self._free(value)


def _as_it_is(key: Any, _mark: None) -> tuple[Any, None]:
    return key, None


def _texts(value: Any) -> Iterator[str]:
    """All that is written in it, keys and numbers too; with a list of what waits, since the depth is the server's choice."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            waiting += part.keys()
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
        elif _is_number(part):
            yield json.dumps(part)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
