"""What is wrong with the surroundings."""

from __future__ import annotations

from awf.domain.catalogue.entry import Entry

__all__ = ["SYSTEM_CODES"]

SYSTEM_CODES: dict[str, Entry] = {
    "SYSTEM.PLUGIN.UNAVAILABLE": Entry(
        "Plugins are used but not installed",
        "The workflow uses a plugin, and the gRPC packages are missing.",
        "Install the extra: pip install 'awf-suite[plugins]'.",
    ),
    "SYSTEM.SANDBOX.UNAVAILABLE": Entry(
        "This machine cannot enforce the sandbox profile",
        "The file asks for walls that need something the kernel or this user does not have; nothing was started without them.",
        "`awf doctor` tells what is missing. Choose another profile, or `on_unavailable: warn` under `sandbox`.",
    ),
    "SYSTEM.STORE.UNAVAILABLE": Entry(
        "The run store cannot be opened",
        "The storage directory is missing, read-only, or holds a file that is not ours; or the database is down.",
        "Check its permissions, or choose another directory with --storage or AWF_STORAGE; for a database, AWF_DATABASE_URL.",
    ),
    "SYSTEM.STORE.WRITE_FAILED": Entry(
        "The run store cannot be written",
        "The disk is full, or the directory has become read-only. The run stopped; finished steps are safe.",
        "Free some space, then continue with `awf resume RUN`.",
    ),
    "SYSTEM.SPOOL.WRITE_FAILED": Entry(
        "A long result cannot be put aside",
        "The disk is full, or the folder for long results cannot be written. The agent got the head of the result.",
        "Free some space or check the permissions, or lower `spool.retention` and `spool.max_size`.",
    ),
    "SYSTEM.AUDIT.UNAVAILABLE": Entry(
        "The audit cannot be opened or read",
        "Its folder, `audit` in the storage directory, is read-only, a file in it is damaged or not ours, or another process "
        "does not let go of it.",
        "Check its permissions and the free space, or restore the folder from a copy.",
    ),
    "SYSTEM.STORE.NEWER": Entry(
        "The run store was written by a newer version",
        "This version does not know its layout, and leaves it alone.",
        "Upgrade awf, or choose another directory with --storage.",
    ),
    "SYSTEM.GATE_STORE.UNAVAILABLE": Entry(
        "Grants, approvals and contexts cannot be read or written",
        "The folder `gate` in the storage directory is missing, read-only or full, or `gate.db` in it is damaged or not "
        "ours; or the database is down, slow or full. Calls that depend on it are refused.",
        "Check its permissions and the free space, or choose another directory with AWF_STORAGE; for a database, AWF_DATABASE_URL.",
    ),
    "SYSTEM.GATE_STORE.NEWER": Entry(
        "The store of the gate was written by a newer version",
        "This version does not know its layout, and leaves it alone.",
        "Upgrade awf, or choose another directory with AWF_STORAGE.",
    ),
    "SYSTEM.STORE.LOST_RUN": Entry(
        "Another process has taken over the run",
        "The database could not be reached for so long that this process was thought dead. What it wrote until then is kept.",
        "Watch the run with `awf logs -f RUN`.",
    ),
    "SYSTEM.IO.READ_FAILED": Entry(
        "A file cannot be read", "It exists, but reading it failed.", "Check its permissions."
    ),
    "SYSTEM.IO.LISTEN_FAILED": Entry(
        "Nobody can listen there",
        "The address belongs to another program or machine, or may not be used by you.",
        "Choose another address or port, or end the program that has it.",
    ),
    "SYSTEM.IO.WRITE_FAILED": Entry(
        "A file cannot be written",
        "The directory is missing, read-only, or the disk is full.",
        "Check the permissions and the free space.",
    ),
    "SYSTEM.TELEMETRY.UNAVAILABLE": Entry(
        "Tracing is configured but not installed",
        "An OTLP endpoint is set, and the OpenTelemetry packages are missing.",
        "Install the extra: pip install 'awf-suite[otel]'.",
    ),
    "SYSTEM.INTERNAL.BUG": Entry(
        "A mistake in awf itself",
        "Something happened that should not be possible. The details were written to the file named.",
        "Please report it with that file.",
    ),
}
