"""`awf gateway explain-decision`: what the gate would say to a call, without making it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from awf.domain.errors import AwfError
from awf.domain.problem import suggest
from awf.interfaces.cli.gateway_look import arguments_of, with_gateway
from awf.interfaces.cli.options import make_app

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from awf.application.gate.decision_document import CallView
    from awf.application.gate.explaining import AskedRule, Explanation
    from awf.application.gate.origin import Origin
    from awf.application.gateway.gateway import Gateway
    from awf.bootstrap.gateways import GatewayHouse

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


def _rule_line(asked: AskedRule) -> str:
    holds = {True: "holds", False: "does not hold", None: "fails"}[asked.holds]
    target = "".join(f"  {word}" for word in (asked.path, asked.host) if word)
    sign = "→" if asked.decides else " "
    what = f"{asked.rule or 'the fallback'} ({asked.action}{target})"
    return f"{sign} {what}: {holds}: {asked.decision}" + (f"  when {asked.when}" if asked.when else "")


def _stage_line(name: str, decision: Any) -> str:
    would = f" (shadow mode; without it: {decision.shadowed})" if decision.shadowed else ""
    by = f" by {decision.rule}" if decision.rule else ""
    why = f": {decision.reason}" if decision.reason else ""
    risk = f"  risk: {', '.join(decision.risk)}" if decision.risk else ""
    return f"{name}: {decision.verdict}{would}{by} [{decision.code}]{why}{risk}"


def explain_call(config: str, tool: str, arguments: str, given: Iterable[str]) -> ExplainedCall:
    from awf.application.gate.explaining import explained

    call = _call(arguments_of(arguments), given)
    if tool.startswith(_BUILTIN):
        return _of_builtin(config, tool, call)

    async def explain(house: GatewayHouse, gateway: Gateway) -> ExplainedCall:
        offer = gateway.fleet.offers.find(tool, "")
        if offer is None:
            raise _unknown(tool, (one.definition["name"] for one in gateway.fleet.offers.view.tools))
        gate = house.gate_to_ask()
        known = gated_offer(gate, offer.published, offer.server)
        return ExplainedCall(
            explained(known.rules, call, await gate.stages(known, _origin(call), call.label))
        )

    from awf.application.gateway.offers import gated_offer

    return with_gateway(config, explain)


def _of_builtin(config: str, tool: str, call: CallView) -> ExplainedCall:
    """No server has to be started for these."""
    import asyncio

    from awf.application.gate.explaining import explained
    from awf.bootstrap.gateways import GatewayHouse, gateway_path

    app = make_app()

    async def explain() -> ExplainedCall:
        house = GatewayHouse(app, gateway_path(app, config), serving=False)
        try:
            gate = house.gate_to_ask()
            known = house.builtin_tool(gate, tool.removeprefix(_BUILTIN))
            if known is None:
                raise _unknown(tool, (f"{_BUILTIN}{name}" for name in house.builtin_names()))
            return ExplainedCall(
                explained(known.rules, call, await gate.stages(known, _origin(call), call.label))
            )
        finally:
            await app.close()

    return asyncio.run(explain())


def _origin(call: CallView) -> Origin:
    from awf.application.gate.origin import Origin
    from awf.domain.grant import Holder

    said = call.context
    holder = Holder(*(said.get(name, "") for name in ("workspace", "user", "session")))
    return Origin(context=said.get("id", ""), door="gateway", holder=holder)


def _unknown(tool: str, names: Iterable[str]) -> AwfError:
    close = suggest(tool, names)
    hint = f"did you mean '{close}'?" if close else "`awf gateway tools` lists them."
    return AwfError("USER.GATEWAY.UNKNOWN_TOOL", f"There is no tool '{tool}'.", hint=hint)


def _call(arguments: dict[str, Any], given: Iterable[str]) -> CallView:
    """`label` and `integrity` say what the caller knows already; the rest are fields of `context`."""
    from awf.application.gate.decision_document import CallView
    from awf.domain.decision_fields import CONTEXT_FIELDS
    from awf.domain.label import Label, level_of

    said = dict(_pair(one) for one in given)
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
    return CallView(arguments, said, label)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        message = f"'{text}' is not NAME=VALUE."
        raise AwfError("USER.INPUT.USAGE", message, hint="Write --context label=confidential.")
    return name.strip().lower(), value
