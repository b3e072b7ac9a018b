"""What an agent would be asked, and the files that its task is made of."""

from __future__ import annotations

import os.path
from typing import TYPE_CHECKING, NamedTuple

from awf.application.running.plan_text import Foreseen, placeholder
from awf.application.running.plan_values import AgentPlan, CutText, ProxyPlan
from awf.domain.errors import AwfError
from awf.domain.workflow import SkillRef

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.application.running.plan_text import Foresight
    from awf.domain.ports.agent_provider import AgentProvider
    from awf.domain.ports.project_files import ProjectFiles
    from awf.domain.redaction import Masker
    from awf.domain.workflow import AgentState

__all__ = ["Reading", "cut_text", "file_text", "plan_agent"]

_TEXT_KEPT = 4000


class Reading(NamedTuple):
    """The files around one workflow, and who could be asked."""

    files: ProjectFiles
    workflow_file: str
    cwd: str
    providers: Mapping[str, AgentProvider]
    masker: Masker

    def folder(self, written: str | None, sight: Foresight) -> str:
        """The working directory of a state."""
        if not written:
            return self.cwd
        named = sight.render(written)
        if not named.complete:
            return str(named.value)
        folder = os.path.normpath(os.path.join(self.cwd, os.path.expanduser(named.value)))
        if not self.files.is_folder(folder):
            sight.note(f"The working directory {folder} does not exist yet.")
        return folder


def cut_text(text: str, masker: Masker) -> CutText:
    # Masked first: half a secret at the cut would not be recognised any more.
    return CutText(text=masker.mask(text)[:_TEXT_KEPT], length=len(text))


def file_text(written: str, sight: Foresight, reading: Reading) -> tuple[str, str]:
    """The name of a file and its text, both as far as they are known."""
    name = sight.render(written)
    unread = placeholder(f"the text of {name.value}")
    if not name.complete:
        return name.value, unread
    found = reading.files.find(name.value, reading.workflow_file)
    if found is None:
        sight.note(f"There is no file {name.value}.")
        return name.value, unread
    try:
        return name.value, sight.text(reading.files.read(found))
    except AwfError as error:
        sight.note(error.message)
        return name.value, unread


def plan_agent(state: AgentState, sight: Foresight, reading: Reading) -> AgentPlan:
    provider, options = sight.render(state.provider), sight.value(state.options)
    _check_options(provider, options, sight, reading)
    if state.prompt is not None:
        file, prompt = "", sight.text(state.prompt)
    else:
        file, prompt = file_text(state.prompt_file or "", sight, reading)
    system = sight.text(state.system_prompt) if state.system_prompt else ""
    return AgentPlan(
        provider=provider.value,
        prompt=cut_text(prompt, reading.masker),
        options=reading.masker.mask_data(options.value),
        prompt_file=file,
        system_prompt=cut_text(system, reading.masker) if system else None,
        role=_role(state, sight, reading),
        skills=[_skill(skill, sight, reading) for skill in state.skills],
        mode=state.mode,
        continues=(state.conversation.continue_from or "") if state.conversation else "",
        output_format=state.output_format or "",
        output_schema=state.output_schema is not None,
        tools=_proxy(state, reading.providers.get(provider.value) if provider.complete else None),
    )


def _proxy(state: AgentState, provider: AgentProvider | None) -> ProxyPlan | None:
    proxy = state.mcp_proxy
    if proxy is None or not proxy.enable:
        return None
    sources = ["builtin"] if proxy.intercept_builtins else []
    sources += [f"plugin:{one.plugin} ({', '.join(one.expose)})" for one in proxy.plugin_tools]
    sources += [f"mcp:{name}" for name, server in proxy.mcp_servers.items() if server.enabled]
    isolation = "none" if not proxy.intercept_builtins else provider.isolation if provider else ""
    return ProxyPlan(
        only_these=proxy.intercept_builtins, sources=sources, approve=proxy.approve, isolation=isolation
    )


def _check_options(provider: Foreseen, options: Foreseen, sight: Foresight, reading: Reading) -> None:
    """The validator has checked what is written; here what it comes to is checked."""
    if not provider.complete:
        return
    known = reading.providers.get(provider.value)
    if known is None:
        sight.note(f"No agent provider is named '{provider.value}'.")
    elif options.complete:
        for wrong in known.check_options(options.value):
            sight.note(wrong.message)


def _role(state: AgentState, sight: Foresight, reading: Reading) -> str:
    if not state.role:
        return ""
    name = sight.render(state.role)
    if name.complete:
        try:
            reading.files.role(name.value, reading.workflow_file)
        except AwfError as error:
            sight.note(error.message)
    return str(name.value)


def _skill(written: str | SkillRef, sight: Foresight, reading: Reading) -> str:
    is_path = isinstance(written, SkillRef)
    name = sight.render(written.path) if isinstance(written, SkillRef) else Foreseen(written, complete=True)
    if name.complete:
        try:
            reading.files.skill(name.value, reading.workflow_file, is_path=is_path)
        except AwfError as error:
            sight.note(error.message)
    return str(name.value)
