// Starts the page: shows the view that the address names, and keeps it in step with the runs.
import { link, parse } from "./address.js";
import { follow } from "./api.js";
import { el } from "./dom.js";
import { forget } from "./figures.js";
import { areKeysOn, openHelp } from "./help.js";
import { loadRuns, progressText, runOf, runs } from "./runs.js";
import { visible } from "./text.js";
import * as compare from "./compare_view.js";
import * as completions from "./completions_view.js";
import * as curves from "./curves_view.js";
import * as group from "./group_view.js";
import * as health from "./health_view.js";
import * as prompt from "./prompt_view.js";
import * as recipe from "./recipe_view.js";
import * as rewards from "./rewards_view.js";
import * as timeline from "./timeline_view.js";

const VIEWS = { curves, completions, group, prompt, rewards, timeline, compare, health, recipe };
const MENU = [
  ["curves", "Curves"],
  ["completions", "Completions"],
  ["prompt", "Prompts"],
  ["rewards", "Rewards"],
  ["timeline", "Timeline"],
  ["compare", "Compare"],
  ["health", "Health"],
  ["recipe", "Recipe"],
];
const main = document.getElementById("main");
const runChoice = document.getElementById("run");
const live = document.getElementById("live");

let shown = null; // the view that the page shows
let place = { view: "", parameters: new URLSearchParams() };
let visit = 0;

/** What a view may ask of the page. A view calls own() once it stands, and isGone() after each wait. */
const app = {
  visit: 0,
  own(view) {
    if (this.visit === visit) shown = view;
    else view.close?.();
  },
  isGone: (view) => shown !== view,
  set(values) {
    if (this.visit !== visit) return; // of a view that was left
    history.replaceState(null, "", link(place.view, values));
    place = parse(location.hash);
  },
  go(view, values) {
    location.hash = link(view, values);
  },
};

async function show() {
  place = parse(location.hash);
  if (!(place.view in VIEWS)) {
    history.replaceState(null, "", link("curves", { run: runs()[0]?.run }));
    place = parse(location.hash);
  }
  const own = ++visit;
  shown?.close?.();
  shown = null;
  document.querySelector("dialog[open]")?.close();
  main.replaceChildren();
  document.getElementById("problem").hidden = true;
  main.dataset.view = place.view;
  main.setAttribute("aria-busy", "true");
  const run = runOf(place.parameters.get("run"));
  showMenu(run);
  try {
    await VIEWS[place.view].open(main, place.parameters, { ...app, visit: own });
  } catch (error) {
    if (own === visit) main.append(el("p", { class: "note failed", role: "alert" }, visible(error.message)));
  }
  if (own === visit) main.setAttribute("aria-busy", "false");
}

function showMenu(run) {
  const title = MENU.find(([view]) => view === place.view)?.[1] ?? "Group";
  document.title = `${title} · ${visible(run.name)} · Cohort`;
  runChoice.value = String(run.run);
  document.getElementById("progress").textContent = progressText(run);
  document.getElementById("views").replaceChildren(
    ...MENU.map(([view, text], n) =>
      el(
        "li",
        {},
        el(
          "a",
          {
            href: link(view, { run: run.run }),
            "aria-current":
              (view === place.view || (place.view === "group" && view === "completions")) && "page",
            "aria-keyshortcuts": String(n + 1),
          },
          text,
        ),
      ),
    ),
  );
  document.querySelector("#views [aria-current]")?.scrollIntoView({ inline: "nearest", block: "nearest" });
  document.querySelector(".brand").href = link("curves", { run: run.run });
}

function fillRuns() {
  runChoice.replaceChildren(...runs().map(({ run, name }) => el("option", { value: run }, visible(name))));
  runChoice.disabled = runs().length < 2;
}

/** Another run in the same view, without what belongs to the old one. */
runChoice.addEventListener("change", () => {
  const kept = Object.fromEntries(
    ["m", "q", "smooth", "log", "x", "text", "flag", "sort", "descending"].map((name) => [
      name,
      place.parameters.getAll(name),
    ]),
  );
  app.go(place.view === "group" ? "completions" : place.view, { run: runChoice.value, ...kept });
});

const versions = new Map(); // of what the page shows of each run
const changed = new Set();
let isWaiting = false;

/** Takes in what runs wrote, at most once a second. */
function onChange({ run, step, version }) {
  const isFirst = !versions.has(run);
  const isSame = isFirst ? runs()[run]?.step === step : versions.get(run) === version;
  versions.set(run, version);
  if (isSame) return;
  changed.add(run);
  if (isWaiting) return;
  isWaiting = true;
  setTimeout(takeChanges, 1000);
}

async function takeChanges() {
  isWaiting = false;
  const list = [...changed];
  changed.clear();
  await loadRuns().catch(() => {}); // the connection is shown beside the menu
  document.getElementById("progress").textContent = progressText(runOf(place.parameters.get("run")));
  for (const run of list) {
    forget(run);
    shown?.refresh?.(run);
  }
}

function onState(isReached) {
  live.textContent = isReached ? "live" : "no connection";
  live.className = isReached ? "live on" : "live off";
}

function flipTheme() {
  const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  window.cohortThemeWasChosen = true;
  try {
    localStorage.setItem("cohort-theme", theme);
  } catch {
    // Storage is off: the choice holds until the page is left.
  }
  window.dispatchEvent(new Event("cohort-theme"));
}

function showTheme() {
  const isDark = document.documentElement.dataset.theme === "dark";
  const button = document.getElementById("theme");
  button.textContent = isDark ? "☀" : "☾";
  button.setAttribute("aria-label", isDark ? "Light theme" : "Dark theme");
  shown?.repaint?.();
}

function onKey(event) {
  const isTyping = event.target.closest?.(
    "input:not([type=checkbox]):not([type=range]), textarea, select, dialog",
  );
  if (!areKeysOn || isTyping || event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented)
    return;
  const view = MENU[Number(event.key) - 1]?.[0];
  const run = runOf(place.parameters.get("run")).run;
  const search = main.querySelector("input[type=search]");
  if (view) app.go(view, { run });
  else if (event.key === "?") openHelp();
  else if (event.key === "t") flipTheme();
  else if (event.key === "/" && search) search.focus();
  else if (shown?.keys?.[event.key]) shown.keys[event.key]();
  else return;
  event.preventDefault();
}

/** Says what went wrong outside of the opening of a view, such as a request after the server has gone. */
function onProblem(event) {
  event.preventDefault();
  if (event.reason?.name === "AbortError") return;
  const line = document.getElementById("problem");
  line.textContent = visible(event.reason?.message ?? event.reason);
  line.hidden = false;
}

async function start() {
  window.addEventListener("unhandledrejection", onProblem);
  document.addEventListener("keydown", onKey);
  window.addEventListener("cohort-theme", showTheme);
  document.getElementById("theme").addEventListener("click", flipTheme);
  document.getElementById("help").addEventListener("click", openHelp);
  document.getElementById("skip").addEventListener("click", (event) => {
    event.preventDefault(); // the hash of the address is the place
    main.focus();
  });
  let width = innerWidth;
  window.addEventListener("resize", () => {
    if (innerWidth !== width) shown?.repaint?.();
    width = innerWidth;
  });
  showTheme();
  try {
    await loadRuns();
  } catch (error) {
    main.append(el("p", { class: "note failed", role: "alert" }, visible(error.message)));
    return;
  }
  fillRuns();
  window.addEventListener("hashchange", async () => {
    await show();
    main.querySelector("h1")?.focus({ preventScroll: true });
    scrollTo(0, 0);
  });
  await show();
  follow(onChange, onState);
}

start();
