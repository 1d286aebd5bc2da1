// A list of any length: only the rows in sight exist.

const ROW = 62;

class Listing {
  // draw(row) gives the content of one row, open(row) is called when it is chosen.
  constructor(label, draw, open) {
    this.draw = draw;
    this.open = open;
    this.rows = [];
    this.chosen = -1;
    this.inner = h("div");
    this.element = h("div", { class: "rows", tabindex: 0, role: "listbox", "aria-label": label, onscroll: () => this.paint(), onkeydown: (event) => this.key(event) }, this.inner);
    new ResizeObserver(() => this.paint()).observe(this.element);
  }
  show(rows) {
    this.rows = rows;
    this.element.scrollTop = 0;
    this.paint();
  }
  choose(row) {
    this.chosen = row;
    const place = this.rows.indexOf(row);
    const { scrollTop, clientHeight } = this.element;
    if (place >= 0 && (place * ROW < scrollTop || (place + 1) * ROW > scrollTop + clientHeight)) {
      this.element.scrollTop = place * ROW - clientHeight / 3;
    }
    this.paint();
  }
  step(by) {
    if (!this.rows.length) return;
    const place = this.rows.indexOf(this.chosen);
    const next = Math.min(Math.max(place < 0 ? 0 : place + by, 0), this.rows.length - 1);
    this.choose(this.rows[next]); // at once, so that a key held down goes on from here
    this.open(this.rows[next]);
  }
  key(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW) - 1);
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.rows.length, End: this.rows.length }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    this.step(by);
  }
  paint() {
    const { scrollTop, clientHeight } = this.element;
    this.inner.style.height = `${this.rows.length * ROW}px`;
    const first = Math.max(0, Math.floor(scrollTop / ROW) - 4);
    const last = Math.min(this.rows.length, Math.ceil((scrollTop + clientHeight) / ROW) + 4);
    const seen = this.rows.slice(first, last).map((row, place) =>
      h("div", { class: "item", role: "option", id: `row-${row}`, "aria-selected": String(row === this.chosen), "aria-posinset": first + place + 1, "aria-setsize": this.rows.length, style: { top: `${(first + place) * ROW}px` }, onclick: () => this.open(row) }, this.draw(row)));
    fill(this.inner, seen);
    this.element.setAttribute("aria-activedescendant", this.chosen >= 0 ? `row-${this.chosen}` : "");
  }
}

// List on the left, one record on the right; on a narrow screen one of both.
function splitView(finder, listing) {
  const detail = h("article", { class: "detail", tabindex: -1 }, h("p", { class: "empty" }, "Choose one on the left, or press j."));
  const element = h("div", { class: "split" }, h("section", { class: "side" }, finder, listing.element), detail);
  return {
    element,
    detail,
    display(...content) {
      const back = h("button", { type: "button", class: "back", onclick: () => element.classList.remove("open") }, "← list");
      fill(detail, back, ...content);
      element.classList.add("open");
      detail.scrollTop = 0;
    },
  };
}
