// Rewritings: the source and the text beside each other, with what the checker found.

class Rewrites {
  constructor(index) {
    this.index = new Columns(index);
    this.titles = index.titles;
    this.listing = new Listing("Rewritings", (row) => this.item(row), (row) => go(`/rewritings/${this.index.at("id", row)}`));
    this.search = h("input", { type: "search", id: "search", placeholder: "Search: title, heading, reason …  ( / )", "aria-label": "Search rewritings", oninput: () => this.apply() });
    this.selects = ["style", "verdict", "fidelity"].map((name) => [name, h("select", { "aria-label": name, onchange: () => this.apply() },
      h("option", { value: "" }, `${name}: any`), this.index.values(name).sort().map((value) => h("option", { value }, words(value))))]);
    this.found = h("select", { "aria-label": "findings", onchange: () => this.apply() }, h("option", { value: "" }, "findings: any"), h("option", { value: "1" }, "with findings"));
    this.count = h("span", { role: "status" });
    const finder = h("div", { class: "find" }, this.search, h("div", { class: "filters" }, this.selects.map((pair) => pair[1]), this.found), h("div", { class: "row" }, this.count));
    this.view = splitView(finder, this.listing);
    this.element = this.view.element;
    this.apply();
  }

  title(row) {
    return this.titles[this.index.at("document", row)] ?? this.index.at("document", row);
  }

  item(row) {
    const at = (name) => this.index.at(name, row);
    return [h("div", {}, h("span", { class: `dot ${at("verdict") === "kept" ? "kept" : ""}`, title: words(at("verdict")) }), at("heading") || this.title(row)),
      h("div", { class: "under" }, [words(at("style")), words(at("verdict")), at("findings") ? plural(at("findings"), "finding") : "", at("reason")].filter(Boolean).join(" · "))];
  }

  apply() {
    const sought = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = Array.from({ length: this.index.length }, (_, row) => row).filter((row) => {
      const at = (name) => this.index.at(name, row);
      const text = [this.title(row), at("heading"), at("reason"), at("id"), at("style")].join(" ").toLowerCase();
      return this.selects.every(([name, select]) => !select.value || at(name) === select.value) && (!this.found.value || at("findings") > 0) && sought.every((word) => text.includes(word));
    });
    this.listing.show(rows);
    this.count.textContent = `${number(rows.length)} of ${number(this.index.length)}`;
  }

  async content(row) {
    return (await blockOf(`rewrite-block-${Math.floor(row / this.index.perBlock)}`))[row % this.index.perBlock];
  }

  async open(id) {
    const row = this.index.find("id", id);
    if (row < 0) return this.view.display(h("p", { class: "empty" }, `There is no rewriting ${id} in this report.`));
    this.listing.choose(row);
    const content = await this.content(row);
    if (this.listing.chosen !== row) return undefined;
    return this.view.display(this.head(row), comparison(content, this.index.at("verdict", row)));
  }

  head(row) {
    const at = (name) => this.index.at(name, row);
    return [h("h2", {}, at("heading") || this.title(row)), h("small", {}, `${at("id")} · ${this.title(row)} · piece ${at("chunk") + 1}`),
      h("div", { class: "badges" }, badge(at("style")), badge(at("verdict"), at("verdict")), badge(at("fidelity"), at("fidelity")),
        at("score") !== null && badge(`score ${number(at("score"), 3)}`), at("coverage") !== null && badge(`coverage ${percent(at("coverage"))}`),
        at("verdict") === "kept" && [at("overlap") !== null && badge(`shared with the source ${percent(at("overlap"))}`), badge(`${at("tokens_source")} → ${at("tokens")} tokens`)], badge(plural(at("attempts"), "attempt"))),
      at("reason") && h("p", { class: "why" }, at("reason"))];
  }
}

function comparison([source, text, findings], verdict) {
  const ranges = (whole, fragment, start) => findings.flatMap((finding) => {
    const found = place(whole, finding[fragment], finding[start]);
    return found ? [[...found, "error", finding[3]]] : [];
  });
  return [
    findings.length > 0 && h("ul", { class: "facts" }, findings.map(([kind, direction, severity, message]) => h("li", {}, badge(`${kind}, ${direction}`, severity === "warn" ? "fault" : "fail"), " ", message))),
    h("div", { class: "pair" }, h("section", { class: "text", "aria-label": "Source" }, h("h3", {}, "Source"), marked(source, ranges(source, 4, 6))),
      h("section", { class: "text", "aria-label": "Rewriting" }, h("h3", {}, verdict === "kept" ? "Rewriting" : "Rewriting, refused: the source's words stay"), marked(text, ranges(text, 5, 8)))),
  ];
}

// Where a finding's words stand: at their offset, else where they first occur.
function place(whole, fragment, start) {
  if (!fragment) return null;
  const at = start !== null && whole.startsWith(fragment, start) ? start : whole.indexOf(fragment);
  return at < 0 ? null : [at, at + fragment.length];
}
