// What the server offers: its tools, the page of each error code, and in development a form to try a tool that reads.

import { h, panel, setText } from "./dom.js";
import { ask } from "./feed.js";

const VERSION = "2026-07-28";
const ENVELOPE = {
  "io.modelcontextprotocol/protocolVersion": VERSION,
  "io.modelcontextprotocol/clientCapabilities": {},
  "io.modelcontextprotocol/clientInfo": { name: "failsoft page", version: "1" },
};
const CODES_LISTED = 40;
const TOOLS_LISTED = 40;

/** The catalogue of tools and codes. */
export class Catalogue {
  constructor() {
    this.search = h("input", { type: "search", placeholder: "Search tools and codes", "aria-label": "Search tools and codes", oninput: () => this.render() });
    this.tools = h("ul", { class: "tools", "aria-label": "Tools" });
    this.codes = h("ul", { class: "codes", "aria-label": "Error codes" });
    this.more = h("p", { class: "under" });
    this.moreTools = h("p", { class: "under" });
    this.element = panel(
      "catalogue", "Catalogue",
      h("div", { class: "columns" }, h("div", null, h("h3", null, "Tools"), this.tools, this.moreTools), h("div", null, h("h3", null, "Error codes"), this.codes, this.more)),
    );
    this.element.firstChild.append(this.search);
    this.tryIt = new TryIt();
    this.tryIt.element.hidden = true;
    this.dialog = h("dialog", { class: "page-of-code", "aria-labelledby": "code-title" });
    this.found = { tools: [], codes: [] };
    this.counts = new Map();
  }

  async load() {
    const answer = await ask("page/catalogue");
    if (!answer.ok) return;
    this.found = await answer.json();
    this.render();
    const readers = this.found.tools.filter((one) => one.read_only);
    this.tryIt.element.hidden = this.found.environment !== "development" || !readers.length;
    this.tryIt.offer(readers);
  }

  /** Take how often each code has occurred here, and load the tools anew if they are others. */
  update({ errors, operations }) {
    const known = operations.map((one) => `${one.tool} ${one.operation} ${one.read_only}`).sort().join("\n");
    if (this.known !== undefined && this.known !== known) this.load();
    this.known = known;
    this.tryIt.reads = new Set(operations.filter((one) => one.read_only).map((one) => one.operation));
    const counts = new Map();
    for (const { code, count: number } of errors) counts.set(code, (counts.get(code) ?? 0) + number);
    const isNew = [...counts.keys()].some((code) => !this.counts.has(code));
    this.counts = counts;
    if (isNew) this.render();
  }

  render() {
    const wanted = this.search.value.trim().toLowerCase();
    const fits = (...texts) => texts.join(" ").toLowerCase().includes(wanted);
    const tools = this.found.tools.filter((one) => fits(one.tool, one.operation, one.description));
    const seen = ({ code }) => (this.counts.has(code) ? 1 : 0);
    const codes = this.found.codes.filter((one) => fits(one.code, one.category, one.summary)).sort((one, other) => seen(other) - seen(one));
    this.tools.replaceChildren(...tools.slice(0, TOOLS_LISTED).map((one) => this.tool(one)));
    setText(this.moreTools, tools.length > TOOLS_LISTED ? `and ${tools.length - TOOLS_LISTED} more: search for them` : "");
    const shown = codes.slice(0, CODES_LISTED).map(({ code, summary }) => h("li", null, h("button", { type: "button", class: "code", onclick: () => this.open(code) }, h("code", null, code)), this.counts.has(code) && h("span", { class: "badge", "data-tone": "note" }, "seen here"), h("span", { class: "said" }, summary)));
    this.codes.replaceChildren(...shown);
    setText(this.more, codes.length > CODES_LISTED ? `and ${codes.length - CODES_LISTED} more: search for them` : "");
  }

  tool({ tool, operation, description, read_only: isReadOnly, schema, recovery }) {
    const required = new Set(schema.required ?? []);
    const parameters = Object.entries(schema.properties ?? {}).map(([name, facts]) =>
      h("li", null, h("code", null, name), h("span", { class: "under" }, `${kindOf(facts)}${required.has(name) ? ", required" : ""}`), facts.description && h("span", { class: "said" }, facts.description)));
    const badge = h("span", { class: "badge", "data-tone": isReadOnly ? "good" : "warn" }, isReadOnly ? "reads" : "writes");
    const summary = h("summary", null, h("code", null, operation), badge, h("span", { class: "said" }, description.split("\n")[0]));
    const rest = description.split("\n").slice(1).join("\n").trim();
    return h(
      "li", null,
      h("details", null, summary, rest && h("p", { class: "text" }, rest), parameters.length ? h("ul", { class: "parameters" }, parameters) : h("p", { class: "under" }, "It takes no arguments."),
        recovery.length > 0 && h("p", { class: "under" }, `Recovered by: ${recovery.join(", ")}`), h("p", { class: "under" }, `Toolset ${tool}`)),
    );
  }

