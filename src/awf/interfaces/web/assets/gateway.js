// What the page asks of the gateway: its lists, a stream of what happens, and answers to questions of the gate. The token
// and the operator key live in this tab only.

const TOKEN = "awf-gateway-token";
const KEY = "awf-gateway-operator";
const SILENCE = 40_000; // the gateway says something every 15 seconds
const LONGEST_WAIT = 15_000;

/** The gateway wants another token than the one that was `sent`. */
export class TokenNeeded extends Error {
  constructor(sent) {
    super("The gateway asks for a token.");
    this.sent = sent;
  }
}

export class Refused extends Error {}

/** The operator key is not the one of this gateway. */
export class KeyRefused extends Refused {}

const kept = (name) => ({
  get: () => sessionStorage.getItem(name) ?? "",
  set(value) {
    sessionStorage.setItem(name, value);
    known.clear();
  },
  forget() {
    sessionStorage.removeItem(name);
    known.clear();
  },
});

export const token = kept(TOKEN);
export const operator = kept(KEY);

const known = new Map();

async function send(path, { headers = {}, ...more } = {}) {
  const asked = { ...headers };
  const sent = token.get();
  if (sent) asked.Authorization = `Bearer ${sent}`;
  if (operator.get()) asked["X-AWF-Operator"] = operator.get();
  const answer = await fetch(path, { headers: asked, cache: "no-store", credentials: "same-origin", ...more });
  if (answer.status === 401) throw new TokenNeeded(sent);
  return answer;
}

async function ask(path, headers = {}, signal = undefined) {
  const answer = await send(path, { headers, signal });
  if (!answer.ok && answer.status !== 304) throw new Refused(`The gateway answered ${answer.status}.`);
  return answer;
}

/** Answers a question of the gate. Throws what the gateway says against it. */
export async function answerQuestion(id, granted) {
  const headers = { "Content-Type": "application/json" };
  const answer = await send(`api/approvals/${encodeURIComponent(id)}`, { method: "POST", headers, body: JSON.stringify({ granted }) });
  if (answer.status === 403) throw new KeyRefused("The gateway does not accept the key of this tab.");
  if (!answer.ok) throw new Refused((await answer.text()).trim() || `The gateway answered ${answer.status}.`);
}

/** The list, or the very same object as last time if nothing has changed. */
export async function read(path) {
  const before = known.get(path);
  const key = operator.get();
  const answer = await ask(path, before ? { "If-None-Match": before.etag } : {});
  if (answer.status === 304) return before.value;
  const value = await answer.json();
  if (key === operator.get()) known.set(path, { etag: answer.headers.get("ETag"), value });
  return value;
}

/** Read the stream for as long as it lasts. `onNews` gets one message at a time. */
async function follow(onNews, onOpen, signal, alive) {
  const answer = await ask("api/events", {}, signal);
  onOpen();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    alive();
    text += value;
    const messages = text.split("\n\n");
    text = messages.pop();
    for (const message of messages) {
      if (message.startsWith("data: ")) onNews(JSON.parse(message.slice(6)));
    }
  }
}

/** The stream, opened again and again. Hidden pages read nothing: browsers allow few connections to one place. */
export class Live {
  #told;
  #abort = null;
  #timer = 0;
  #failures = 0;
  #wanted = false;

  constructor(told) {
    this.#told = told; // news, state, tokenNeeded
    document.addEventListener("visibilitychange", () => this.#look());
    addEventListener("online", () => this.#again(0));
  }

  start() {
    this.#wanted = true;
    this.#failures = 0;
    this.#look();
  }

  stop() {
    this.#wanted = false;
    this.#end();
  }

  #look() {
    if (document.hidden) this.#end();
    else if (this.#wanted && !this.#abort) this.#again(0);
  }

  #end() {
    clearTimeout(this.#timer);
    this.#abort?.abort();
    this.#abort = null;
  }

  #again(wait) {
    if (!this.#wanted || document.hidden) return;
    this.#end();
    this.#timer = setTimeout(() => this.#run(), wait);
  }

  async #run() {
    const abort = new AbortController();
    this.#abort = abort;
    let silence = 0;
    const alive = () => {
      clearTimeout(silence);
      silence = setTimeout(() => abort.abort(), SILENCE);
    };
    alive();
    let reason = "The connection ended.";
    try {
      await follow(this.#told.news, () => this.#opened(), abort.signal, alive);
    } catch (error) {
      if (error instanceof TokenNeeded) {
        this.stop();
        return this.#told.tokenNeeded(error);
      }
      if (error instanceof Refused) reason = error.message;
    } finally {
      clearTimeout(silence);
    }
    if (this.#abort !== abort) return undefined; // ended by us
    this.#failures += 1;
    this.#told.state("lost", reason);
    const wait = Math.min(LONGEST_WAIT, 500 * 2 ** this.#failures) * (0.75 + Math.random() / 2);
    return this.#again(wait);
  }

  #opened() {
    this.#failures = 0;
    this.#told.state("live", "");
  }
}
