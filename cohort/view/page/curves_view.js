// Curves: a small chart for each metric, by section; those that were chosen come first and are larger.
import { ChartGroup } from "./chart.js";
import { numbers } from "./address.js";
import { CurveCard, seedGroups } from "./curve_card.js";
import { checkbox, debounced, el, field, heading, select } from "./dom.js";
import { metrics } from "./figures.js";
import { runOf, runs, runToggles } from "./runs.js";
import { hideHelp } from "./metric_help.js";
import { visible } from "./text.js";

/** The descriptions of the metrics of all chosen runs, each name once. */
async function allMetrics(chosen) {
  const found = new Map();
  for (const list of await Promise.all(chosen.map(({ run }) => metrics(run)))) {
    for (const info of list) if (!found.has(info.name)) found.set(info.name, info);
  }
  return [...found.values()];
}

const COUNTS = /\/(unparsed|timeout|error|sandbox_error|skipped|weight)$/;

/** What one reads first stands first: the reward, whole names, means; counts of failures are last. */
function rank({ name }) {
  if (name === "reward" || name === "loss" || name === "eval_reward") return 0;
  if (COUNTS.test(name)) return 4;
  if (!name.includes("/")) return 1;
  return /\/mean(_length)?$/.test(name) ? 2 : 3;
}

/** Sections of metrics in a useful order. */
function sections(infos) {
  const first = ["reward", "completions", "loss and update"];
  const bySection = new Map();
  for (const info of infos) {
    const section = info.section || "Other";
    bySection.set(section, [...(bySection.get(section) ?? []), info]);
  }
  const place = ([name]) => {
    const found = first.findIndex((start) => name.toLowerCase().startsWith(start));
    return found < 0 ? (name === "Other" ? 99 : 50) : found;
  };
  for (const list of bySection.values()) list.sort((a, b) => rank(a) - rank(b));
  return [...bySection].sort((a, b) => place(a) - place(b));
}

class CurvesView {
  constructor(main, parameters, app) {
    this.app = app;
    this.chosen = numbers(parameters.get("runs")).filter((run) => runs().some((one) => one.run === run));
    if (this.chosen.length === 0) this.chosen = [runOf(parameters.get("run")).run];
    this.smooth = Math.min(0.99, Math.max(0, Number(parameters.get("smooth") ?? 0) || 0));
    this.isLog = parameters.get("log") === "1";
    this.x = parameters.get("x") === "time" ? "time" : "step";
    this.hasBands = parameters.get("bands") === "1";
    this.search = parameters.get("q") ?? "";
    this.pinned = parameters.getAll("m");
    this.body = el("div");
    this.charts = new ChartGroup((range) => this.showRange(range));
    const from = parameters.get("from");
    const to = parameters.get("to");
    if (from !== null && to !== null && Number(to) > Number(from))
      this.charts.range = [Number(from), Number(to)];
    this.cards = [];
    this.observer = new IntersectionObserver((entries) => this.appear(entries), { rootMargin: "200px" });
    this.toggles = el("div");
    main.append(el("div", { class: "bar" }, heading("Curves"), this.toolbar()), this.toggles, this.body);
  }

  toolbar() {
    this.searchBox = el("input", {
      type: "search",
      value: this.search,
      placeholder: "Search metrics",
      "aria-label": "Search metrics",
      "aria-keyshortcuts": "/",
      oninput: debounced(() => this.change({ search: this.searchBox.value }, "layout"), 150),
    });
    const output = el("output", {}, String(this.smooth));
    const slider = el("input", {
      type: "range",
      min: 0,
      max: 0.99,
      step: 0.01,
      value: this.smooth,
      oninput: () => {
        output.textContent = slider.value;
        this.change({ smooth: Number(slider.value) });
      },
    });
    this.reset = el("button", { type: "button", onclick: () => this.charts.zoom(null, true) }, "Whole range");
    this.zoomFrom = this.zoomField("from");
    this.zoomTo = this.zoomField("to");
    return [
      this.searchBox,
      field("Smoothing", slider, { class: "field smooth" }),
      output,
      field(
        "Over",
        select(
          [
            ["step", "steps"],
            ["time", "hours"],
          ],
          this.x,
          (x) => {
            this.charts.zoom(null, true);
            this.change({ x });
          },
        ),
      ),
      checkbox("Log scale", this.isLog, (isLog) => this.change({ isLog })),
      runs().length > 1 &&
        checkbox("Bands over seeds", this.hasBands, (hasBands) => this.change({ hasBands })),
      field("From", this.zoomFrom),
      field("to", this.zoomTo),
      this.reset,
    ].filter(Boolean);
  }

