// What an operator may do: hold and reset breakers, pause operations, drain. Each is confirmed; the admin token is held
// in memory alone.

import { h, setText } from "./dom.js";
import { encoded } from "./feed.js";

let adminToken = "";

/** Asks for the admin token, and shows controls while it is there. */
export class Controls {
  constructor(announced) {
    this.announced = announced;
    this.unlock = h("button", { type: "button", onclick: () => (adminToken ? this.forget() : this.askForToken()) }, "Controls…");
    this.drain = h("button", { type: "button", class: "danger", hidden: true, onclick: () => this.confirmDrain() }, "Drain…");
    this.element = h("span", null, this.drain, this.unlock);
    this.dialog = h("dialog", { class: "confirm", "aria-labelledby": "confirm-title" });
    this.dialog.addEventListener("close", () => this.dialog.replaceChildren());
  }

  ofCircuit({ name }) {
    const button = (label, state, said) =>
      h("button", { type: "button", class: "small", "aria-label": `${label} ${name}`, onclick: () => this.confirm(`${label}: ${name}`, said, `admin/circuits/${path(name)}`, { state }) }, label);
    const element = h(
      "span", { class: "only-admin" },
      button("Hold open", "open", "Calls of this dependency are refused at once, on all replicas that share the state store, until the breaker is reset."),
      button("Hold closed", "closed", "Calls go to this dependency whatever happens, on all replicas that share the state store, until the breaker is reset."),
      button("Reset", "reset", "The breaker returns to automatic operation, closed, on all replicas that share the state store."),
    );
    element.update = ({ circuit }) => (element.hidden = !circuit);
    return element;
  }

  ofOperation({ tool, operation }) {
    const button = h("button", { type: "button", class: "small" });
    let isPaused = false;
    button.addEventListener("click", () => {
      const target = `admin/operations/${path(tool)}/${path(operation)}`;
      if (isPaused) this.confirm(`Resume ${operation}`, "Its calls run again, on all replicas that share the state store.", target, { paused: false });
      else this.confirm(`Pause ${operation}`, "Its calls are refused with UNAVAILABLE, on all replicas that share the state store.", target, { paused: true }, true);
    });
    const element = h("span", { class: "only-admin" }, button);
    element.update = ({ paused }) => {
      isPaused = Boolean(paused);
      setText(button, paused ? "Resume" : "Pause");
      button.setAttribute("aria-label", `${paused ? "Resume" : "Pause"} ${operation}`);
    };
    return element;
  }

  confirmDrain() {
    this.confirm("Drain this replica", "All workers of this server refuse new calls with 503 while calls in flight finish. It does not come back until its process is started anew.", "admin/drain", {});
  }

  askForToken() {
    const input = h("input", { type: "password", id: "admin-token", autocomplete: "off", required: true });
    this.open(
      "Controls", [h("p", null, "The controls take the admin token. It stays in the memory of this page, until you leave or lock it."), h("label", { for: "admin-token" }, "Admin token"), input],
      "Unlock", () => {
        adminToken = input.value.trim();
        this.show();
        return "The controls are unlocked.";
      },
    );
    input.focus();
  }

  forget() {
    adminToken = "";
    this.show();
    setText(this.announced, "The controls are locked, and the token is forgotten.");
  }

  show() {
    document.documentElement.toggleAttribute("data-admin", Boolean(adminToken));
    this.drain.hidden = !adminToken;
    setText(this.unlock, adminToken ? "Lock controls" : "Controls…");
  }

  /** Ask whether something is to be done; with a reason that callers are told, if it takes one. */
  confirm(title, said, target, body, takesReason = false) {
    const parts = [h("p", null, said)];
    const reason = h("input", { type: "text", id: "reason", maxlength: "300", required: true, autocomplete: "off" });
    if (takesReason) parts.push(h("label", { for: "reason" }, "Reason, which callers are told"), reason);
    this.open(title, parts, title, () => this.send(target, takesReason ? { ...body, reason: reason.value } : body, title));
    if (takesReason) reason.focus();
  }

  open(title, parts, action, act) {
    const failed = h("p", { class: "failed", role: "alert" });
    const cancel = h("button", { type: "button", onclick: () => this.dialog.close() }, "Cancel");
    const submit = h("button", { type: "submit", class: "primary" }, action);
    const form = h("form", null, h("h2", { id: "confirm-title" }, title), parts, failed, h("div", { class: "buttons" }, cancel, submit));
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      submit.disabled = true;
      try {
        setText(this.announced, await act());
        this.dialog.close();
      } catch (error) {
        setText(failed, error.message);
      }
      submit.disabled = false;
    });
    this.dialog.replaceChildren(form);
    this.dialog.showModal();
    cancel.focus();
  }

  async send(target, body, title) {
    const answer = await fetch(target, {
      method: "POST", cache: "no-store", credentials: "omit", redirect: "error",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${encoded(adminToken)}` },
      body: JSON.stringify(body),
    });
    if (answer.ok) return `Done: ${title}.`;
    if (answer.status === 401 || answer.status === 403) this.forget();
    const { error } = await answer.json().catch(() => ({}));
    throw new Error(error ?? `The server refused it with status ${answer.status}.`);
  }
}

/** Return a name as a part of a path; slashes stay. */
const path = (name) => name.split("/").map(encodeURIComponent).join("/");
