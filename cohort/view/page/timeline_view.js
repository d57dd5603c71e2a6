// Timeline: what a step did when, how busy the sampler and the trainer were, and memory against what was planned.
import { ask } from "./api.js";
import { ChartGroup } from "./chart.js";
import { el, field, heading, table } from "./dom.js";
import { figure, metrics } from "./figures.js";
import { gigabytes, number, percent, seconds } from "./format.js";
import { runOf } from "./runs.js";
import { smallChart } from "./small_chart.js";
import { visible } from "./text.js";

const MEANING = {
  gen: "sampling",
  "gen/prefill": "passes of the sampler that read prompts; they may come later, too",
  "gen/decode": "passes of the sampler that only draw tokens",
  update_actor: "update of the policy",
  gen_ahead: "sampling for the next step",
  reward: "waiting for rewards",
  reward_beside_gen: "rewards at work beside sampling: the sum over workers, which may exceed gen",
  adv: "advantages",
  ref: "log-probabilities of the reference",
  old_log_prob: "log-probabilities before the update",
  values: "values of the critic",
  update_critic: "update of the critic",
  other: "everything else",
  testing: "evaluation",
};
const colorOfPart = (name) =>
  name === "other" ? "--strong-line" : `--curve-${Math.max(0, Object.keys(MEANING).indexOf(name)) % 8}`;

/** Parts that overlap get rows of their own. */
function lanes(parts) {
  const rows = [];
  for (const part of [...parts].sort((a, b) => b.seconds - a.seconds)) {
    const isFree = (row) =>
      row.every(
        (other) =>
          part.from_s >= other.from_s + other.seconds - 1e-9 ||
          other.from_s >= part.from_s + part.seconds - 1e-9,
      );
    const row = rows.find(isFree);
    if (row) row.push(part);
    else rows.push([part]);
  }
  return rows;
}

function bar({ parts, seconds: whole }) {
  const end = Math.max(whole, ...parts.map((part) => part.from_s + part.seconds));
  const rows = lanes(parts).map((row) =>
    el(
      "div",
      { class: "lane" },
      row.map((part) => {
        const share = part.seconds / end;
        return el(
          "span",
          {
            class: "part",
            title: `${visible(part.name)}: ${seconds(part.seconds)}`,
            style: `left:${(100 * part.from_s) / end}%;width:${100 * share}%;background:var(${colorOfPart(part.name)})`,
          },
          share > 0.08 ? el("span", { class: "part-name" }, visible(part.name)) : "",
        );
      }),
    ),
  );
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => el("span", {}, seconds(end * share)));
  const text = parts.map((part) => `${part.name} ${seconds(part.seconds)}`).join(", ");
  return el(
    "div",
    { class: "timeline" },
    el("div", { role: "img", "aria-label": `Parts of the step: ${visible(text)}` }, rows),
    el("div", { class: "ticks", "aria-hidden": "true" }, ticks),
  );
}

function memory({ memory_gb: used, planned_gb: planned }) {
  if (used === null && planned === null) return null;
  const share = used !== null && planned ? used / planned : null;
  const text =
    planned === null
      ? `${gigabytes(used)}; the run wrote no plan`
      : `${gigabytes(used)} of ${gigabytes(planned)} planned${share === null ? "" : ` (${percent(share)})`}`;
  return el(
    "p",
    { class: "facts" },
    el("span", {}, "largest memory so far ", el("b", { id: "memory" }, text)),
    share !== null &&
      el("meter", {
        min: 0,
        max: Math.max(1, share),
        high: 1,
        value: share,
        "aria-label": "Memory against the plan",
      }),
  );
}

