// The page as a whole: which view is shown, what is known, and when it is drawn.

import { byId, visible, write } from "./dom.js";
import { Approvals } from "./approvals.js";
import { CallTable, Calls } from "./calls.js";
import { Live, TokenNeeded, operator, read, token } from "./gateway.js";
import { showOverview, showServer } from "./overview.js";
import { showTool } from "./tool.js";
import { ToolList } from "./tools.js";

const STATUS_EVERY = 1000;
const COUNTS_EVERY = 2000; // while nothing but calls happens
const CALLS_AGAIN = 30_000; // so that nothing stays wrong for long
const VIEWS = ["loading", "token", "overview", "server", "tools", "calls", "approvals", "missing"];

const known = { status: null, tools: null, calls: new Calls() };
let view = { name: "", item: "" };
let lastTool = "";
let paused = false;

const said = (text) => write(byId("said"), text);
const list = new ToolList(said);
const approvals = new Approvals({ said, again: () => approvalsAgain(), tokenNeeded: (error) => askForToken(error) });
const tables = {
  latest: new CallTable(byId("latest"), "The newest eight, as they come", 8),
  server: new CallTable(byId("server-calls"), "The newest 25, as they come", 25, { server: false }),
  calls: new CallTable(byId("calls-body"), "Live calls, newest first", 200),
};

// -- which view

/** The key comes in the address, and must not stay there: addresses are kept, shown and sent around. */
function takeKey() {
  const found = /^#key=([\w-]+)$/.exec(location.hash);
  if (!found) return;
  operator.set(found[1]);
  history.replaceState(null, "", location.pathname + location.search);
  if (known.status) refresh();
}

function route() {
  const [name, item = ""] = location.hash.slice(1).split("/", 2);
  try {
    return { name: name || "overview", item: decodeURIComponent(item) };
  } catch {
    return { name: "missing", item: "" };
  }
}

function go({ focus }) {
  if (!byId("view-token").hidden) return;
  const before = view;
  view = route();
  draw();
  if (!focus) return;
  const back = before.name === "tool" && view.name === "tools" ? list.linkOf(lastTool) : null;
  const target = back ?? headingOf();
  target?.focus();
  if (!back) scrollTo(0, 0);
}

const headingOf = () => (view.name === "tool" && byId("tool-title")) || document.querySelector("main > section:not([hidden]) h1");