  /** Show the page of a code. */
  async open(code) {
    const answer = await ask(`page/code/${encodeURIComponent(code)}`);
    const text = answer.ok ? (await answer.json()).text : "There is no page of this code.";
    const [first, ...rest] = text.split("\n");
    const close = h("button", { type: "button", onclick: () => this.dialog.close() }, "Close");
    this.dialog.replaceChildren(h("h2", { id: "code-title" }, first.replace(/^#+ */, "")), ...blocks(rest.join("\n")), h("div", { class: "buttons" }, close));
    this.dialog.showModal();
    close.focus();
  }
}

/** Yield the blocks of a page of Markdown: headings, lists, code and paragraphs. */
function* blocks(text) {
  const parts = text.split(/^```.*$/m);
  for (const [at, part] of parts.entries()) {
    if (at % 2) {
      yield h("pre", { tabindex: "0" }, part.trim());
      continue;
    }
    for (const block of part.split(/\n\s*\n/).map((one) => one.trim()).filter(Boolean)) {
      if (/^#+ /.test(block)) yield h("h3", null, block.replace(/^#+ */, ""));
      else if (/^\|/.test(block)) yield h("pre", { tabindex: "0" }, block);
      else if (/^[-*] /.test(block)) yield h("ul", null, block.split(/\n(?=[-*] )/).map((item) => h("li", null, inline(item.slice(2)))));
      else yield h("p", null, inline(block));
    }
  }
}

function inline(text) {
  const plain = text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/\s+/g, " ");
  const marked = plain.split("**").map((part, at) => [at % 2 ? "strong" : null, part]);
  return marked.flatMap(([tag, part]) => {
    const pieces = part.split("`").map((piece, at) => (at % 2 ? h("code", null, piece) : piece));
    return tag ? h(tag, null, pieces) : pieces;
  });
}

function kindOf({ type, enum: values, anyOf }) {
  if (values) return values.map((value) => JSON.stringify(value)).join(" | ");
  return [type ?? (anyOf ?? []).map((one) => one.type ?? "any")].flat().join(" | ") || "any";
}

/** Calls a tool that reads, and shows what a model would read. */
class TryIt {
  constructor() {
    this.choice = h("select", { id: "try-tool", onchange: () => this.show() });
    this.fields = h("div", { class: "fields" });
    this.form = h("form", { onsubmit: (event) => this.call(event) }, h("label", { for: "try-tool" }, "Tool"), this.choice, this.fields, h("button", { type: "submit" }, "Call it"));
    this.read = h("pre", { tabindex: "0", role: "region", "aria-label": "What the model reads" });
    this.data = h("pre", { tabindex: "0", role: "region", "aria-label": "The answer as data" });
    const answer = h("div", { class: "answer", "aria-live": "polite" }, h("h3", null, "What the model reads"), this.read, h("h3", null, "The answer as data"), this.data);
    this.element = panel("try", "Try a tool that reads", h("div", { class: "columns" }, this.form, answer));
    this.tools = [];
    this.reads = new Set();
  }

  offer(tools) {
    this.tools = tools;
    this.choice.replaceChildren(...tools.map(({ operation }) => h("option", { value: operation }, operation)));
    this.show();
  }

  show() {
    const tool = this.tools.find(({ operation }) => operation === this.choice.value);
    const required = new Set(tool?.schema.required ?? []);
    this.inputs = Object.entries(tool?.schema.properties ?? {}).map(([name, facts]) => new Field(name, facts, required.has(name)));
    this.fields.replaceChildren(...this.inputs.map(({ element }) => element));
  }

  async call(event) {
    event.preventDefault();
    const name = this.choice.value;
    if (!this.reads.has(name)) {
      setText(this.read, "This tool does not only read any more.");
      return;
    }
    const given = this.inputs.map((field) => [field.name, field.value()]).filter(([, value]) => value !== undefined);
    const params = { name, arguments: Object.fromEntries(given), _meta: ENVELOPE };
    setText(this.read, "…");
    setText(this.data, "");
    try {
      const answer = await ask("mcp", {
        method: "POST",
        headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream", "MCP-Protocol-Version": VERSION, "Mcp-Method": "tools/call", "Mcp-Name": name },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
      });
      const { result, error } = message(await answer.text());
      const texts = (result?.content ?? []).map((part) => part.text ?? `(${part.type})`);
      setText(this.read, error ? error.message : texts.join("\n\n"));
      setText(this.data, JSON.stringify(error ?? result.structuredContent ?? null, null, 2));
    } catch (failed) {
      setText(this.read, `There was no answer: ${failed.message}`);
    }
  }
}

/** Return the answer in a body of JSON, or in the last event of a stream. */
function message(text) {
  const lines = text.split("\n").filter((line) => line.startsWith("data:"));
  return JSON.parse(lines.length ? lines.at(-1).slice("data:".length) : text);
}

/** A field for one parameter; what is left empty is not sent. */
class Field {
  constructor(name, facts, isRequired) {
    this.name = name;
    const id = `try-field-${name}`;
    this.kind = facts.enum ? "enum" : facts.type;
    this.input = this.makeInput(facts, id, isRequired);
    const hint = facts.description ?? (["object", "array", undefined].includes(this.kind) ? "JSON" : null);
    this.element = h("div", { class: "field" }, h("label", { for: id }, isRequired ? `${name} (required)` : name), this.input, hint && h("span", { class: "under" }, hint));
  }

  makeInput(facts, id, isRequired) {
    if (this.kind === "enum" || this.kind === "boolean") {
      const values = facts.enum ?? [true, false];
      const options = values.map((value) => h("option", { value: JSON.stringify(value) }, String(value)));
      return h("select", { id }, isRequired ? null : h("option", { value: "" }, "–"), options);
    }
    const placeholder = facts.default === undefined || facts.default === null ? null : String(facts.default);
    if (["integer", "number"].includes(this.kind)) return h("input", { id, type: "number", step: this.kind === "number" ? "any" : "1", placeholder });
    if (this.kind === "string") return h("input", { id, type: "text", placeholder });
    return h("textarea", { id, rows: "2", placeholder });
  }

  value() {
    const text = this.input.value;
    if (text === "") return undefined;
    if (this.kind === "string") return text;
    if (["integer", "number"].includes(this.kind)) return Number(text);
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }
}