class TimelineView {
  constructor(main, parameters, app) {
    this.app = app;
    this.run = runOf(parameters.get("run"));
    this.step = parameters.get("step");
    this.charts = new ChartGroup();
    this.body = el("div");
    this.curves = el("div", { class: "grid wide" });
    this.input = el("input", {
      type: "number",
      class: "short",
      min: 0,
      onchange: () => this.show(this.input.value),
    });
    const move = (by, text, label) =>
      el("button", { type: "button", "aria-label": label, onclick: () => this.walk(by) }, text);
    main.append(
      el(
        "div",
        { class: "bar" },
        heading("Timeline"),
        field("Step", this.input),
        move(-1, "←", "Earlier step"),
        move(1, "→", "Later step"),
      ),
      this.body,
      this.curves,
    );
    this.keys = { "[": () => this.walk(-1), "]": () => this.walk(1) };
  }

  async walk(by) {
    const { steps } = (await figure(this.run.run, "timing_s/step")) ?? { steps: [] };
    const next =
      by < 0 ? steps.findLast((step) => step < this.shown) : steps.find((step) => step > this.shown);
    if (next !== undefined) await this.show(next);
  }

  async show(step) {
    try {
      const found = await ask("timeline", { run: this.run.run, step });
      if (this.app.isGone(this)) return;
      this.shown = found.step;
      this.step = step;
      this.input.value = found.step;
      this.app.set({ run: this.run.run, step });
      this.body.replaceChildren(bar(found), memory(found) ?? "", this.partsTable(found));
    } catch (error) {
      this.body.replaceChildren(el("p", { class: "note", role: "status" }, visible(error.message)));
    }
  }

  partsTable({ parts, seconds: whole }) {
    return table(
      "Parts of the step",
      [
        {
          title: "Part",
          class: "name",
          cell: ({ name }) =>
            el(
              "span",
              {},
              el("i", { class: "dot", style: `background:var(${colorOfPart(name)})` }),
              visible(name),
            ),
        },
        { title: "What", cell: ({ name }) => MEANING[name] ?? "" },
        { title: "Begins after", class: "num", cell: (part) => seconds(part.from_s) },
        { title: "Takes", class: "num", cell: (part) => seconds(part.seconds) },
        { title: "Share of the step", class: "num", cell: (part) => percent(part.seconds / whole) },
      ],
      parts,
      { class: "rows" },
    );
  }

  async showCurves() {
    const names = (await metrics(this.run.run)).map(({ name }) => name);
    const parts = names.filter(
      (name) => name.startsWith("timing_s/") && name.split("/").length === 2 && name !== "timing_s/step",
    );
    const load = (list) =>
      Promise.all(
        list.map(async (name) => ({ name: name.split("/").at(-1), ...(await figure(this.run.run, name)) })),
      );
    const [times, speed, used] = [
      await load(parts),
      await load(names.filter((name) => name === "perf/throughput")),
      await load(names.filter((name) => name === "perf/max_memory_allocated_gb")),
    ];
    const { planned_gb: planned } = await ask("timeline", { run: this.run.run }).catch(() => ({
      planned_gb: null,
    }));
    if (this.app.isGone(this)) return;
    this.charts.close();
    const marks = planned ? [{ y: planned, color: "--problem" }] : [];
    const charts = [
      smallChart(
        this.charts,
        "Parts of each step",
        times
          .filter(({ values }) => values.some((value) => value > 0.001))
          .map((one) => ({ ...one, color: colorOfPart(one.name) })),
        { format: seconds },
      ),
      smallChart(
        this.charts,
        "Utilization: tokens per second",
        speed.map((one) => ({ ...one, name: "tokens/s" })),
        { format: (value) => number(value, 3) },
      ),
      smallChart(
        this.charts,
        planned ? "Memory, with the plan" : "Memory",
        used.map((one) => ({ ...one, name: "largest so far" })),
        { format: gigabytes, marks },
      ),
    ];
    this.curves.replaceChildren(...charts.map(({ element }) => element));
    for (const chart of charts) chart.draw();
  }

  refresh(run) {
    if (run !== this.run.run) return;
    if (this.step === null) this.show(null);
    this.showCurves();
  }

  repaint() {
    this.charts.repaint();
  }

  close() {
    this.charts.close();
  }
}

export async function open(main, parameters, app) {
  const view = new TimelineView(main, parameters, app);
  app.own(view);
  await view.show(view.step);
  await view.showCurves();
}
