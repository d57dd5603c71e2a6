// Health: what is wrong with the run, with the figures and completions that show it.
import { groupLink, metricLink } from "./address.js";
import { ask } from "./api.js";
import { el, heading } from "./dom.js";
import { number } from "./format.js";
import { runOf } from "./runs.js";
import { sentence, visible, visibleLine } from "./text.js";

const LEVELS = { problem: "Problem", warning: "Warning", note: "Note" };

function finding(run, found) {
  const metrics = found.metrics.map(({ metric, first_step: first, step, value }) =>
    el(
      "li",
      {},
      el("a", { href: metricLink(run, [metric]) }, visible(metric)),
      first === step
        ? ` ${number(value)} at step ${number(step)}`
        : ` ${number(value)}, the mean of steps ${number(first)} to ${number(step)}`,
    ),
  );
  const samples = found.samples.map((sample) =>
    el(
      "li",
      {},
      el(
        "a",
        { href: groupLink(run, sample) },
        `step ${sample.step}, ${visibleLine(sample.prompt_id)}, sample ${sample.sample}`,
      ),
    ),
  );
  const level = found.level in LEVELS ? found.level : "note";
  return el(
    "article",
    { class: `finding ${level}`, "data-rule": found.rule },
    el("h2", {}, el("span", { class: `level ${level}` }, LEVELS[level]), " ", sentence(found.text)),
    el("p", {}, sentence(found.advice)),
    metrics.length > 0 && [el("h3", {}, "Figures"), el("ul", {}, metrics)],
    samples.length > 0 && [el("h3", {}, "Completions"), el("ul", {}, samples)],
    el("p", { class: "note" }, "Rule ", el("code", {}, visible(found.rule))),
  );
}

class HealthView {
  constructor(main, parameters, app) {
    this.app = app;
    this.run = runOf(parameters.get("run")).run;
    this.body = el("div", { class: "findings" });
    main.append(el("div", { class: "bar" }, heading("Health")), this.body);
  }

  async load() {
    const findings = await ask("findings", { run: this.run });
    if (this.app.isGone(this)) return;
    this.body.replaceChildren(
      ...(findings.length > 0
        ? findings.map((found) => finding(this.run, found))
        : [el("p", { class: "note" }, "No rule found anything wrong in this run.")]),
    );
  }

  refresh(run) {
    if (run === this.run && !this.body.contains(document.activeElement)) this.load();
  }
}

export async function open(main, parameters, app) {
  const view = new HealthView(main, parameters, app);
  app.own(view);
  await view.load();
}
