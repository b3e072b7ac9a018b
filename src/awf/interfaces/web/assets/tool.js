// One tool: what agents get of it, what its server says, and what lies between the two.

import { badge, cell, fill, make, row, serverLink, table, visible } from "./dom.js";
import { WORDS, compare, isPublished, outline } from "./difference.js";
import { counted, duration } from "./words.js";

const LINES_AT_ONCE = 1500;
const LONGEST_TEXT = 8000;
const CALM = 3; // unchanged lines that stay around a change
const WAYS = { changes: "Changes", whole: "Everything, with changes", before: "Before", after: "After" };
const TITLES = { name: "name", title: "title", description: "description" };

let way = "changes"; // the person's choice stays while they look at other tools

/** Shows a tool in the element. `status` tells whether its definition has drifted. */
export function showTool(place, tool, drift) {
  const compared = isPublished(tool) ? compare(tool) : null;
  fill(place,
    make("p", { class: "up back" }, make("a", { href: "#tools" }, "All tools")),
    make("h2", { id: "tool-title", tabindex: "-1" }, make("code", {}, tool.name)),
    make("p", { class: "marks" }, marks(tool, compared, drift)),
    warning(tool, drift),
    facts(tool),
    known(tool.gate),
    compared ? published(tool, compared) : withheld(tool));
}

function published(tool, compared) {
  return [
    make("h3", {}, "What agents read"),
    longText(tool.published.description ?? "", "It has no description."),
    make("h3", {}, "What the gateway changes"),
    summary(compared.changes),
    fields(tool, compared.changes),
    make("h3", {}, "Definition before and after"),
    definition(tool, compared),
  ];
}

/** A tool that agents do not get: all there is to see is what its server says now. */
function withheld(tool) {
  return [
    make("h3", {}, "What its server says"),
    longText(tool.original?.description ?? "", "It has no description."),
    make("h3", {}, "Definition of its server"),
    drawLines(`The definition of ${tool.name} by its server`, outline(tool.original), false),
  ];
}

function marks(tool, compared, drift) {
  return [
    compared && (compared.changes.length ? badge("Changed by the gateway", "info") : badge("As its server defines it", "quiet")), " ",
    tool.quarantined && badge("Quarantined", "bad"), " ",
    drift && !tool.quarantined && badge("Definition has drifted", "warn"),
  ];
}

function warning(tool, drift) {
  if (!tool.quarantined && !drift) return null;
  const why = drift ? ` ${drift.what}` : "";
  const text = tool.quarantined
    ? `Agents cannot call this tool: it is not the one that was pinned.${why}`
    : `Its server has changed this tool since it was pinned.${why}`;
  return make("p", { class: "note" }, text);
}

function facts(tool) {
  const entry = (name, ...value) => make("div", {}, make("dt", {}, name), make("dd", {}, value));
  const profiles = tool.profiles?.length ? tool.profiles.join(", ") : "none; only in the whole list";
  return make("dl", { class: "facts" },
    entry("Server", make("a", { href: serverLink(tool.server) }, tool.server)),
    entry("Id in the configuration", make("code", {}, tool.id)),
    entry("Profiles", profiles));
}

/** What the gate knows of it before it is called. */
function known(gate) {
  if (!gate) return null;
  const entry = (name, ...value) => make("div", {}, make("dt", {}, name), make("dd", {}, value));
  const codes = (all, nothing) => (all.length ? all.map((one, at) => [at ? ", " : "", make("code", {}, one)]) : nothing);
  return [
    make("h3", {}, "What the gate knows"),
    gate.refusal && make("p", { class: "note" }, gate.refusal),
    make("dl", { class: "facts" },
      entry("Action", gate.action ? make("code", {}, gate.action) : "nobody says", gate.only_reads && " (only reads)"),
      entry("Judged as", codes(gate.judged_as, "nothing")),
      entry("Results are", gate.classification, ", ", gate.integrity),
      entry("Reaches others", gate.open_world ? "yes; closed to contexts that know something secret" : "no"),
      entry("Needs a grant of", codes(gate.required, "nothing")),
      entry("Needs approval", gate.confirmation ? "each call" : "only where the policy says so"),
      entry("Limits", limits(gate.limits))),
    gate.notes.length > 0 && make("ul", { class: "faint" }, gate.notes.map((one) => make("li", {}, one))),
  ];
}

