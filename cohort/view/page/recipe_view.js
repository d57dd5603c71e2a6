// Recipe: all settings of the run, what --resume changed, rollbacks and the plan of memory.
import { debounced, el, heading, table } from "./dom.js";
import { runDetails } from "./figures.js";
import { bytes, number } from "./format.js";
import { runOf } from "./runs.js";
import { visible, visibleLine } from "./text.js";

const textOf = (value) =>
  typeof value === "string"
    ? JSON.stringify(value)
    : Array.isArray(value) || typeof value === "object"
      ? JSON.stringify(value)
      : String(value);
const isTable = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
const isTables = (value) => Array.isArray(value) && value.length > 0 && value.every(isTable);

/** [[section, [[key, value], ...]], ...] as in a recipe: settings without a section first, then a section for each table. */
function sections(recipe, prefix = "") {
  const own = [];
  const others = [];
  for (const [key, value] of Object.entries(recipe)) {
    if (isTables(value)) value.forEach((one, n) => others.push(...sections(one, `${prefix}${key}.${n}`)));
    else if (isTable(value) && Object.keys(value).length > 0)
      others.push(...sections(value, `${prefix}${key}`).map(([name, rows]) => [name, rows]));
    else own.push([key, value]);
  }
  return [...(own.length > 0 ? [[prefix, own]] : []), ...others.map(([name, rows]) => [name, rows])];
}

/** Rows of records whose keys differ: a column for each key. */
function recordTable(title, records) {
  const keys = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const columns = keys.map((key) => ({
    title: visible(key),
    cell: (record) => (key in record ? visibleLine(textOf(record[key])) : ""),
  }));
  return [
    el("h2", {}, `${title} `, el("span", { class: "count" }, number(records.length))),
    table(title, columns, records, { class: "rows" }),
  ];
}

function planBlock(plan) {
  if (!isTable(plan)) return [];
  const rows = [];
  const add = (name, value) => {
    if (typeof value === "number") rows.push([name, bytes(value)]);
    else if (Array.isArray(value))
      value.forEach((one) =>
        Array.isArray(one)
          ? add(`${name}: ${one[0]}`, one[1])
          : isTable(one)
            ? add(`${name}: ${one.name ?? ""}`, one.bytes ?? one.gb)
            : rows.push([name, String(one)]),
      );
    else if (isTable(value)) Object.entries(value).forEach(([key, one]) => add(`${name}: ${key}`, one));
    else if (value !== null && value !== undefined) rows.push([name, String(value)]);
  };
  for (const [name, value] of Object.entries(plan)) add(name.replace("_bytes", ""), value);
  return [
    el("h2", {}, "Memory plan"),
    table(
      "Memory plan",
      [
        { title: "Part", cell: ([name]) => visible(name) },
        { title: "Size", class: "num", cell: ([, value]) => visible(value) },
      ],
      rows,
      { class: "rows" },
    ),
  ];
}

export async function open(main, parameters, app) {
  const run = runOf(parameters.get("run"));
  const view = {};
  app.own(view);
  const { recipe, changes, rollbacks, plan } = await runDetails(run.run);
  if (app.isGone(view)) return;
  const body = el("div", { class: "settings" });
  const show = (search) => {
    const word = search.toLowerCase();
    const parts = sections(recipe).map(([name, rows]) => {
      const shown = rows.filter(([key, value]) =>
        `${name}.${key} ${textOf(value)}`.toLowerCase().includes(word),
      );
      if (shown.length === 0) return null;
      return el(
        "section",
        {},
        el("h2", {}, name ? visible(name) : "general"),
        el(
          "dl",
          { class: "keys" },
          shown.map(([key, value]) =>
            el("div", {}, el("dt", {}, visible(key)), el("dd", {}, visibleLine(textOf(value)))),
          ),
        ),
      );
    });
    const found = parts.filter((part) => part !== null);
    body.replaceChildren(...(found.length > 0 ? found : [el("p", { class: "note" }, "No setting matches.")]));
  };
  const box = el("input", {
    type: "search",
    placeholder: "Search settings",
    "aria-label": "Search settings",
    "aria-keyshortcuts": "/",
    value: parameters.get("q") ?? "",
    oninput: debounced(() => {
      app.set({ run: run.run, q: box.value });
      show(box.value);
    }, 150),
  });
  const facts = [
    ["model", run.model],
    ["preset", run.preset],
    ["seed", run.seed],
    ["started", run.started],
    ["folder", run.path],
  ];
  main.append(
    el("div", { class: "bar" }, heading("Recipe"), box),
    el(
      "p",
      { class: "facts" },
      facts
        .filter(([, value]) => value !== null && value !== undefined && value !== "")
        .map(([name, value]) => el("span", {}, `${name} `, el("b", {}, visibleLine(value)))),
    ),
    ...(changes.length > 0 ? recordTable("Changes by --resume", changes) : []),
    ...(rollbacks.length > 0 ? recordTable("Rollbacks", rollbacks) : []),
    ...planBlock(plan),
    body,
  );
  show(box.value);
}
