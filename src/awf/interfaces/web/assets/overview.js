// The gateway at a glance, its servers, and one server on its own.

import { badge, byId, cell, head, make, refill, row, serverLink, table, toolLink } from "./dom.js";
import { isPublished } from "./difference.js";
import { count, counted, moment, since } from "./words.js";

const STATES = {
  ready: ["Ready", "good"],
  starting: ["Starting", "warn"],
  failed: ["Failed", "bad"],
  idle: ["Idle", "quiet"],
  disabled: ["Disabled", "quiet"],
};
const DRIFT = { changed: "Changed", new: "New", gone: "Gone" };
const TOOLS_OF_A_SERVER = 300;

export const stateOf = (server) => badge(...(Object.hasOwn(STATES, server.state) ? STATES[server.state] : [server.state, "quiet"]));

/** What comes and goes has a place of its own, so that the rest stays where it is. */
const part = (...content) => make("div", {}, content);

export function showOverview(place, status, tools) {
  refill(place,
    tiles(status, tools),
    part(troubles(status)),
    make("h2", {}, "Servers"),
    status.servers.length ? servers(status.servers) : make("p", { class: "faint" }, "The configuration names no server."),
    part(contexts(status.gate)),
    part(drift(status.drift ?? [])),
    part(profiles(status.profiles ?? [])),
    make("p", { class: "faint after" }, "Configuration ", make("code", {}, status.config), `, read again ${counted(status.reloads, "time")}.`));
}

function tiles(status, tools) {
  const ready = status.servers.filter((server) => server.state === "ready").length;
  const failed = status.servers.filter((server) => server.state === "failed").length;
  const calls = status.servers.reduce((sum, server) => sum + server.calls, 0);
  const errors = status.servers.reduce((sum, server) => sum + server.errors, 0);
  const tile = (name, value, more) => make("div", {}, make("dt", {}, name), make("dd", {}, make("b", {}, value), make("span", { class: "faint" }, more)));
  return make("dl", { class: "tiles" },
    tile("Servers", `${count(ready)} of ${count(status.servers.length)} ready`, failed ? `${count(failed)} failed` : "none failed"),
    tile("Tools", `${count(tools.filter(isPublished).length)} published`, counted((status.profiles ?? []).length, "profile")),
    tile("Calls", count(calls), `${counted(errors, "error")}, ${count(status.in_flight)} running`),
    tile("Clients", counted(status.sessions, "session"), counted(status.streams, "open stream")),
    status.gate && tile("Gate", status.gate.shadow ? "Shadow mode" : "On", counted(raised(status.gate), "context has", "contexts have") + " read something"),
    tile("Running for", since(status.started), `since ${moment(status.started)}`));
}

/** What a person should look at first. */
function troubles(status) {
  const found = [...(status.problems ?? [])];
  if (status.reload_error) found.unshift(`The changed configuration was not taken over: ${status.reload_error}`);
  if (status.gate?.trouble) found.push(status.gate.trouble);
  const shadow = status.gate?.shadow && make("p", { class: "note" }, make("strong", {}, "Shadow mode. "),
    "The gate decides about every call and records what it would have done, but refuses nothing.");
  if (!found.length) return shadow;
  return [shadow, make("section", { class: "note", "aria-labelledby": "problems-title" },
    make("h2", { id: "problems-title" }, counted(found.length, "problem")),
    make("ul", {}, found.map((text) => make("li", {}, text))))];
}

function servers(all) {
  const heads = ["Server", "Health", "Protocol", ...["Tools", "Calls", "Errors", "Restarts"].map((title) => ({ title, number: true }))];
  return table("Health and use of each server", heads, all.map((server) => row({},
    head(make("a", { href: serverLink(server.name) }, server.name), make("span", { class: "faint block" }, server.transport)),
    cell("Health", [stateOf(server), server.detail && make("span", { class: "faint block" }, server.detail)]),
    cell("Protocol", server.protocol || "not known yet"),
    ...["tools", "calls", "errors", "restarts"].map((key) => number(key, server[key])))));
}

