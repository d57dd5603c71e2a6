// Compare: what two runs were told, what came out, and what each wrote for the same prompt.
import { link } from "./address.js";
import { ask } from "./api.js";
import { ChartGroup } from "./chart.js";
import { el, field, heading, select, table } from "./dom.js";
import { metrics } from "./figures.js";
import { number } from "./format.js";
import { explain, hideHelp } from "./metric_help.js";
import { rewardChart } from "./prompt_view.js";
import { runOf, runs } from "./runs.js";
import { textBlock, visible, visibleLine } from "./text.js";

const settingText = (value) =>
  value === null || value === undefined ? "–" : typeof value === "string" ? value : JSON.stringify(value);

const endText = (end) =>
  end ? `${number(end.mean)}${end.error > 0 ? ` ± ${number(end.error, 2)}` : ""}` : "–";

/** Both ends are means over the last tenth of the steps; a difference of more than three standard errors is clear. */
const isClear = ({ a, b }) =>
  a?.error != null && b?.error != null && Math.abs(b.mean - a.mean) > 3 * Math.hypot(a.error, b.error);

function difference(row) {
  const { a, b } = row;
  if (!a || !b) return "–";
  const change = b.mean - a.mean;
  const text = `${change > 0 ? "+" : ""}${number(change, 3)}`;
  return isClear(row) ? el("b", { title: "more than three standard errors" }, text) : text;
}

function promptText({ prompt_id: id, a, b }) {
  const path = (end) => `${number(end?.begin, 3)} → ${number(end?.end, 3)}`;
  return `${visibleLine(id)}: A ${path(a)}, B ${path(b)}`;
}

class CompareView {
  constructor(main, parameters, app) {
    this.app = app;
    this.a = runOf(parameters.get("run"));
    const other = runs().find(({ run }) => run !== this.a.run);
    this.b = parameters.get("b") !== null ? runOf(parameters.get("b")) : other;
    this.prompt = parameters.get("prompt");
    this.charts = new ChartGroup();
    this.body = el("div");
    const options = runs().map(({ run, name }) => [String(run), visible(name)]);
    const bar = el("div", { class: "bar" }, heading("Compare"));
    main.append(bar, this.body);
    if (!other) return;
    const go = (values) =>
      app.go("compare", { run: this.a.run, b: this.b.run, prompt: this.prompt, ...values });
    bar.append(
      field(
        "A",
        select(options, String(this.a.run), (run) => go({ run })),
      ),
      field(
        "B",
        select(options, String(this.b.run), (b) => go({ b })),
      ),
      el(
        "a",
        { href: link("curves", { run: this.a.run, runs: `${this.a.run},${this.b.run}` }) },
        "all curves of both",
      ),
    );
  }

  async load() {
    if (!this.b) {
      this.body.append(
        el("p", { class: "note" }, "There is one run. Open a second one beside it: cohort view RUN RUN."),
      );
      return;
    }
    const [found, infos] = await Promise.all([
      ask("diff", { a: this.a.run, b: this.b.run }),
      metrics(this.a.run),
    ]);
    if (this.app.isGone(this)) return;
    const [nameA, nameB] = [`A: ${visible(this.a.name)}`, `B: ${visible(this.b.name)}`];
    this.promptArea = el("section", { "aria-label": "The same prompt in both runs" });
    const metricCell = ({ name }) => {
      const info = infos.find((one) => one.name === name);
      const anchor = el(
        "a",
        { href: link("curves", { run: this.a.run, runs: `${this.a.run},${this.b.run}`, m: name }) },
        visible(name),
      );
      return info ? explain(anchor, info) : anchor;
    };
    this.body.append(
      el("h2", {}, "Settings that differ ", el("span", { class: "count" }, number(found.settings.length))),
      found.settings.length === 0
        ? el("p", { class: "note" }, "Both runs have the same settings.")
        : table(
            "Settings that differ",
            [
              { title: "Setting", cell: ({ key }) => el("code", {}, visible(key)) },
              { title: nameA, cell: ({ a }) => visibleLine(settingText(a)) },
              { title: nameB, cell: ({ b }) => visibleLine(settingText(b)) },
            ],
            found.settings,
            { class: "rows settings" },
          ),
      this.promptArea,
      el("h2", {}, "Metrics at the end ", el("span", { class: "count" }, number(found.metrics.length))),
      el(
        "p",
        { class: "note" },
        "Mean over the last tenth of the steps (four at least) ± standard error. A bold difference is more than three standard errors.",
      ),
      table(
        "Metrics at the end",
        [
          { title: "Metric", cell: metricCell },
          { title: nameA, class: "num", cell: ({ a }) => endText(a) },
          { title: nameB, class: "num", cell: ({ b }) => endText(b) },
          { title: "B − A", class: "num", cell: difference },
        ],
        found.metrics,
        { class: "rows metrics" },
      ),
    );
    await this.showPrompts(found.prompts, found.num_shared_prompts ?? found.prompts.length);
  }

  /** Those that end most differently come first; the address may name another one. */
  async showPrompts(prompts, count) {
    const ids = prompts.map(({ prompt_id: id }) => id);
    this.promptArea.append(
      el("h2", {}, "The same prompt in both ", el("span", { class: "count" }, number(count))),
    );
    if (ids.length === 0) {
      this.promptArea.append(el("p", { class: "note" }, "No prompt was drawn by both runs."));
      return;
    }
    const chosen = this.prompt ?? ids[0];
    const area = el("div", { class: "pair" });
    const options = prompts.map((prompt) => [prompt.prompt_id, promptText(prompt)]);
    if (!ids.includes(chosen)) options.unshift([chosen, visibleLine(chosen)]);
    this.promptArea.append(
      field(
        "Prompt",
        select(options, chosen, (prompt) => {
          this.prompt = prompt;
          this.app.set({ run: this.a.run, b: this.b.run, prompt });
          this.showPrompt(area, prompt);
        }),
      ),
      area,
    );
    await this.showPrompt(area, chosen);
  }

  async showPrompt(area, prompt) {
    const both = [this.a, this.b];
    const answers = await Promise.all(both.map(({ run }) => ask("prompt", { run, prompt_id: prompt })));
    if (this.app.isGone(this)) return;
    this.charts.close();
    const parts = answers.map(({ steps }, n) => {
      const chart = rewardChart(
        this.charts,
        both[n],
        steps,
        `Reward of the prompt in ${visible(both[n].name)}`,
      );
      const last = steps.at(-1);
      const best = [...last.samples].sort((a, b) => (b.reward ?? -Infinity) - (a.reward ?? -Infinity))[0];
      return {
        chart,
        element: el(
          "div",
          {},
          el("h3", {}, `${"AB"[n]}: ${visible(both[n].name)}`),
          chart.element,
          el(
            "p",
            { class: "facts" },
            el("span", {}, `best of step ${number(last.step)}: reward `, el("b", {}, number(best.reward))),
          ),
          textBlock(best.completion, { part: 2000 }),
        ),
      };
    });
    area.replaceChildren(...parts.map(({ element }) => element));
    for (const { chart } of parts) chart.draw();
  }

  repaint() {
    this.charts.repaint();
  }

  close() {
    hideHelp();
    this.charts.close();
  }
}

export async function open(main, parameters, app) {
  const view = new CompareView(main, parameters, app);
  app.own(view);
  await view.load();
}
