// The first page: the figures of the run.

const LEVELS = ["simple", "moderate", "hard", "expert"];

function overview(facts) {
  return h("div", { class: "overview" }, tiles(facts), h("div", { class: "cards" },
    funnelCard(facts),
    h("div", { class: "columns" },
      h("div", {}, [passCard(facts), whyCard(facts), endingCard(facts), codeCard(facts)]),
      h("div", {}, [checksCard(facts), keptCard(facts), calibrationCard(facts), modelCard(facts)])),
    spreadCard(facts), toolCard(facts), environmentCard(facts), rewriteCard(facts), measureCard(facts)));
}

function card(title, about, ...content) {
  return h("section", { class: "card" }, h("h2", {}, title), about && h("p", { class: "soft" }, about), content);
}

function tile(value, title, under) {
  return h("div", { class: "tile" }, h("span", {}, title), h("b", {}, value), h("span", {}, under ?? ""));
}

const sum = (rows, key) => rows.reduce((all, row) => all + (row[key] ?? 0), 0);

function tiles({ totals, state_persistence: kept, tools, calibration, models }) {
  const used = tools.filter((tool) => tool.calls).length;
  const misses = calibration.find((row) => row.name === "judge_misses" && row.part === "rules");
  return h("div", { class: "tiles" },
    totals.trajectories > 0 && [
      tile(number(totals.trajectories), "trajectories", `${number(totals.tasks)} tasks in ${number(totals.worlds)} worlds`),
      tile(percent(totals.pass_rate), "pass", totals.ci95 && `95 %: ${percent(totals.ci95[0])} to ${percent(totals.ci95[1])}`),
      tile(short(totals.calls), "tool calls", `${number(totals.with_faults)} trajectories with faults`)],
    tools.length > 0 && tile(number(tools.length), "tools", `${number(used)} of them called`),
    kept.share !== null && tile(percent(kept.share, 2), "state kept between calls", `${number(kept.pairs)} pairs of calls`),
    misses && tile(percent(misses.value), "flaws missed by the checks", `of ${number(misses.n)} planted`),
    totals.rewrites > 0 && tile(number(totals.rewrites_kept), "rewritings", `of ${number(totals.rewrites)} tried`),
    totals.trajectories > 0 && tile(short(totals.tokens), "tokens in trajectories", money(totals.cost)),
    models.length > 0 && tile(money(sum(models, "cost")), "paid to models", `${short(sum(models, "tokens_in") + sum(models, "tokens_out"))} tokens, ${number(sum(models, "calls"))} calls`));
}

function funnelCard({ funnel }) {
  if (!funnel.length) return null;
  const most = Math.max(...funnel.map((row) => row.entered), 1);
  const parts = ["kept", "rejected", "failed", "pending"];
  return card("Funnel", "What entered each stage, and what became of it. A stage's bar is as long as what entered it.",
    table([
      ["stage", (row) => words(row.stage), "nowrap"],
      ["", (row) => h("div", { style: { width: `${Math.max(2, (100 * row.entered) / most)}%` } }, stacked(parts.map((part) => [part, row[part]]), row.entered || 1)), "chart"],
      ["entered", (row) => number(row.entered), "n"],
      ...parts.map((part) => [part, (row) => (row[part] ? number(row[part]) : "·"), "n"]),
      ["tokens", (row) => short(row.tokens), "n"],
      ["cost", (row) => money(row.cost), "n"],
    ], funnel),
    h("div", { class: "legend" }, [["kept", "pass"], ["rejected", "fail"], ["failed", "none"], ["pending", "soft"]].map(([part, color]) =>
      h("span", {}, h("i", { style: { background: `var(--${color})` } }), part))));
}

function passCard({ pass_by: by }) {
  const names = Object.keys(by).filter((name) => by[name].length);
  if (!names.length) return null;
  const body = h("div");
  const buttons = names.map((name) => h("button", { type: "button", onclick: () => show(name) }, name));
  function show(name) {
    buttons.forEach((button, place) => button.setAttribute("aria-pressed", String(names[place] === name)));
    fill(body, table([
      [name, (row) => link(name, row.name), ""],
      ["", (row) => rate(row.share, row.ci95), "chart"],
      ["pass", (row) => percent(row.share), "n"],
      ["scored", (row) => number(row.n), "n"],
      ["unscored", (row) => (row.unscored ? number(row.unscored) : "·"), "n"],
    ], name === "difficulty" ? [...by[name]].sort((a, b) => LEVELS.indexOf(a.name) - LEVELS.indexOf(b.name)) : by[name]));
  }
  function link(name, value) {
    return FILTERS.includes(name) && value !== "no fault"
      ? h("a", { href: `#/trajectories?${name}=${encodeURIComponent(value)}` }, words(value))
      : words(value);
  }
  show(names[0]);
  return card("Pass rate", "Share of scored attempts that pass, with 95 % intervals.", h("div", { class: "pick" }, buttons), body);
}

