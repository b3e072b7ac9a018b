// The list of tools: filtered while you type, drawn piece by piece, one stop for the Tab key.

import { badge, byId, fill, make, toolLink, write } from "./dom.js";
import { isChanged } from "./difference.js";
import { count, counted } from "./words.js";

const PIECE = 200;

export class ToolList {
  #all = []; // {tool, changed, text}
  #found = [];
  #drawn = 0;
  #place = byId("tool-list");
  #more = byId("more-tools");
  #filter = byId("filter");
  #only = byId("only-changed");
  #frame = 0;
  #chosen = "";
  #said;

  constructor(said) {
    this.#said = said;
    byId("tool-filter").addEventListener("submit", (event) => event.preventDefault());
    this.#filter.addEventListener("input", () => this.#later(true));
    this.#only.addEventListener("change", () => this.#later(true));
    this.#filter.addEventListener("keydown", (event) => this.#intoList(event));
    this.#place.addEventListener("keydown", (event) => this.#move(event));
    this.#place.addEventListener("focusin", (event) => this.#stopAt(event.target));
    this.#more.addEventListener("click", () => this.#drawMore(true));
  }

  take(tools) {
    this.#all = tools.map((tool) => ({ tool, changed: isChanged(tool), text: words(tool) }));
    this.#later(false);
  }

  choose(id) {
    this.#chosen = id;
    for (const link of this.#links()) mark(link, id);
  }

  /** The link of a tool, if it is drawn. */
  linkOf(id) {
    return this.#links().find((link) => link.dataset.id === id) ?? null;
  }

  #later(byPerson) {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.#draw(byPerson));
  }

  #draw(byPerson) {
    const wanted = this.#filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const only = this.#only.checked;
    this.#found = this.#all.filter((one) => (!only || one.changed) && wanted.every((word) => one.text.includes(word)));
    const held = this.#place.contains(document.activeElement) ? document.activeElement.dataset.id : "";
    const drawn = byPerson ? PIECE : Math.max(PIECE, this.#drawn);
    this.#drawn = 0;
    fill(this.#place);
    this.#drawTo(drawn);
    if (held) this.linkOf(held)?.focus();
    const told = this.#found.length === this.#all.length
      ? `${counted(this.#all.length, "tool")}.` : `${count(this.#found.length)} of ${counted(this.#all.length, "tool")}.`;
    write(byId("tool-count"), told);
    if (byPerson) this.#said(told);
  }

  #drawTo(end) {
    const items = this.#found.slice(this.#drawn, end).map((one) => item(one, this.#chosen));
    this.#place.append(...items);
    this.#drawn += items.length;
    const left = this.#found.length - this.#drawn;
    this.#more.hidden = left <= 0;
    write(this.#more, `Show ${count(Math.min(PIECE, left))} more`);
    const links = this.#links();
    if (!links.some((link) => link.tabIndex === 0)) this.#stopAt(links.find((link) => link.dataset.id === this.#chosen) ?? links[0]);
  }

  #drawMore(focus) {
    const first = this.#drawn;
    this.#drawTo(first + PIECE);
    if (focus) this.#links()[first]?.focus();
  }

  #links() {
    return [...this.#place.querySelectorAll("a")];
  }

  // The list is one stop of the Tab key; inside of it the arrow keys move.

  #stopAt(link) {
    if (!link) return;
    for (const other of this.#place.querySelectorAll('a[tabindex="0"]')) other.tabIndex = -1;
    link.tabIndex = 0;
  }

  #intoList(event) {
    if (event.key !== "ArrowDown") return;
    event.preventDefault();
    (this.#place.querySelector('a[tabindex="0"]') ?? this.#place.querySelector("a"))?.focus();
  }

  #move(event) {
    const links = this.#links();
    const at = links.indexOf(event.target.closest("a"));
    if (at < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: links.length - 1, PageDown: at + 10, PageUp: at - 10 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    if (to < 0 && event.key === "ArrowUp") this.#filter.focus();
    else if (to >= links.length && !this.#more.hidden) this.#drawMore(true);
    else links[Math.max(0, Math.min(links.length - 1, to))].focus();
  }
}

const words = (tool) => [tool.name, tool.id, (tool.published?.description ?? tool.original?.description) || "", tool.published?.title ?? ""].join("\n").toLowerCase();

function item(one, chosen) {
  const { tool } = one;
  const link = make("a", { href: toolLink(tool.id), "data-id": tool.id, tabindex: "-1" },
    make("span", { class: "name" }, tool.name),
    make("span", { class: "faint" }, tool.server),
    one.changed && badge("changed", "info"),
    tool.quarantined && badge("quarantined", "bad"));
  mark(link, chosen);
  return make("li", {}, link);
}

function mark(link, chosen) {
  if (link.dataset.id === chosen) link.setAttribute("aria-current", "true");
  else link.removeAttribute("aria-current");
}
