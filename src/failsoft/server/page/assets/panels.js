// The panels that show numbers: objective, operations, dependencies, workers, state, advice.

import { Table, h, panel, setAttribute, setText } from "./dom.js";
import { bytes, clock, count, milliseconds, rate, secondsSince, share, since, span } from "./format.js";
import { success } from "./history.js";

const FIRST_ROWS = 15;
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
const total = ({ calls }) => sum(Object.values(calls));

function tile(label) {
  const value = h("dd", { class: "value" });
  const note = h("dd", { class: "note" });
  const element = h("div", { class: "tile" }, h("dt", null, label), value, note);
  return {
    element,
    set(text, tone, said) {
      setText(value, text);
      setText(note, said);
      setAttribute(element, "data-tone", tone);
    },
  };
}

/** Callers' success against the objective. */
export class Objective {
  constructor() {
    this.success = tile("Success, 5 minutes");
    this.longer = tile("Success, 1 hour");
    this.short = tile("Burn, 5 minutes");
    this.long = tile("Burn, 1 hour");
    this.calls = tile("Calls");
    this.recovered = tile("Recovered");
    const tiles = [this.success, this.longer, this.short, this.long, this.calls, this.recovered];
    this.element = panel("objective", "Callers' success", h("dl", { class: "tiles" }, tiles.map(({ element }) => element)));
  }

  update({ objective: { target, burn_5m: short, burn_1h: long }, operations }) {
    const aim = `objective ${share(target)}`;
    const calls = sum(operations.map(total));
    const recovered = sum(operations.map(({ calls: by }) => by.recovered + by.degraded));
    this.success.set(success(short, target), tone(short, 1, 14.4), aim);
    this.longer.set(success(long, target), tone(long, 1, 14.4), aim);
    this.short.set(`${burn(short)} ×`, tone(short, 1, 14.4), "1 × uses up what is permitted");
    this.long.set(`${burn(long)} ×`, tone(long, 1, 14.4), "alert from 14.4 ×");
    this.calls.set(`${rate(sum(operations.map((one) => one.rate_per_s)))} /s`, null, `${count(calls)} since the start`);
    this.recovered.set(calls ? share(recovered / calls) : "–", recovered ? "blue" : null, `${count(recovered)} calls`);
  }
}

const burn = (value) => (value >= 10 ? value.toFixed(0) : value.toFixed(value < 1 ? 2 : 1));

function tone(value, warn, bad) {
  if (value > bad) return "bad";
  return value > warn ? "warn" : "good";
}

/** The operations, failing ones first. */
export class Operations {
  constructor(controls) {
    const columns = [
      { title: "Operation", kind: "name", make: operationName },
      { title: "Calls/s", kind: "number", text: (one) => rate(one.rate_per_s) },
      { title: "Calls", kind: "number wide", text: (one) => count(total(one)) },
      { title: "Errors", kind: "number", text: (one) => count(one.calls.error), tone: (one) => one.calls.error && "bad" },
      { title: "Error share", kind: "number wide", text: (one) => (total(one) ? share(one.calls.error / total(one)) : "–") },
      { title: "Rejected", kind: "number wide", text: (one) => count(one.calls.rejected), tone: (one) => one.calls.rejected && "warn" },
      { title: "Recovered", kind: "number", text: (one) => recoveredShare(one), tone: (one) => (one.calls.recovered + one.calls.degraded ? "blue" : null) },
      { title: "p50", kind: "number wide", text: (one) => milliseconds(one.p50_ms) },
      { title: "p95", kind: "number", text: (one) => milliseconds(one.p95_ms) },
      { title: "p99", kind: "number wide", text: (one) => milliseconds(one.p99_ms) },
      { title: "In flight", kind: "number wide", text: (one) => count(one.in_flight) },
    ];
    if (controls) columns.push({ title: "Control", kind: "control", make: (one) => controls.ofOperation(one) });
    this.table = new Table("Operations", columns, "This server has no operations.", FIRST_ROWS);
    this.search = h("input", { type: "search", placeholder: "Filter", "aria-label": "Filter operations", oninput: () => this.render() });
    this.element = panel("operations", "Operations", this.table.element);
    this.element.firstChild.append(this.search);
  }

  update(status) {
    const worst = (one) => one.calls.error + one.calls.rejected;
    this.items = [...status.operations].sort(
      (one, other) => Boolean(other.paused) - Boolean(one.paused) || worst(other) - worst(one) || other.rate_per_s - one.rate_per_s || total(other) - total(one),
    );
    this.render();
  }

  render() {
    const wanted = this.search.value.trim().toLowerCase();
    const found = this.items.filter(({ tool, operation }) => `${tool} ${operation}`.toLowerCase().includes(wanted));
    this.table.update(found, ({ tool, operation }) => `${tool}\n${operation}`);
  }
}

/** Return the name of an operation, with its toolset and whether it is paused. */
function operationName({ tool, operation, read_only: isReadOnly }) {
  const pausedBadge = h("span", { class: "badge", "data-tone": "warn", hidden: true }, "paused");
  const under = h("span", { class: "under" }, tool, isReadOnly ? "" : " · writes");
  const element = h("span", { class: "operation" }, h("code", null, operation), " ", pausedBadge, under);
  element.update = ({ paused }) => {
    pausedBadge.hidden = !paused;
    setAttribute(pausedBadge, "title", paused ? `${paused.reason}, by ${paused.by}, since ${clock(paused.since)}` : null);
  };
  return element;
}

