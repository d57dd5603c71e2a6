// One metric of the chosen runs: its name with its description, its newest value, its chart.
import { Chart } from "./chart.js";
import { el } from "./dom.js";
import { figure, runDetails } from "./figures.js";
import { number, short } from "./format.js";
import { explain } from "./metric_help.js";
import { colorOf } from "./runs.js";
import {
  band,
  hoursOf,
  merged,
  mergedBands,
  recipeWithoutSeed,
  smoothed,
  withoutNonPositive,
} from "./series.js";
import { visible } from "./text.js";

/** Runs by their recipes without the seed: [[run, ...], ...]. */
export async function seedGroups(runs) {
  const groups = new Map();
  for (const run of runs) {
    const key = recipeWithoutSeed((await runDetails(run.run)).recipe);
    groups.set(key, [...(groups.get(key) ?? []), run]);
  }
  return [...groups.values()];
}

async function curveOf(run, name, { smooth, x }) {
  const found = await figure(run.run, name);
  if (!found) return null;
  const hours = x === "time" ? await figure(run.run, "timing_s/step") : null;
  if (x === "time" && !hours) return null;
  const times = hours ? hoursOf(hours) : null;
  const xs = times ? found.steps.map((step) => times.get(step) ?? NaN) : found.steps;
  const known = xs.map((value) => !Number.isNaN(value));
  const raw = found.values.filter((_, n) => known[n]);
  return { run, xs: xs.filter((_, n) => known[n]), raw, ys: smoothed(raw, smooth) };
}

function bandData(curves, groups) {
  const own = groups
    .map((group) => curves.filter(({ run }) => group.includes(run)))
    .filter((group) => group.length > 0);
  return {
    isBand: true,
    rows: mergedBands(own.map(band)),
    curves: own.map((group) => ({
      name:
        group.length > 1
          ? `${visible(group[0].run.name)} and ${group.length - 1} more seeds`
          : visible(group[0].run.name),
      color: colorOf(group[0].run),
    })),
  };
}

function lineData(curves, smooth) {
  const name = ({ run }) => visible(run.name);
  const shown = curves.map((curve) => ({ name: name(curve), color: colorOf(curve.run) }));
  if (smooth <= 0) return { rows: merged(curves), curves: shown };
  const faint = curves.map((curve) => ({
    name: `${name(curve)} as it is`,
    color: colorOf(curve.run),
    isFaint: true,
  }));
  const raw = curves.map(({ xs, raw: ys }) => ({ xs, ys }));
  return { rows: merged([...curves, ...raw]), curves: [...shown, ...faint] };
}

function valueText(value) {
  if (!Array.isArray(value)) return number(value);
  const [low, mean, high] = value;
  return low === high ? number(mean) : `${number(mean)} (${number(low, 3)} – ${number(high, 3)})`;
}

export class CurveCard {
  /** settings(): {runs, groups, smooth, isLog, x}; onPin(name) chooses the metric or drops it. */
  constructor(group, info, settings, onPin, isPinned) {
    this.info = info;
    this.settings = settings;
    this.values = el("div", { class: "values" });
    this.chart = new Chart(group, {
      label: visible(info.name),
      height: isPinned ? 220 : 120,
      onValues: (row) => this.showValues(row),
    });
    const title = explain(el("button", { type: "button", class: "metric" }, visible(info.name)), info);
    const pin = el(
      "button",
      {
        type: "button",
        class: "pin",
        "aria-pressed": String(isPinned),
        onclick: () => onPin(info.name),
        "aria-label": `${isPinned ? "Drop" : "Choose"} ${visible(info.name)}`,
      },
      isPinned ? "★" : "☆",
    );
    this.element = el(
      "article",
      { class: isPinned ? "card pinned" : "card", "data-metric": info.name },
      el("div", { class: "card-head" }, title, pin),
      this.values,
      this.chart.box,
    );
  }

  async load() {
    this.isLoaded = true;
    const { runs, groups, smooth, isLog, x } = this.settings();
    try {
      const found = await Promise.all(runs.map((run) => curveOf(run, this.info.name, { smooth, x })));
      const curves = found.filter((curve) => curve !== null);
      const data = groups ? bandData(curves, groups) : lineData(curves, smooth);
      const rows = isLog ? withoutNonPositive(data.rows) : data.rows;
      this.rows = data.rows;
      const isTime = x === "time";
      this.chart.setData({
        ...data,
        rows,
        isLog,
        unit: isTime ? "hour" : "step",
        xFormat: isTime ? (value) => `${short(value)} h` : undefined,
      });
      this.showValues(null);
    } catch (error) {
      this.values.replaceChildren(el("span", { class: "failed" }, visible(error.message)));
    }
  }

  /** The values under the cross-hair, or else the newest ones. */
  showValues(row) {
    const { curves, unit } = this.chart;
    if (!this.chart.rows?.length) {
      this.values.textContent = this.settings().isLog ? "no values above 0" : "no values";
      return;
    }
    // A logarithmic chart has gaps at values that are not above 0, which are shown as numbers.
    const at = row && this.rows.find(([x]) => x === row[0]);
    const parts = curves.map(({ name, color, isFaint }, n) => {
      if (isFaint) return null;
      const value = (at ?? this.rows.findLast((one) => one[n + 1] !== null))?.[n + 1];
      const text = valueText(value);
      return el(
        "span",
        { class: "value", title: name },
        curves.length > 1 && el("i", { class: "dot", style: `background:var(${color})` }),
        text,
      );
    });
    const place = row ? el("span", { class: "at" }, `${unit} ${number(row[0])}`) : null;
    this.values.replaceChildren(...parts.filter((part) => part !== null), ...(place ? [place] : []));
  }

  close() {
    this.chart.close();
  }
}
