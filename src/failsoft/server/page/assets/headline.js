// What is wrong, since when, whether callers suffer, and what to do: one sentence, and the findings behind it.

import { h, plain, setAttribute, setText } from "./dom.js";
import { clock, now, plural, since } from "./format.js";

const OTHERS_LISTED = 6;
const SILENT_S = 4;
const AS_THEN = "everything here is as it was then";

const GLYPHS = { good: "✓", note: "i", warning: "!", error: "✕" };
const WORDS = { good: "All is well", note: "For your information", warning: "Warning", error: "Something is wrong" };

/** Return what is wrong between this page and its server, which the server cannot know. */
export function ofTheConnection({ phase }, lostSince, readAt) {
  if (lostSince) {
    const todo = "see whether its process runs, and whether the network lets you through";
    return [{ key: "lost", severity: "error", what: "The server cannot be reached", since: lostSince, callers: AS_THEN, todo }];
  }
  if (phase !== "ready" || document.hidden || now() - readAt < SILENT_S * 1000) return [];
  return [{
    key: "silent", severity: "error", what: "This page hears nothing from the server", since: new Date(readAt).toISOString(),
    todo: "see whether the server is down, or the worker that this page reads hangs", incident: "A replica is down", callers: AS_THEN,
  }];
}

/** Return what is wrong, with its time. */
function timed({ what, since: from, last }) {
  if (from) return `${what} since ${since(from)}`;
  return last ? `${what}, last at ${clock(last)}` : what;
}

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
    this.seen = null;
    document.addEventListener("visibilitychange", () => (this.readAt = now())); // A hidden page reads nothing.
  }

  update(status, lostSince) {
    if (status !== this.seen) [this.seen, this.readAt] = [status, now()];
    const { callers, findings } = status.headline;
    const [worst, ...others] = [...ofTheConnection(status, lostSince, this.readAt), ...findings];
    const tone = worst?.severity ?? "good";
    setAttribute(this.element, "data-tone", tone);
    setText(this.glyph, GLYPHS[tone]);
    setText(this.word, `${WORDS[tone]}: `);
    if (worst) {
      setText(this.what, worst.what);
      setText(this.rest, `${timed({ ...worst, what: "" })}; ${worst.callers ?? callers}. `);
      setText(this.todo, `${worst.todo[0].toUpperCase()}${worst.todo.slice(1)}.`);
    } else {
      const { operations } = status;
      const calls = operations.reduce((sum, one) => sum + one.rate_per_s, 0);
      setText(this.what, "Nothing is wrong");
      setText(this.rest, `; ${callers}. `);
      setText(this.todo, calls ? `${plural(operations.length, "operation")} get ${calls.toFixed(calls < 10 ? 1 : 0)} calls a second.` : "There are no calls at the moment.");
    }
    setText(this.incident, worst?.incident ? `More in the documentation: Incidents › ${worst.incident}` : "");
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
    const others = left > 1 ? [...all.slice(0, OTHERS_LISTED), { severity: "note", what: `and ${left} more` }] : all;
    this.others.hidden = !others.length;
    while (this.others.children.length > others.length) this.others.lastChild.remove();
    others.forEach((one, at) => {
      if (!this.others.children[at]) this.others.append(h("li"));
      const item = this.others.children[at];
      setAttribute(item, "data-tone", one.severity);
      setText(item, `${timed(one)}${one.incident ? ` (${one.incident})` : ""}`);
    });
  }
}
