"""An agent on the PyPI SDK as its users write one. A prompt that is a number asks for so many pieces of text."""

import asyncio
from typing import Any
from uuid import uuid4

from acp import (
    PROTOCOL_VERSION,
    Agent,
    InitializeResponse,
    NewSessionResponse,
    PromptResponse,
    run_agent,
    update_agent_message_text,
)


class SdkAgent(Agent):
    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:  # noqa: ARG002
        return InitializeResponse(protocol_version=PROTOCOL_VERSION)

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:  # noqa: ARG002
        return NewSessionResponse(session_id=uuid4().hex)

    async def prompt(self, prompt: list[Any], session_id: str, **_: Any) -> PromptResponse:
        text = prompt[0].text
        for number in range(int(text) if text.isdecimal() else 1):
            await self.client.session_update(
                session_id, update_agent_message_text(f"piece {number} of the text")
            )
        return PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id: str, **_: Any) -> None:
        pass


asyncio.run(run_agent(SdkAgent()))
