// Rewards: how often each had which status, and how long its calls took.
import { link } from "./address.js";
import { ask } from "./api.js";
import { ChartGroup } from "./chart.js";
import { debounced, el, field, heading, table } from "./dom.js";
import { figure } from "./figures.js";
import { number, percent, seconds } from "./format.js";
import { runOf } from "./runs.js";
import { smallChart } from "./small_chart.js";
import { visible } from "./text.js";

const STATUSES = ["ok", "skipped", "unparsed", "timeout", "error", "sandbox_error"];

function statusBar(name, counts) {
  const known = STATUSES.filter((status) => counts[status] > 0);
  const total = known.reduce((sum, status) => sum + counts[status], 0);
  const parts = known.map((status) =>
    el("i", { class: `part status-${status}`, style: `flex-grow:${counts[status] / total}` }),
  );
  const text = known.map((status) => `${status} ${percent(counts[status] / total)}`).join(", ") || "no calls";
  return el(
    "div",
    { class: "stack", role: "img", "aria-label": `Statuses of ${visible(name)}: ${text}` },
    parts,
  );
}

class RewardsView {
  constructor(main, parameters, app) {
    this.app = app;
    this.run = runOf(parameters.get("run")).run;
    this.range = { step_from: parameters.get("step_from") ?? "", step_to: parameters.get("step_to") ?? "" };
    this.charts = new ChartGroup();
    this.body = el("div");
    const changed = debounced(() => this.load(), 250);
    const input = (name) => {
      const control = el("input", {
        type: "number",
        class: "short",
        min: 0,
        value: this.range[name],
        oninput: () => {
          this.range[name] = control.value;
          changed();
        },
      });
      return control;
    };
    main.append(
      el(
        "div",
        { class: "bar" },
        heading("Rewards"),
        field("From step", input("step_from")),
        field("to step", input("step_to")),
      ),
      this.body,
    );
  }

  async load() {
    this.app.set({ run: this.run, ...this.range });
    const { rewards } = await ask("rewards", { run: this.run, ...this.range });
    const means = await Promise.all(
      rewards.map(({ name }) => figure(this.run, this.figureName(name, "mean"))),
    );
    if (this.app.isGone(this)) return;
    this.charts.close();
    if (rewards.length === 0) {
      this.body.replaceChildren(el("p", { class: "note" }, "This run has no figures of rewards."));
      return;
    }
    const count = ({ counts }, status) => number(counts[status] ?? (status === "ok" ? null : 0));
    const hasFailed = rewards.some(({ counts }) =>
      STATUSES.some((status) => status !== "ok" && status !== "skipped" && counts[status] > 0),
    );
    const failed = link("completions", { run: this.run, flag: "failed", ...this.range });
    const charts = rewards.flatMap((reward, n) => [
      smallChart(this.charts, `${visible(reward.name)}: mean`, [{ name: "mean", ...this.cut(means[n]) }]),
      smallChart(
        this.charts,
        `${visible(reward.name)}: time of a call`,
        ["p50", "p90", "p99"].map((name) => ({ name, ...reward[name] })),
        { format: seconds },
      ),
    ]);
    this.body.replaceChildren(
      table(
        "Statuses of each reward",
        [
          {
            title: "Reward",
            cell: ({ name }) =>
              el(
                "a",
                { href: link("curves", { run: this.run, q: `rewards/${name.split("/").at(-1)}/` }) },
                visible(name),
              ),
          },
          { title: "Statuses", class: "wide", cell: ({ name, counts }) => statusBar(name, counts) },
          ...STATUSES.map((status) => ({
            title: el("span", {}, el("i", { class: `dot status-${status}` }), status),
            class: "num",
            cell: (reward) => count(reward, status),
          })),
        ],
        rewards,
        { class: "rows statuses" },
      ),
      hasFailed
        ? el("p", { class: "note" }, el("a", { href: failed }, "Completions with any failed reward"))
        : "",
      el(
        "div",
        { class: "grid two" },
        charts.map(({ element }) => element),
      ),
    );
    for (const chart of charts) chart.draw();
  }

  /** Rewards of two policies are named "attacker/opponent"; their figures "attacker/rewards/opponent/mean". */
  figureName(name, what) {
    const parts = name.split("/");
    const reward = parts.pop();
    return [...parts, "rewards", reward, what].join("/");
  }

  cut(found) {
    if (!found) return { steps: [], values: [] };
    const [from, to] = [Number(this.range.step_from || 0), Number(this.range.step_to || Infinity)];
    const places = found.steps.map((step, n) => (step >= from && step <= to ? n : -1)).filter((n) => n >= 0);
    return { steps: places.map((n) => found.steps[n]), values: places.map((n) => found.values[n]) };
  }

  refresh(run) {
    if (run === this.run) this.load();
  }

  repaint() {
    this.charts.repaint();
  }

  close() {
    this.charts.close();
  }
}

export async function open(main, parameters, app) {
  const view = new RewardsView(main, parameters, app);
  app.own(view);
  await view.load();
}
