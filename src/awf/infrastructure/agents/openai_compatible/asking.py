"""Ask the model once: send the request, read its answer as it comes, try again where that may help."""

from __future__ import annotations

import asyncio
import json
import random
from typing import TYPE_CHECKING, Any

from awf.domain.ports.http_client import HttpFailure, HttpTooLarge, HttpUnreachable
from awf.infrastructure.agents.openai_compatible.failures import Refusal, from_error, from_status
from awf.infrastructure.agents.openai_compatible.pieces import PieceReader, PieceTooLarge, Unreadable
from awf.infrastructure.agents.openai_compatible.request import endpoint, request_headers
from awf.infrastructure.agents.openai_compatible.turn import TurnReader

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from awf.domain.agent import DisplayEvent
    from awf.domain.ports.http_client import HttpAnswer, HttpClient
    from awf.infrastructure.agents.openai_compatible.options import OpenAICompatibleOptions
    from awf.infrastructure.agents.openai_compatible.turn import Turn

__all__ = ["Asking"]

ANSWER_LIMIT = 64 << 20
REFUSAL_LIMIT = 1 << 20
AFTERWORD_SECONDS = 5.0  # what may come after the end of the answer: its usage
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
LONGEST_WAIT = 120.0  # what a server may ask for; beyond that the step's own retries, or a person, decide


class Asking:
    def __init__(
        self,
        http: HttpClient,
        options: OpenAICompatibleOptions,
        show: Callable[[DisplayEvent], None],
        pause: Callable[[float], Awaitable[Any]],
    ) -> None:
        self._http = http
        self._options = options
        self._show = show
        self._pause = pause
        self._url = endpoint(options.base_url)
        self._headers = request_headers(options)
        self._shown = False  # anything of the answer at hand

    async def ask(self, body: dict[str, Any]) -> Turn:
        """Raises `AgentFailure`. An answer of which something was shown is never asked for again."""
        data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        attempt = 0
        while True:
            self._shown = False
            try:
                return await self._attempt(data)
            except Refusal as refusal:
                wait = _pause_before(attempt, refusal)
                if (
                    not refusal.retryable
                    or self._shown
                    or wait is None
                    or attempt >= self._options.max_retries
                ):
                    raise
            attempt += 1
            await self._pause(wait)

    async def _attempt(self, data: bytes) -> Turn:
        try:
            async with await self._send(data) as answer:
                return await self._read(answer)
        except TimeoutError as reason:
            message = f"The API was silent for {self._options.timeout:g} s."
            raise Refusal(message, passing=True, hint="Raise `timeout` if it needs longer.") from reason
        except (HttpTooLarge, PieceTooLarge) as reason:
            message = f"The answer of the API is longer than {ANSWER_LIMIT >> 20} MiB."
            raise Refusal(message, passing=False) from reason
        except HttpUnreachable as reason:
            message = f"The API cannot be reached at {self._url}: {reason}."
            raise Refusal(
                message, passing=True, hint="Check `base_url`, and that the server runs."
            ) from reason
        except HttpFailure as reason:
            raise Refusal(f"The answer of the API broke off: {reason}.", passing=True) from reason

    async def _send(self, data: bytes) -> HttpAnswer:
        try:
            async with asyncio.timeout(self._options.timeout):
                return await self._http.send(
                    "POST", self._url, headers=self._headers, body=data, repeatable=True
                )
        except ValueError as reason:
            raise Refusal(f"The request cannot be sent: {reason}.", passing=False) from reason

    # -- reading ----------------------------------------------------------------------------------------------------

    async def _read(self, answer: HttpAnswer) -> Turn:
        if answer.status != 200:
            async with asyncio.timeout(self._options.timeout):
                body = await answer.body(REFUSAL_LIMIT)
            raise from_status(answer.status, answer.headers, body, self._url)
        if answer.headers.get("content-encoding", "identity") not in {"", "identity"}:
            raise Refusal("The API sent a compressed answer that nobody asked for.", passing=False)
        turn = TurnReader()
        try:
            await self._pieces(answer, turn)
        except Unreadable as reason:
            if not turn.finish:
                raise _garbage(reason, answer, self._url) from reason
        except (HttpFailure, TimeoutError):
            if not turn.finish:  # else all that matters is there
                raise
        if turn.error is not None:
            raise from_error(turn.error)
        return turn.turn()

    async def _pieces(self, answer: HttpAnswer, turn: TurnReader) -> None:
        reader, size = PieceReader(ANSWER_LIMIT), 0
        while not reader.done and turn.error is None:
            async with asyncio.timeout(AFTERWORD_SECONDS if turn.finish else self._options.timeout):
                chunk = await answer.chunk()
            size += len(chunk)
            if size > ANSWER_LIMIT:
                raise PieceTooLarge
            self._take(reader.feed(chunk) if chunk else reader.end(), turn)
            if not chunk:
                break
        if not turn.finish and not reader.done and turn.error is None:
            what = "ended in the middle" if turn.heard else "has nothing in it"
            raise Refusal(f"The answer of the API {what}.", passing=True)

    def _take(self, pieces: Iterable[dict[str, Any]], turn: TurnReader) -> None:
        for piece in pieces:
            for event in turn.read(piece):
                self._shown = True
                self._show(event)


def _pause_before(attempt: int, refusal: Refusal) -> float | None:
    """None: it is not worth waiting for."""
    if refusal.wait is not None:
        return refusal.wait if refusal.wait <= LONGEST_WAIT else None
    spread = 0.5 + random.random() / 2  # so that many steps do not come back at the same moment
    return float(min(FIRST_PAUSE * 2**attempt, LONGEST_PAUSE) * spread)


def _garbage(reason: Unreadable, answer: HttpAnswer, url: str) -> Refusal:
    kind = answer.content_type or "no content type"
    text = " ".join(reason.text.split())
    if "html" in kind or text.startswith("<"):
        what = "a web page"
    else:
        what = f"something that is not JSON ({kind}): {text[:200]}"
    hint = "Check `base_url`: it must be the root of an OpenAI-compatible API, often ending in /v1."
    return Refusal(f"{url} answered with {what}.", passing=False, hint=hint)
