// What is wrong, since when, whether callers suffer, and what to do: one sentence, and the findings behind it.

import { h, plain, setAttribute, setText } from "./dom.js";
import { clock, plural, secondsSince, share, since } from "./format.js";

const RECENT_S = 300;
const LATE_S = 1;
const BURNS_FAST = 14.4;
const OTHERS_LISTED = 6;

/** Categories of failures that count against the objective. */
export const FAULTS = new Set([
  "bad_output", "circuit_open", "configuration", "database_error", "deadline_exceeded", "internal", "overloaded",
  "storage_error", "timeout", "unavailable", "upstream_error",
]);

const STORE = {
  lost: "cannot be reached", read_only: "can only be read", full: "is full", busy: "is busy", denied: "refuses access",
  loading: "is loading its data", damaged: "is damaged",
};

/**
 * Return what is wrong, worst first: `{key, tone, what, since, todo, incident}`.
 *
 * @param status The status of the server.
 * @param failingSince When calls began to fail more often than permitted, or null.
 * @param lostSince When the server was reached last, or null.
 */
export function findings(status, failingSince, lostSince) {
  const found = [
    ...ofTheConnection(lostSince), ...ofThePhase(status), ...ofTheStore(status), ...ofTheAudit(status),
    ...ofDependencies(status, failingSince), ...ofDefects(status), ...ofCalls(status, failingSince), ...ofWorkers(status), ...ofTheReload(status),
    ...ofRecoveries(status), ...ofPauses(status),
  ];
  const order = ["bad", "warn", "note"];
  return found.sort((one, other) => order.indexOf(one.tone) - order.indexOf(other.tone));
}

function* ofTheConnection(lostSince) {
  if (!lostSince) return;
  yield {
    key: "lost", tone: "bad", what: "The server cannot be reached", since: lostSince, callers: "everything here is as it was then",
    todo: "see whether its process runs, and whether the network lets you through",
  };
}

function* ofThePhase({ phase }) {
  if (phase === "ready") return;
  const what = phase === "draining" ? "The server is draining and takes no new calls" : `The server is ${phase}`;
  yield { key: "phase", tone: "warn", what, since: null, todo: "calls go to the other replicas until it is started again" };
}

function* ofTheStore({ store }) {
  if (store.available) return;
  const fault = STORE[store.fault] ?? "cannot be used";
  yield {
    key: "store", tone: "bad", what: `The state store (${store.kind}) ${fault}`, since: null,
    todo: "calls with idempotency keys are refused, which harms nothing, until it is repaired",
    incident: "The state store cannot be used",
  };
}

function* ofTheAudit({ audit }) {
  if (audit.ok) return;
  yield {
    key: "audit", tone: "bad", what: "The audit log cannot be written", since: null,
    todo: "make room on its disk or give its permissions back: failures are answered with AUDIT_LOG_FAILED",
    incident: "The audit log cannot be written",
  };
}

function* ofDependencies({ dependencies }, failingSince) {
  for (const { name, circuit, since: from, held_by: holder, retry_at: retry } of dependencies) {
    if (!circuit || circuit === "closed") {
      if (holder) yield { key: `closed ${name}`, tone: "note", what: `${name} is held closed by an operator`, since: from, todo: "reset its breaker to end that", incident: "An operator has stopped calls" };
      continue;
    }
    if (holder) {
      yield { key: `held ${name}`, tone: "bad", what: `An operator has stopped the calls of ${name}`, since: from, todo: "reset its breaker once the dependency works", incident: "An operator has stopped calls" };
      continue;
    }
    const earliest = failingSince && failingSince < from ? failingSince : from;
    const next = circuit === "open" && retry ? `, tried again at ${clock(retry)}` : "";
    yield {
      key: `down ${name}`, tone: "bad", what: `${name} is down`, since: earliest,
      todo: `repair it: its circuit breaker (${circuit.replace("_", "-")}${next}) closes by itself`,
      incident: "A dependency is down",
    };
  }
}

function* ofDefects({ recent }) {
  const defects = recent.filter((call) => call.category === "internal" && secondsSince(call.timestamp) < RECENT_S);
  if (!defects.length) return;
  const { operation, code, origin } = defects[0];
  const first = defects.at(-1).timestamp;
  yield {
    key: `defect ${operation}`, tone: "bad", what: `${operation} crashes (${code})`, since: first,
    todo: `fix ${origin ? `its line ${short(origin)}` : "the line that the log names as place"}, or roll back`,
    incident: "A handler crashes",
  };
}

