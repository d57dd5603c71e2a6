// The completions of one prompt at one step, side by side.
import { link, promptLink } from "./address.js";
import { ask } from "./api.js";
import { el, field, heading, select } from "./dom.js";
import { number } from "./format.js";
import { runOf } from "./runs.js";
import { sampleCard } from "./sample_card.js";
import { textBlock, visible, visibleLine } from "./text.js";
import { availableColorings, legend } from "./tokens.js";

const SHOWN = 24; // cards at once: a thousand tokens are as many elements

class GroupView {
  constructor(main, parameters, app) {
    this.main = main;
    this.app = app;
    this.run = runOf(parameters.get("run")).run;
    this.step = Number(parameters.get("step"));
    this.prompt = parameters.get("prompt") ?? "";
    this.sample = parameters.get("sample");
    this.color = parameters.get("color") ?? "logprob";
    this.sort = parameters.get("order") ?? "sample";
    this.keys = { "[": () => this.walk(-1), "]": () => this.walk(1), c: () => this.nextColor() };
  }

  async load() {
    this.group = await ask("group", { run: this.run, step: this.step, prompt_id: this.prompt });
    if (this.app.isGone(this)) return;
    this.colorings = availableColorings(this.group.samples);
    this.draw();
  }

  coloring() {
    if (this.color === "none") return undefined;
    return this.colorings.find(({ key }) => key === this.color) ?? this.colorings[0];
  }

  draw() {
    const { samples, prompt } = this.group;
    const scores = samples.map(({ reward }) => reward).filter((reward) => reward !== null);
    const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
    this.legend = el("span", {}, legend(this.coloring()));
    const choice = select(
      [...this.colorings.map(({ key, title }) => [key, title]), ["none", "nothing"]],
      this.coloring()?.key ?? "none",
      (key) => this.recolor(key),
    );
    this.choice = choice;
    const order = select(
      [
        ["sample", "sample"],
        ["reward", "reward"],
        ["length", "length"],
      ],
      this.sort,
      (sort) => this.reorder(sort),
    );
    this.grid = el("div", { class: "samples" });
    this.main.append(
      el(
        "div",
        { class: "bar" },
        heading(`Step ${number(this.step)}`),
        el("a", { href: promptLink(this.run, this.prompt), class: "id" }, visibleLine(this.prompt)),
        this.walkLinks(),
        field("Color", choice),
        this.legend,
        field("Order", order),
        this.isReplayed ? null : this.replayButton(),
      ),
      el("p", { class: "note", id: "ratio-note", role: "status" }, this.ratioNote()),
      el(
        "p",
        { class: "facts" },
        el("span", {}, "samples ", el("b", {}, number(samples.length))),
        el("span", {}, "mean reward ", el("b", { id: "mean" }, number(mean))),
        el("span", {}, "lowest ", el("b", {}, number(scores.length ? Math.min(...scores) : null))),
        el("span", {}, "highest ", el("b", {}, number(scores.length ? Math.max(...scores) : null))),
      ),
      el(
        "details",
        { class: "prompt", open: true },
        el("summary", {}, "Prompt"),
        textBlock(prompt, { name: "prompt", part: 4000 }),
      ),
      this.grid,
    );
    this.cards = new Map(); // of the samples that were shown
    this.shown = SHOWN;
    this.place();
  }

  /** Entropies, ratios and gradients, which the files do not hold: the server computes them with the model. */
  replayButton() {
    const title = "Computes each token's entropy, ratio and share of the gradient with the model";
    const missing = this.group.replay_problem; // known beforehand
    const button = el(
      "button",
      { type: "button", id: "replay", title, disabled: missing !== null },
      "Replay tokens",
    );
    const problem = el("span", { class: "note", role: "alert" }, missing && visible(missing));
    button.addEventListener("click", async () => {
      button.disabled = true;
      problem.textContent = "";
      button.textContent = "Replaying …";
      try {
        const answer = await ask("replay", { run: this.run, step: this.step, prompt_id: this.prompt });
        if (this.app.isGone(this)) return;
        this.addReplay(answer);
      } catch (error) {
        button.disabled = false;
        button.textContent = "Replay tokens";
        problem.replaceChildren(visible(error.message));
      }
    });
    return el("span", {}, button, " ", problem);
  }

