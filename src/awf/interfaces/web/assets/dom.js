// Everything on the page is built here, as elements and text. There is no way from a string to markup.

// Characters that hide or reorder what a person reads: controls, zero width, direction marks, tags.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** The text with its invisible characters spelled out: an agent reads them, so people should. */
export function visible(text) {
  return String(text).replace(UNSEEN, (one) => `‹U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}›`);
}

/** An element. Of the attributes, false and null are left out and `on` holds listeners. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") Object.entries(value).forEach(([event, listener]) => element.addEventListener(event, listener));
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value === true ? "" : value);
  }
  return put(element, children);
}

/** Text and elements at the end of an element. */
export function put(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : visible(child));
  }
  return element;
}

export function fill(element, ...children) {
  element.replaceChildren();
  return put(element, children);
}

/** Like `fill`, but whatever stays the same stays the same element: focus and selection survive. Not for listeners. */
export function refill(element, ...children) {
  const fresh = put(element.cloneNode(false), children);
  match(element, fresh);
}

function match(old, fresh) {
  const wanted = [...fresh.childNodes];
  wanted.forEach((node, at) => {
    const there = old.childNodes[at];
    if (!there) old.append(node);
    else if (there.nodeName !== node.nodeName) there.replaceWith(node);
    else if (node instanceof Element) {
      matchAttributes(there, node);
      match(there, node);
    } else if (there.data !== node.data) there.data = node.data;
  });
  while (old.childNodes.length > wanted.length) old.lastChild.remove();
}

function matchAttributes(old, fresh) {
  for (const name of old.getAttributeNames()) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
}

export const byId = (id) => document.getElementById(id);

/** Changes the text only where it differs, so that nothing is announced or selected away without need. */
export function write(element, text) {
  const shown = visible(text);
  if (element.textContent !== shown) element.textContent = shown;
}

export function badge(word, tone) {
  return make("span", { class: "badge", "data-tone": tone }, word);
}

// On narrow screens a row becomes a block. The roles keep it a row for those who hear the page.

export function table(caption, heads, rows, attributes = {}) {
  const columns = heads.map((head) => make("th", { scope: "col", role: "columnheader", class: head.number && "number" }, head.title ?? head));
  return make("table", { role: "table", class: "stack", ...attributes }, make("caption", {}, caption),
    make("thead", { role: "rowgroup" }, row({}, columns)), make("tbody", { role: "rowgroup" }, rows));
}

export const row = (attributes, ...cells) => make("tr", { role: "row", ...attributes }, cells);
export const head = (...content) => make("th", { scope: "row", role: "rowheader" }, content);

/** A cell that says its column's name where the table is too narrow for columns. */
export function cell(name, content, attributes = {}) {
  return make("td", { role: "cell", "data-name": name, ...attributes }, make("div", {}, content));
}

export const toolLink = (id) => `#tool/${encodeURIComponent(id)}`;
export const serverLink = (name) => `#server/${encodeURIComponent(name)}`;