function limits({ timeout_ms: time, max_output_bytes: bytes, max_output_lines: lines }) {
  const found = [time && duration(time), bytes && counted(bytes, "byte"), lines && counted(lines, "line")].filter(Boolean);
  return found.length ? found.join(", ") : "none";
}

function longText(text, otherwise) {
  if (!text) return make("p", { class: "faint" }, otherwise);
  const shown = make("p", { class: "prose" }, text.slice(0, LONGEST_TEXT));
  const rest = text.length - LONGEST_TEXT;
  if (rest <= 0) return shown;
  const more = make("button", { type: "button", on: { click: () => { fill(shown, text); more.remove(); } } },
    `Show ${counted(rest, "more character")}`);
  return [shown, more];
}

// -- in words

function summary(changes) {
  if (!changes.length) return make("p", { class: "faint" }, "Nothing: agents see it exactly as its server defines it.");
  return make("ul", { class: "changes" }, changes.map((change) => entry(change)));
}

function entry(change) {
  const [word, ...rest] = sentence(change);
  return make("li", { "data-kind": change.kind }, make("strong", {}, word, " "), make("span", {}, rest));
}

function sentence(change) {
  const name = make("code", {}, change.field || change.part);
  switch (change.kind) {
    case "hidden": return ["Hidden", name, " is hidden from agents."];
    case "sent": return ["Default", name, " is hidden from agents; the gateway always sends it."];
    case "result": return ["Left out", name, " is left out of results."];
    case "renamed": return ["Renamed", name, " is called ", make("code", {}, change.to), " by agents."];
    case "narrowed": return ["Narrowed", name, " may only be ", listed(change.to), "."];
    case "added": return ["Added", keyOf(change, name), " is not in the server's definition."];
    case "removed": return ["Removed", keyOf(change, name), " is not shown to agents."];
    default: return changed(change, name);
  }
}

function changed(change, name) {
  if (change.part === "name") return ["Renamed", "Agents call the tool ", make("code", {}, change.to), "."];
  if (own(TITLES, change.part)) return ["Rewritten", `The ${TITLES[change.part]} is another one.`];
  return ["Changed", keyOf(change, name), " is another one."];
}

/** A key, and where it is: of an argument, or in a part of the definition. */
function keyOf(change, name) {
  if (change.isField || change.key === change.part) return name;
  return [make("code", {}, change.key), change.field ? " of " : " in ", name];
}

const own = (object, key) => Object.hasOwn(object, key);
const listed = (values) => values.slice(0, 12).map((value, at) => [at ? ", " : "", make("code", {}, JSON.stringify(value))])
  .concat(values.length > 12 ? [` and ${values.length - 12} more`] : []);

// -- the arguments

function fields(tool, changes) {
  const before = tool.original?.inputSchema?.properties ?? {};
  const after = tool.published?.inputSchema?.properties ?? {};
  const renamed = new Map(changes.filter((one) => one.kind === "renamed" && one.part === "inputSchema" && one.isField)
    .map((one) => [one.field, one.to]));
  const taken = new Set(renamed.values());
  const rows = Object.keys(before).map((key) => {
    const seen = renamed.get(key.replaceAll(".", "\\.")) ?? (own(after, key) && !taken.has(key) ? key : "");
    return field(tool, key, seen, changes);
  });
  const fresh = Object.keys(after).filter((key) => !own(before, key) && !taken.has(key));
  rows.push(...fresh.map((key) => field(tool, "", key, changes)));
  if (!rows.length) return make("p", { class: "faint" }, "It takes no arguments.");
  return table("Arguments", ["Agents see", "Its server sees", "Type", "Required", "Change"], rows);
}

function field(tool, key, seen, changes) {
  const schema = seen ? tool.published.inputSchema : tool.original.inputSchema;
  const required = Array.isArray(schema.required) && schema.required.includes(seen || key);
  const path = key.replaceAll(".", "\\.");
  const kinds = new Set(changes.filter((one) => one.part === "inputSchema" && key && inside(one.field, path))
    .map((one) => (one.field === path ? insideWord(one) : "changed inside")));
  const change = key ? [...kinds].join(", ") || "none" : WORDS.added;
  return row({ class: seen ? null : "unseen" },
    cell("Agents see", seen ? make("code", {}, seen) : "not shown"),
    cell("Its server sees", key ? make("code", {}, key) : "not known to it"),
    cell("Type", typeOf(schema.properties[seen || key])),
    cell("Required", required ? "yes" : "no"),
    cell("Change", change));
}

