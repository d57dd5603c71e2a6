// A prompt over training: its reward at each step that drew it, and what the policy wrote. Without a prompt: their list.
import { groupLink, link, promptLink } from "./address.js";
import { ask } from "./api.js";
import { Chart, ChartGroup } from "./chart.js";
import { el, field, heading, select, table } from "./dom.js";
import { number } from "./format.js";
import { colorOf, runOf } from "./runs.js";
import { textBlock, visible, visibleLine } from "./text.js";

const PAGE = 100;

async function openList(main, run, parameters, app) {
  const offset = Number(parameters.get("offset")) || 0;
  const { total, rows } = await ask("prompts", { run, offset, limit: PAGE });
  const place = (to, text) =>
    el("a", { class: "button", href: link("prompt", { run, offset: to || null }) }, text);
  main.append(
    el(
      "div",
      { class: "bar" },
      heading("Prompts"),
      el(
        "span",
        { class: "note" },
        total === 0
          ? "none"
          : `${number(offset + 1)} to ${number(offset + rows.length)} of ${number(total)}, most drawn first`,
      ),
      offset > 0 && place(Math.max(0, offset - PAGE), "Previous"),
      offset + rows.length < total && place(offset + PAGE, "Next"),
    ),
    table(
      "Prompts",
      [
        {
          title: "Prompt",
          class: "id",
          cell: (row) => el("a", { href: promptLink(run, row.prompt_id) }, visibleLine(row.prompt_id)),
        },
        { title: "Completions", class: "num", cell: (row) => number(row.count) },
        { title: "First step", class: "num", cell: (row) => number(row.first_step) },
        { title: "Last step", class: "num", cell: (row) => number(row.last_step) },
        { title: "Reward at first", class: "num", cell: (row) => number(row.first_reward) },
        { title: "Reward at last", class: "num", cell: (row) => number(row.last_reward) },
        { title: "Change", class: "num", cell: (row) => change(row.last_reward, row.first_reward) },
      ],
      rows,
      { class: "rows" },
    ),
  );
  app.own({});
}

function change(after, before) {
  if (after === null || before === null) return "–";
  const difference = after - before;
  return el(
    "span",
    { class: difference > 0 ? "up" : difference < 0 ? "down" : "" },
    `${difference > 0 ? "+" : ""}${number(difference, 3)}`,
  );
}

/** The mean reward of a prompt at each step, with the range of its samples. */
export function rewardChart(group, run, steps, label) {
  const chart = new Chart(group, {
    label,
    height: 170,
    onValues: (row) => values.replaceChildren(...valuesOf(row)),
  });
  const values = el("div", { class: "values" });
  const judged = steps
    .map(({ step, samples }) => [
      step,
      samples.map(({ reward }) => reward).filter((reward) => reward !== null),
    ])
    .filter(([, rewards]) => rewards.length > 0);
  const rows = judged.map(([step, rewards]) => [
    step,
    [Math.min(...rewards), rewards.reduce((a, b) => a + b, 0) / rewards.length, Math.max(...rewards)],
  ]);
  const valuesOf = (row) => [
    `${row ? `step ${number(row[0])}: ` : ""}mean ${number((row ?? rows.at(-1))?.[1][1])}, ` +
      `samples ${number((row ?? rows.at(-1))?.[1][0])} to ${number((row ?? rows.at(-1))?.[1][2])}`,
  ];
  values.replaceChildren(...(rows.length > 0 ? valuesOf(null) : ["no completion has a reward"]));
  return {
    element: el("div", { class: "card" }, values, chart.box),
    draw: () => chart.setData({ curves: [{ name: "mean reward", color: colorOf(run) }], rows, isBand: true }),
  };
}

function stepBlock(run, promptId, { step, mean_reward: mean, samples }) {
  const texts = samples.map(({ reward, completion }) =>
    el(
      "article",
      { class: "sample small", "aria-label": `Reward ${number(reward)}` },
      el("div", { class: "facts" }, el("span", {}, "reward ", el("b", {}, number(reward)))),
      textBlock(completion, { name: "completion", part: 1200 }),
    ),
  );
  const title = el(
    "h2",
    {},
    el("a", { href: groupLink(run, { step, prompt_id: promptId }) }, `Step ${number(step)}`),
    el("span", { class: "count" }, ` mean reward ${number(mean)}`),
  );
  return el("section", { "data-step": step }, title, el("div", { class: "samples" }, texts));
}

const promptText = (prompt) => (typeof prompt === "string" ? prompt : JSON.stringify(prompt, null, 1));

const CHOICES = [
  ["ends", "first and last step"],
  ["new", "newest first"],
  ["old", "oldest first"],
];
const SHOWN = 20;

function chosenSteps(steps, choice) {
  if (choice === "ends") return steps.length > 1 ? [steps[0], steps.at(-1)] : steps;
  return choice === "new" ? [...steps].reverse() : steps;
}

async function openPrompt(main, run, promptId, parameters, app) {
  const { steps, num_steps: count = steps.length } = await ask("prompt", {
    run: run.run,
    prompt_id: promptId,
  });
  const { prompt } = await ask("completion", { run: run.run, index: steps[0].samples[0].index });
  const charts = new ChartGroup();
  const chart = rewardChart(charts, run, steps, `Reward of prompt ${visible(promptId)}`);
  const body = el("div");
  const show = (choice) => {
    const chosen = chosenSteps(steps, choice);
    let place = 0;
    const more = el("button", { type: "button", class: "more", onclick: () => add() }, "Show more steps");
    const add = () => {
      more.remove();
      body.append(...chosen.slice(place, place + SHOWN).map((step) => stepBlock(run.run, promptId, step)));
      place += SHOWN;
      if (place < chosen.length) body.append(more);
    };
    body.replaceChildren();
    add();
  };
  const choice = parameters.get("steps") ?? "ends";
  const note =
    count > steps.length
      ? `${number(steps.length)} of ${number(count)} steps, spread evenly`
      : `${number(count)} steps drew it`;
  main.append(
    el(
      "div",
      { class: "bar" },
      heading("Prompt"),
      el("span", { class: "id" }, visibleLine(promptId)),
      el("span", { class: "note" }, note),
      field(
        "Texts of",
        select(CHOICES, choice, (next) => {
          app.set({ run: run.run, prompt: promptId, steps: next === "ends" ? null : next });
          show(next);
        }),
      ),
      el("a", { href: link("completions", { run: run.run, prompt_id: promptId }) }, "as a table"),
      el("a", { href: link("prompt", { run: run.run }) }, "all prompts"),
    ),
    el(
      "details",
      { class: "prompt", open: true },
      el("summary", {}, "Text of the prompt"),
      textBlock(promptText(prompt), { name: "prompt", part: 4000 }),
    ),
    chart.element,
    body,
  );
  chart.draw();
  show(choice);
  app.own({ repaint: () => charts.repaint(), close: () => charts.close() });
}

export async function open(main, parameters, app) {
  const run = runOf(parameters.get("run"));
  const promptId = parameters.get("prompt");
  if (promptId === null) await openList(main, run.run, parameters, app);
  else await openPrompt(main, run, promptId, parameters, app);
}
