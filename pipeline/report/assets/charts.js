// Small charts of plain elements; every one stands beside its figures.

function stacked(parts, whole) {
  return h("div", { class: "bar" }, parts.map(([kind, n]) => n > 0 && h("i", { class: kind, style: { width: `${(100 * n) / whole}%` }, title: `${n} ${kind}` })));
}

function rate(share, interval) {
  if (share === null) return "";
  const span = interval && h("i", { class: "span", style: { left: `${100 * interval[0]}%`, width: `${Math.max(0.6, 100 * (interval[1] - interval[0]))}%` }, title: `95 %: ${percent(interval[0])} to ${percent(interval[1])}` });
  return h("div", { class: "bar" }, h("i", { class: "pass", style: { width: `${100 * share}%` } }), span);
}

function amount(n, most) {
  return h("div", { class: "bar" }, h("i", { class: "plain", style: { width: `${most ? (100 * n) / most : 0}%` } }));
}

function histogram({ title, width, bars }) {
  if (!bars.length) return null;
  const most = Math.max(...bars.map((bar) => bar[1]), 1);
  const range = (low) => (width === 1 ? `${low}` : `${low} to ${low + width - 1}`);
  return h("figure", { style: { margin: 0 } },
    h("figcaption", { class: "soft" }, title),
    h("div", { class: "hist", role: "img", "aria-label": bars.map(([low, n]) => `${range(low)}: ${n}`).join(", ") },
      bars.map(([low, n]) => h("div", { style: { height: `${(100 * n) / most}%` }, title: `${range(low)}: ${number(n)}` }))),
    h("div", { class: "axis" }, h("span", {}, number(bars[0][0])), h("span", {}, number(bars.at(-1)[0]))));
}

// One square a tool, the darker the more calls; places (worlds, servers) are sorted by name.
function coverage(tools) {
  const most = Math.max(...tools.map((tool) => tool.calls), 1);
  const places = Map.groupBy ? Map.groupBy(tools, (tool) => tool.place) : grouped(tools, (tool) => tool.place);
  return h("div", { class: "map" }, [...places].map(([place, own]) => {
    const used = own.filter((tool) => tool.calls > 0).length;
    return h("section", {}, h("span", {}, place || "without a place"), h("small", {}, ` ${used} of ${own.length}`),
      h("div", {}, own.map((tool) => {
        const says = `${tool.name}: ${number(tool.calls)} calls${tool.failed ? `, ${number(tool.failed)} with an error` : ""}`;
        const heat = tool.calls ? 18 + (82 * Math.log1p(tool.calls)) / Math.log1p(most) : 0;
        return h("span", { class: tool.calls ? "cell" : "cell unused", style: { "--heat": `${heat}%` }, title: says, role: "img", "aria-label": says });
      })));
  }));
}

function grouped(rows, key) {
  const groups = new Map();
  for (const row of rows) groups.set(key(row), [...(groups.get(key(row)) ?? []), row]);
  return groups;
}
