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


class Keys:
    def __init__(self, folder: str) -> None:
        self._head = _secret(os.path.join(folder, _HEAD))
        self._file = os.path.join(folder, SIGNING)
        self._seed = _secret(self._file)
        self._public = ""

    @staticmethod
    def exist(folder: str) -> bool:
        return os.path.exists(os.path.join(folder, _HEAD))

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
        self._seed = _secret(file)
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


def _secret(path: str) -> bytes:
    try:
        if not os.path.exists(path):
            _write_once(path, os.urandom(_SIZE), 0o600)
        with open(path, "rb") as stream:
            found = stream.read(_SIZE + 1)
    except OSError as error:
        raise unavailable(path, error.strerror or str(error)) from error
    if len(found) != _SIZE:
        raise unavailable(path, "the key is damaged", "Restore the file from a copy.")
    return found


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
