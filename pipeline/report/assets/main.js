// Which page is shown: the address behind # says it, so that every view can be linked and the back button works.

const pages = {};
let facts = null;

function go(address) {
  if (location.hash === `#${address}`) route();
  else location.hash = address;
}

function known() {
  const found = ["overview"];
  if (facts.totals.trajectories) found.push("trajectories");
  if (facts.totals.rewrites) found.push("rewritings", "audit");
  return found;
}

// The long data stands behind the script: what needs it waits for the end of the page.
const loaded = new Promise((done) => (document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", done) : done()));

async function page(name) {
  if (name === "overview") return (pages.overview ??= { element: overview(facts) });
  await loaded;
  if (name === "trajectories") return (pages.trajectories ??= new Trajectories(await unpack("index")));
  const index = await (pages.index ??= unpack("rewrite-index"));
  pages.rewritings ??= new Rewrites(index);
  if (name === "audit") pages.audit ??= new Audit(pages.rewritings, index.sample, facts.run.name);
  return pages[name];
}

async function route() {
  const [path, query] = location.hash.slice(1).split("?");
  const [, name = "overview", id] = path.split("/").map(decodeURIComponent);
  const chosen = known().includes(name) ? name : "overview";
  fill(byId("tabs"), known().map((one) => h("a", { href: `#/${one}`, "aria-current": one === chosen ? "page" : null }, words(one))));
  const shown = await page(chosen);
  const main = byId("main");
  if (main.firstChild !== shown.element) fill(main, shown.element);
  document.body.dataset.page = chosen;
  if (query !== undefined && shown.set) shown.set(new URLSearchParams(query));
  if (id && shown.open) await shown.open(id);
  else if (shown.view) shown.view.element.classList.remove("open");
  document.body.dataset.shown = location.hash;
}

function typing(event) {
  return event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement || event.ctrlKey || event.metaKey || event.altKey;
}

function keys(event) {
  if (event.key === "Escape" && event.target instanceof HTMLInputElement) return event.target.blur();
  if (typing(event)) return undefined;
  const shown = pages[document.body.dataset.page];
  if (shown?.key_?.(event)) return event.preventDefault();
  const place = "1234".indexOf(event.key);
  if (place >= 0 && known()[place]) return go(`/${known()[place]}`);
  if (event.key === "/" && shown?.search) { event.preventDefault(); shown.view.element.classList.remove("open"); shown.search.focus(); }
  if (event.key === "j") shown?.listing?.step(1);
  if (event.key === "k") shown?.listing?.step(-1);
  if (event.key === "e") nextEvidence();
  if (event.key === "Escape") shown?.view?.element.classList.remove("open");
  if (event.key === "t") theme();
  if (event.key === "?") help();
  return undefined;
}

function nextEvidence() {
  const cited = [...document.querySelectorAll(".event.cited")];
  if (!cited.length) return;
  const now = cited.findIndex((event) => event.classList.contains("lit"));
  light(byId("main"), cited[(now + 1) % cited.length].id.slice(6));
}

function theme() {
  const order = ["", "light", "dark"];
  const next = order[(order.indexOf(document.documentElement.dataset.theme ?? "") + 1) % 3];
  document.documentElement.dataset.theme = next;
  remembered.set("theme", next);
}

function help() {
  const rows = [["1 … 4", "pages"], ["/", "search"], ["j, k", "next, previous"], ["e", "next evidence"], ["a, r", "accept, reject (audit)"], ["t", "light, dark, system"], ["Esc", "leave the search, back to the list"]];
  fill(byId("help"), h("h2", {}, "Keyboard"), table([["", (row) => h("kbd", {}, row[0]), "nowrap"], ["", (row) => row[1], ""]], rows), h("form", { method: "dialog" }, h("button", {}, "Close")));
  byId("help").showModal();
}

async function start() {
  document.documentElement.dataset.theme = remembered.get("theme", "");
  facts = await unpack("figures");
  byId("run-name").textContent = facts.run.name;
  const { flow, seed, status, started } = facts.run;
  byId("run-about").textContent = [flow, `seed ${seed}`, status, (started ?? "").slice(0, 16)].filter(Boolean).join(" · ");
  byId("theme").addEventListener("click", theme);
  byId("keys").addEventListener("click", help);
  addEventListener("hashchange", route);
  addEventListener("keydown", keys);
  await route();
}

start();
