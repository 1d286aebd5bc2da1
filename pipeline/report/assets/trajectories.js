// The page of trajectories: search, filters, list, and the one that is open.

const FILTERS = ["value", "difficulty", "world", "category", "goal", "persona", "fault", "ending"];
const SORTS = { "by world": null, "most calls": "calls", "most turns": "turns", "most tokens": "tokens", "most failed calls": "failed_calls" };

class Trajectories {
  constructor(index) {
    this.index = new Columns(index);
    this.total = index.total;
    this.query = { q: "", whole: "", sort: "by world" };
    this.listing = new Listing("Trajectories", (row) => this.item(row), (row) => go(`/trajectories/${this.index.at("id", row)}`));
    this.view = splitView(this.finder(), this.listing);
    this.element = this.view.element;
    this.hay = null;
    this.round = 0;
    this.apply();
  }

  finder() {
    this.search = h("input", { type: "search", id: "search", placeholder: "Search: words, tool, id, reason …  ( / )", "aria-label": "Search trajectories", oninput: () => this.soon() });
    this.whole = h("input", { type: "checkbox", id: "whole", onchange: () => this.read() });
    this.sort = h("select", { "aria-label": "Order", onchange: () => this.read() }, Object.keys(SORTS).map((name) => h("option", {}, name)));
    this.selects = Object.fromEntries(FILTERS.map((name) => [name, h("select", { "aria-label": name, id: `filter-${name}`, onchange: () => this.read() },
      h("option", { value: "" }, `${name}: any`), this.options(name).map((value) => h("option", { value }, words(value))))]));
    this.count = h("span", { role: "status", id: "count" });
    const filters = h("details", { open: innerWidth > 820 }, h("summary", {}, "Filters"), h("div", { class: "filters" }, FILTERS.map((name) => this.selects[name])));
    return h("div", { class: "find" }, this.search, filters,
      h("div", { class: "row" }, h("label", {}, this.whole, " in what was said"), this.sort),
      h("div", { class: "row" }, this.count, h("button", { type: "button", onclick: () => go("/trajectories?") }, "reset")));
  }

  options(name) {
    const values = this.index.values(name);
    const each = name === "fault" ? values.flatMap((value) => value.split(" ")) : values;
    return [...new Set(each)].sort();
  }

  item(row) {
    const at = (name) => this.index.at(name, row);
    return [h("div", {}, h("span", { class: `dot ${at("value")}`, title: at("value") }), at("intent") || at("id")),
      h("div", { class: "under" }, [at("world"), at("difficulty"), plural(at("calls"), "call"), words(at("fault"))].filter(Boolean).join(" · "))];
  }

  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.read(), 140);
  }

  // The query as the controls say it; it becomes the address, so that a view can be sent to somebody.
  read() {
    const query = new URLSearchParams();
    if (this.search.value.trim()) query.set("q", this.search.value.trim());
    if (this.whole.checked) query.set("whole", "1");
    if (this.sort.value !== "by world") query.set("sort", this.sort.value);
    for (const name of FILTERS) if (this.selects[name].value) query.set(name, this.selects[name].value);
    history.replaceState(null, "", `#/trajectories?${query}`);
    this.apply(query);
  }

  set(query) {
    this.search.value = query.get("q") ?? "";
    this.whole.checked = query.get("whole") === "1";
    this.sort.value = query.get("sort") ?? "by world";
    for (const name of FILTERS) {
      const value = query.get(name) ?? "";
      if (value && ![...this.selects[name].options].some((option) => option.value === value)) this.selects[name].append(h("option", { value }, words(value)));
      this.selects[name].value = value;
    }
    this.apply(query);
  }

  async apply(query = new URLSearchParams()) {
    const round = ++this.round;
    for (const name of FILTERS) this.selects[name].classList.toggle("set", Boolean(query.get(name)));
    const sought = (query.get("q") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const whole = query.get("whole") === "1";
    let rows = this.filtered(query);
    if (sought.length && !whole) rows = rows.filter((row) => sought.every((word) => this.text(row).includes(word)));
    if (sought.length && whole) rows = await this.said(rows, sought, round);
    if (round !== this.round) return;
    const key = SORTS[query.get("sort") ?? ""];
    if (key) rows = [...rows].sort((a, b) => this.index.at(key, b) - this.index.at(key, a));
    this.listing.show(rows);
    const of = this.total > this.index.length ? `${number(this.index.length)} drawn of ${number(this.total)}` : number(this.total);
    this.count.textContent = `${number(rows.length)} of ${of}`;
  }

  filtered(query) {
    const set = FILTERS.filter((name) => query.get(name)).map((name) => [name, query.get(name)]);
    const fits = (row) => set.every(([name, value]) => (name === "fault" ? this.index.at(name, row).split(" ").includes(value) : this.index.at(name, row) === value));
    return Array.from({ length: this.index.length }, (_, row) => row).filter(fits);
  }

  text(row) {
    this.hay ??= [];
    return (this.hay[row] ??= ["intent", "id", "task", "world", "reason", "tools", "planted", "ending"].map((name) => this.index.at(name, row)).join(" ").toLowerCase());
  }

  // Searches the conversations and verdicts of these rows, block after block.
  async said(rows, sought, round) {
    const found = [];
    for (const [number_, own] of grouped(rows, (row) => Math.floor(row / this.index.perBlock))) {
      if (round !== this.round) return [];
      this.count.textContent = `searching … ${number(found.length)} found`;
      const block = await unpack(`block-${number_}`);
      for (const row of own) {
        const text = `${JSON.stringify(block.trajectories[row % this.index.perBlock])} ${this.text(row)}`.toLowerCase();
        if (sought.every((word) => text.includes(word))) found.push(row);
      }
    }
    return found;
  }

  async open(id) {
    const row = this.index.find("id", id);
    if (row < 0) return this.view.display(h("p", { class: "empty" }, `There is no trajectory ${id} in this report.`));
    this.listing.choose(row);
    const block = await blockOf(`block-${Math.floor(row / this.index.perBlock)}`);
    if (this.listing.chosen !== row) return undefined;
    return this.view.display(...transcript((name) => this.index.at(name, row), block.trajectories[row % this.index.perBlock], block));
  }
}
