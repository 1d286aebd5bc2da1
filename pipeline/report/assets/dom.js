// Building elements. Texts become text nodes and nothing else: what stands in the data can never be markup.

function h(tag, props, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, one] of Object.entries(value)) element.style.setProperty(key, one);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter(Boolean));
  return element;
}

const byId = (id) => document.getElementById(id);
const words = (text) => String(text ?? "").replaceAll("_", " ");

function number(value, digits = 0) {
  if (value === null || value === undefined) return "–";
  return Number(value).toLocaleString("en-US", { maximumFractionDigits: digits });
}

function short(value) {
  if (value === null || value === undefined) return "–";
  return Number(value).toLocaleString("en-US", { notation: value >= 100000 ? "compact" : "standard", maximumFractionDigits: 1 });
}

const plural = (n, what) => `${number(n)} ${what}${n === 1 ? "" : "s"}`;
const percent = (share, digits = 1) => (share === null || share === undefined ? "–" : `${(100 * share).toFixed(digits)} %`);
const money = (cost) => (cost ? `$${Number(cost).toFixed(cost < 1 ? 4 : 2)}` : "$0");

function badge(text, kind = "") {
  return text === "" || text === 0 || text === false || text === null || text === undefined ? null : h("span", { class: `badge ${kind}` }, words(text));
}

// Columns: [title, cell of a row, class]. A cell is text or an element.
function table(columns, rows) {
  return h("div", { class: "scroll" }, h("table", {},
    h("thead", {}, h("tr", {}, columns.map(([title, , kind]) => h("th", { class: kind, scope: "col" }, title)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, columns.map(([, cell, kind]) => h("td", { class: kind }, cell(row) ?? "")))))));
}

// The text with some of its ranges [start, end, class, title] marked; overlapping ones are left out.
function marked(text, ranges) {
  const parts = [];
  let at = 0;
  for (const [start, end, kind, title] of [...ranges].sort((a, b) => a[0] - b[0])) {
    if (start < at || end <= start) continue;
    parts.push(text.slice(at, start), h("mark", { class: kind, title }, text.slice(start, end)));
    at = end;
  }
  parts.push(text.slice(at));
  return parts.filter((part) => part !== "");
}
