"""`awf audit`."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click

from awf.interfaces.cli.options import (
    echo_json,
    echo_lines,
    listing_options,
    make_app,
    not_empty,
    require_text,
    storage_option,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from typing import BinaryIO

    from awf.bootstrap import App
    from awf.domain.audit import AuditFlaw, AuditReport

__all__ = ["command"]

T = TypeVar("T")
_KEY_BYTES = 32
_MOST = 2**63 - 1  # numbers of records go no further
_WRITE_ANEW = "awf audit export --file FILE writes it anew."
_COMPARE = "Compare with an export or a copy that lies elsewhere."
_FORMATS = ["jsonl", "ocsf", "agent-trail"]


def _number(ctx: click.Context, param: click.Parameter, value: int) -> int:
    if value > _MOST:
        raise click.BadParameter(f"{value} is beyond all records.", ctx, param)
    return value


@click.group()
def command() -> None:
    """Look at the record of every call: who called what, what was decided, what came of it.

    Records are chained by their hashes and signed from time to time: what is changed or cut off later shows.
    """


@command.command("list")
@click.option(
    "--tool", default="", callback=not_empty, metavar="ID", help="Only calls of this tool, with * and ?."
)
@click.option(
    "--context", default="", callback=not_empty, metavar="NAME", help="Only calls in this security context."
)
@click.option("--kind", default="call", metavar="KIND", help="What to list: call, grant_added, …, or any.")
@click.option(
    "--request", default="", callback=not_empty, metavar="ID", help="Only the call with this request id."
)
@click.option("--denied", is_flag=True, help="Only calls that were not let through.")
@click.option(
    "--since", default="", callback=not_empty, metavar="AGE", help="Only of the last 30m, 12h, 7d, …"
)
@click.option("--until", default="", callback=not_empty, metavar="AGE", help="Only what is older than this.")
@click.option(
    "--after",
    type=click.IntRange(min=0),
    default=0,
    callback=_number,
    metavar="N",
    help="Go on behind this number.",
)
@click.option("-n", "--limit", type=click.IntRange(min=1), default=50, show_default=True)
@storage_option
@listing_options("text", "json", "ndjson")
def list_events(
    tool: str,
    context: str,
    kind: str,
    request: str,
    denied: bool,
    since: str,
    until: str,
    after: int,
    limit: int,
    storage: str | None,
    output: str,
) -> int:
    """List calls, one event each, in the order of the log: the newest, or those behind --after."""
    from awf.application.audit.trail import AuditTrail
    from awf.domain.audit import AuditFilter
    from awf.interfaces.cli.rendering.audit_lines import event_lines

    for word in (tool, context, request):
        require_text(word, "`awf audit list -o json` shows what there is.")
    where = AuditFilter(
        kinds=_kinds(kind),
        tool=tool,
        context=context,
        request_id=request,
        since=_moment(since, "--since"),
        until=_moment(until, "--until"),
    )
    app = make_app(storage=storage)
    events = (
        _asked(app, lambda: AuditTrail(app.audit).events(where, after=after, limit=limit, denied=denied))
        if _is_begun(app)
        else []
    )
    if output == "json":
        echo_json(events)
    elif output == "ndjson":
        from awf.interfaces.cli.rendering.json_text import write_json

        for event in events:
            write_json(sys.stdout, event)
    else:
        echo_lines(event_lines(events))
    return 0


@command.command("show")
@click.argument("sequence", type=click.IntRange(min=1), callback=_number)
@storage_option
@listing_options()
def show_record(sequence: int, storage: str | None, output: str) -> int:
    """Show the record with number SEQUENCE as it is in the chain."""
    from awf.application.audit.trail import AuditTrail
    from awf.domain.errors import AwfError
    from awf.interfaces.cli.rendering.audit_lines import record_lines

    app = _with_audit(storage)
    record = _asked(app, lambda: AuditTrail(app.audit).record(sequence))
    if record is None:
        raise AwfError("USER.AUDIT.NOT_FOUND", f"There is no record {sequence}.", hint="awf audit list")
    if output == "json":
        echo_json(record)
    else:
        echo_lines(record_lines(record))
    return 0


@command.command("verify")
@click.argument("file", required=False, metavar="[FILE]")
@click.option(
    "--key",
    "keys",
    multiple=True,
    metavar="KEY",
    callback=not_empty,
    help="A public key to trust, or a file with one or several; again for more.",
)
@click.option(
    "--witness", default="", callback=not_empty, metavar="FILE", help="Checkpoints that were kept elsewhere."
)
@storage_option
@listing_options()
def verify_audit(
    file: str | None, keys: tuple[str, ...], witness: str, storage: str | None, output: str
) -> int:
    """Look at every record and signature; with FILE at an export (jsonl) instead of the log.

    Ends with status 3 and the place when anything was changed, removed, moved or cut off.
    """
    from awf.interfaces.cli.rendering.audit_lines import report_lines

    public = " ".join(key for one in keys for key in _keys_in(one))
    if witness and not os.path.isfile(witness):
        raise _missing(witness)
    if witness and file is not None:
        raise click.UsageError("--witness is for the log; an export has its checkpoints in it.")
    if file is not None:
        report = _verified_file(file, public)
    else:
        app = _with_audit(storage)
        report = _asked(app, lambda: app.audit.verify(public_key=public, witness=witness))
    _require_sound(report, _WRITE_ANEW if file is not None else "")
    if witness and not report.witnessed:
        message = f"{witness} has no checkpoint, so there is nothing to hold the log against."
        raise _no_evidence(message, "Take the file that `audit: {witness: FILE}` of the configuration names.")
    if output == "json":
        echo_json(report)
    else:
        echo_lines(report_lines(report))
    return 0


@command.command("export")
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    default="jsonl",
    show_default=True,
    help="jsonl: the chain as it is.",
)
@click.option(
    "--file",
    "target",
    default="",
    callback=not_empty,
    metavar="FILE",
    help="Where to write; else to standard output.",
)
@click.option(
    "--after",
    type=click.IntRange(min=0),
    default=0,
    callback=_number,
    metavar="N",
    help="Begin behind this number.",
)
@click.option("-n", "--limit", type=click.IntRange(min=1), default=None, help="At most so many.")
@storage_option
def export_audit(form: str, target: str, after: int, limit: int | None, storage: str | None) -> int:
    """Write the log as lines of JSON.

    jsonl can be checked anywhere with `awf audit verify FILE`; ocsf are OCSF 1.9 events (API Activity); agent-trail
    is the form of draft-sharif-agent-audit-trail.
    """
    from awf.application.audit.exporting import exported

    app = _with_audit(storage)

    async def write(out: Any) -> None:
        async for line in exported(app.audit, form, app.version, after=after, limit=limit or 0):
            out.write(line)
        out.flush()

    if not target:
        _asked(app, lambda: write(sys.stdout.buffer))
        return 0
    with _replacing(target) as stream:
        _asked(app, lambda: write(stream))
    print(os.path.abspath(target))
    return 0


# -- what they share -------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _replacing(target: str) -> Iterator[BinaryIO]:
    """A file that is there whole, or not at all."""
    part = f"{target}.{os.getpid()}.part"
    try:
        with open(part, "wb") as stream:
            yield stream
        os.replace(part, target)
    except OSError as error:
        raise _not_written(target, error) from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(part)


def _asked(app: App, question: Callable[[], Awaitable[T]]) -> T:
    import asyncio

    async def ask() -> T:
        try:
            return await question()
        finally:
            await app.close()

    return asyncio.run(ask())


def _with_audit(storage: str | None) -> App:
    from awf.domain.errors import AwfError

    app = make_app(storage=storage)
    if not _is_begun(app):
        raise AwfError(
            "USER.AUDIT.NOT_FOUND",
            f"Nothing is recorded in {app.audit_folder}.",
            hint="Look elsewhere with --storage DIR.",
        )
    return app


def _is_begun(app: App) -> bool:
    """Looking makes no log. What stands in the way of one is told when it is opened."""
    if app.settings.database_url.value:
        return True
    above = os.path.dirname(app.audit_folder)
    return os.path.lexists(app.audit_folder) or (os.path.lexists(above) and not os.path.isdir(above))


def _kinds(kind: str) -> Any:
    from awf.domain.audit import AuditKind
    from awf.domain.errors import AwfError

    names = [name for name in get_args(AuditKind) if name not in {"decision", "effect"}]
    if kind == "any":
        return tuple(names)
    if kind not in names:
        raise AwfError(
            "USER.INPUT.USAGE", f"'{kind}' is no kind of record.", hint=f"One of {', '.join(names)}, or any."
        )
    return (kind,)


def _moment(age: str, option: str) -> float:
    from awf.domain.errors import AwfError
    from awf.domain.notation import parse_duration

    if not age:
        return 0.0
    seconds = parse_duration(age)
    if seconds is None:
        raise AwfError(
            "USER.INPUT.USAGE", f"'{age}' is not a duration.", hint=f"Write {option} 30m, 12h or 7d."
        )
    return time.time() - seconds


def _keys_in(given: str) -> list[str]:
    """The key itself, or those of a file: one in each line. To trust what is no key would be to find everything changed."""
    is_file = os.path.isfile(given)
    try:
        words = _words_of(given) if is_file else [given]
    except OSError as error:
        raise _missing(given) from error
    wrong = next((word for word in words if not _is_key(word)), None)
    if words and wrong is None:
        return words
    message = f"There is no key in {given}."
    if wrong is not None:
        message = f"{'In ' + given + ' ' if is_file else ''}'{wrong[:80]}' is no public key"
        message += "." if is_file else ", nor a file with one."
    raise _no_evidence(
        message, "A key is 44 letters, digits and signs, as in `signing.pub` in the folder of the log."
    )


def _words_of(file: str) -> list[str]:
    with open(file, encoding="ascii", errors="replace") as stream:
        return stream.read().split()


def _is_key(word: str) -> bool:
    import base64

    try:
        return len(base64.b64decode(word, validate=True)) == _KEY_BYTES
    except ValueError:
        return False


def _no_evidence(message: str, hint: str) -> Exception:
    from awf.domain.errors import AwfError

    return AwfError("USER.AUDIT.NO_EVIDENCE", message, hint=hint)


def _verified_file(file: str, public: str) -> AuditReport:
    from awf.application.audit.jsonl import verify_lines
    from awf.bootstrap import App

    try:
        with open(file, "rb") as stream:
            report = verify_lines(stream, public, App.signature_holds)
    except OSError as error:
        raise _missing(file) from error
    if report.is_sound and not report.records:
        raise _no_evidence(f"{file} has no record, so there is nothing to check.", _WRITE_ANEW)
    return report


def _missing(file: str) -> Exception:
    from awf.domain.errors import AwfError

    return AwfError("USER.INPUT.MISSING_FILE", f"{file} cannot be read.", hint="awf audit verify --help")


def _not_written(target: str, error: OSError) -> Exception:
    from awf.domain.errors import AwfError

    return AwfError(
        "SYSTEM.IO.WRITE_FAILED",
        f"{target} cannot be written: {error.strerror}.",
        hint="Choose another file with --file.",
    )


def _require_sound(report: AuditReport, hint: str = "") -> None:
    from awf.domain.audit import BrokenAuditError

    if report.is_sound:
        return
    told = [f"{flaw.message[:1].upper()}{flaw.message[1:]}." for flaw in report.flaws]
    until = (
        f"Records {report.first} to {report.sound_until} are sound."
        if report.sound_until >= report.first
        else "No record is sound."
    )
    place = min(report.flaws, key=lambda flaw: flaw.sequence)
    raise BrokenAuditError(
        "\n".join([f"The audit is not as it was written, from record {place.sequence} on.", *told, until]),
        hint or _look_at(place, report),
        report,
    )


def _look_at(place: AuditFlaw, report: AuditReport) -> str:
    """The record itself where it is there, else the last one that is as it was; without one, what is left."""
    shown = place.sequence if place.kind in {"changed", "order"} else report.sound_until
    return f"awf audit show {shown}" if shown >= report.first else _COMPARE