function* ofCalls({ objective, errors, recent }, failingSince) {
  if (objective.burn_5m <= 1) return;
  const counts = new Map();
  for (const call of recent) {
    if (FAULTS.has(call.category) && call.outcome !== "recovered" && secondsSince(call.timestamp) < RECENT_S) {
      const name = `${call.operation} with ${call.code}`;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  const [worst] = [...counts].sort((one, other) => other[1] - one[1])[0] ?? [errors[0]?.operation ?? "Calls"];
  const isFast = objective.burn_5m > BURNS_FAST;
  yield {
    key: "burn", tone: isFast ? "bad" : "warn", what: `Calls fail, most often ${worst}`, since: failingSince,
    todo: "open the failure below for its story, and mend what it names", incident: "Callers suffer",
  };
}

function* ofWorkers({ workers }) {
  const late = workers.find((worker) => worker.loop_lag_s > LATE_S);
  if (late) {
    yield {
      key: `late ${late.pid}`, tone: "warn", what: `The event loop of worker ${late.pid} is blocked`, since: null,
      todo: "fix the operation that the log names in loop_blocked", incident: "The event loop is blocked",
    };
  }
}

function* ofTheReload({ reload }) {
  if (reload.ok) return;
  yield {
    key: "reload", tone: "warn", what: "The recovery file has a mistake, and the last good one stays in force", since: null,
    todo: reload.error ? `correct it: ${reload.error}` : "correct it", incident: "The recovery file has a mistake",
  };
}

function* ofRecoveries({ recent }) {
  const recovered = recent.filter(
    (call) => ["recovered", "degraded"].includes(call.outcome) && secondsSince(call.timestamp) < RECENT_S,
  );
  if (recovered.length < 3) return;
  const { operation, code } = recovered[0];
  yield {
    key: "recoveries", tone: "note", what: `${operation} works only after recovery from ${code}`,
    since: recovered.at(-1).timestamp, todo: "look at what it depends on before it fails altogether",
    incident: "Calls work only after recovery",
  };
}

function* ofPauses({ operations }) {
  for (const { operation, paused } of operations) {
    if (paused) {
      yield { key: `paused ${operation}`, tone: "note", what: `${operation} is paused: ${paused.reason}`, since: paused.since, todo: "resume it when the reason is gone" };
    }
  }
}

/** Return whether callers suffer, in a clause. */
export function callers({ objective, recent }) {
  const failing = objective.burn_5m * (1 - objective.target);
  if (failing > 0) return `${share(failing)} of calls failed in the last 5 minutes`;
  const isRecovering = recent.some((call) => call.outcome === "recovered" && secondsSince(call.timestamp) < RECENT_S);
  return isRecovering ? "callers get their answers, by recovery" : "no call failed because of it";
}

const short = (origin) => origin.split("/").slice(-2).join("/");
const GLYPHS = { good: "✓", note: "i", warn: "!", bad: "✕" };
const WORDS = { good: "All is well", note: "For your information", warn: "Warning", bad: "Something is wrong" };

/** The sentence on top of the page. */
export class Headline {
  constructor(announced) {
    this.announced = announced;
    this.glyph = h("span", { class: "glyph", "aria-hidden": "true" });
    this.word = h("span", { class: "unseen" });
    this.what = h("strong");
    this.rest = h("span");
    this.todo = h("span", { class: "todo" });
    this.incident = h("p", { class: "incident" });
    this.others = h("ul", { class: "others", "aria-label": "Also" });
    const sentence = h("p", { class: "sentence" }, this.word, this.what, this.rest, this.todo);
    this.element = h(
      "section", { id: "headline", class: "headline", tabindex: "-1", "aria-label": "What is wrong" },
      this.glyph, h("div", null, sentence, this.incident, this.others),
    );
    this.key = null;
  }

  update(status, failingSince, lostSince) {
    const [worst, ...others] = findings(status, failingSince, lostSince);
    const tone = worst?.tone ?? "good";
    setAttribute(this.element, "data-tone", tone);
    setText(this.glyph, GLYPHS[tone]);
    setText(this.word, `${WORDS[tone]}: `);
    if (worst) {
      setText(this.what, worst.what);
      setText(this.rest, `${worst.since ? ` since ${since(worst.since)}` : ""}; ${worst.callers ?? callers(status)}. `);
      setText(this.todo, `${worst.todo[0].toUpperCase()}${worst.todo.slice(1)}.`);
      setText(this.incident, worst.incident ? `More in the documentation: Incidents › ${worst.incident}` : "");
    } else {
      const { operations, objective } = status;
      const calls = operations.reduce((sum, one) => sum + one.rate_per_s, 0);
      setText(this.what, "Nothing is wrong");
      setText(this.rest, `; ${objective.burn_5m ? callers(status) + ", which is permitted" : "no call failed in the last 5 minutes"}. `);
      setText(this.todo, calls ? `${plural(operations.length, "operation")} get ${calls.toFixed(calls < 10 ? 1 : 0)} calls a second.` : "There are no calls at the moment.");
      setText(this.incident, "");
    }
    this.list(others);
    const key = worst?.key ?? "good";
    if (key !== this.key) {
      this.key = key;
      setText(this.announced, worst ? `${WORDS[tone]}: ${worst.what}` : WORDS.good);
      document.title = plain(`${GLYPHS[tone]} ${worst ? worst.what : status.name} · ${status.name}`);
    }
  }

  list(all) {
    const left = all.length - OTHERS_LISTED;
    const others = left > 1 ? [...all.slice(0, OTHERS_LISTED), { tone: "note", what: `and ${left} more` }] : all;
    this.others.hidden = !others.length;
    while (this.others.children.length > others.length) this.others.lastChild.remove();
    others.forEach(({ tone, what, since: from, incident }, at) => {
      if (!this.others.children[at]) this.others.append(h("li"));
      const item = this.others.children[at];
      setAttribute(item, "data-tone", tone);
      setText(item, `${what}${from ? ` since ${since(from)}` : ""}${incident ? ` (${incident})` : ""}`);
    });
  }
}
