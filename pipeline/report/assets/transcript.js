// One trajectory: conversation with calls, state differences and faults; verdicts with the evidence they cite.

const MARKS = { pass: "✓", fail: "✗", unscored: "?" };

function transcript(about, [events, verdicts], block) {
  const failing = verdicts.filter((verdict) => verdict[2] === "fail");
  const cited = new Map();
  for (const verdict of failing) for (const index of verdict[4]) cited.set(index, [...(cited.get(index) ?? []), verdict]);
  const body = h("div", {}, events.map((event) => eventView(event, block.texts, cited.get(event[0]) ?? [])));
  return [
    h("h2", { class: "long", title: about("intent") }, about("intent") || about("id")),
    h("small", {}, `${about("id")} · ${about("world")} · attempt ${about("attempt") + 1}`),
    h("div", { class: "badges" }, badge(about("value"), about("value")), badge(about("difficulty")), badge(about("goal")), badge(about("persona") && `user: ${about("persona")}`),
      badge(`ended: ${words(about("ending"))}`), badge(about("fault") && `fault: ${words(about("fault"))}`, "fault"), badge(about("planted") && `planted: ${words(about("planted"))}`, "fault"),
      badge(plural(about("turns"), "turn")), badge(plural(about("calls"), "call")), badge(plural(about("tokens"), "token")), about("reward") !== null && badge(`reward ${number(about("reward"), 2)}`)),
    about("reason") && h("p", { class: "why" }, about("owner") && h("b", {}, `${about("owner")}: `), about("reason")),
    h("div", { class: "read" }, body, h("details", { class: "rail", open: innerWidth > 1150 }, h("summary", {}, "Verdicts and task"), verdictList(verdicts, body), taskView(block.tasks[about("task")]))),
  ];
}

function eventView(event, texts, verdicts) {
  const [index, role, content, turn, calls, name, ok, error, fault, changes, reasoning, note] = event;
  const said = typeof content === "number" ? texts[content] : content ?? "";
  const flaw = typeof note === "string" && note.startsWith("flaw:") ? `planted: ${words(note.slice(5))}` : "";
  const head = h("header", {}, h("a", { href: "#", tabindex: -1, onclick: (click) => click.preventDefault() }, `${index} · ${role}${name ? ` ${name}` : ""}`),
    badge(error, "fail"), badge(fault && `fault: ${words(fault)}`, "fault"), badge(flaw, "fault"),
    verdicts.map((verdict) => badge(`⚑ ${verdict[0]}`, "fail")));
  const parts = [];
  if (role === "system") parts.push(h("details", { class: "said" }, h("summary", {}, "What the assistant was told"), said));
  else if (role === "tool") parts.push(answerView(said, ok, verdicts));
  else if (said) parts.push(h("div", { class: "said" }, marked(said, evidence(said, verdicts))));
  if (reasoning) parts.unshift(h("details", {}, h("summary", { class: "soft" }, "reasoning"), h("div", { class: "reasoning" }, reasoning)));
  for (const call of calls ? JSON.parse(calls) : []) parts.push(h("div", { class: "call" }, h("b", {}, call.name), foldable(pretty(call.raw || call.arguments))));
  if (changes && changes.length) parts.push(changeView(changes));
  return h("section", { class: `event ${role}${verdicts.length ? " cited" : ""}`, id: `event-${index}`, "data-turn": turn }, head, parts);
}

function answerView(said, ok, verdicts) {
  const text = pretty(said);
  return h("div", { class: ok === false ? "answer bad" : "answer" }, foldable(text, evidence(text, verdicts)));
}

function pretty(value) {
  if (typeof value !== "string") return JSON.stringify(value, null, 1);
  try {
    const parsed = JSON.parse(value);
    const flat = JSON.stringify(parsed, null, 1);
    return flat.length < 110 ? flat.replace(/\s*\n\s*/g, " ") : flat;
  } catch {
    return value; // not JSON: shown as it came
  }
}

function foldable(text, ranges = []) {
  const pre = h("pre", {}, marked(text, ranges));
  if (text.length < 900 && text.split("\n").length < 14) return pre;
  pre.classList.add("folded");
  return [pre, h("button", { type: "button", class: "more", onclick: (click) => { pre.classList.toggle("folded"); click.target.textContent = pre.classList.contains("folded") ? "show all" : "show less"; } }, "show all")];
}

