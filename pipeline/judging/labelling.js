"use strict";
// One verdict after the other: a person reads the trajectory and answers; the labels leave as CSV. Texts become text
// nodes and nothing else: what stands in the data can never be markup.
const { run, key, questions, shown } = JSON.parse(document.getElementById("data").textContent);
const LABELS = { pass: "it does", fail: "it does not", unscored: "nobody can tell" };
const byId = (id) => document.getElementById(id);
const answers = remembered();
let at = Math.max(0, questions.findIndex((_, place) => !answers[place]?.label));

function h(tag, props, ...children) {
  const element = Object.assign(document.createElement(tag), props);
  element.append(...children.flat().filter((child) => child));
  return element;
}

// A browser may keep nothing for files; then the labels last as long as the page is open.
function remembered() {
  try { return JSON.parse(localStorage.getItem(key)) ?? {}; } catch { return {}; }
}

function remember() {
  try { localStorage.setItem(key, JSON.stringify(answers)); } catch { /* the page still holds them */ }
}

function paint() {
  const { trajectory, check, kind, criterion } = questions[at];
  byId("criterion").textContent = criterion;
  byId("about").textContent = `${kind}: ${check} · ${trajectory}`;
  const { goals, events, end, changes } = shown[trajectory];
  byId("shown").replaceChildren(
    h("article", {}, h("small", {}, "What the user wanted"), h("ul", {}, goals.map((goal) => h("li", {}, goal)))),
    ...events.map(eventView),
    h("article", {}, h("small", {}, `The episode ended: ${end}`)),
    ...(changes ? [h("article", {}, h("small", {}, "What changed in the data, from the first to the last event"), h("pre", {}, changes))] : []));
  scrollTo(0, 0);
  document.body.dataset.shown = at + 1;
  controls();
}

function eventView({ event, role, content, calls = [], tool, ok, error, injected_fault }) {
  const head = [`${event} · ${role}`, tool, ok === false && "failed", error, injected_fault && `injected fault: ${injected_fault}`];
  const said = content && (role === "tool" ? h("pre", {}, pretty(content)) : h("div", {}, content));
  const made = calls.map((call) => h("pre", {}, `${call.tool} ${pretty(call.arguments)}`));
  const body = role === "system" ? [h("details", {}, h("summary", {}, "What the assistant was told"), said)] : [said, ...made];
  return h("article", { className: role }, h("small", {}, head.filter(Boolean).join(" · ")), body);
}

function pretty(text) {
  try { return JSON.stringify(JSON.parse(text), null, 1); } catch { return text; } // not JSON: shown as it came
}

function controls() {
  const { label = "", comment = "" } = answers[at] ?? {};
  const button = (text, onclick, more) => h("button", { type: "button", onclick, ...more }, text);
  byId("answers").replaceChildren(
    button("←", () => step(-1), { ariaLabel: "Before" }),
    ...Object.entries(LABELS).map(([name, meaning]) => button(`${name} (${name[0]})`, () => answer(name), { id: name, title: meaning, ariaPressed: String(label === name) })),
    button("→", () => step(1), { ariaLabel: "Next" }),
    h("input", { id: "comment", placeholder: "comment", ariaLabel: "Comment", value: comment, oninput: (event) => note({ comment: event.target.value }) }),
    button("Save labels.csv", save, { id: "save" }));
  progress();
}

function progress() {
  const done = questions.filter((_, place) => answers[place]?.label).length;
  byId("place").textContent = `${at + 1} of ${questions.length} · ${done} labelled · does the trajectory meet this?`;
}

function note(given) {
  answers[at] = { ...answers[at], ...given };
  remember();
  progress();
}

function answer(label) {
  note({ label });
  if (at < questions.length - 1) step(1);
  else controls();
}

function step(by) {
  at = Math.min(Math.max(at + by, 0), questions.length - 1);
  paint();
}

function save() {
  const quote = (text) => `"${(text ?? "").replaceAll('"', '""')}"`;
  const lines = questions.map(({ trajectory, check }, place) => [trajectory, check, answers[place]?.label, answers[place]?.comment].map(quote).join(","));
  const text = ["trajectory,check,label,comment", ...lines, ""].join("\r\n");
  const href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  h("a", { href, download: "labels.csv" }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10000);
}

addEventListener("keydown", (event) => {
  if (event.target.tagName === "INPUT" || event.ctrlKey || event.metaKey || event.altKey) return;
  const act = { p: () => answer("pass"), f: () => answer("fail"), u: () => answer("unscored"), ArrowRight: () => step(1), ArrowLeft: () => step(-1) }[event.key];
  if (act) act();
});
document.title = `${run} · verdicts to label`;
paint();