  zoomField(name) {
    return el("input", {
      type: "number",
      class: "short",
      step: "any",
      "aria-label": `Show ${name}`,
      onchange: () => this.zoomByFields(),
    });
  }

  zoomByFields() {
    const [from, to] = [this.zoomFrom.value, this.zoomTo.value].map((text) =>
      text === "" ? NaN : Number(text),
    );
    if (to > from) this.charts.zoom([from, to], true);
  }

  showRange(range) {
    const text = (value) => (range ? String(Number(value.toPrecision(5))) : "");
    this.zoomFrom.value = text(range?.[0]);
    this.zoomTo.value = text(range?.[1]);
    this.reset.disabled = range === null;
    this.remember();
  }

  remember() {
    const [from, to] = this.charts.range?.map((value) => Number(value.toPrecision(7))) ?? [];
    this.app.set({
      run: this.chosen[0],
      runs: this.chosen.length > 1 ? this.chosen.join(",") : null,
      q: this.search,
      smooth: this.smooth || null,
      log: this.isLog ? 1 : null,
      x: this.x === "time" ? "time" : null,
      bands: this.hasBands ? 1 : null,
      m: this.pinned,
      from,
      to,
    });
  }

  async change(values, what = "data") {
    Object.assign(this, values);
    this.remember();
    if (what === "layout") return this.layout();
    await this.prepare();
    this.reload();
  }

  async prepare() {
    const chosen = this.chosen.map(runOf);
    const groups = this.hasBands ? await seedGroups(chosen) : null;
    this.settings = { runs: chosen, groups, smooth: this.smooth, isLog: this.isLog, x: this.x };
  }

  async layout() {
    await this.prepare();
    const infos = await allMetrics(this.settings.runs);
    if (this.app.isGone(this)) return;
    this.observer.disconnect();
    this.charts.close();
    hideHelp();
    this.cards = [];
    this.toggles.replaceChildren(
      runs().length > 1 ? runToggles(this.chosen, (chosen) => this.change({ chosen }, "layout")) : "",
    );
    const words = this.search.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = ({ name, section }) =>
      words.every((word) => `${name} ${section}`.toLowerCase().includes(word));
    const pinned = this.pinned.map((name) => infos.find((info) => info.name === name)).filter(Boolean);
    const parts = [];
    if (pinned.length > 0) parts.push(this.section("Chosen", pinned, true));
    for (const [name, list] of sections(infos.filter(matches))) parts.push(this.section(name, list, false));
    if (parts.length === 0) {
      parts.push(
        el(
          "p",
          { class: "note" },
          infos.length === 0
            ? "This run has no figures yet. They appear here after its first step."
            : `No metric matches “${visible(this.search)}”.`,
        ),
      );
    }
    this.body.replaceChildren(...parts);
    this.showRange(this.charts.range);
    for (const card of this.cards) this.observer.observe(card.element);
  }

  section(name, infos, isPinned) {
    const cards = infos.map(
      (info) =>
        new CurveCard(
          this.charts,
          info,
          () => this.settings,
          (metric) => this.pin(metric),
          isPinned,
        ),
    );
    this.cards.push(...cards);
    return el(
      "section",
      { class: "curves", "aria-label": visible(name) },
      el(
        "h2",
        {},
        visible(name).replaceAll("`", ""),
        " ",
        el("span", { class: "count" }, String(infos.length)),
      ),
      el(
        "div",
        { class: isPinned ? "grid wide" : "grid" },
        cards.map(({ element }) => element),
      ),
    );
  }

  pin(metric) {
    const others = this.pinned.filter((name) => name !== metric);
    this.change({ pinned: others.length < this.pinned.length ? others : [...others, metric] }, "layout");
  }

  appear(entries) {
    for (const { isIntersecting, target } of entries) {
      const card = this.cards.find(({ element }) => element === target);
      if (!card) continue;
      card.isVisible = isIntersecting;
      if (isIntersecting && !card.isLoaded) card.load();
    }
  }

  /** Draws what is visible; the others when they come into view. */
  reload() {
    for (const card of this.cards) {
      card.isLoaded = false;
      if (card.isVisible) card.load();
    }
  }

  async refresh(run) {
    if (!this.chosen.includes(run)) return;
    const names = new Set((await allMetrics(this.settings.runs)).map(({ name }) => name));
    const isNew =
      this.search === "" && [...names].some((name) => !this.cards.some(({ info }) => info.name === name));
    if (isNew) await this.layout();
    else this.reload();
  }

  repaint() {
    this.charts.repaint();
  }

  close() {
    hideHelp();
    this.observer.disconnect();
    this.charts.close();
  }
}

export async function open(main, parameters, app) {
  const view = new CurvesView(main, parameters, app);
  app.own(view);
  await view.layout();
}
