// The status of the server, followed by server-sent events. The token is held in memory alone, and sent as a header.

import { setClock } from "./format.js";

const FIRST_PAUSE_MS = 1000;
const LAST_PAUSE_MS = 15_000;
const SILENCE_MS = 15_000;

let token = "";

/** Fetch something of this server with the reader's token. */
export function ask(path, options = {}) {
  const headers = { ...(token ? { Authorization: `Bearer ${encoded(token)}` } : {}), ...options.headers };
  return fetch(path, { cache: "no-store", credentials: "omit", redirect: "error", ...options, headers });
}

/** Return a text as the bytes of a header. */
export function encoded(text) {
  return String.fromCharCode(...new TextEncoder().encode(text));
}

/** Keep a token, until the page is left. */
export function useToken(text) {
  token = text.trim();
}

/** Follows the server; calls `onStatus(status)`, `onHistory(history)`, `onState(state)` and `onLocked(public)`. */
export class Feed {
  constructor(listeners) {
    this.listeners = listeners;
    this.status = null;
    this.pauseMs = FIRST_PAUSE_MS;
    this.isLocked = false;
    this.run = 0;
    document.addEventListener("visibilitychange", () => {
      if (this.isLocked) return;
      if (document.hidden) this.stop("paused");
      else this.start();
    });
  }

  /** Begin, or begin anew. */
  async start() {
    const run = ++this.run;
    this.abort?.abort();
    while (run === this.run) {
      let next = "reconnecting";
      try {
        next = await this.follow(run);
        if (next === "live") continue; // It ended as it should after a minute.
      } catch {
        // The server is not there, or the stream broke: it is tried again.
      }
      if (run !== this.run || this.isLocked) return;
      this.tell(next);
      await new Promise((done) => setTimeout(done, this.pauseMs));
      this.pauseMs = Math.min(2 * this.pauseMs, LAST_PAUSE_MS);
    }
  }

  stop(state) {
    this.run++;
    this.abort?.abort();
    this.tell(state);
  }

  tell(state) {
    this.state = state;
    this.listeners.onState(state);
  }

  /** Follow one stream; return the state in which that leaves the page: `live` if events came until it ended. */
  async follow(run) {
    const abort = (this.abort = new AbortController());
    const answer = await ask("events", { signal: abort.signal, headers: { Accept: "text/event-stream" } });
    if (answer.status === 401 || answer.status === 403) return this.lock();
    if (answer.status === 503) {
      const body = await answer.json().catch(() => ({}));
      if (body.status === "draining") return "draining";
    }
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    this.isLocked = false;
    setClock(answer.headers.get("date"));
    let left = "reconnecting";
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    let silence = 0;
    while (run === this.run) {
      silence = setTimeout(() => abort.abort(), SILENCE_MS);
      const { done, value } = await reader.read().finally(() => clearTimeout(silence));
      if (done) return left;
      const events = (rest + value).split("\n\n");
      rest = events.pop();
      for (const event of events) this.take(event);
      if (events.length) left = this.state;
    }
    return left;
  }

  async lock() {
    this.isLocked = true;
    const facts = await (await ask("status.json")).json();
    this.tell("locked");
    this.listeners.onLocked(facts);
  }

  take(event) {
    const end = event.indexOf("\n");
    const name = event.slice("event: ".length, end);
    const data = JSON.parse(event.slice(end + "\ndata: ".length));
    if (name === "history") return this.listeners.onHistory(data);
    if (name === "end") {
      if (this.status) this.listeners.onStatus((this.status = { ...this.status, ...data }));
      return this.tell("draining");
    }
    this.status = name === "change" ? changed(this.status, data) : data;
    this.pauseMs = FIRST_PAUSE_MS;
    if (this.state !== "live") this.tell("live");
    this.listeners.onStatus(this.status);
  }
}

const KEYS = {
  operations: (row) => `${row.tool}\n${row.operation}`,
  errors: (row) => `${row.tool}\n${row.operation}\n${row.code}`,
};

/** Return the next status. */
export function changed(status, change) {
  const next = { ...status, ...change.set };
  for (const [list, rows] of Object.entries(change.rows)) {
    const key = KEYS[list];
    const byKey = new Map(rows.map((row) => [key(row), row]));
    next[list] = status[list].map((row) => byKey.get(key(row)) ?? row);
  }
  if (change.recent.length) next.recent = [...change.recent, ...status.recent].slice(0, 200);
  return next;
}
