// What was counted at each minute of the last hour, and the chart of failures by code.

import { h, setText } from "./dom.js";
import { count, now as serverTime, plural, share } from "./format.js";

const KEPT = 61;
const MINUTE_MS = 60_000;
const SHOWN_CODES = 6;
const SHORTEST = 15;

/** Counts over time; the last column is now. */
export class History {
  constructor() {
    this.at = [];
    this.errors = new Map();
  }

  /** Take what the server has kept. */
  load({ at, errors }) {
    this.at = at.map((iso) => Date.parse(iso));
    this.errors = new Map(Object.entries(errors).map(([code, counts]) => [code, [...counts]]));
    this.isOpen = false;
  }

  /** Take the counts of now: they replace the last ones until a minute is over. */
  add(status) {
    const now = serverTime();
    const begins = this.at.length < 2 || !this.isOpen || now - this.at.at(-2) >= MINUTE_MS;
    const place = begins ? this.at.length : this.at.length - 1;
    this.isOpen = true;
    this.at[place] = now;
    const totals = new Map();
    for (const { code, count: number } of status.errors) totals.set(code, (totals.get(code) ?? 0) + number);
    for (const code of totals.keys()) if (!this.errors.has(code)) this.errors.set(code, this.at.map(() => 0));
    for (const [code, counts] of this.errors) counts[place] = totals.get(code) ?? counts[place - 1] ?? 0;
    if (this.at.length > KEPT) for (const list of [this.at, ...this.errors.values()]) list.shift();
  }

  /** Return the differences between neighbours, never negative: a server may have been started anew. */
  steps(list) {
    return list.slice(1).map((value, at) => Math.max(0, value - list[at]));
  }
}

/** The failures of each minute, stacked by code. */
export class ErrorChart {
  constructor() {
    this.place = h("div", { class: "chart", role: "img" });
    this.legend = h("ul", { class: "legend" });
    this.nothing = h("p", { class: "empty" }, "No call has failed in this time.");
    this.element = h("div", null, this.place, this.legend, this.nothing);
    this.drawn = "";
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.scheme.addEventListener("change", () => this.redraw());
    new ResizeObserver(() => this.fit()).observe(this.place);
  }

  update(history) {
    this.history = history;
    const totals = [...history.errors].map(([code, counts]) => [code, history.steps(counts)]);
    const found = totals.map(([code, steps]) => ({ code, steps, total: steps.reduce((sum, one) => sum + one, 0) }));
    const some = found.filter(({ total }) => total).sort((one, other) => other.total - one.total);
    const shown = some.slice(0, SHOWN_CODES);
    const others = some.slice(SHOWN_CODES);
    this.nothing.hidden = some.length > 0;
    if (others.length) {
      const steps = shown[0].steps.map((_, at) => others.reduce((sum, one) => sum + one.steps[at], 0));
      shown.push({ code: `${others.length} others`, steps, total: others.reduce((sum, one) => sum + one.total, 0) });
    }
    this.describe(history, some);
    this.draw(history, shown);
  }

  describe(history, some) {
    const minutes = Math.max(1, Math.round((history.at.at(-1) - history.at[0]) / MINUTE_MS));
    const worst = some.slice(0, 3).map(({ code, total }) => `${code} ${count(total)}`);
    const said = some.length ? `most often ${worst.join(", ")}` : "none";
    this.place.setAttribute("aria-label", `Failures a minute by code, over the last ${plural(minutes, "minute")}: ${said}`);
  }

  draw(history, shown) {
    const x = history.at.map((ms) => ms / 1000);
    let sums = x.map(() => 0);
    const stacked = shown.map(({ steps }) => (sums = sums.map((sum, at) => sum + (at ? steps[at - 1] : 0))));
    const data = [x, ...[...stacked].reverse()];
    const wanted = shown.map(({ code }) => code).join("\n");
    if (this.plot && wanted === this.drawn) this.plot.setData(data);
    else this.make(data, shown, wanted);
    shown.forEach(({ total }, at) => setText(this.legend.children[at].lastChild, count(total)));
  }

  make(data, shown, wanted) {
    this.drawn = wanted;
    this.plot?.destroy();
    const style = getComputedStyle(document.documentElement);
    const color = (at) => style.getPropertyValue(`--series-${at + 1}`).trim();
    const [text, line] = ["--muted", "--line"].map((name) => style.getPropertyValue(name).trim());
    const bars = window.uPlot.paths.bars({ size: [0.9, 24, 3], align: -1 });
    const series = shown.map(({ code }, at) => ({ label: code, fill: color(at), stroke: color(at), width: 0, paths: bars, points: { show: false } }));
    const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
    const options = {
      width: this.place.clientWidth || 400,
      height: 180,
      legend: { show: false },
      cursor: { show: false },
      scales: { x: { range: (_plot, _low, high) => this.window(high) }, y: { range: (_plot, _low, high) => [0, Math.max(5, high * 1.1)] } },
      axes: [{ ...axis, grid: { show: false }, values: (_plot, ticks) => ticks.map(hourAndMinute) }, { ...axis, size: 44, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 50000, 100000] }],
      series: [{}, ...series.reverse()],
    };
    this.plot = new window.uPlot(options, data, this.place);
    const items = shown.map(({ code }, at) => h("li", { class: `series-${at + 1}` }, h("code", null, code), " ", h("span", { class: "number" })));
    this.legend.replaceChildren(...items);
  }

  window(high) {
    const end = high ?? serverTime() / 1000;
    return [Math.min(this.history.at[0] / 1000, end - SHORTEST * 60), end + 20];
  }

  redraw() {
    this.drawn = "";
    if (this.history) this.update(this.history);
  }

  fit() {
    const width = this.place.clientWidth;
    if (this.plot && width && Math.abs(width - this.plot.width) > 2) this.plot.setSize({ width, height: 180 });
  }
}

function hourAndMinute(seconds) {
  const date = new Date(seconds * 1000);
  return `${String(date.getHours()).padStart(2, "0")}:${String(date.getMinutes()).padStart(2, "0")}`;
}

/** Return the share of calls that did not fail by fault of the server, from a rate of burn. */
export const success = (burn, target) => share(Math.max(0, 1 - burn * (1 - target)));
