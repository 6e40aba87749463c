// Elements and tables. Every text is set as text, never parsed as markup.

/** What would change how the text around it is read: controls of direction, and others that show as nothing. */
const UNSEEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** Return a text with a sign in place of each control character. */
export const plain = (text) => String(text ?? "").replace(UNSEEN, "\ufffd");

/** Return an element with attributes, listeners (`onclick`) and children; null children are left out. */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false).map((child) => (child instanceof Node ? child : plain(child))));
  return element;
}

/** Set the text of an element, unless it is there already. */
export function setText(element, text) {
  const value = plain(text);
  const only = element.childNodes.length === 1 ? element.firstChild : null;
  if (only?.nodeType === Node.TEXT_NODE ? only.data === value : value === "" && !element.firstChild) return;
  element.textContent = value;
}

/** Set or remove an attribute, unless it is so already. */
export function setAttribute(element, name, value) {
  if (value === null || value === undefined || value === false) {
    if (element.hasAttribute(name)) element.removeAttribute(name);
  } else if (element.getAttribute(name) !== String(value)) {
    element.setAttribute(name, String(value));
  }
}

/** Return a panel with a heading, its parts beneath. */
export function panel(id, title, ...children) {
  const heading = h("h2", { id: `${id}-title` }, title);
  return h("section", { id, class: "panel", "aria-labelledby": heading.id }, h("div", { class: "head" }, heading), ...children);
}

/** A table whose rows are kept and moved, so that an update touches only the cells that changed. */
export class Table {
  /**
   * @param label What the table shows.
   * @param columns `{title, text(item), tone?(item), hint?(item), kind?, make?(item)}`: `kind` is a class of the cells,
   *   `make` returns an element that is made once for a row and may have its own `update(item)`.
   * @param empty What is shown in place of a table without rows.
   * @param limit How many rows are shown until all are asked for.
   */
  constructor(label, columns, empty, limit = Infinity) {
    this.limit = limit;
    this.isLong = false;
    this.columns = columns;
    this.rows = new Map();
    this.body = h("tbody");
    this.empty = h("p", { class: "empty" }, empty);
    const heads = columns.map(({ title, kind }) => h("th", { scope: "col", class: kind }, title));
    this.table = h("table", { "aria-label": label, hidden: true }, h("thead", null, h("tr", null, ...heads)), this.body);
    this.more = h("button", { type: "button", class: "quiet", hidden: true, onclick: () => this.toggle() });
    this.element = h("div", null, h("div", { class: "table" }, this.empty, this.table), this.more);
  }

  toggle() {
    this.isLong = !this.isLong;
    this.update(this.all, this.key);
  }

  /** Show these items in this order; `key` tells them apart. */
  update(all, key) {
    [this.all, this.key] = [all, key];
    const items = this.isLong ? all : all.slice(0, this.limit);
    this.more.hidden = all.length <= this.limit;
    setText(this.more, this.isLong ? `Show the first ${this.limit}` : `Show all ${all.length}`);
    setAttribute(this.more, "aria-expanded", this.isLong);
    const gone = new Set(this.rows.keys());
    let place = this.body.firstChild;
    for (const item of items) {
      const name = key(item);
      let row = this.rows.get(name);
      if (!row) this.rows.set(name, (row = this.makeRow(item)));
      gone.delete(name);
      this.fill(row, item);
      if (row.element === place) place = row.extra?.nextSibling ?? row.element.nextSibling;
      else this.body.insertBefore(row.element, place);
      if (row.extra && row.extra.previousSibling !== row.element) row.element.after(row.extra);
      if (row.extra && row.extra === place) place = row.extra.nextSibling;
    }
    for (const name of gone) {
      this.rows.get(name).element.remove();
      this.rows.get(name).extra?.remove();
      this.rows.delete(name);
    }
    this.table.hidden = !items.length;
    this.empty.hidden = items.length > 0;
  }

  makeRow(item) {
    const cells = this.columns.map(({ kind, make }) => {
      const cell = h(kind?.includes("name") ? "th" : "td", { class: kind, scope: kind?.includes("name") ? "row" : null });
      if (make) cell.append((cell.made = make(item)));
      return cell;
    });
    return { element: h("tr", null, ...cells), cells, extra: null };
  }

  fill(row, item) {
    this.columns.forEach(({ text, tone, hint }, at) => {
      const cell = row.cells[at];
      if (cell.made) cell.made.update?.(item);
      else setText(cell, text(item));
      if (tone) setAttribute(cell, "data-tone", tone(item) || null);
      if (hint) setAttribute(cell, "title", hint(item));
    });
  }
}
