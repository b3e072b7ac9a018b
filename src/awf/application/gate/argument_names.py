"""What the name of an argument, and that of a tool, says about what is in it."""

from __future__ import annotations

import enum
import re
from functools import lru_cache

__all__ = ["DELETES", "OVERWRITES", "Kind", "kind_of", "verbs_in"]


class Kind(enum.Enum):
    PATH = "path"
    SOURCE = "source"  # a path that is only read from
    MAYBE_PATH = "maybe path"  # for tools that work on files, or if it looks like one
    MAYBE_SOURCE = "maybe source"
    HOST = "host"
    VERB = "verb"  # says what is to be done
    TARGETS = "targets"
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
    Kind.TARGETS: "ids items targets recipients names keys uris entries messages users emails",
    Kind.OVERWRITE: "overwrite force replace clobber",
}
_KINDS = {name: kind for kind, names in _NAMED.items() for name in names.split()}
_ENDINGS = (
    ("sourcepath", Kind.SOURCE),
    ("path", Kind.PATH),
    ("paths", Kind.PATH),
    ("filename", Kind.PATH),
    ("file", Kind.PATH),
    ("files", Kind.PATH),
    ("directory", Kind.PATH),
    ("folder", Kind.PATH),
    ("dir", Kind.PATH),
    ("url", Kind.HOST),
    ("urls", Kind.HOST),
    ("hostname", Kind.HOST),
    ("host", Kind.HOST),
)
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
    known = _KINDS.get(plain)
    if known is not None:
        return known
    return next((kind for ending, kind in _ENDINGS if plain.endswith(ending)), Kind.OTHER)


def verbs_in(name: str) -> frozenset[str]:
    """The words of `delete_file`, `deleteFile` or `files.delete`."""
    return frozenset(word.lower() for word in _WORDS.findall(name[:_LONGEST]))
