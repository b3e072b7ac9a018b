"""Secrets: which values they are, and how they are kept out of everything that is shown or stored.

Three layers. *Names*: what stands under a key such as `password`. *Values*: every secret that is known, however it is
spelled. *Patterns*: texts that look like keys of well-known services. A `Masker` knows values and is what every sink
uses; a `Redactor` (imported from its own module, since most programs do without) adds the other two for the gate.
"""

from awf.domain.redaction.masker import JointMasker, Masker, secret_values
from awf.domain.redaction.names import is_secret_key, looks_secret
from awf.domain.redaction.pieces import StreamMasker, TextMasker
from awf.domain.redaction.spans import MASK

__all__ = [
    "MASK",
    "JointMasker",
    "Masker",
    "StreamMasker",
    "TextMasker",
    "is_secret_key",
    "looks_secret",
    "secret_values",
]