function show(name) {
  for (const other of VIEWS) byId(`view-${other}`).hidden = other !== name;
  const current = { overview: "overview", server: "overview", tools: "tools", calls: "calls", approvals: "approvals" }[name] ?? "";
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${current}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function missing(text) {
  write(byId("missing"), text);
  show("missing");
}

// -- what it shows

let drawing = 0;

/** Soon, and once, however much has happened. */
function drawSoon() {
  if (!drawing) drawing = requestAnimationFrame(() => { drawing = 0; draw(); });
}

const drawn = {}; // what the heavy parts were last made of

function draw() {
  if (!byId("view-token").hidden || !known.status || !known.tools) return;
  const { name, item } = view;
  const title = { tools: "Tools", calls: "Calls", approvals: "Approvals", overview: "Overview" }[name] ?? (item || "Not found");
  document.title = `${visible(title)} – AWF gateway`;
  if (name === "overview") drawOverview();
  else if (name === "server") drawServer(item);
  else if (name === "tools" || name === "tool") drawTools(item);
  else if (name === "calls") drawCalls();
  else if (name === "approvals" && known.status.gate) drawApprovals();
  else missing("There is no such view.");
}

/** True when the part was made of something else, or lies elsewhere, since it was last drawn. */
function isNew(part, ...made) {
  const before = drawn[part];
  if (before && before.length === made.length && made.every((one, at) => one === before[at])) return false;
  drawn[part] = made;
  return true;
}

/** Lengths of time grow also when nothing happens. */
const tick = () => Math.floor(Date.now() / 10_000);

/** Redraw, and give the focus back to what had it: the elements are others afterwards. */
function keepingFocus(place, redraw) {
  const held = place.contains(document.activeElement) ? document.activeElement : null;
  redraw();
  if (!held) return;
  const alike = [...place.querySelectorAll(held.tagName)].filter((one) => one.id === held.id
    && one.getAttribute("href") === held.getAttribute("href") && one.value === held.value);
  alike[0]?.focus();
}

function drawOverview() {
  const place = byId("overview-body");
  if (isNew("overview", known.status, known.tools, tick())) showOverview(place, known.status, known.tools);
  tables.latest.draw(known.calls);
  show("overview");
}

function drawServer(name) {
  if (!known.status.servers.some((server) => server.name === name)) return missing(`There is no server named ${name}.`);
  if (isNew("server", name, known.status, known.tools, tick())) showServer(name, known.status, known.tools);
  tables.server.draw(known.calls, (call) => call.server === name);
  return show("server");
}

function drawTools(id) {
  const tool = id ? known.tools.find((one) => one.id === id) : null;
  if (id && !tool) return missing(`There is no published tool with the id ${id}. Its server may not be ready.`);
  if (isNew("chosen", id, JSON.stringify([tool, driftOf(id)]))) {
    list.choose(id);
    if (tool) keepingFocus(byId("tool"), () => showTool(byId("tool"), tool, driftOf(id)));
    else byId("tool").replaceChildren();
  }
  if (id) lastTool = id;
  byId("split").toggleAttribute("data-chosen", Boolean(tool));
  return show("tools");
}

function drawApprovals() {
  approvals.draw();
  show("approvals");
}

const driftOf = (id) => (known.status.drift ?? []).find((one) => one.id === id) ?? null;

// -- calls

function callWanted() {
  const words = byId("call-text").value.toLowerCase().split(/\s+/).filter(Boolean);
  const outcome = byId("call-outcome").value;
  if (!words.length && !outcome) return undefined;
  return (call) => (!outcome || call.outcome === outcome)
    && words.every((word) => `${call.name} ${call.tool} ${call.server} ${call.client} ${call.code} ${call.reason ?? ""}`.toLowerCase().includes(word));
}

let summarised = 0;

function drawCalls(byPerson = false) {
  show("calls");
  if (paused && !byPerson) return;
  const wanted = callWanted();
  tables.calls.draw(known.calls, wanted, wanted ? "No call fits the filter." : "No calls yet.");
  if (byPerson || Date.now() - summarised > 1000) {
    summarised = Date.now();
    write(byId("call-summary"), known.calls.summary(wanted));
  }
}

function pause() {
  paused = !paused;
  byId("pause").setAttribute("aria-pressed", String(paused));
  said(paused ? "The list of calls stands still." : "The list of calls is live again.");
  drawCalls(true);
}

// -- the connection

let statusTimer = 0;
let statusRead = 0;
let toolsAreOld = true;

function statusSoon(every) {
  if (statusTimer) return;
  statusTimer = setTimeout(refresh, Math.max(0, statusRead + every - Date.now()));
}

async function refresh() {
  statusRead = Date.now();
  try {
    const old = toolsAreOld;
    toolsAreOld = false;
    const [status, tools] = await Promise.all([read("api/status"), old ? read("api/tools") : known.tools]);
    take(status, tools);
    await approvalsAgain();
  } catch (error) {
    toolsAreOld = true;
    if (error instanceof TokenNeeded) askForToken(error);
    else connection("lost", error.message);
  } finally {
    statusTimer = 0;
  }
}

function take(status, tools) {
  const first = !known.tools;
  known.status = status;
  if (tools !== known.tools) list.take(tools);
  known.tools = tools;
  write(byId("version"), status.version);
  byId("nav-approvals").hidden = !status.gate;
  if (first) go({ focus: false });
  else drawSoon();
}

function news({ calls, skipped, status, approvals: asked = false }) {
  known.calls.take(calls);
  if (asked) approvalsAgain();
  if (skipped) callsAgain();
  toolsAreOld ||= status;
  statusSoon(status ? STATUS_EVERY : COUNTS_EVERY);
  drawSoon();
}

let readingApprovals = false;
let approvalsAreOld = false;

/** At once, and once more if something was asked meanwhile. */
async function approvalsAgain() {
  approvalsAreOld = true;
  if (readingApprovals || !known.status?.gate || !byId("view-token").hidden) return;
  readingApprovals = true;
  try {
    while (approvalsAreOld) {
      approvalsAreOld = false;
      approvals.take(await read("api/approvals"));
    }
  } catch (error) {
    if (error instanceof TokenNeeded) askForToken(error); // else the stream tells
  } finally {
    readingApprovals = false;
  }
  drawSoon();
}

async function callsAgain() {
  if (document.hidden || !byId("view-token").hidden) return;
  try {
    known.calls.replace([...await read("api/calls")].reverse());
    drawSoon();
  } catch {
    // The stream tells of lost connections and missing tokens.
  }
}

function connection(state, reason) {
  const place = byId("connection");
  const word = state === "live" ? "Live" : "Reconnecting";
  if (place.textContent !== word) said(state === "live" ? "Connected to the gateway." : `Not connected. ${reason} Trying again.`);
  write(place, word);
  place.dataset.tone = state === "live" ? "good" : "warn";
  place.title = reason;
  if (!known.status && reason) write(byId("loading"), `${reason} Trying again.`);
}

const live = new Live({ news, state: connection, tokenNeeded: askForToken });

// -- the token

function askForToken({ sent }) {
  if (sent !== token.get() || (!sent && !byId("view-token").hidden)) return; // of several refusals, one is told
  live.stop();
  token.forget();
  write(byId("connection"), "Not signed in");
  byId("connection").dataset.tone = "warn";
  byId("forget").hidden = true;
  document.title = "Token needed – AWF gateway";
  show("token");
  write(byId("token-problem"), sent ? "The gateway does not accept this token." : "");
  byId("token").focus();
}

function enter(event) {
  event.preventDefault();
  const given = byId("token").value.trim();
  if (!given) return;
  token.set(given);
  byId("token").value = "";
  begin();
}

async function begin() {
  try {
    await read("api/status");
  } catch (error) {
    if (error instanceof TokenNeeded) return askForToken(error);
  }
  const asked = !byId("view-token").hidden;
  byId("view-token").hidden = true;
  byId("forget").hidden = !token.get();
  await refresh();
  live.start();
  if (asked) go({ focus: true });
  return undefined;
}

function forget() {
  token.forget();
  operator.forget();
  location.reload();
}

byId("token-form").addEventListener("submit", enter);
byId("forget").addEventListener("click", forget);
byId("pause").addEventListener("click", pause);
byId("call-filter").addEventListener("submit", (event) => event.preventDefault());
byId("call-text").addEventListener("input", () => drawCalls(true));
byId("call-outcome").addEventListener("change", () => drawCalls(true));
byId("skip").addEventListener("click", (event) => {
  event.preventDefault();
  byId("main").focus();
});
addEventListener("hashchange", () => { takeKey(); go({ focus: true }); });
setInterval(callsAgain, CALLS_AGAIN);
setInterval(() => { if (!document.hidden) statusSoon(STATUS_EVERY); }, 10_000);
takeKey();
begin();
