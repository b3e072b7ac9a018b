"""The official Python SDK as an ACP client: plays a scenario (JSON, first argument) and prints what was seen.

Runs in the environment of that SDK. Written for 0.12 and 1.0. `acp_clients.py` says what a scenario is.
"""

import asyncio
import contextlib
import json
import sys

import acp
from acp import schema

KINDS = {
    "allow": "allow_once",
    "allow_always": "allow_always",
    "deny": "reject_once",
    "deny_always": "reject_always",
}


def plain(model):
    return {} if model is None else model.model_dump(mode="json", by_alias=True, exclude_none=True)


class Person:
    """The client side: writes down what is shown, and answers in the order of the scenario."""

    def __init__(self, scenario):
        self.permissions = list(scenario["permissions"])
        self.form = scenario["form"]
        self.step = None
        self.cancel_on = None
        self.cancel = asyncio.Event()  # wanted
        self.cancelled = asyncio.Event()  # sent
        self.commands = {}
        self.news = asyncio.Event()

    def begin(self, step, cancel_on=None):
        self.step, self.cancel_on = step, cancel_on
        self.cancel.clear()
        self.cancelled.clear()

    async def session_update(self, session_id, update, **_):
        told = plain(update)
        self.step["updates"].append({"session": session_id, **told})
        if told["sessionUpdate"] == "available_commands_update":
            self.commands[session_id] = told["availableCommands"]
            self.news.set()
        if told["sessionUpdate"] == self.cancel_on:
            self.cancel.set()

    async def request_permission(self, session_id, tool_call, options, **_):
        policy = self.permissions.pop(0) if len(self.permissions) > 1 else self.permissions[0]
        self.step["questions"].append({"session": session_id, "call": plain(tool_call), "policy": policy})
        if self.cancel_on == "permission":
            self.cancel.set()
        if policy == "hold":
            await self.cancelled.wait()
        chosen = [option.option_id for option in options if option.kind == KINDS.get(policy)]
        outcome = {"outcome": "selected", "optionId": chosen[0]} if chosen else {"outcome": "cancelled"}
        return schema.RequestPermissionResponse.model_validate({"outcome": outcome})

    async def create_elicitation(self, message, mode, **_):
        self.step["questions"].append({"form": plain(mode), "message": message})
        if isinstance(self.form, dict):
            return schema.AcceptElicitationResponse(action="accept", content=self.form)
        declined = self.form == "decline"
        return (
            schema.DeclineElicitationResponse(action="decline")
            if declined
            else schema.CancelElicitationResponse(action="cancel")
        )


class Player:
    def __init__(self, scenario):
        self.scenario = scenario
        self.person = Person(scenario)
        self.sessions = {}
        self.told = {"initialize": [], "steps": [], "exits": [], "sessions": self.sessions}

    async def play(self):
        actions = list(self.scenario["actions"])
        while actions:
            await self.play_process(actions)
        return self.told

    async def play_process(self, actions):
        """Until the scenario wants another process."""
        command, *arguments = self.scenario["command"]
        with open(self.scenario["stderr"], "ab") as stderr:
            async with acp.spawn_agent_process(
                self.person, command, *arguments, env=self.scenario["env"], cwd=self.scenario["cwd"],
                transport_kwargs={"stderr": stderr, "limit": 50 * 1024 * 1024, "shutdown_timeout": 20.0},
                use_unstable_protocol=True,
            ) as (agent, process):  # fmt: skip
                self.person.begin(self.new_step({"do": "initialize"}))
                await self.bounded(self.initialize(agent))
                while actions:
                    action = actions.pop(0)
                    if action["do"] == "restart":
                        break
                    await self.step(agent, action)
        self.told["exits"].append(process.returncode)

    async def initialize(self, agent):
        capabilities = schema.ClientCapabilities.model_validate(self.scenario["capabilities"])
        answer = await agent.initialize(
            protocol_version=1,
            client_capabilities=capabilities if self.scenario["capabilities"] else None,
            client_info=schema.Implementation(name="driver", version="1"),
        )
        self.told["initialize"].append(plain(answer))

    def new_step(self, action):
        self.told["steps"].append({**action, "updates": [], "questions": []})
        return self.told["steps"][-1]

    async def step(self, agent, action):
        step = self.new_step(action)
        self.person.begin(step, action.get("cancel_on"))
        try:
            step["result"] = await self.bounded(getattr(self, action["do"])(agent, action))
        except acp.RequestError as error:
            step["error"] = {"code": error.code, "message": str(error), "data": error.data}

    async def bounded(self, work):
        return await asyncio.wait_for(work, self.scenario["seconds"])

    def session(self, action):
        return self.sessions.get(action["session"], action["session"])

    # -- what a scenario can say

    async def new(self, agent, action):
        answer = await agent.new_session(cwd=self.scenario["cwd"], mcp_servers=self.servers(action))
        self.sessions[action["session"]] = answer.session_id
        return plain(answer)

    @staticmethod
    def servers(action):
        return schema.NewSessionRequest.model_validate(
            {"cwd": "/", "mcpServers": action.get("servers", [])}
        ).mcp_servers

    async def commands(self, agent, action):
        while self.session(action) not in self.person.commands:
            self.person.news.clear()
            await self.person.news.wait()
        return self.person.commands[self.session(action)]

    async def prompt(self, agent, action):
        blocks = action.get("blocks") or [{"type": "text", "text": action["text"]}]
        prompt = schema.PromptRequest.model_validate({"sessionId": "x", "prompt": blocks}).prompt
        canceller = asyncio.get_running_loop().create_task(self.cancel(agent, action))
        try:
            return plain(await agent.prompt(session_id=self.session(action), prompt=prompt))
        finally:
            canceller.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await canceller

    async def cancel(self, agent, action):
        if "cancel_after_ms" in action:
            await asyncio.sleep(action["cancel_after_ms"] / 1000)
        else:
            await self.person.cancel.wait()
        await agent.cancel(session_id=self.session(action))
        self.person.cancelled.set()

    async def load(self, agent, action):
        return plain(await agent.load_session(
            cwd=self.scenario["cwd"], session_id=self.session(action), mcp_servers=self.servers(action)
        ))  # fmt: skip

    async def resume(self, agent, action):
        return plain(await agent.resume_session(cwd=self.scenario["cwd"], session_id=self.session(action)))

    async def list(self, agent, action):
        return plain(await agent.list_sessions(cwd=action.get("cwd", self.scenario["cwd"])))

    async def close(self, agent, action):
        return plain(await agent.close_session(session_id=self.session(action)))

    async def delete(self, agent, action):
        if not hasattr(agent, "delete_session"):  # added with 1.0
            return {"not offered": "delete"}
        return plain(await agent.delete_session(session_id=self.session(action)))

    async def set_mode(self, agent, action):
        return plain(await agent.set_session_mode(session_id=self.session(action), mode_id=action["mode"]))

    async def set_option(self, agent, action):
        return plain(await agent.set_config_option(
            session_id=self.session(action), config_id=action["option"], value=action["value"]
        ))  # fmt: skip


print(json.dumps(asyncio.run(Player(json.loads(sys.argv[1])).play())))