const number = (key, value) => cell(key[0].toUpperCase() + key.slice(1), count(value), { class: "number" });

const raised = (gate) => gate.contexts.length + gate.more_contexts;

/** Contexts whose agents have read what is not for everyone, or what nobody vouches for. */
function contexts(gate) {
  if (!gate?.contexts.length) return null;
  return [make("h2", {}, "Contexts with a raised label"),
    table("What agents have read so far decides what is open to them", ["Context", "Label", "Raised by", "When"], gate.contexts.map((one) => row({},
      head(make("code", {}, one.id)),
      cell("Label", labels(one)),
      cell("Raised by", one.raised_by ? make("code", {}, one.raised_by) : "its parent"),
      cell("When", one.raised ? moment(one.raised) : "when it was made")))),
    gate.more_contexts > 0 && make("p", { class: "faint" }, `${counted(gate.more_contexts, "more")}: `, make("code", {}, "awf gateway context list"), ".")];
}

const labels = (one) => [
  one.confidentiality !== "public" && [badge(one.confidentiality, one.confidentiality === "secret" ? "bad" : "warn"), " "],
  one.integrity !== "trusted" && badge(one.integrity, "warn"),
];

function drift(all) {
  if (!all.length) return null;
  return [make("h2", {}, "Changed definitions"),
    table("Tools that are not as they were pinned", ["Tool", "Drift", "What", "Effect"], all.map((one) => row({},
      head(one.kind === "gone" ? one.id : make("a", { href: toolLink(one.id) }, one.id)),
      cell("Drift", badge(DRIFT[one.kind] ?? one.kind, "warn")),
      cell("What", one.what),
      cell("Effect", one.quarantined ? badge("Quarantined", "bad") : "only reported"))))];
}

function profiles(all) {
  if (!all.length) return null;
  return [make("h2", {}, "Profiles"),
    table("Parts of the tools, each at its own address", ["Profile", "Description", { title: "Tools", number: true }, "Address"], all.map((one) => row({},
      head(one.name),
      cell("Description", one.description || "none"),
      number("tools", one.tools),
      cell("Address", make("code", {}, one.path)))))];
}

/** One server, which there must be. */
export function showServer(name, status, tools) {
  const server = status.servers.find((one) => one.name === name);
  refill(byId("server-title"), "Server ", make("code", {}, name));
  const entry = (title, ...value) => make("div", {}, make("dt", {}, title), make("dd", {}, value));
  refill(byId("server"),
    make("dl", { class: "facts" },
      entry("Health", stateOf(server), server.detail && ` ${server.detail}`),
      server.since > 0 && entry("In this state for", since(server.since), make("span", { class: "faint" }, ` since ${moment(server.since)}`)),
      entry("Transport", server.transport),
      entry("Protocol", server.protocol || "not known yet"),
      entry("Calls", `${count(server.calls)}, ${counted(server.errors, "error")}, ${count(server.in_flight)} running`),
      entry("Restarts", count(server.restarts))),
    make("h2", {}, "Its tools"),
    toolsOf(tools.filter((tool) => tool.server === name)));
}

function toolsOf(tools) {
  if (!tools.length) return make("p", { class: "faint" }, "It publishes no tools at the moment.");
  const left = tools.length - TOOLS_OF_A_SERVER;
  return [make("ul", { class: "columns" }, tools.slice(0, TOOLS_OF_A_SERVER).map((tool) =>
    make("li", {}, make("a", { href: toolLink(tool.id) }, tool.name), tool.quarantined && [" ", badge("quarantined", "bad")]))),
  left > 0 && make("p", {}, `${counted(left, "more tool")}: find them in `, make("a", { href: "#tools" }, "the list of tools"), ".")];
}
