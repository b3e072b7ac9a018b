// Calls as they happen. Many of them change at once, so a table is brought up to date once per frame and keeps few rows.

import { badge, cell, make, row, serverLink, table, toolLink, write } from "./dom.js";
import { clock, count, duration, moment } from "./words.js";

const KEPT = 1000;

export const OUTCOMES = {
  running: ["Running", "quiet"],
  ok: ["OK", "good"],
  error: ["Error", "bad"],
  cancelled: ["Cancelled", "warn"],
  refused: ["Refused", "bad"],
};

/** The latest calls, by id. */
export class Calls {
  #calls = new Map(); // in the order in which they began

  /** In the order of time. */
  take(calls) {
    for (const call of calls) this.#calls.set(call.id, call);
    for (const id of this.#calls.keys()) {
      if (this.#calls.size <= KEPT) break;
      this.#calls.delete(id);
    }
  }

  replace(calls) {
    this.#calls.clear();
    this.take(calls);
  }

  /** Newest first. */
  latest(most, wanted = () => true) {
    const found = [];
    const all = [...this.#calls.values()];
    for (let at = all.length - 1; at >= 0 && found.length < most; at -= 1) {
      if (wanted(all[at])) found.push(all[at]);
    }
    return found;
  }

  /** How the calls went, in one line. */
  summary(wanted) {
    const all = this.latest(KEPT, wanted);
    if (!all.length) return "";
    const times = all.filter((call) => call.duration_ms !== null && call.duration_ms !== undefined)
      .map((call) => call.duration_ms).sort((one, other) => one - other);
    const failed = all.filter((call) => call.outcome === "error" || call.outcome === "refused").length;
    const part = (share) => duration(times[Math.min(times.length - 1, Math.floor(times.length * share))]);
    const speed = times.length ? ` Half took at most ${part(0.5)}, 95 % at most ${part(0.95)}.` : "";
    return `Of the latest ${count(all.length)}, ${count(failed)} failed.${speed}`;
  }
}

/** A table of calls that is changed in place. While one of its links has the focus, it stands still. */
export class CallTable {
  #place;
  #body;
  #empty;
  #most;
  #rows = new Map();
  #columns;

  constructor(place, caption, most, { server = true } = {}) {
    this.#most = most;
    this.#columns = ["Time", "Tool", ...(server ? ["Server"] : []), "Client", "Outcome", "Took"];
    const heads = this.#columns.map((title) => ({ title, number: title === "Took" }));
    const built = table(caption, heads, [], { class: "stack calls" });
    this.#place = built;
    this.#body = built.querySelector("tbody");
    this.#empty = make("p", { class: "faint" }, "No calls yet.");
    place.replaceChildren(this.#empty, built);
  }

  get isHeld() {
    return this.#body.contains(document.activeElement);
  }

  draw(calls, wanted = undefined, nothing = "No calls yet.") {
    if (this.isHeld) return;
    const latest = calls.latest(this.#most, wanted);
    const wantedIds = new Set(latest.map((call) => call.id));
    for (const [id, drawn] of this.#rows) {
      if (wantedIds.has(id)) continue;
      drawn.element.remove();
      this.#rows.delete(id);
    }
    const elements = latest.map((call) => this.#rowOf(call)); // first, since it replaces rows
    let next = this.#body.firstChild;
    for (const element of elements) {
      if (element === next) next = next.nextSibling;
      else this.#body.insertBefore(element, next);
    }
    this.#place.hidden = !latest.length;
    this.#empty.hidden = Boolean(latest.length);
    write(this.#empty, nothing);
  }

  #rowOf(call) {
    const drawn = this.#rows.get(call.id);
    if (drawn?.call === call) return drawn.element;
    const element = this.#build(call);
    drawn?.element.replaceWith(element);
    this.#rows.set(call.id, { call, element });
    return element;
  }

  #build(call) {
    const shown = {
      Time: () => make("time", { datetime: new Date(call.time * 1000).toISOString(), title: moment(call.time) }, clock(call.time)),
      Tool: () => linked(call.server && call.tool && toolLink(`${call.server}:${call.tool}`), call.name || call.tool),
      Server: () => linked(call.server && serverLink(call.server), call.server || "none"),
      Client: () => call.client || "unknown",
      Outcome: () => outcome(call),
      Took: () => (call.outcome === "running" ? "…" : duration(call.duration_ms)),
    };
    return row({}, this.#columns.map((name) => cell(name, shown[name](), { class: name === "Took" && "number" })));
  }
}

/** A call that was refused for its name belongs to no tool and no server. */
const linked = (address, text) => (address ? make("a", { href: address }, text) : text);

function outcome(call) {
  const [word, tone] = Object.hasOwn(OUTCOMES, call.outcome) ? OUTCOMES[call.outcome] : [call.outcome, "quiet"];
  return [badge(word, tone), call.code && ["\u00a0", make("code", { class: "faint" }, call.code)],
    call.reason && make("span", { class: "faint block" }, call.reason)];
}