// Which words of an event a failing verdict means: what its reason quotes, else the numbers it names.
function evidence(text, verdicts) {
  const ranges = [];
  for (const [check, , , , , reason] of verdicts) {
    const quoted = [...reason.matchAll(/['"“‘]([^'"”’]{3,})['"”’]/g)].map((match) => match[1]);
    const tail = reason.includes(": ") ? [reason.slice(reason.indexOf(": ") + 2)] : [];
    const numbers = reason.match(/\d[\d.,:]*\d|\d/g) ?? [];
    const named = [...reason.matchAll(/(?:said|told|names|tells) (?:number |date |word )?([^:,]{3,60}?)(?: without|,|$)/g)].map((match) => match[1]);
    const found = [...numbers, ...named, ...quoted, ...tail].find((part) => part.length > 0 && text.includes(part));
    if (found) ranges.push([text.indexOf(found), text.indexOf(found) + found.length, "error", `${check}: ${reason}`]);
  }
  return ranges;
}

function changeView(changes) {
  const verbs = { "+": "new", "-": "removed", "~": "changed" };
  const shown = (value) => (value === null || value === undefined ? "∅" : typeof value === "string" && value !== "" ? value : JSON.stringify(value));
  return h("div", { class: "diff", role: "group", "aria-label": "What this call changed" }, changes.map(([name, key, kind, cells]) =>
    h("div", {}, h("span", { class: "k" }, `${name} ${key} `), h("small", {}, verbs[kind]), " ",
      cells.map(([column, before, after], place) => [place ? ", " : "", h("span", { class: "soft" }, `${column} `),
        kind !== "+" && h("del", {}, shown(before)), kind === "~" && " → ", kind !== "-" && h("ins", {}, shown(after))]))));
}

function verdictList(verdicts, body) {
  const rank = { fail: 0, unscored: 1, pass: 2 };
  const sorted = [...verdicts].sort((a, b) => rank[a[2]] - rank[b[2]]);
  const count = (value) => verdicts.filter((verdict) => verdict[2] === value).length;
  const view = ([check, , value, owner, cites, reason, judge, mandatory]) => h("div", { class: "verdict" }, h("b", { class: value, title: value }, MARKS[value] ?? "?"),
    h("div", {}, check, h("small", {}, ` ${judge}${mandatory ? "" : ", optional"}${value === "pass" ? "" : `, ${owner}`}`), reason && h("p", {}, reason),
      cites.map((index) => h("button", { type: "button", onclick: () => light(body, index) }, `event ${index}`))));
  const open = sorted.filter((verdict) => verdict[2] !== "pass");
  const passed = sorted.filter((verdict) => verdict[2] === "pass");
  return [h("h3", {}, `Verdicts: ${count("fail")} no, ${count("pass")} yes${count("unscored") ? `, ${count("unscored")} open` : ""}`), open.map(view),
    passed.length > 0 && h("details", { open: open.length === 0 }, h("summary", { class: "soft" }, `${passed.length} passed`), passed.map(view))];
}

function light(body, index) {
  body.querySelectorAll(".lit").forEach((one) => one.classList.remove("lit"));
  const event = body.querySelector(`#event-${Number(index)}`);
  if (!event) return;
  event.classList.add("lit");
  event.scrollIntoView({ block: "center" });
}

function taskView(task) {
  if (!task) return null;
  return [
    task.goals.length > 1 && [h("h3", {}, "Goals"), h("ul", { class: "facts" }, task.goals.map(([kind, intent]) => h("li", {}, intent, h("small", {}, ` ${words(kind)}`))))],
    task.facts.length > 0 && [h("h3", {}, "What the user knows"), h("ul", { class: "facts" }, task.facts.map(([label, spoken, disclosure]) => h("li", {}, `${label}: ${spoken}`, h("small", {}, ` ${words(disclosure)}`))))],
    task.reference.length > 0 && [h("h3", {}, "Reference calls"), h("ol", { class: "facts" }, task.reference.map(([tool, given, error]) => h("li", {}, h("code", {}, `${tool}(${Object.entries(given).map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(", ")})`), error && badge(error, "fault"))))],
    task.gate && h("small", {}, `Gate: ${task.gate.killed ?? 0} of ${task.gate.mutations ?? 0} mutations caught`),
  ];
}
