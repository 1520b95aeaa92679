// dom.js: elements, numbers and tables. Texts are set as text, never as HTML.

// h makes an element. Attributes that begin with "on" are listeners; null and false are left out.
export function h(name, attributes, ...children) {
  const svg = name === "svg" || name === "path" || name === "polyline" || name === "line";
  const e = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
    else e.setAttribute(key, value === true ? "" : value);
  }
  e.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return e;
}

// show replaces what is in parent. Tables that scroll sideways keep their place.
export function show(parent, ...children) {
  const regions = () => [...parent.querySelectorAll(".scroll")];
  const places = new Map(regions().map((r) => [r.getAttribute("aria-label"), r.scrollLeft]));
  parent.replaceChildren(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  if (places.size) for (const r of regions()) r.scrollLeft = places.get(r.getAttribute("aria-label")) || 0;
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const number = (n) => whole.format(n);
export const brief = (n) => (Math.abs(n) < 10000 ? (n < 10 && n % 1 ? n.toFixed(1) : whole.format(n)) : compact.format(n));

export function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  for (; n >= 1024 && i < units.length - 1; i++) n /= 1024;
  return (i === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)) + " " + units[i];
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 0.001) return Math.round(seconds * 1e6) + " µs";
  if (seconds < 1) return (seconds * 1000).toFixed(seconds < 0.01 ? 1 : 0) + " ms";
  if (seconds < 90) return seconds.toFixed(seconds < 10 ? 1 : 0) + " s";
  if (seconds < 5400) return Math.round(seconds / 60) + " min";
  if (seconds < 172800) return Math.round(seconds / 3600) + " h";
  return Math.round(seconds / 86400) + " d";
}

// time shows how long ago something was, or, as a span, how long it lasts; the exact time is its title.
export function time(text, span) {
  if (!text) return h("span", { class: "none" }, "–");
  const at = new Date(text);
  const ago = (Date.now() - at) / 1000;
  return h("time", { datetime: text, title: at.toLocaleString() }, span ? duration(Math.max(ago, 0)) : ago < 0 ? "in " + duration(-ago) : duration(ago) + " ago");
}

// clip shows a text that may be long in one line; all of it is its title.
export const clip = (text, most = 32) => (text.length > most ? h("span", { class: "clip", title: text }, text) : text);

export const toPlayer = (id) => h("a", { href: "#/player?id=" + encodeURIComponent(id) }, clip(id));
export const toTicket = (id) => h("a", { href: "#/ticket?id=" + encodeURIComponent(id) }, clip(id));

export const section = (title, ...content) => h("section", { class: "panel" }, h("h2", {}, title), content);

// filters is the form above a list: pairs of a label and a field, and what a search does.
export const filters = (pairs, search, ...more) => h("form", { class: "filters", role: "search", onsubmit: (e) => { e.preventDefault(); search(); } },
  pairs.map(([label, field]) => h("span", { class: field.localName === "input" && !field.hasAttribute("size") ? "field long" : "field" }, h("label", { for: field.id }, label), field)), h("button", { type: "submit" }, "Search"), more);

// words is a field for text: it takes the room that is there, or that of size characters.
export const words = (id, value, placeholder, size = null) => h("input", { id, type: "search", value, placeholder, size, spellcheck: "false", autocomplete: "off" });
export const choice = (id, value, options) => h("select", { id }, options.map(([v, text]) => h("option", { value: v, selected: v === value }, text || v)));

export const count = (n, one, many, shown) => h("p", { class: "count" }, `${number(n)} ${n === 1 ? one : many}${shown < n ? `, ${number(shown)} shown` : ""}`);

export const last = (id) => id.slice(id.lastIndexOf("/") + 1);

const kinds = {
  ACTIVE: "good", FULFILLED: "good", attached: "good", active: "good", COMPLETED: "good", encrypted: "good",
  ACTIVATING: "busy", PENDING: "busy", RESERVED: "busy", reserved: "busy", NEW: "busy", QUEUED: "busy", SEARCHING: "busy", PLACING: "busy", REQUIRES_ACCEPTANCE: "busy",
  live: "good", adrift: "warn", suspect: "bad", lost: "bad",
  detached: "warn", TERMINATING: "warn", TIMED_OUT: "warn", TIMEDOUT: "warn", DELETING: "warn",
  ERROR: "bad", FAILED: "bad",
};

export const badge = (word) => h("span", { class: "badge " + (kinds[word] || "") }, word);

// table draws rows. A column is [title, row => content, class].
export function table(name, columns, rows, empty) {
  if (!rows.length) return h("p", { class: "empty" }, empty || "There is nothing to show.");
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": name },
    h("table", { class: "stacks", role: "table" }, // a list of cards on a narrow screen: the roles stay
      h("caption", {}, name),
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, columns.map(([title, , kind]) => h("th", { scope: "col", role: "columnheader", class: kind }, title)))),
      h("tbody", { role: "rowgroup" }, rows.map((row) => h("tr", { role: "row" }, columns.map(([title, cell, kind], i) => {
        const content = cell(row);
        return h(i === 0 ? "th" : "td", { scope: i === 0 ? "row" : null, role: i === 0 ? "rowheader" : "cell", class: kind, "data-title": title }, content === "" || content === null || content === undefined ? h("span", { class: "none" }, "–") : content);
      }))))));
}

// facts draws pairs of a name and a value.
export const facts = (pairs) => h("dl", { class: "facts" }, pairs.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value === "" || value === null || value === undefined ? "–" : value))));

// without says which nodes of a cluster do not answer, so that what they have is not in a list.
export const without = (names) => (names.length ? h("p", { class: "notice" },
  `Without what is on ${names.join(", ")}: ${names.length === 1 ? "this node does" : "these nodes do"} not answer.`) : null);
