// The audit: a person accepts or rejects the drawn rewritings; the answers leave as JSON Lines for `tracemill audit import`.

const ERRORS = ["number", "name", "negation", "added", "left out", "changed meaning", "language", "form"];

class Audit {
  constructor(rewrites, sample, run) {
    this.rewrites = rewrites;
    this.sample = sample;
    this.key = `audit ${run}`;
    this.answers = remembered.get(this.key, {});
    this.at = Math.max(0, sample.findIndex((row) => !this.answers[this.id(row)]?.answer));
    this.element = h("div", { class: "audit" });
    this.paint();
  }

  id(row) {
    return this.rewrites.index.at("id", row);
  }

  get given() {
    return this.answers[this.id(this.sample[this.at])] ?? { answer: "", error: "" };
  }

  async paint() {
    const row = this.sample[this.at];
    const content = await this.rewrites.content(row);
    if (this.sample[this.at] !== row) return;
    const done = this.sample.filter((one) => this.answers[this.id(one)]?.answer).length;
    fill(this.element,
      h("p", { class: "soft" }, `${this.at + 1} of ${this.sample.length} · ${done} answered · does the rewriting say what the source says, no more and no less?`),
      this.rewrites.head(row), comparison(content, this.rewrites.index.at("verdict", row)), this.controls());
  }

  controls() {
    const { answer, error } = this.given;
    const choice = (name, key) => h("button", { type: "button", class: name, "aria-pressed": String(answer === name), onclick: () => this.answer(name) }, `${name[0].toUpperCase()}${name.slice(1)} (${key})`);
    const which = h("input", { list: "errors", placeholder: "which error", "aria-label": "Which error", value: error, onchange: (event) => this.answer("reject", event.target.value, false) });
    const who = h("input", { placeholder: "your name", "aria-label": "Auditor", value: remembered.get("auditor", ""), onchange: (event) => remembered.set("auditor", event.target.value) });
    return h("div", { class: "answers" }, h("button", { type: "button", onclick: () => this.step(-1), "aria-label": "Before" }, "←"), choice("accept", "a"), choice("reject", "r"), which,
      h("datalist", { id: "errors" }, ERRORS.map((one) => h("option", { value: one }))), h("button", { type: "button", onclick: () => this.step(1), "aria-label": "Next" }, "→"), who,
      h("button", { type: "button", id: "export", onclick: () => this.save() }, "Save answers"));
  }

  // A rejection stays on the page, so that its error can be named; an acceptance goes on.
  answer(answer, error = "", onward = answer === "accept") {
    const kept = answer === "accept" ? "" : error || this.given.error;
    this.answers[this.id(this.sample[this.at])] = { answer, error: kept };
    remembered.set(this.key, this.answers);
    if (onward && this.at < this.sample.length - 1) this.at += 1;
    this.paint();
  }

  step(by) {
    this.at = Math.min(Math.max(this.at + by, 0), this.sample.length - 1);
    this.paint();
  }

  async lines() {
    const auditor = remembered.get("auditor", "");
    const rows = [];
    for (const row of this.sample) {
      const [source, rewriting, findings] = await this.rewrites.content(row);
      const at = (name) => this.rewrites.index.at(name, row);
      const { answer, error } = this.answers[this.id(row)] ?? { answer: "", error: "" };
      const named = findings.map(([kind, direction, severity, message, source_text, rewrite_text, source_start, source_end]) => ({ kind, direction, severity, message, source_text, rewrite_text, source_start, source_end }));
      rows.push(JSON.stringify({ id: at("id"), document: at("document"), chunk: at("chunk"), style: at("style"), source, rewriting, verdict: at("verdict"), fidelity: at("fidelity"), findings: named, answer, error, auditor: answer ? auditor : "" }));
    }
    // Some readers take these characters for ends of lines; escaped they mean the same.
    const escaped = (line) => line.replace(/[\u0085\u2028\u2029]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
    return `${rows.map(escaped).join("\n")}\n`;
  }

  async save() {
    const address = URL.createObjectURL(new Blob([await this.lines()], { type: "application/jsonl" }));
    h("a", { href: address, download: "audit.jsonl" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }

  key_(event) {
    const act = { a: () => this.answer("accept"), r: () => this.answer("reject"), j: () => this.step(1), k: () => this.step(-1), ArrowRight: () => this.step(1), ArrowLeft: () => this.step(-1) }[event.key];
    if (act) act();
    if (event.key === "r") this.element.querySelector("input")?.focus();
    return Boolean(act);
  }
}
