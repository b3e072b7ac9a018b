// Calls that wait for a person. Whoever has the operator key answers here; others are told what to type.

import { byId, make, toolLink, write } from "./dom.js";
import { KeyRefused, TokenNeeded, answerQuestion, operator } from "./gateway.js";
import { ago, count, counted, moment, since } from "./words.js";

const STILL = 600; // milliseconds in which a click may have been meant for what was in that place before
const PIECES = /("(?:[^"\\]|\\.)*"?)|\{\}|\[\]|([{[])|([}\]])|, ?/gs;

export class Approvals {
  #told; // said, again, tokenNeeded
  #place = byId("questions");
  #cards = new Map(); // by id, in the order in which they were asked
  #open = null; // as it was last read
  #answered = new Set(); // ids; a list that was asked for before may still have them
  #mayAnswer = false;
  #moved = 0;

  constructor(told) {
    this.#told = told;
    byId("forget-key").addEventListener("click", () => this.#forgetKey("The key is forgotten."));
  }

  /** What is open now. New questions are announced, whichever view is shown. */
  take(read) {
    if (read === this.#open) return;
    const open = this.#withoutAnswered(read);
    const known = new Set(this.#open?.approvals.map((one) => one.id));
    const fresh = open.approvals.filter((one) => !known.has(one.id));
    if (operator.get() && !open.operator) this.#forgetKey("The gateway does not accept the key of this tab.");
    this.#open = open;
    this.#count(open.waiting);
    if (fresh.length === 1) this.#told.said(`A call of ${fresh[0].tool} waits for approval.`);
    else if (fresh.length) this.#told.said(`${counted(fresh.length, "call")} wait for approval.`);
    this.#arrange();
  }

  /** Lengths of time grow also when nothing happens. */
  draw() {
    for (const card of this.#cards.values()) card.tick();
  }

  #count(waiting) {
    const place = byId("waiting");
    place.hidden = !waiting;
    place.replaceChildren(count(waiting), make("span", { class: "only-heard" }, " waiting"));
  }

  #arrange() {
    const mayAnswer = Boolean(operator.get()) && this.#open.operator;
    if (mayAnswer !== this.#mayAnswer) this.#clear();
    this.#mayAnswer = mayAnswer;
    const wanted = new Map(this.#open.approvals.map((one) => [one.id, one]));
    for (const [id, card] of this.#cards) if (!wanted.has(id)) this.#gone(card, `The question about ${card.tool} is closed.`);
    for (const one of wanted.values()) if (!this.#cards.has(one.id)) this.#add(one);
    this.#frame();
  }

  /** What stands around the list. */
  #frame() {
    const left = this.#open.waiting - this.#open.approvals.length;
    byId("no-key").hidden = this.#mayAnswer;
    byId("has-key").hidden = !this.#mayAnswer;
    byId("no-questions").hidden = this.#cards.size > 0;
    byId("more-questions").hidden = left <= 0;
    write(byId("more-questions"), `${counted(left, "more call")} wait behind these.`);
  }

  #add(one) {
    const card = new Card(one, this.#mayAnswer ? (granted, event) => this.#answer(card, granted, event) : null);
    this.#cards.set(one.id, card);
    this.#place.append(card.element);
  }

  #clear() {
    for (const card of this.#cards.values()) card.element.remove();
    this.#cards.clear();
  }

  /** A row disappears. The focus goes to the name of another one, never to a button: whoever presses twice must not answer twice. */
  #gone(card, words) {
    const held = card.element.contains(document.activeElement);
    const near = card.element.nextElementSibling ?? card.element.previousElementSibling;
    this.#cards.delete(card.id);
    card.element.remove();
    this.#moved = performance.now();
    if (!held) return;
    this.#told.said(words);
    (near?.querySelector("h2") ?? byId("approvals-title")).focus();
  }

  async #answer(card, granted, event) {
    if (card.isBusy) return;
    if (event.detail && performance.now() - this.#moved < STILL) {
      this.#told.said("The list has just moved. Look again, and answer then.");
      return;
    }
    card.isBusy = true;
    this.#problem("");
    try {
      await answerQuestion(card.id, granted);
    } catch (error) {
      this.#failed(card, error);
      return;
    }
    this.#drop(card);
    const left = this.#open.waiting ? ` ${counted(this.#open.waiting, "call still waits", "calls still wait")}.` : "";
    const words = `${granted ? "Allowed" : "Denied"}: ${card.tool}.${left}`;
    if (this.#cards.get(card.id) === card) this.#gone(card, words);
    this.#told.said(words);
    this.#frame();
    this.#told.again();
  }

  /** It is answered, whatever was read before. */
  #drop(card) {
    this.#answered.add(card.id);
    this.#open = this.#withoutAnswered(this.#open);
    this.#count(this.#open.waiting);
  }

  #withoutAnswered(open) {
    const approvals = open.approvals.filter((one) => !this.#answered.has(one.id));
    const answered = open.approvals.length - approvals.length;
    return answered ? { ...open, approvals, waiting: open.waiting - answered } : open;
  }

  #failed(card, error) {
    card.isBusy = false;
    if (error instanceof TokenNeeded) {
      this.#told.tokenNeeded(error);
      return;
    }
    if (error instanceof KeyRefused) this.#forgetKey(error.message);
    else this.#problem(error instanceof TypeError ? "The gateway cannot be reached." : error.message);
    this.#told.again();
  }

  #problem(text) {
    if (byId("approvals-problem").hidden === Boolean(text)) this.#moved = performance.now();
    byId("approvals-problem").hidden = !text;
    write(byId("approvals-problem"), text);
    if (text) this.#told.said(text);
  }

  #forgetKey(words) {
    operator.forget();
    this.#told.said(words);
    if (this.#open && this.#mayAnswer) {
      const held = byId("view-approvals").contains(document.activeElement);
      this.#open = { ...this.#open, operator: false, approvals: this.#open.approvals.map((one) => ({ ...one, arguments: null })) };
      this.#arrange();
      if (held) byId("approvals-title").focus();
    }
    this.#told.again();
  }
}