function whyCard({ failures }) {
  if (!failures.length) return null;
  const most = failures[0].n;
  return card("Rejected, and why", "Reasons by stage, each with one example.", table([
    ["stage", (row) => words(row.stage), "nowrap"],
    ["reason", (row) => [words(row.kind), row.example && row.example !== row.kind && h("details", {}, h("summary", { class: "soft" }, "example"), h("small", {}, row.example))], ""],
    ["", (row) => amount(row.n, most), "chart"],
    ["", (row) => number(row.n), "n"],
  ], failures.slice(0, 14)));
}

function checksCard({ failed_checks: checks }) {
  if (!checks.length) return null;
  const most = checks[0].n;
  return card("Checks that said no", "Trajectories that each check failed.", table([
    ["kind", (row) => words(row.kind), "nowrap"],
    ["check", (row) => [h("a", { href: `#/trajectories?value=fail&q=${encodeURIComponent(row.check)}&whole=1` }, row.check), row.example && h("details", {}, h("summary", { class: "soft" }, "example"), h("small", {}, row.example))], ""],
    ["", (row) => amount(row.n, most), "chart"],
    ["", (row) => number(row.n), "n"],
  ], checks.slice(0, 12)));
}

function keptCard({ kept_sources: reasons }) {
  if (!reasons.length) return null;
  return card("Where the source's words stayed", "Why no rewriting was good enough.", table([
    ["reason", (row) => [words(row.name), row.example !== row.name && h("details", {}, h("summary", { class: "soft" }, "example"), h("small", {}, row.example))], ""],
    ["", (row) => amount(row.n, reasons[0].n), "chart"],
    ["", (row) => number(row.n), "n"],
  ], reasons));
}

function spreadCard({ spreads, totals }) {
  if (!totals.trajectories) return null;
  return card("How long they are", null, h("div", { class: "hists" }, spreads.map(histogram)));
}

function toolCard({ tools }) {
  if (!tools.length) return null;
  const used = tools.filter((tool) => tool.calls).length;
  const real = tools.filter((tool) => tool.source === "mcp").length;
  return card("Tool coverage", `One square a tool, the darker the more calls; dashed: never called. ${number(used)} of ${number(tools.length)} called; ${number(real)} come from real servers.`, coverage(tools));
}

function calibrationCard({ calibration }) {
  const seen = calibration.filter((row) => row.n > 0);
  if (!seen.length) return null;
  const of = (part, name) => seen.find((row) => row.part === part && row.name === name);
  const cell = (name) => (part) => { const row = of(part, name); return row ? `${percent(row.value)} of ${number(row.n)}` : "·"; };
  const parts = [...new Set(seen.map((row) => row.part))];
  const shown = (title, own) => table([
    [title, (part) => words(part.slice(part.indexOf("/") + 1)), ""],
    ["misses", cell("judge_misses"), "n"],
    ["false alarms", cell("judge_false_alarms"), "n"],
    ["abstentions", cell("judge_abstentions"), "n"],
  ], own);
  return card("Judges, calibrated", "Measured against planted flaws: what was missed, and what was blamed without reason.",
    parts.filter((part) => !part.includes("/")).map((judge) => {
      const kinds = parts.filter((part) => part.startsWith(`${judge}/`));
      const worst = [...kinds].sort((a, b) => Math.max(...seen.filter((row) => row.part === b).map((row) => row.value)) - Math.max(...seen.filter((row) => row.part === a).map((row) => row.value)));
      return [shown("judge", [judge]), kinds.length > 0 && h("details", {}, h("summary", { class: "soft" }, `${judge}: ${kinds.length} kinds of flaws and variations, the worst first`), shown("kind", worst))];
    }));
}

function modelCard({ models }) {
  if (!models.length) return null;
  return card("Models", "Requests, tokens and cost by role.", table([
    ["role", (row) => row.role, ""], ["model", (row) => row.model, ""],
    ["calls", (row) => number(row.calls), "n"], ["cached", (row) => number(row.cached), "n"], ["failed", (row) => number(row.failed), "n"],
    ["tokens in, out", (row) => `${short(row.tokens_in)}, ${short(row.tokens_out)}`, "n"],
    ["median s", (row) => number(row.median_seconds, 2), "n"], ["cost", (row) => money(row.cost), "n"],
  ], models));
}

