// What is wrong, since when, whether callers suffer, and what to do: one sentence, and the findings behind it.

import { h, plain, setAttribute, setText } from "./dom.js";
import { clock, now, plural, secondsSince, share, since } from "./format.js";
import { Pace, SLOW_S, WATCHED_S } from "./pace.js";

const RECENT_S = 300;
const LATE_S = 1;
const BURNS_FAST = 14.4;
const OTHERS_LISTED = 6;
const QUIET_S = 10;
const QUIET_AT_MOST_S = 60;
const FLAPS_FROM = 2;
const REFUSED_FROM = 10;
const KEPT_CALLS = 200;
const SILENT_S = 4;

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
 * @param failingMinute The minute in which calls began to fail more often than permitted, or null.
 * @param lostSince When the server was reached last, or null.
 * @param pace What is known of the durations of calls in the last seconds.
 * @param readAt When the status was read, in milliseconds.
 */
export function findings(status, failingMinute, lostSince = null, pace = new Pace(), readAt = now()) {
  const failingSince = firstFault(status, failingMinute);
  const found = [
    ...ofTheConnection(lostSince), ...(lostSince ? [] : ofSilence(status, readAt)), ...ofThePhase(status),
    ...ofBlockedLoops(status), ...ofTheStore(status), ...ofTheAudit(status), ...ofDependencies(status, failingSince),
    ...ofLostWrites(status), ...ofOverload(status), ...ofDefects(status), ...ofWorkers(status), ...ofSlowness(status, pace),
    ...ofCalls(status, failingSince), ...ofQuotas(status), ...ofTheReload(status), ...ofRequests(status),
    ...ofRepeats(status), ...ofRecoveries(status), ...ofPauses(status),
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

const lately = (recent, wanted) => recent.filter((call) => wanted(call) && secondsSince(call.timestamp) < RECENT_S);
const isFault = (call) => FAULTS.has(call.category) && !["recovered", "degraded"].includes(call.outcome);

/** Return the first failure of that minute or later, if it is one of the last calls; else the minute. */
function firstFault({ recent }, minute) {
  if (!minute) return null;
  const reachesBack = recent.length < KEPT_CALLS || recent.at(-1).timestamp < minute;
  return (reachesBack && recent.filter((call) => isFault(call) && call.timestamp >= minute).at(-1)?.timestamp) || minute;
}

/** Return whether calls like these have stopped: five of the same operation should have come since, or a minute is over. */
function isOver([newest], { operations }) {
  const known = operations.find(({ tool, operation }) => tool === newest.tool && operation === newest.operation);
  return secondsSince(newest.timestamp) > Math.max(QUIET_S, Math.min(QUIET_AT_MOST_S, 5 / (known?.rate_per_s ?? 0)));
}

const rising = ({ signs = [] }, metric) => signs.filter((sign) => sign.metric === metric);

function* ofSilence({ phase }, readAt) {
  if (phase !== "ready" || document.hidden || now() - readAt < SILENT_S * 1000) return;
  yield {
    key: "silent", tone: "bad", what: "This page hears nothing from the server", since: new Date(readAt).toISOString(),
    todo: "see whether the server is down, or the worker that this page reads hangs", incident: "A replica is down",
    callers: "everything here is as it was then",
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
    key: "store", tone: "bad", what: `The state store (${store.kind}) ${fault}`, since: store.since,
    todo: "calls with idempotency keys are refused, which harms nothing, until it is repaired",
    incident: "The state store cannot be used",
  };
}

function* ofTheAudit({ audit }) {
  if (audit.ok) return;
  yield {
    key: "audit", tone: "bad", what: "The audit log cannot be written", since: audit.since,
    todo: "make room on its disk or give its permissions back: failures are answered with AUDIT_LOG_FAILED",
    incident: "The audit log cannot be written",
  };
}

function* ofDependencies(status, failingSince) {
  const { dependencies } = status;
  const closings = new Map(rising(status, "mcp_circuit_transitions_total").map((sign) => [sign.label, sign]));
  for (const { name, circuit, since: from, held_by: holder, retry_at: retry } of dependencies) {
    const closed = closings.get(name);
    if (closed?.count >= FLAPS_FROM && !holder && (circuit !== "closed" || secondsSince(closed.last) < QUIET_AT_MOST_S)) {
      yield { key: `flaps ${name}`, tone: circuit === "closed" ? "warn" : "bad", what: `${name} is up and down again and again`, since: closed.first, todo: "hold its circuit breaker open until it is stable, then reset it", incident: "A dependency flaps" };
      continue;
    }
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

function* ofLostWrites({ recent }) {
  const lost = lately(recent, ({ code, outcome }) => code === "IDEMPOTENCY_OUTCOME_UNKNOWN" && outcome !== "recovered");
  if (!lost.length) return;
  yield {
    key: "unknown", tone: "bad", what: `It is unknown whether ${plural(lost.length, "call")} of ${lost[0].operation} with an idempotency key ${lost.length === 1 ? "was" : "were"} done`,
    since: lost.at(-1).timestamp, todo: "look whether what they should do was done, and tell the callers", incident: "A keyed write was lost",
  };
}

function* ofOverload(status) {
  const refused = lately(status.recent, ({ code }) => code === "OVERLOADED");
  if (!refused.length || isOver(refused, status)) return;
  yield {
    key: "overload", tone: "bad", what: `Calls of ${refused[0].operation} are refused, because the server is overloaded`, since: refused.at(-1).timestamp,
    todo: "find the handler that hangs (calls in flight, DEADLINE_EXCEEDED) or the caller that sends too much", incident: "Threads are used up",
  };
}

function* ofDefects(status) {
  const defects = lately(status.recent, (call) => call.category === "internal" && isFault(call));
  if (!defects.length) return;
  const { operation, code, origin, timestamp } = defects[0];
  const first = defects.at(-1).timestamp;
  const todo = `fix ${origin ? `its line ${short(origin)}` : "the line that the log names as place"}, or roll back`;
  const over = isOver(defects, status);
  yield {
    key: `defect ${operation}`, tone: over ? "note" : "bad", since: over ? null : first, todo, incident: "A handler crashes",
    what: over ? `${operation} crashed (${code}) until ${clock(timestamp)}` : `${operation} crashes (${code})`,
  };
}

function* ofCalls(status, failingSince) {
  const { objective, errors, recent } = status;
  if (objective.burn_5m <= 1) return;
  const counts = new Map();
  const faults = lately(recent, isFault);
  for (const call of faults) {
    const name = `${call.operation} with ${call.code}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const [worst] = [...counts].sort((one, other) => other[1] - one[1])[0] ?? [errors[0]?.operation ?? "Calls"];
  if (!faults.length || isOver(faults, status)) {
    const until = faults.length ? ` until ${clock(faults[0].timestamp)}, and none since` : "";
    yield {
      key: "burnt", tone: "note", what: `Calls failed, most often ${worst}${until}`, since: null,
      todo: "look into the failures below if they come back", incident: "Callers suffer",
    };
    return;
  }
  const isFast = objective.burn_5m > BURNS_FAST;
  yield {
    key: "burn", tone: isFast ? "bad" : "warn", what: `Calls fail, most often ${worst}`, since: failingSince ?? faults.at(-1).timestamp,
    todo: "open the failure below for its story, and mend what it names", incident: "Callers suffer",
  };
}

function* ofBlockedLoops({ workers, store }) {
  const late = workers.find((worker) => worker.loop_lag_s > LATE_S);
  if (!late) return;
  yield {
    key: `late ${late.pid}`, tone: store.available ? "warn" : "bad", what: `The event loop of worker ${late.pid} is blocked`,
    since: new Date(now() - 1000 * late.loop_lag_s).toISOString(),
    todo: "fix the operation that the log names in loop_blocked", incident: "The event loop is blocked",
  };
}

function* ofWorkers(status) {
  const { workers } = status;
  const fresh = workers.filter(({ restarts, started }) => restarts && started && secondsSince(started) < RECENT_S);
  if (!fresh.length) return;
  const ends = rising(status, "mcp_worker_restarts_total").sort((one, other) => other.last.localeCompare(one.last));
  const started = fresh.map((worker) => worker.started).sort().at(-1);
  const tone = secondsSince(started) < QUIET_AT_MOST_S ? "warn" : "note";
  const how = `and was started again at ${clock(started)}`;
  if (ends.find(({ label }) => label === "exited")?.count > 3) {
    yield { key: "loop", tone: "bad", what: "Workers end again and again", since: started, todo: "read the log before each worker_ended, and roll back what was changed", incident: "Workers crash in a loop" };
  } else if (ends[0]?.label === "stalled") {
    yield { key: "stalled", tone, what: `A worker stalled ${how}`, since: null, todo: "fix the operation that the log names in worker_stalled: let it await, or make its handler sync", incident: "A worker stalls" };
  } else {
    const word = ends.length ? "was killed or crashed" : "ended or stalled";
    yield { key: "ended", tone, what: `A worker ${word}, ${how}`, since: null, todo: "see its exit_status in the log at worker_ended: -9 is often too little memory", incident: "A worker was killed" };
  }
}

function* ofSlowness({ operations }, pace) {
  for (const { tool, operation, p50_ms: usual } of operations) {
    const { meanS, since: from } = pace.of(tool, operation);
    if (!(meanS > SLOW_S) || meanS * 1000 < 5 * (usual ?? 0)) continue;
    yield {
      key: `slow ${operation}`, tone: "warn", what: `${operation} is slow: its calls take ${Math.min(meanS, WATCHED_S).toFixed(1)} s or longer`, since: from,
      todo: "look at what it depends on; a shorter time limit keeps threads and places free", incident: "A dependency is slow",
    };
  }
}

function* ofQuotas(status) {
  const { store } = status;
  const refused = lately(status.recent, ({ code }) => code === "QUOTA_EXHAUSTED");
  const full = refused.length && !isOver(refused, status) ? refused : [];
  if (!full.length && !store.quota_used) return;
  const what = full.length ? "A caller has used up its quota in the state store" : `A caller has used ${share(store.quota_used)} of its quota in the state store`;
  yield {
    key: "quota", tone: full.length ? "bad" : "warn", what, since: full.at(-1)?.timestamp ?? null,
    todo: "raise FAILSOFT_STATE_QUOTA_BYTES, or keep its keys for a shorter time", incident: "A quota is nearly used up",
  };
}

function* ofRequests(status) {
  for (const { label, count: number, first, last } of rising(status, "mcp_http_refused_total")) {
    if (label === "503" || number < REFUSED_FROM || secondsSince(last) > QUIET_AT_MOST_S) continue;
    const isOfTokens = label === "401";
    yield {
      key: `refused ${label}`, tone: "warn", since: first, incident: isOfTokens ? "A flood of 401" : "Requests are refused",
      what: isOfTokens ? `${plural(number, "request")} had no valid token` : `${plural(number, "request")} were refused with status ${label}`,
      todo: isOfTokens ? "give the client the new token, or block its address" : "the log says why as access_refused: often a Host that is not in FAILSOFT_ALLOWED_HOSTS",
    };
  }
}

function* ofRepeats(status) {
  for (const { label, count: number, first, last } of rising(status, "mcp_repeated_failures_total")) {
    const isOfTheServer = status.recent.some((call) => call.code === label && FAULTS.has(call.category));
    if (isOfTheServer || number < REFUSED_FROM || secondsSince(last) > QUIET_AT_MOST_S) continue;
    yield {
      key: `repeats ${label}`, tone: "note", what: `A client repeats a call that fails with ${label}`, since: first,
      todo: "call_failed in the log names its user and session", incident: "A client repeats a failing call",
    };
  }
}

function* ofTheReload({ reload }) {
  if (reload.ok) return;
  yield {
    key: "reload", tone: "warn", what: "The recovery file has a mistake", since: reload.since,
    todo: `the last good one stays in force; correct it${reload.error ? `: ${reload.error.replace(/\.+$/, "")}` : ""}`, incident: "The recovery file has a mistake",
  };
}

function* ofRecoveries({ recent }) {
  const recovered = lately(recent, (call) => ["recovered", "degraded"].includes(call.outcome));
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
  return isRecovering ? "callers get their answers, by recovery" : "no call failed in the last 5 minutes";
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
    this.pace = new Pace();
    this.seen = null;
    document.addEventListener("visibilitychange", () => (this.readAt = now())); // A hidden page reads nothing.
  }

  update(status, failingSince, lostSince) {
    if (status !== this.seen) {
      this.pace.add(status);
      [this.seen, this.readAt] = [status, now()];
    }
    const [worst, ...others] = findings(status, failingSince, lostSince, this.pace, this.readAt);
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
