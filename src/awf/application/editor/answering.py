"""What a prompt means, and how it is answered."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from awf.application.editor import telling
from awf.application.editor.commands import Offered, find_command, ready_line, slash_name, unknown_command
from awf.application.editor.forms import form_for, form_message, from_form, missing_inputs, needed_inputs
from awf.application.editor.reply import Reply
from awf.application.editor.slash import Command, gather, is_secret, parse_prompt
from awf.domain.editor import FormAnswer
from awf.domain.errors import AwfError

if TYPE_CHECKING:
    from awf.application.editor.content import Flattened
    from awf.application.editor.turn import Turn
    from awf.application.running.service import Prepared
    from awf.application.running.services import RunServices
    from awf.domain.program import Program
    from awf.domain.workflow import Input

__all__ = ["Answering"]

_ENDED = {"completed", "failed", "cancelled"}


class Answering:
    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._session = turn.session
        self._project = turn.session.project

    async def answer(self, prompt: Flattened) -> Reply:
        if prompt.refused:
            why = "\n\n".join(prompt.refused)
            return self._refuse(
                "USER.ACP.UNSUPPORTED_CONTENT", "Checked the prompt: not all of it is text", why
            )
        spoken = parse_prompt(prompt.text)
        if isinstance(spoken, Command):
            reply = await self._command(spoken)
            if reply is not None:
                return reply
        if self._session.record.parked:
            ends = isinstance(spoken, Command) and spoken.name == "end"
            return await self._converse("/end" if ends else prompt.text)
        if not prompt.text.strip():
            return self._tell("There is nothing to do: the message is empty.")
        return await self._plain(prompt.text)

    async def _plain(self, text: str) -> Reply:
        await self._project.workflows.refresh()
        chosen = self._session.record.workflow
        offered = find_command(chosen, self._project.workflows.offered) if chosen else None
        if chosen and offered is None:
            return self._broken(chosen) or self._unknown(chosen)
        if offered is None:
            return self._tell(telling.what_to_type(self._project.workflows))
        return await self._start(offered, text)

    async def _command(self, spoken: Command) -> Reply | None:
        """None: the text is for whoever talks with the person."""
        workflows, parked = self._project.workflows, bool(self._session.record.parked)
        await workflows.refresh()
        if spoken.name == "workflows":
            return self._tell(telling.workflows(workflows))
        if spoken.name == "status":
            return self._tell(telling.status(self._session.record, self._project.store))
        if spoken.name == "end":
            return None if parked else self._tell("No conversation is waiting; there is nothing to end.")
        offered = find_command(spoken.name, workflows.offered)
        if offered is not None and parked:
            self._keep_secret(offered, spoken.rest)
            return self._tell(
                f"A conversation is waiting for you. /end finishes it; then /{offered.name} can start."
            )
        if offered is not None:
            return await self._start(offered, spoken.rest)
        return self._broken(spoken.name) or (None if parked else self._unknown(spoken.name))

    def _broken(self, name: str) -> Reply | None:
        """Why it cannot be started, where there is a file of that name."""
        known = self._project.workflows.broken
        broken = next((one for one in known if name in {one.name, slash_name(one.name)}), None)
        if broken is None:
            return None
        why = f"{broken.name} cannot be started: {broken.problem}"
        return self._refuse("USER.ACP.UNKNOWN_WORKFLOW", "Read the workflow", why)

    def _unknown(self, name: str) -> Reply:
        why = unknown_command(name, self._project.workflows.offered)
        return self._refuse("USER.ACP.UNKNOWN_WORKFLOW", "Looked for the workflow", why)

    # -- a workflow ----------------------------------------------------------------------------------------------------

    def _keep_secret(self, offered: Offered, rest: str) -> None:
        """What was typed for secret inputs is masked, whatever comes of the prompt."""
        given = gather(rest, offered.inputs).given
        for item in offered.inputs:
            if is_secret(item) and item.name in given:
                self._project.masker.add(f"inputs.{item.name}", given[item.name])

    async def _start(self, offered: Offered, rest: str) -> Reply:
        self._keep_secret(offered, rest)
        execution = self._project.execution()
        program = await execution.program(offered.workflow)
        inputs = program.main.inputs
        gathered = gather(rest, inputs)
        typed: dict[str, Any] = dict(gathered.given)
        known = execution.defaults(program.main)
        if gathered.problems:
            return self._bad_inputs(offered, typed, known, program, "\n".join(gathered.problems))
        person = self._session.person(program.definition.root)
        services = self._project.services(person, self._session.servers, self._session.context)
        needed = needed_inputs(inputs, {**known, **typed}, is_file=services.files.is_file)
        if needed:
            answer = await self._form(offered, program, {**known, **typed}, needed)
            if answer.action == "accept":
                typed |= from_form(inputs, answer.content)
        try:
            values = execution.inputs(program.main, {**known, **typed}, services)
        except AwfError as error:
            if error.code != "USER.INPUT.VALIDATION_FAILED":
                raise
            return self._bad_inputs(offered, typed, known, program, error.message)
        self._turn.point_of_no_return()
        prepared = await execution.start(program, values, services)
        return await self._turn.follow(self._session.watch(prepared, person))

    async def _form(
        self, offered: Offered, program: Program, given: dict[str, Any], needed: list[Input]
    ) -> FormAnswer:
        """Ask for what is missing or wrong, where the editor has forms and nothing secret is asked for."""
        screen = self._session.screen
        form = form_for(program.main.inputs, given) if screen.editor.abilities.forms else None
        if form is None:
            return FormAnswer("decline")
        return await screen.editor.fill_in(
            screen.session_id, form_message(offered.workflow, needed), screen.masker.mask_data(form)
        )

    def _bad_inputs(
        self, offered: Offered, typed: dict[str, Any], known: dict[str, Any], program: Program, why: str
    ) -> Reply:
        missing = missing_inputs(program.main.inputs, {**known, **typed})
        example = ready_line(offered, typed, missing)
        title = f"Checked inputs: {len(missing)} missing" if missing else "Checked inputs: not usable"
        return self._refuse("USER.ACP.INVALID_INPUT", title, f"{why}\n\nFor example:\n\n```\n{example}\n```")

    # -- a conversation that waits -------------------------------------------------------------------------------------

    async def _converse(self, text: str) -> Reply:
        live = self._session.live
        if live is None:
            return await self._adopt(self._session.record.parked, text)
        if live.task.done():  # another branch of it came to an end meanwhile; that was just shown
            self._turn.gave_up = True
            self._session.live = None
            return self._tell("The run has ended while it waited for you.")
        self._turn.point_of_no_return()
        live.next_turn(text)
        return await self._turn.follow(live)

    async def _adopt(self, run_id: str, text: str) -> Reply:
        """The conversation was begun by another process, which is gone."""
        store = self._project.store()
        try:
            record = store.find(run_id)
        except AwfError:
            self._turn.gave_up = True
            raise
        if record.status in _ENDED:
            self._turn.gave_up = True
            return self._tell(f"The conversation is over: {run_id} was {record.status} elsewhere.")
        if os.path.realpath(record.cwd) != os.path.realpath(self._project.cwd):
            raise AwfError(
                "USER.ACP.MISSING_FOLDER",
                f"The conversation belongs to {record.cwd}.",
                hint="Open that folder in the editor.",
            )
        person = self._session.person(record.source)
        person.answer(text)
        services = self._project.services(person, self._session.servers, self._session.context)
        self._turn.point_of_no_return()
        done = [row.path for row in store.steps(run_id)]
        prepared = await self._resumed(run_id, services)
        return await self._turn.follow(self._session.watch(prepared, person, done))

    async def _resumed(self, run_id: str, services: RunServices) -> Prepared:
        try:
            return await self._project.execution().resume(run_id, services)
        except AwfError as error:
            if error.code == "USER.RUN.BUSY":
                raise AwfError(
                    "USER.ACP.RUN_ELSEWHERE",
                    "The conversation is open in another window or command.",
                    hint="Answer there, or close it there first.",
                ) from None
            self._turn.gave_up = True  # or every prompt from now on would end here
            raise

    # -- answers without a run -----------------------------------------------------------------------------------------

    def failed(self, error: AwfError) -> Reply:
        """Something stood in the way. The thread stays usable."""
        self._turn.say(telling.trouble(error))
        return Reply(
            "end_turn", {"status": "failed", "error": {"code": error.code, "message": error.message}}
        )

    def _tell(self, text: str) -> Reply:
        self._turn.say(text)
        return Reply("end_turn", {})

    def _refuse(self, code: str, title: str, text: str) -> Reply:
        """Editors that drop a refused message keep it when a completed call with an output follows it."""
        self._turn.say(text)
        self._session.screen.show(
            [
                {
                    "sessionUpdate": "tool_call",
                    "toolCallId": f"{self._session.record.id}/{self._turn.number}/check",
                    "title": title,
                    "kind": "other",
                    "status": "completed",
                    "content": [{"type": "content", "content": {"type": "text", "text": text}}],
                    "rawOutput": {"code": code, "message": text},
                }
            ]
        )
        return Reply("refusal", {"status": "refused", "error": {"code": code, "message": text}})