  ratioNote() {
    return this.ratioProblem ? `Ratios cannot be shown: ${visible(this.ratioProblem)}` : null;
  }

  addReplay({ samples, ratio_problem: ratioProblem }) {
    const byName = new Map(samples.map((one) => [`${one.sample}/${one.branch}`, one]));
    this.isReplayed = true;
    this.ratioProblem = ratioProblem;
    for (const sample of this.group.samples) {
      const one = byName.get(`${sample.sample}/${sample.branch ?? 0}`);
      if (!one) continue;
      sample.gradient_share = one.gradient_share;
      for (const { place, ...figures } of one.tokens) Object.assign(sample.tokens?.[place] ?? {}, figures);
    }
    this.colorings = availableColorings(this.group.samples);
    this.main.replaceChildren();
    this.draw();
    this.main.querySelector("h1").focus();
  }

  card(sample) {
    if (!this.cards.has(sample)) {
      this.cards.set(sample, sampleCard(sample, this.coloring()));
      this.cards.get(sample).element.classList.toggle("chosen", String(sample.sample) === this.sample);
    }
    return this.cards.get(sample).element;
  }

  place() {
    const keys = {
      sample: ({ sample }) => sample,
      reward: ({ reward }) => -(reward ?? -Infinity),
      length: ({ logprobs }) => logprobs?.length ?? 0,
    };
    const key = keys[this.sort] ?? keys.sample;
    const sorted = [...this.group.samples].sort((a, b) => key(a) - key(b));
    const chosen = sorted.findIndex(({ sample }) => String(sample) === this.sample);
    const count = Math.max(this.shown, chosen + 1);
    this.grid.replaceChildren(...sorted.slice(0, count).map((sample) => this.card(sample)));
    if (count >= sorted.length) return;
    this.grid.append(
      el(
        "button",
        {
          type: "button",
          class: "more",
          onclick: () => {
            this.shown = count + SHOWN;
            this.place();
          },
        },
        `Show more of ${number(sorted.length)} samples`,
      ),
    );
  }

  reorder(sort) {
    this.sort = sort;
    this.place();
    this.remember();
  }

  recolor(key) {
    this.color = key;
    const coloring = this.colorings.find((one) => one.key === key) ?? null;
    for (const card of this.cards.values()) card.color(coloring);
    this.legend.replaceChildren(legend(coloring) ?? "");
    this.remember();
  }

  nextColor() {
    const keys = [...this.choice.options].map(({ value }) => value);
    this.choice.value = keys[(keys.indexOf(this.choice.value) + 1) % keys.length];
    this.recolor(this.choice.value);
  }

  remember() {
    this.app.set({
      run: this.run,
      step: this.step,
      prompt: this.prompt,
      sample: this.sample,
      color: this.color === "logprob" ? null : this.color,
      order: this.sort === "sample" ? null : this.sort,
    });
  }

  /** Links to the steps before and after this one that drew the prompt. */
  walkLinks() {
    const { previous_step: before, next_step: after } = this.group;
    const place = (step, text, key) => {
      const href = link("group", {
        run: this.run,
        step,
        prompt: this.prompt,
        color: this.color === "logprob" ? null : this.color,
      });
      return step === null
        ? el("span", { class: "off" }, text)
        : el("a", { href, "aria-keyshortcuts": key, title: `Key ${key}` }, text);
    };
    return el(
      "span",
      { class: "walk" },
      place(before, before === null ? "no earlier step" : `← step ${before}`, "["),
      " ",
      place(after, after === null ? "no later step" : `step ${after} →`, "]"),
    );
  }

  walk(direction) {
    const step = direction < 0 ? this.group.previous_step : this.group.next_step;
    if (step !== null)
      this.app.go("group", {
        run: this.run,
        step,
        prompt: this.prompt,
        color: this.color === "logprob" ? null : this.color,
      });
  }
}

export async function open(main, parameters, app) {
  const view = new GroupView(main, parameters, app);
  app.own(view);
  await view.load();
}