function endingCard({ endings }) {
  if (!endings.length) return null;
  const rows = [...grouped(endings, (row) => row.name)].map(([name, own]) => {
    const n = (value) => own.filter((row) => row.value === value).reduce((sum, row) => sum + row.n, 0);
    return { name, all: own.reduce((sum, row) => sum + row.n, 0), pass: n("pass"), fail: n("fail") };
  });
  return card("How they end", null, table([
    ["ending", (row) => h("a", { href: `#/trajectories?ending=${encodeURIComponent(row.name)}` }, words(row.name)), ""],
    ["", (row) => stacked([["pass", row.pass], ["fail", row.fail], ["failed", row.all - row.pass - row.fail]], row.all), "chart"],
    ["", (row) => number(row.all), "n"],
  ], rows));
}

function codeCard({ code }) {
  if (!code.length) return null;
  const about = { agent: "attempts of agents", gold: "reference solutions", empty: "no solution" };
  const rows = [...grouped(code, (row) => row.solution)].map(([name, own]) => ({ name, n: sum(own, "n"), passed: sum(own.filter((row) => row.status === "passed"), "n"), own }));
  return card("Code, graded by its tests", "A task enters when its tests fail without a solution and pass with the reference.", table([
    ["solution", (row) => about[row.name] ?? words(row.name), ""],
    ["", (row) => stacked([["pass", row.passed], ["fail", row.n - row.passed]], row.n), "chart"],
    ["", (row) => row.own.map((one) => `${number(one.n)} ${words(one.status)}`).join(", "), "n"],
  ], rows));
}

function environmentCard({ environment: { fidelity, replay } }) {
  if (!fidelity.length && !replay.length) return null;
  const share = (row) => (row === null || row === undefined ? "·" : percent(row));
  const common = [
    ["", (row) => rate(row.share, row.ci95), "chart"],
    ["alike", (row) => percent(row.share), "n"],
    ["95 %", (row) => `${percent(row.ci95[0])} to ${percent(row.ci95[1])}`, "n nowrap"],
    ["calls", (row) => number(row.n), "n"],
    ["outcome", (row) => share(row.outcome), "n"], ["values", (row) => share(row.same_values), "n"],
  ];
  return card("Played tools against the truth", "Calls that a simulator answers as the executed tool does, and recorded calls that a real server answers alike now.",
    fidelity.length > 0 && [h("h3", {}, "Environment fidelity"), table([
      ["simulator", (row) => row.simulator, ""], ["changed rows", (row) => row.bucket, "n"], ...common,
      ["schema", (row) => share(row.fits), "n"], ["state", (row) => share(row.state), "n"],
    ], fidelity)],
    replay.length > 0 && [h("h3", {}, "Real replay rate"), table([
      ["recorded", (row) => row.source, ""], ["server", (row) => row.server, ""], ["tool", (row) => row.tool, ""], ...common,
      ["differs in", (row) => row.differs ?? "·", ""],
    ], replay)]);
}

function rewriteCard({ rewrites, findings }) {
  if (!rewrites.length) return null;
  return card("Rewritings by style", "Kept ones passed all checks; the others left the source's words in place.", table([
    ["style", (row) => words(row.style), ""],
    ["", (row) => stacked([["kept", row.kept], ["rejected", row.n - row.kept]], row.n), "chart"],
    ["kept", (row) => `${number(row.kept)} of ${number(row.n)}`, "n"],
    ["unfaithful", (row) => number(row.unfaithful), "n"],
    ["mean score", (row) => number(row.score, 3), "n"],
    ["tokens of the source", (row) => short(row.tokens_source), "n"], ["of the text", (row) => short(row.tokens), "n"],
  ], rewrites), findings.length > 0 && [h("h3", {}, "Findings"), h("div", { class: "badges" }, findings.map((row) => badge(`${row.kind}, ${row.severity}: ${row.n}`, row.severity === "warn" ? "fault" : "fail")))]);
}

function measureCard({ measures }) {
  if (!measures.length) return null;
  return card("Other measures", null, table([
    ["stage", (row) => words(row.stage), ""], ["measure", (row) => words(row.name), ""], ["of", (row) => words(row.part), ""],
    ["value", (row) => number(row.value, 4), "n"], ["n", (row) => number(row.n), "n"],
  ], measures));
}