/** One question. */
class Card {
  isBusy = false;
  #asked = make("dd", {});
  #until = make("dd", {});
  #one;

  constructor(one, answer) {
    this.#one = one;
    this.id = one.id;
    this.tool = one.tool;
    const title = `question-${one.id}`;
    const name = make("code", {}, one.tool);
    this.element = make("li", { class: "panel question", "aria-labelledby": title },
      make("h2", { id: title, tabindex: "-1" }, one.tool.startsWith("builtin:") ? name : make("a", { href: toolLink(one.tool) }, name)),
      make("dl", { class: "facts" },
        one.arguments !== null && make("div", { class: "whole" }, make("dt", {}, "Arguments"),
          make("dd", {}, make("pre", {}, make("code", {}, inLines(one.arguments))))),
        entry("Why", one.reason || "It needs a person's approval.", one.rule && [" ", make("span", { class: "faint" }, "rule "), make("code", {}, one.rule)]),
        entry("Client", one.client || "unknown"),
        entry("Context", make("code", {}, one.context || "none")),
        make("div", {}, make("dt", {}, "Asked"), this.#asked),
        make("div", {}, make("dt", {}, "Open until"), this.#until)),
      answer ? buttons(one, answer) : commands(one));
    this.tick();
  }

  tick() {
    const { asked, until } = this.#one;
    write(this.#asked, `${moment(asked)}, ${since(asked)} ago`);
    write(this.#until, `${moment(until)}, in ${ago(until - Date.now() / 1000)}`);
  }
}

const entry = (name, ...value) => make("div", {}, make("dt", {}, name), make("dd", {}, value));

function buttons(one, answer) {
  const button = (word, granted, tone) => make("button", { type: "button", class: tone, on: { click: (event) => answer(granted, event) } },
    word, make("span", { class: "only-heard" }, ` ${one.tool}, asked ${moment(one.asked)}`));
  return make("p", { class: "answers" }, button("Allow", true, "allow"), " ", button("Deny", false, "deny"), " ",
    make("span", { class: "faint" }, "For this call only."));
}

function commands(one) {
  return make("p", { class: "commands" }, "To answer, type", make("code", {}, `awf gateway approve ${one.id}`), " or ", make("code", {}, `awf gateway deny ${one.id}`));
}

/** JSON in lines. Nothing of it is read and written again: a person has to see the very text, also where it was cut. */
function inLines(text) {
  let depth = 0;
  const line = () => `\n${"  ".repeat(Math.min(depth, 20))}`;
  return text.replace(PIECES, (piece, string, open, close) => {
    if (string || piece === "{}" || piece === "[]") return piece;
    if (open) {
      depth += 1;
      return open + line();
    }
    if (close) {
      depth = Math.max(0, depth - 1);
      return line() + close;
    }
    return `,${line()}`;
  });
}
