"""What keys of well-known services look like.

Each pattern is tried only where a fixed text that begins it stands, so that a long text costs a few searches in C.
Beginnings are looked for at the border of a word, or after an escape of a line break, and every run has an end: nothing
here takes longer than in proportion to the text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from awf.domain.redaction.spans import Span

__all__ = ["TOKEN_PATTERNS", "TokenPattern", "token_spans"]

_BORDER = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtbf]))"
_END = r"(?![A-Za-z0-9_-])"


class TokenPattern(NamedTuple):
    anchors: tuple[str, ...]
    pattern: re.Pattern[str]  # begins with an anchor; its last group is what is secret

    def spans(self, text: str) -> Iterator[Span]:
        for anchor in self.anchors:
            at = text.find(anchor)
            while at >= 0:
                found = self.pattern.match(text, at)
                if found:
                    yield found.span(self.pattern.groups)
                at = text.find(anchor, found.end() if found else at + 1)


def _token(anchors: str, rest: str) -> TokenPattern:
    first = "|".join(map(re.escape, anchors.split()))
    return TokenPattern(tuple(anchors.split()), re.compile(f"{_BORDER}((?:{first}){rest}){_END}", re.ASCII))


def _after(names: str, rest: str) -> TokenPattern:
    """What follows a word, in the usual cases of letters."""
    anchors = tuple({case for name in names.split("|") for case in (name, name.lower(), name.upper())})
    first = "|".join(map(re.escape, sorted(anchors)))
    return TokenPattern(tuple(sorted(anchors)), re.compile(f"(?:{first}){rest}", re.ASCII))


# All but the last six hold at least sixteen letters, digits, `_` and `-` in a row; `Redactor` builds on that.
TOKEN_PATTERNS = (
    _token("AKIA ASIA ABIA ACCA", r"[A-Z0-9]{16}"),  # AWS
    _token("ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{36,255}"),  # GitHub
    _token("github_pat_", r"[A-Za-z0-9_]{22,255}"),
    _token("glpat- gldt- glrt-", r"[A-Za-z0-9_-]{20,255}"),  # GitLab
    _token("xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", r"[A-Za-z0-9-]{12,255}"),  # Slack
    _token("sk_live_ sk_test_ rk_live_ rk_test_ whsec_", r"[A-Za-z0-9]{16,255}"),  # Stripe
    _token("sk-", r"[A-Za-z0-9_-]{20,255}"),  # OpenAI, Anthropic and those who do as they do
    _token("AIza", r"[A-Za-z0-9_-]{35}"),  # Google
    _token("ya29.", r"[A-Za-z0-9_-]{20,2048}+"),
    _token("npm_ hf_ dop_v1_", r"[A-Za-z0-9]{30,255}"),
    _token("SG.", r"[A-Za-z0-9_-]{16,64}+\.[A-Za-z0-9_-]{16,64}+"),  # SendGrid
    _token("eyJ", r"[A-Za-z0-9_-]{13,4096}+\.[A-Za-z0-9_-]{8,65536}+(?:\.[A-Za-z0-9_-]{0,65536}+)?"),  # JWT
    TokenPattern(
        ("hooks.slack.com/services/",),
        re.compile(r"hooks\.slack\.com/services/([A-Za-z0-9]{6,20}/[A-Za-z0-9]{6,20}/[A-Za-z0-9]{16,64})"),
    ),
    # -- those without such a run ------------------------------------------------------------------------------------
    TokenPattern(
        ("-----BEGIN ",),
        re.compile(
            r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:[\s\S]*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|[\s\S]*))"
        ),
    ),
    _after("Bearer |Basic ", r" *(?=[^\s\"'\\]{0,64}[0-9A-Z])([A-Za-z0-9._~+/=-]{16,65536}+)"),
    _after(
        "Authorization:|X-Api-Key:|X-API-Key:",
        r" *(?:[A-Za-z][A-Za-z0-9-]{0,30} +)?(?=[^\s\"'\\]{0,64}[0-9])([^\s\"'\\,]{12,65536}+)",
    ),
    _after("Cookie:", r" *([^\s=;\"'\\]{1,256}=[^\r\n\"'\\]{1,65536}+)"),
    _after("AccountKey=|SharedAccessKey=", r"([A-Za-z0-9+/=]{32,256}+)"),  # Azure
    TokenPattern(
        ("://",), re.compile(r"://[^\s/:@\"'\\<>]{0,256}+:([^\s/@\"'\\<>]{1,256}+)@")
    ),  # a password in an address
)


_SHORT = 1000  # characters; up to there one look for all beginnings is quicker than one for each
_ANCHORS = re.compile("|".join(re.escape(one) for pattern in TOKEN_PATTERNS for one in pattern.anchors))


def token_spans(text: str) -> list[Span]:
    if len(text) < _SHORT and _ANCHORS.search(text) is None:
        return []
    return [span for pattern in TOKEN_PATTERNS for span in pattern.spans(text)]
