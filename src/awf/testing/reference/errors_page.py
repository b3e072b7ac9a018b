"""docs/reference/errors.md"""

from __future__ import annotations

from awf.domain.catalogue import CATALOGUE
from awf.domain.errors import EXIT_CANCELLED, EXIT_STATUS
from awf.testing.reference.markdown import GENERATED, table

__all__ = ["errors_page"]

_INTRO = """\
# Errors

Every error has a code of three parts: who can mend it, where it happened, and what it is. Codes do not change between
versions; messages may. `awf explain CODE` prints what is written here, `awf explain WORKFLOW` lists a family.

The first part decides the exit status:

"""
_CATEGORIES = {
    "USER": "the person at the keyboard can mend it",
    "WORKFLOW": "the author of the workflow can",
    "EXECUTION": "something failed while running",
    "SYSTEM": "the surroundings are at fault",
}
_AFTER = """\

A workflow may choose its own status for a failure, with `exit_code` of a terminal state or `status` of an inline
`on_failure`.
"""


def errors_page() -> str:
    rows = [["0", "", "it worked"]]
    rows += [
        [str(status), f"[`{name}`](#{name.lower()})", _CATEGORIES[name]]
        for name, status in EXIT_STATUS.items()
    ]
    rows += [[str(EXIT_CANCELLED), "", "stopped by Ctrl+C, a signal or `awf cancel`"]]
    parts = [GENERATED, _INTRO, table(["exit status", "codes", "meaning"], rows), _AFTER]
    parts += [_category(name) for name in EXIT_STATUS]
    return "".join(parts)


def _category(name: str) -> str:
    entries = {code: entry for code, entry in CATALOGUE.items() if code.startswith(f"{name}.")}
    areas = dict.fromkeys(code.rsplit(".", 1)[0] for code in entries)
    text = f"\n## {name}\n\nExit status {EXIT_STATUS[name]}: {_CATEGORIES[name]}.\n"
    for area in areas:
        text += f"\n### {area}\n"
        for code, entry in entries.items():
            if code.rsplit(".", 1)[0] == area:
                text += (
                    f"\n#### {code}\n\n**{entry.title}.** {entry.meaning}\n\n*What to do:* {entry.remedy}\n"
                )
    return text
