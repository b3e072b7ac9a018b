"""What the name of an argument, and that of a tool, says about what is in it."""

from __future__ import annotations

import enum
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["DELETES", "OVERWRITES", "Kind", "kind_of", "kinds_below", "verbs_in"]


class Kind(enum.Enum):
    PATH = "path"
    SOURCE = "source"  # a path that is only read from
    MAYBE_PATH = "maybe path"  # for tools that work on files, or if it looks like one
    MAYBE_SOURCE = "maybe source"
    BELOW_PATH = "below path"  # something of a file that has no name of its own: a path if it looks like one
    BELOW_SOURCE = "below source"
    HOST = "host"
    VERB = "verb"  # says what is to be done
    TARGETS = "targets"
    URIS = "uris"  # targets, and each of them maybe a path
    OVERWRITE = "overwrite"
    OTHER = "other"


_NAMED = {
    Kind.PATH: "path paths file files filepath filepaths filename filenames dir dirs directory directories folder folders "
    "cwd workdir workingdir workingdirectory root rootdir destpath destinationpath targetpath newpath outputpath "
    "outfile notebookpath imagepath audiopath savepath",
    Kind.SOURCE: "srcpath sourcepath oldpath inputpath infile",
    Kind.MAYBE_PATH: "to dest dst destination target output out location document uri",
    Kind.MAYBE_SOURCE: "from src source input",
    Kind.HOST: "host hosts hostname hostnames domain domains url urls link links href endpoint baseurl webhook webhookurl "
    "callbackurl serverurl",
    Kind.VERB: "action operation op method verb mode command kind",
    Kind.TARGETS: "ids items targets recipients names keys entries messages users emails",
    Kind.URIS: "uris",
    Kind.OVERWRITE: "overwrite force replace clobber",
}
_KINDS = {name: kind for kind, names in _NAMED.items() for name in names.split()}
_ENDING = {
    Kind.SOURCE: "sourcepath sourcepaths",
    Kind.PATH: "path paths pathname pathnames filename filenames file files directory directories folder folders dir dirs",
    Kind.HOST: "url urls hostname hostnames host hosts",
}
_ENDINGS = tuple((ending, kind) for kind, endings in _ENDING.items() for ending in endings.split())
# What says which file or host an object is, unless something else in it says that by its name.
_NAMING = {
    Kind.PATH: "name value names values items entries keys targets",
    Kind.HOST: "name value names values items entries keys targets address addresses addr ip ips server servers fqdn",
}
_NAMING[Kind.SOURCE] = _NAMING[Kind.PATH]
_NAMES = {kind: frozenset(names.split()) for kind, names in _NAMING.items()}
# Words for what is in a file, or is said of it.
_CONTENTS = (
    "content contents text texts str string body data blob message messages description summary title label labels comment "
    "comments caption code patch diff line lines query pattern format type mime encoding charset language lang sha hash "
    "digest checksum branch ref commit version owner repo repository author user date time status state role"
)
_CONTENT = frozenset(_CONTENTS.split())
_LIKE = {
    Kind.PATH: frozenset({Kind.PATH, Kind.SOURCE}),
    Kind.SOURCE: frozenset({Kind.PATH, Kind.SOURCE}),
    Kind.HOST: frozenset({Kind.HOST}),
}
_BELOW = {
    Kind.PATH: Kind.BELOW_PATH,
    Kind.BELOW_PATH: Kind.BELOW_PATH,
    Kind.SOURCE: Kind.BELOW_SOURCE,
    Kind.BELOW_SOURCE: Kind.BELOW_SOURCE,
}
DELETES = frozenset(
    [
        "delete",
        "deletes",
        "remove",
        "removes",
        "rm",
        "rmdir",
        "unlink",
        "destroy",
        "drop",
        "erase",
        "purge",
        "trash",
        "wipe",
        "truncate",
        "del",
        "discard",
    ]
)
OVERWRITES = frozenset({"overwrite", "truncate", "clobber"})
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SIGNS = re.compile(r"[^a-z0-9]+")
_LONGEST = 100


@lru_cache(maxsize=4096)
def kind_of(name: str) -> Kind:
    if len(name) > _LONGEST:
        return Kind.OTHER
    plain = _SIGNS.sub("", name.lower())
    for form in (plain, plain.rstrip("0123456789")):  # `path2` is a path
        known = _KINDS.get(form) or next((kind for ending, kind in _ENDINGS if form.endswith(ending)), None)
        if known is not None:
            return known
    return Kind.OTHER


def kinds_below(parent: Kind, names: Iterable[Any]) -> dict[str, Kind]:
    """The same for the names in an object, or in one of a list, that is itself called like a path or a host."""
    known = [name for name in names if isinstance(name, str)]
    is_named = not _LIKE.get(parent, frozenset()).isdisjoint(map(kind_of, known))
    return {name: _kind_below(parent, name, is_named) for name in known}


@lru_cache(maxsize=4096)
def _kind_below(parent: Kind, name: str, is_named: bool) -> Kind:
    if not is_named and _SIGNS.sub("", name.lower()) in _NAMES.get(parent, ()):
        return parent
    kind = kind_of(name)
    if kind is not Kind.OTHER or not _CONTENT.isdisjoint(verbs_in(name)):
        return kind
    return _BELOW.get(parent, kind)


def verbs_in(name: str) -> frozenset[str]:
    """The words of `delete_file`, `deleteFile` or `files.delete`."""
    return frozenset(word.lower() for word in _WORDS.findall(name[:_LONGEST]))
