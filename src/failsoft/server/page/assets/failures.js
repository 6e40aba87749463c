// The last failures and recoveries, equal ones as one row, and the story of one call.

import { Table, h, panel, setAttribute, setText } from "./dom.js";
import { clock, milliseconds, plural } from "./format.js";
import { ask } from "./feed.js";

const TONES = { error: "bad", rejected: "warn", degraded: "warn", recovered: "blue", replayed: "note" };
const CALLS_LISTED = 8;
const FIRST_ROWS = 40;

/** Return equal failures as one item each, the newest first. */
export function groups(recent) {
  const found = new Map();
  for (const call of recent) {
    const key = `${call.fingerprint} ${call.outcome}`;
    if (!found.has(key)) found.set(key, { key, latest: call, calls: [] });
    found.get(key).calls.push(call);
  }
  return [...found.values()];
}

/** The panel of failures. */
export class Failures {
  constructor(openCode) {
    this.openCode = openCode;
    const columns = [
      { title: "Time", kind: "time", text: ({ latest }) => clock(latest.timestamp) },
      { title: "Code", kind: "name", make: (group) => opener(group, () => this.toggle(group.key)) },
      { title: "Count", kind: "number", text: ({ calls }) => calls.length },
      { title: "Operation", kind: "middle", text: ({ latest }) => latest.operation },
      { title: "Outcome", kind: "state", text: ({ latest }) => latest.outcome, tone: ({ latest }) => TONES[latest.outcome] },
      { title: "Effect", kind: "wide", text: ({ latest }) => latest.effect || "–", tone: ({ latest }) => ({ unknown: "warn", applied: "warn" })[latest.effect] },
      { title: "Took", kind: "number wide", text: ({ latest }) => milliseconds(latest.duration_ms) },
      { title: "Error id", kind: "wide id", text: ({ latest }) => latest.error_id || "–" },
      { title: "Fingerprint", kind: "wide id", text: ({ latest }) => latest.fingerprint },
    ];
    this.table = new Table("Failures and recoveries", columns, "No call has failed or was recovered.", FIRST_ROWS);
    this.only = h(
      "select", { "aria-label": "Show", onchange: () => this.render() },
      h("option", { value: "" }, "failures and recoveries"), h("option", { value: "failed" }, "failures"),
      h("option", { value: "recovered" }, "recoveries"),
    );
    this.search = h("input", { type: "search", placeholder: "Filter", "aria-label": "Filter failures", oninput: () => this.render() });
    this.element = panel("failures", "Last failures and recoveries", this.table.element);
    this.element.firstChild.append(this.only, this.search);
    this.opened = null;
  }

  update({ recent }) {
    this.items = groups(recent);
    this.render();
  }

  render() {
    const [only, wanted] = [this.only.value, this.search.value.trim().toLowerCase()];
    const isGood = ({ latest }) => ["recovered", "degraded"].includes(latest.outcome);
    const shown = this.items.filter((group) => {
      const text = Object.values(group.latest).join(" ").toLowerCase();
      return text.includes(wanted) && (only === "" || isGood(group) === (only === "recovered"));
    });
    this.table.update(shown, ({ key }) => key);
    const group = shown.find(({ key }) => key === this.opened);
    if (group) this.story?.list(group);
  }

  toggle(key) {
    const previous = this.table.rows.get(this.opened);
    if (previous) {
      previous.extra?.remove();
      previous.extra = null;
      setAttribute(previous.element.querySelector("button"), "aria-expanded", false);
    }
    this.opened = this.opened === key ? null : key;
    const row = this.table.rows.get(this.opened);
    if (!row) return;
    const group = this.items.find((one) => one.key === key);
    this.story = new Story(group, this.openCode);
    row.extra = h("tr", { class: "story" }, h("td", { colspan: this.table.columns.length }, this.story.element));
    row.element.after(row.extra);
    setAttribute(row.element.querySelector("button"), "aria-expanded", true);
  }
}

/** Return the button that opens the story of a row. */
function opener({ latest }, toggle) {
  const name = latest.code || latest.outcome;
  const button = h("button", { type: "button", class: "code", "aria-expanded": "false", onclick: toggle }, h("code", null, name));
  return h("span", null, button, h("span", { class: "under only-narrow" }, latest.operation));
}

/** What the server knows of one call. */
class Story {
  constructor(group, openCode) {
    this.ids = h("ul", { class: "calls", "aria-label": "Calls" });
    this.steps = h("ol", { class: "steps", "aria-live": "polite" });
    this.more = h("p", { class: "under" });
    const { code } = group.latest;
    const meaning = code && h("button", { type: "button", class: "quiet", onclick: () => openCode(code) }, `What ${code} means`);
    this.element = h("div", { class: "story-parts" }, this.steps, h("div", null, this.ids, meaning, this.more));
    this.list(group);
    this.show(group.latest);
  }

  list({ calls }) {
    const shown = calls.slice(0, CALLS_LISTED);
    const items = shown.map((call) => {
      const id = call.error_id || call.request_id;
      const pressed = id === this.shown;
      return h("li", null, h("button", { type: "button", class: "quiet id", "aria-pressed": pressed, onclick: () => this.show(call) }, `${clock(call.timestamp)} ${id.slice(0, 16)}`));
    });
    if (this.ids.children.length !== items.length || this.first !== shown[0].request_id) {
      this.first = shown[0].request_id;
      const focused = [...this.ids.children].findIndex((item) => item.contains(document.activeElement));
      this.ids.replaceChildren(...items);
      if (focused >= 0) this.ids.children[Math.min(focused, items.length - 1)].firstChild.focus();
    }
    setText(this.more, calls.length > CALLS_LISTED ? `and ${plural(calls.length - CALLS_LISTED, "call")} before` : "");
  }

  async show(call) {
    this.shown = call.error_id || call.request_id;
    for (const item of this.ids.children) setAttribute(item.firstChild, "aria-pressed", item.textContent.endsWith(this.shown.slice(0, 16)));
    let story = { steps: [] };
    try {
      const answer = await ask(`page/story/${encodeURIComponent(this.shown)}`);
      if (answer.ok) story = await answer.json();
    } catch {
      // What the page itself knows is shown.
    }
    const steps = story.steps.map((step) => h("li", { "data-tone": step.tone }, h("span", { class: "what" }, step.what), step.said && h("span", { class: "said" }, step.said)));
    this.steps.replaceChildren(...steps, ...ending(call, story));
  }
}

function* ending(call, { commands = [] }) {
  const facts = [
    ["Attempts", String(call.attempts)], ["Took", milliseconds(call.duration_ms)], ["Effect", call.effect], ["Recovered by", call.strategy],
    ["Error id", call.error_id], ["Request id", call.request_id], ["Fingerprint", call.fingerprint], ["Origin", call.origin],
  ];
  const parts = facts.filter(([, value]) => value).map(([name, value]) => h("div", { class: "fact" }, h("dt", null, name), h("dd", { class: "id" }, value)));
  yield h("li", { "data-tone": TONES[call.outcome] }, h("span", { class: "what" }, `The call ended: ${call.outcome}${call.code ? `, ${call.code}` : ""}`), h("dl", { class: "facts-list" }, parts));
  if (commands.length) yield h("li", null, h("span", { class: "what" }, "In a terminal"), commands.map((command) => h("code", { class: "command" }, command)));
}
