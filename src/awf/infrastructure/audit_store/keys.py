"""The two keys of a log: one that signs checkpoints (Ed25519), one for the keyed head. Both lie in files, for their owner only.

Who can read them can sign. So the public key, and the checkpoints of a witness file, are best kept elsewhere.
"""

from __future__ import annotations

import base64
import contextlib
import hmac
import os

import msgspec

from awf.domain.audit import AuditCheckpoint
from awf.domain.audit_chain import signed_bytes
from awf.infrastructure.audit_store.failures import unavailable

__all__ = ["SIGNING", "Keys", "SharedKeys", "signature_holds"]

SIGNING = "signing.key"
_HEAD = "head.key"
_SIZE = 32
_USED = b"\n"  # behind a key that was used


class Keys:
    def __init__(self, folder: str, *, is_new: bool) -> None:
        """`is_new`: of a log that was just begun; only then are keys made that are not there."""
        self._file = os.path.join(folder, SIGNING)
        self._head_file = os.path.join(folder, _HEAD)
        self._is_marked = self._has_signed = False
        self._head = _secret(self._head_file, is_new=is_new)
        self._seed = _secret(self._file, is_new=is_new)
        self._public = ""

    @staticmethod
    def exist(folder: str) -> bool:
        return any(os.path.exists(os.path.join(folder, name)) for name in (_HEAD, SIGNING))

    def are_used(self) -> bool:
        """Whether anything was ever recorded with them, whatever is left of it."""
        return _has_mark(self._head_file)

    def mark_used(self) -> None:
        self._is_marked = self._is_marked or _marked(self._head_file)

    def have_signed(self) -> bool:
        """Whether there ever was a checkpoint, whatever is left of it."""
        return _has_mark(self._file)

    def mark_signed(self) -> None:
        self._has_signed = self._has_signed or _marked(self._file)

    def made(self, sequence: object, head: str, mac: str) -> bool:
        """Whether a keyed head is one of ours, whatever somebody has made of it."""
        return isinstance(sequence, int) and hmac.compare_digest(
            self.mac(sequence, head).encode(), mac.encode("utf-8", "replace")
        )

    def mac(self, sequence: int, head: str) -> str:
        return hmac.digest(self._head, b"%d %b" % (sequence, head.encode()), "sha256").hex()

    @property
    def public(self) -> str:
        """Exported beside the secret one when it is first needed."""
        if not self._public:
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

            made = Ed25519PrivateKey.from_private_bytes(self._seed).public_key().public_bytes_raw()
            self._public = base64.b64encode(made).decode()
            with contextlib.suppress(OSError):
                exported = f"{os.path.splitext(self._file)[0]}.pub"
                _write_once(exported, self._public.encode() + b"\n", 0o644)
        return self._public

    def signed(self, origin: str, size: int, head: str, now: float) -> AuditCheckpoint:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        made = AuditCheckpoint(origin=origin, size=size, head=head, created_at=now, key=self.public)
        signature = Ed25519PrivateKey.from_private_bytes(self._seed).sign(signed_bytes(made))
        return msgspec.structs.replace(made, signature=base64.b64encode(signature).decode())


class SharedKeys(Keys):
    """Of a log that several machines write: one file is all that has to be brought to each of them."""

    def __init__(self, file: str) -> None:
        """One that is not there is made."""
        self._file = file
        self._seed = _secret(file, is_new=True)
        self._head = hmac.digest(self._seed, b"the head of an audit", "sha256")
        self._public = ""


def signature_holds(checkpoint: AuditCheckpoint, public: str) -> bool:
    """Whether it was signed with the key that this is the public half of."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if checkpoint.key != public:
        return False
    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public, validate=True))
        key.verify(base64.b64decode(checkpoint.signature, validate=True), signed_bytes(checkpoint))
    except (InvalidSignature, ValueError):
        return False
    return True


def _has_mark(path: str) -> bool:
    with contextlib.suppress(OSError):
        return os.path.getsize(path) > _SIZE
    return False


def _marked(path: str) -> bool:
    """In the file of the key itself: who takes the mark away has to write the key anew. False: the next time, then."""
    if _has_mark(path):
        return True
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            return os.pwrite(handle, _USED, _SIZE) == len(_USED)
        finally:
            os.close(handle)
    return False


def _secret(path: str, *, is_new: bool) -> bytes:
    try:
        if is_new and not os.path.exists(path):
            _write_once(path, os.urandom(_SIZE), 0o600)
        with open(path, "rb") as stream:
            found = stream.read(_SIZE + 2)
    except FileNotFoundError as error:
        hint = "Restore the file from a copy; or remove the whole folder, to begin a new log."
        raise unavailable(path, "this key of the log is gone", hint) from error
    except OSError as error:
        raise unavailable(path, error.strerror or str(error)) from error
    if len(found) != _SIZE and found[_SIZE:] != _USED:
        raise unavailable(path, "the key is damaged", "Restore the file from a copy.")
    return found[:_SIZE]


def _write_once(path: str, data: bytes, mode: int) -> None:
    """The whole file or none; whoever comes second finds the first one's."""
    part = f"{path}.{os.getpid()}-{os.urandom(4).hex()}.part"
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with open(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(handle)
        with contextlib.suppress(FileExistsError):
            os.link(part, path)
    finally:
        os.unlink(part)
