"""An agent on the official Python SDK (0.12.1), to try the clients on: it echoes, counts, waits, asks. Runs in the
environment of that SDK. What it needs to remember lies in the folder that `ECHO_STORE` names.
"""

import asyncio
import json
import os
import secrets
from pathlib import Path

import acp
from acp import schema

STORE = Path(os.environ["ECHO_STORE"])
COMMANDS = {
    "echo": "Say it again",
    "slow": "Wait to be cancelled",
    "gate": "Ask first",
    "form": "Ask for more",
}
OPTIONS = {"allow": "allow_once", "allow_session": "allow_always", "deny": "reject_once"}


class EchoAgent:
    def __init__(self):
        self.cancelled = {}
        self.later = set()

    def on_connect(self, client):
        self.client = client

    async def initialize(self, **_):
        marks = {name: {} for name in ("list", "resume", "close")}
        return acp.InitializeResponse.model_validate(
            {
                "protocolVersion": 1,
                "agentCapabilities": {"loadSession": True, "sessionCapabilities": marks},
                "agentInfo": {"name": "echo", "version": "1"},
            }
        )

    # -- sessions

    def read(self, session_id):
        file = STORE / f"{session_id}.json"
        if not file.exists():
            raise acp.RequestError(-32002, "No such session", {"details": session_id})
        return json.loads(file.read_text(encoding="utf-8"))

    def write(self, session_id, session):
        STORE.mkdir(parents=True, exist_ok=True)
        (STORE / f"{session_id}.json").write_text(json.dumps(session), encoding="utf-8")

    async def show(self, session_id, update):
        await self.client.session_update(session_id=session_id, update=update)

    def offer_commands(self, session_id):
        offered = [schema.AvailableCommand(name=name, description=what) for name, what in COMMANDS.items()]
        update = schema.AvailableCommandsUpdate(
            session_update="available_commands_update", available_commands=offered
        )

        async def soon():
            await asyncio.sleep(0.05)
            await self.show(session_id, update)

        task = asyncio.get_running_loop().create_task(soon())
        self.later.add(task)
        task.add_done_callback(self.later.discard)

    async def new_session(self, cwd, **_):
        session_id = secrets.token_hex(8)
        self.write(session_id, {"cwd": cwd, "turns": []})
        self.offer_commands(session_id)
        return acp.NewSessionResponse(session_id=session_id)

    async def load_session(self, session_id, **_):
        for said in self.read(session_id)["turns"]:
            await self.show(session_id, acp.update_user_message_text(said))
            await self.show(session_id, acp.update_agent_message_text(f"echo: {said}"))
        self.offer_commands(session_id)
        return acp.LoadSessionResponse()

    async def resume_session(self, session_id, **_):
        self.read(session_id)
        self.offer_commands(session_id)
        return schema.ResumeSessionResponse()

    async def list_sessions(self, cwd=None, **_):
        found = {file.stem: self.read(file.stem)["cwd"] for file in sorted(STORE.glob("*.json"))}
        return schema.ListSessionsResponse(
            sessions=[
                schema.SessionInfo(session_id=name, cwd=where)
                for name, where in found.items()
                if cwd in {None, where}
            ]
        )

    async def close_session(self, session_id, **_):
        return schema.CloseSessionResponse()

    # -- turns

    async def cancel(self, session_id, **_):
        if session_id in self.cancelled:
            self.cancelled[session_id].set()

    async def prompt(self, session_id, prompt, **_):
        session = self.read(session_id)
        text = "".join(block.text for block in prompt if block.type == "text")
        self.cancelled[session_id] = asyncio.Event()
        try:
            reason = await self.answer(session_id, text, len(session["turns"]) + 1)
        finally:
            del self.cancelled[session_id]
        self.write(session_id, {**session, "turns": [*session["turns"], text]})
        return acp.PromptResponse(stop_reason=reason)

    async def answer(self, session_id, text, number):
        if text == "/slow":
            return await self.slow(session_id)
        if text == "/gate":
            return await self.gate(session_id)
        if text == "/form":
            return await self.form(session_id)
        await self.show(session_id, acp.update_agent_message_text(f"turn {number}: "))
        await self.show(session_id, acp.update_agent_message_text(text))
        return "end_turn"

    async def slow(self, session_id):
        await self.show(session_id, acp.start_tool_call("slow", "Wait", status="in_progress"))
        await self.cancelled[session_id].wait()
        await self.show(session_id, acp.update_tool_call("slow", status="failed"))
        return "cancelled"

    async def gate(self, session_id):
        await self.show(session_id, acp.start_tool_call("gate", "May I?", status="pending", kind="execute"))
        answer = await self.client.request_permission(
            session_id=session_id,
            tool_call=schema.ToolCallUpdate(tool_call_id="gate", title="May I?"),
            options=[
                schema.PermissionOption(option_id=name, name=name, kind=kind)
                for name, kind in OPTIONS.items()
            ],
        )
        chosen = getattr(answer.outcome, "option_id", "nothing")
        status = "completed" if chosen.startswith("allow") else "failed"
        await self.show(session_id, acp.update_tool_call("gate", status=status))
        await self.show(session_id, acp.update_agent_message_text(f"chosen: {chosen}"))
        return "cancelled" if chosen == "nothing" else "end_turn"

    async def form(self, session_id):
        wanted = {"type": "object", "properties": {"env": {"type": "string"}}, "required": ["env"]}
        mode = schema.ElicitationFormSessionMode(mode="form", session_id=session_id, requested_schema=wanted)
        answer = await self.client.create_elicitation("Which one?", mode)
        said = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
        await self.show(session_id, acp.update_agent_message_text(json.dumps(said)))
        return "end_turn"


asyncio.run(acp.run_agent(EchoAgent(), use_unstable_protocol=True))