const insideWord = (change) => (change.isField ? WORDS[change.kind] : change.kind === "narrowed" ? "fewer values allowed" : "changed inside");
const inside = (field, path) => field === path || field.startsWith(`${path}.`) || field.startsWith(`${path}[]`);

function typeOf(schema) {
  if (schema === null || typeof schema !== "object") return "anything";
  if (Array.isArray(schema.type)) return schema.type.join(" or ");
  if (schema.type) return String(schema.type);
  if (schema.enum || schema.const !== undefined) return "one of a list";
  if (schema.$ref) return String(schema.$ref).split("/").pop();
  return schema.oneOf || schema.anyOf || schema.allOf ? "several" : "anything";
}

// -- line by line

function definition(tool, compared) {
  const shown = make("div", {});
  const draw = () => fill(shown, lines(tool, compared));
  const radios = Object.entries(WAYS).map(([key, label]) => make("label", {},
    make("input", { type: "radio", name: "way", value: key, checked: key === way, on: { change: () => { way = key; draw(); } } }), ` ${label}`));
  draw();
  return [make("fieldset", { class: "ways" }, make("legend", { class: "only-heard" }, "What to show"), radios), shown];
}

function lines(tool, compared) {
  if (way === "changes" && !compared.changes.length) return make("p", { class: "faint" }, "There is no difference.");
  const kept = { changes: () => around(compared.lines), whole: () => compared.lines, before: () => outline(tool.original), after: () => outline(tool.published) }[way]();
  return drawLines(`${WAYS[way]} of the definition of ${tool.name}`, kept, false);
}

/** The lines as a table; long ones, and many, are cut until somebody wants all of it. */
function drawLines(caption, kept, all) {
  const cut = !all && (kept.length > LINES_AT_ONCE || kept.some((line) => line.text.length > LONGEST_TEXT));
  const place = make("div", {},
    make("table", { class: "diff" }, make("caption", { class: "only-heard" }, caption),
      make("colgroup", {}, ["side", "", "what"].map((name) => make("col", { class: name || null }))),
      make("thead", { class: "only-heard" }, make("tr", {}, ["Side", "Line", "What happened"].map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", {}, (all ? kept : kept.slice(0, LINES_AT_ONCE)).map((line) => lineRow(line, all)))),
    cut && make("button", { type: "button", on: { click: () => place.replaceWith(drawLines(caption, kept, true)) } },
      `Show all ${counted(kept.length, "line")} in full`));
  return place;
}

function lineRow(line, all) {
  if (line.gap) return make("tr", { class: "gap" }, make("td", {}, ""), make("td", { colspan: "2" }, `${counted(line.gap, "line")} as before`));
  const side = { "-": ["−", " before"], "+": ["+", " after"], " ": ["", ""] }[line.mark];
  const text = all ? line.text : line.text.slice(0, LONGEST_TEXT);
  const code = make("code", {}, "\u00a0".repeat(2 * Math.min(line.depth, 30)), visible(text));
  return make("tr", { class: { "-": "before", "+": "after" }[line.mark] ?? null },
    make("td", { class: "side" }, side[0] && make("span", { "aria-hidden": "true" }, side[0]), side[1] && make("span", { class: "only-heard" }, side[1])),
    make("td", {}, code, line.text.length > text.length && ` … ${counted(line.text.length - text.length, "more character")}`),
    make("td", { class: "what" }, line.word));
}

/** Changed lines with a little of what surrounds them, and the way from the top to them. */
function around(all) {
  const keep = new Uint8Array(all.length);
  all.forEach((line, at) => {
    if (line.mark === " ") return;
    for (let near = Math.max(0, at - CALM); near <= Math.min(all.length - 1, at + CALM); near += 1) keep[near] = 1;
    let depth = line.depth;
    for (let up = at - 1; up >= 0 && depth > 0; up -= 1) {
      if (all[up].depth < depth) {
        keep[up] = 1;
        depth = all[up].depth;
      }
    }
  });
  const kept = [];
  let gap = 0;
  all.forEach((line, at) => {
    if (!keep[at]) { gap += 1; return; }
    if (gap) kept.push({ gap, text: "" });
    gap = 0;
    kept.push(line);
  });
  if (gap) kept.push({ gap, text: "" });
  return kept;
}
