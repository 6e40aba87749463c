// Puts the page together: asks for a token if the server wants one, then follows its status.

import { Catalogue } from "./catalogue.js";
import { Controls } from "./controls.js";
import { h, panel, setAttribute, setText } from "./dom.js";
import { Failures } from "./failures.js";
import { Feed, useToken } from "./feed.js";
import { now, plural, span } from "./format.js";
import { Headline } from "./headline.js";
import { ErrorChart, History } from "./history.js";
import { Advice, Dependencies, Objective, Operations, State, Workers } from "./panels.js";

const TICK_MS = 1000;
const STATES = { connecting: "connecting", live: "live", reconnecting: "not reached, trying again", paused: "paused", draining: "draining", locked: "locked" };

const byId = (id) => document.getElementById(id);
const announced = byId("announced");
const controls = document.documentElement.dataset.controls === "yes" ? new Controls(announced) : null;
const catalogue = new Catalogue();
const history = new History();
const headline = new Headline(announced);
const chart = new ErrorChart();
const panels = {
  objective: new Objective(),
  errors: { element: panel("errors", "Failures a minute, by code", chart.element), update: () => chart.update(history) },
  operations: new Operations(controls),
  dependencies: new Dependencies(controls),
  workers: new Workers(),
  state: new State(),
  advice: new Advice(),
  failures: new Failures((code) => catalogue.open(code)),
};
let isShown = false;
let lostSince = null;
let wanted = 0;

function show() {
  if (isShown) return;
  isShown = true;
  const elements = Object.values(panels).map(({ element }) => element);
  byId("main").replaceChildren(headline.element, ...elements, catalogue.element, catalogue.tryIt.element);
  document.body.append(catalogue.dialog, ...(controls ? [controls.dialog] : []));
  if (controls) byId("actions").replaceChildren(controls.element);
  catalogue.load();
}

function render(status) {
  wanted = 0;
  performance.mark("failsoft-update");
  show();
  history.add(status);
  setText(byId("name"), status.name);
  setText(byId("facts"), `${status.version} · ${plural(status.workers.length, "worker")} · up ${span(status.uptime_s)}`);
  summarize();
  for (const one of [...Object.values(panels), catalogue]) one.update(status);
  performance.measure("failsoft-update", "failsoft-update");
}

function summarize() {
  if (isShown && feed.status) headline.update(feed.status, lostSince);
}

function tell(state) {
  lostSince = state === "reconnecting" ? (lostSince ?? new Date(now()).toISOString()) : null;
  summarize();
  setAttribute(byId("live"), "data-state", state);
  setText(byId("live"), STATES[state]);
}

/** Ask for the token of the server. */
function lock({ name, phase }) {
  isShown = false;
  const input = h("input", { type: "password", id: "token", autocomplete: "off", required: true });
  const failed = h("p", { class: "failed", role: "alert" }, lock.wasTried ? "The server does not take this token." : "");
  const form = h(
    "form", { class: "token panel", onsubmit: (event) => {
      event.preventDefault();
      lock.wasTried = true;
      useToken(input.value);
      feed.start();
    } },
    h("h2", null, `${name} is ${phase}`), h("p", null, "To see more, enter the token of the server. It stays in the memory of this page."),
    h("label", { for: "token" }, "Token"), input, failed, h("button", { type: "submit", class: "primary" }, "Open"),
  );
  byId("main").replaceChildren(form);
  input.focus();
}

const feed = new Feed({
  onStatus: () => (wanted ||= requestAnimationFrame(() => render(feed.status))),
  onHistory: (found) => history.load(found),
  onState: tell,
  onLocked: lock,
});
setInterval(summarize, TICK_MS);
feed.start();
