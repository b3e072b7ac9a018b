"""`awf gateway explain-decision`: what the gate would say to a call, without making it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from awf.domain.errors import AwfError
from awf.interfaces.cli.gateway_look import arguments_of, shell_client, unknown_tool, warn, with_gateway
from awf.interfaces.cli.options import make_app

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from awf.application.gate.explaining import AskedRule, Explanation
    from awf.application.gate.gate import Gate
    from awf.application.gate.origin import Origin
    from awf.application.gate.passage import GatedTool
    from awf.application.gateway.gateway import Gateway
    from awf.bootstrap.gateways import GatewayHouse
    from awf.domain.label import Label
    from awf.domain.policy import Decision

__all__ = ["ExplainedCall", "explain_call"]

_BUILTIN = "builtin:"


class ExplainedCall(NamedTuple):
    explanation: Explanation

    @property
    def exit_status(self) -> int:
        """Whatever the decision is: to be told it is what was asked for."""
        return 0

    def document(self) -> Any:
        return self.explanation

    def lines(self) -> Iterator[str]:
        import json

        one = self.explanation
        yield f"{one.tool['id']}  {', '.join(one.tool['actions'])}"
        yield from (f"  note: {note}" for note in one.tool["notes"])
        yield ""
        yield "What rules see:"
        for name, value in one.document.items():
            yield f"  {name}: {json.dumps(value, ensure_ascii=False, default=str)}"
        yield ""
        yield "Rules, in the order in which they are asked:"
        for asked in one.rules:
            yield _rule_line(asked)
            if asked.error:
                yield f"      {asked.error}"
        yield ""
        for stage in one.stages:
            yield _stage_line(stage.name, stage.decision)
        yield ""
        yield _outcome(one.decision)


_OUTCOMES = {
    "allow": "The call would be made.",
    "allow_with_confirm": "A person would be asked first.",
    "deny": "The call would be denied.",
}


def _outcome(decision: Decision) -> str:
    if decision.code == "invalid_arguments":
        return "The call would be refused before anything is decided: INVALID_ARGUMENTS."
    if decision.shadowed is not None:
        return f"{_OUTCOMES[decision.shadowed][:-1]}; shadow mode records that and lets it pass."
    return _OUTCOMES[decision.verdict]


def _rule_line(asked: AskedRule) -> str:
    holds = {True: "holds", False: "does not hold", None: "fails"}[asked.holds]
    target = "".join(f"  {word}" for word in (asked.path, asked.host) if word)
    sign = "→" if asked.decides else " "
    what = f"{asked.rule or 'the fallback'} ({asked.action}{target})"
    return f"{sign} {what}: {holds}: {asked.decision}" + (f"  when {asked.when}" if asked.when else "")


def _stage_line(name: str, decision: Decision) -> str:
    would = f" (shadow mode; without it: {decision.shadowed})" if decision.shadowed else ""
    by = f" by {decision.rule}" if decision.rule else ""
    why = f": {decision.reason}" if decision.reason else ""
    risk = f"  risk: {', '.join(decision.risk)}" if decision.risk else ""
    return f"{name}: {decision.verdict}{would}{by} [{decision.code}]{why}{risk}"


def explain_call(
    config: str, tool: str, arguments: str, given: Iterable[str], *, shadow: bool = False
) -> ExplainedCall:
    """`shadow`: as if the gateway were served with it."""
    call = _Asked(arguments_of(arguments), *_said(given))
    if tool.startswith(_BUILTIN):
        return _of_builtin(config, tool, call, shadow=shadow)

    async def explain(house: GatewayHouse, gateway: Gateway) -> ExplainedCall:
        from awf.application.gate.passage import Gated

        gate = house.gate_to_ask()
        origin = _origin(gateway.origins.of(shell_client(""), {}), call.said)
        known = _known(gate, gateway, tool)
        gated, judged = Gated(gate, known.tool, origin), known.subject(call.arguments)
        return ExplainedCall(await gate.explained(gated, judged, call.label, known.check))

    return with_gateway(config, explain, shadow=shadow)


class _Known(NamedTuple):
    tool: GatedTool
    check: Callable[[Any], list[str]]
    subject: Callable[[dict[str, Any]], dict[str, Any]]  # what of the arguments is judged


def _known(gate: Gate, gateway: Gateway, tool: str) -> _Known:
    """A tool to the gate, or another thing that a server can be asked for."""
    from awf.application.gateway.gated_requests import subject_of
    from awf.application.gateway.offers import gated_offer

    offer = gateway.fleet.offers.find(tool, "")
    if offer is not None:
        return _Known(gated_offer(gate, offer.published, offer.server), offer.check, lambda given: given)
    server, _, method = tool.partition(":")
    if server in gateway.fleet.servers and "/" in method:
        # Nobody has published what its params have to be.
        return _Known(_method(gate, gateway, server, method), lambda _: [], subject_of)
    names = (one.definition["name"] for one in gateway.fleet.offers.view.tools)
    raise unknown_tool(tool, names, gateway)


def _method(gate: Gate, gateway: Gateway, server: str, method: str) -> GatedTool:
    from awf.domain.gateway_file import ANSWERED_HERE, REQUESTS
    from awf.domain.mcp import RpcError

    if method in ANSWERED_HERE:
        message = f"The gateway answers `{method}` itself, and asks no rule about it."
        hint = f"Rules are asked about: {', '.join(f'{server}:{one}' for one in REQUESTS)}."
        raise AwfError("USER.GATEWAY.UNKNOWN_TOOL", message, hint=hint)
    try:
        return gateway.requests.tool(gate, gateway.fleet.servers[server], method)
    except RpcError as error:
        raise AwfError("USER.GATEWAY.UNKNOWN_TOOL", error.message, hint="Write a shorter name.") from error


def _of_builtin(config: str, tool: str, call: _Asked, *, shadow: bool) -> ExplainedCall:
    """No server has to be started for these."""
    import asyncio

    from awf.bootstrap.gateways import GatewayHouse, gateway_path

    app = make_app()

    async def explain() -> ExplainedCall:
        house = GatewayHouse(app, gateway_path(app, config), serving=False, shadow=shadow)
        house.warn = warn
        house.look_at_names(house.file, {})
        try:
            tools = await house.builtin_tools(
                house.gate_to_ask(), _origin(house.standing_origin(), call.said)
            )
            found = await tools.explained(tool.removeprefix(_BUILTIN), call.arguments, call.label)
            if found is None:
                raise unknown_tool(tool, (f"{_BUILTIN}{one.name}" for one in tools.definitions()))
            return ExplainedCall(found)
        finally:
            await app.close()

    return asyncio.run(explain())


class _Asked(NamedTuple):
    arguments: dict[str, Any]
    said: dict[str, str]  # of the context, by its names
    label: Label | None  # None: that of the context, as it is now


def _origin(usual: Origin, said: dict[str, str]) -> Origin:
    """Where such a call usually comes from, unless somebody has said otherwise."""
    import msgspec

    from awf.domain.grant import Holder

    context = said.get("id", usual.context)
    session = context if usual.holder.session == usual.context else usual.holder.session
    holder = Holder(
        said.get("workspace", usual.holder.workspace),
        said.get("user", usual.holder.user),
        said.get("session", session),
    )
    more = {name: said[name] for name in ("door", "client", "profile", "workflow", "step") if name in said}
    origin = msgspec.structs.replace(usual, context=context, holder=holder, **more)
    if "id" in said and origin.door == "gateway":  # its clients may name any
        origin = msgspec.structs.replace(origin, named=True)
    return origin


def _said(given: Iterable[str]) -> tuple[dict[str, str], Label | None]:
    """`label` and `integrity` say what the caller knows already; the rest are fields of `context`."""
    from awf.domain.decision_fields import CONTEXT_FIELDS
    from awf.domain.label import Label, level_of

    said = dict(_pair(one) for one in given)
    is_told = "label" in said or "integrity" in said
    level, integrity = said.pop("label", "public"), said.pop("integrity", "trusted")
    confidentiality = level_of(level)
    if confidentiality is None or integrity not in ("trusted", "untrusted"):
        hint = "A label is public, confidential or secret; integrity is trusted or untrusted."
        raise AwfError("USER.INPUT.USAGE", "The label is none.", hint=hint)
    unknown = next((name for name in said if name not in CONTEXT_FIELDS), None)
    if unknown is not None:
        hint = f"There are: label, integrity, {', '.join(CONTEXT_FIELDS)}."
        raise AwfError("USER.INPUT.USAGE", f"A context has no '{unknown}'.", hint=hint)
    label = Label(confidentiality, "untrusted" if integrity == "untrusted" else "trusted")
    return said, label if is_told else None


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        message = f"'{text}' is not NAME=VALUE."
        raise AwfError("USER.INPUT.USAGE", message, hint="Write --context label=confidential.")
    return name.strip().lower(), value