function recoveredShare({ calls }) {
  const [good, all] = [calls.recovered + calls.degraded, calls.recovered + calls.degraded + calls.error];
  return all ? share(good / all) : "–";
}

const CIRCUITS = { closed: "good", half_open: "warn", open: "bad" };

/** What operations depend on. */
export class Dependencies {
  constructor(controls) {
    const columns = [
      { title: "Dependency", kind: "name", text: (one) => one.name },
      { title: "Breaker", text: (one) => (one.circuit ? one.circuit.replace("_", "-") : "–"), tone: (one) => CIRCUITS[one.circuit], kind: "state" },
      { title: "Since", kind: "since", text: (one) => (one.since && one.circuit !== "closed" ? since(one.since) : "–") },
      { title: "Held by", kind: "wide", text: (one) => one.held_by ?? "–" },
      { title: "Tried again", kind: "wide", text: (one) => (one.retry_at ? (secondsSince(one.retry_at) < 0 ? `in ${span(-secondsSince(one.retry_at))}` : "now") : "–") },
      { title: "Retries left", kind: "number middle", text: (one) => known(one.budget) },
      { title: "Running", kind: "number wide", text: (one) => known(one.limit) },
      { title: "Queue", kind: "number wide", text: (one) => known(one.queue), tone: (one) => one.queue && "warn" },
    ];
    if (controls) columns.push({ title: "Control", kind: "control", make: (one) => controls.ofCircuit(one) });
    this.table = new Table("Dependencies", columns, "No operation has a circuit breaker, a retry budget or a bulkhead.", FIRST_ROWS);
    this.element = panel("dependencies", "Dependencies", this.table.element);
  }

  update({ dependencies }) {
    const order = ["open", "half_open", "closed", undefined];
    const sorted = [...dependencies].sort((one, other) => order.indexOf(one.circuit) - order.indexOf(other.circuit));
    this.table.update(sorted, ({ name }) => name);
  }
}

const known = (value) => (value === undefined || value === null ? "–" : count(value));

/** The processes of the server. */
export class Workers {
  constructor() {
    const columns = [
      { title: "Process", kind: "name", text: (one) => one.pid },
      { title: "Phase", text: (one) => one.phase, tone: (one) => (one.phase === "ready" ? "good" : "warn"), kind: "state" },
      { title: "Restarts", kind: "number", text: (one) => count(one.restarts), tone: (one) => one.restarts && "warn" },
      { title: "In flight", kind: "number middle", text: (one) => count(one.in_flight) },
      { title: "Loop lag", kind: "number", text: (one) => milliseconds(one.loop_lag_s * 1000), tone: (one) => one.loop_lag_s > 1 && "bad" },
      { title: "Memory", kind: "number", text: (one) => bytes(one.memory_bytes) },
      { title: "Threads", kind: "number wide", text: (one) => known(one.threads) },
    ];
    this.table = new Table("Workers", columns, "No worker has told anything yet.");
    this.element = panel("workers", "Workers", this.table.element);
  }

  update({ workers }) {
    this.table.update([...workers].sort((one, other) => other.restarts - one.restarts || one.pid - other.pid), ({ pid }) => pid);
  }
}

function fact(label, swatch = null) {
  const value = h("dd");
  return { element: h("div", { class: "fact" }, h("dt", null, swatch && h("span", { class: `swatch ${swatch}` }), label), value), value };
}

/** Whether store, audit log and recovery file work. */
export class State {
  constructor() {
    this.store = fact("State store");
    this.audit = fact("Audit log");
    this.reload = fact("Recovery file");
    const facts = [this.store, this.audit, this.reload].map(({ element }) => element);
    this.element = panel("state", "Store, audit, configuration", h("dl", { class: "facts-list" }, facts));
  }

  update({ store, audit, reload }) {
    show(this.store, store.available, store.available ? `${store.kind}, works` : `${store.kind}: ${store.fault ?? "lost"}`);
    show(this.audit, audit.ok, audit.ok ? "works" : "cannot be written");
    show(this.reload, reload.ok, reload.ok ? "in force" : (reload.error ?? "has a mistake"));
  }
}

function show({ value }, isGood, text) {
  setText(value, text);
  setAttribute(value, "data-tone", isGood ? "good" : "bad");
}

/** Whether callers follow the next steps of failures, and whether that helps them. */
export class Advice {
  constructor() {
    const names = ["followed_ok", "followed_failed", "ignored"];
    this.parts = names.map((name) => h("span", { class: name }));
    this.bar = h("div", { class: "meter", role: "img" }, this.parts);
    this.said = h("p", { class: "said" });
    this.list = h("dl", { class: "facts-list" });
    this.facts = ["Followed, and it worked", "Followed, and it failed", "Not followed within a minute"].map((label, at) => fact(label, names[at]));
    this.list.append(...this.facts.map(({ element }) => element));
    this.element = panel("advice", "Does the advice of failures work?", this.said, this.bar, this.list);
  }

  update({ advice: { followed_ok: worked, followed_failed: failed, ignored } }) {
    const all = worked + failed + ignored;
    const text = all ? `${share(worked / all)} of ${count(all)} next steps were followed within a minute and worked.` : "No failure has named a next step yet.";
    setText(this.said, text);
    setAttribute(this.bar, "aria-label", text);
    this.bar.hidden = !all;
    [worked, failed, ignored].forEach((number, at) => {
      setText(this.facts[at].value, count(number));
      this.parts[at].style.setProperty("flex-grow", number);
    });
  }
}
