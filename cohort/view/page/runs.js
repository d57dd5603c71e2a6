// The runs that the page shows.
import { ask } from "./api.js";
import { el } from "./dom.js";
import { number } from "./format.js";
import { visible } from "./text.js";

let all = [];

export async function loadRuns() {
  all = await ask("runs");
  return all;
}

export const runs = () => all;
export const runOf = (number_) => all.find(({ run }) => run === Number(number_)) ?? all[0];

/** The custom property with the color of a run. */
export const colorOf = ({ run }) => `--curve-${run % 8}`;

/** "step 40 of 40, finished". */
export function progressText(run) {
  const of = run.max_steps ? ` of ${number(run.max_steps)}` : "";
  return `step ${number(run.step)}${of}${run.is_finished ? ", finished" : ""}`;
}

/** A toggle for each run, for views of several. */
export function runToggles(chosen, onChange) {
  const toggles = all.map((run) => {
    const isChosen = chosen.includes(run.run);
    const change = () => {
      const others = chosen.filter((one) => one !== run.run);
      const next = isChosen ? others : [...chosen, run.run].sort((a, b) => a - b);
      if (next.length > 0) onChange(next);
    };
    const details = [
      run.preset,
      run.seed !== null && run.seed !== undefined ? `seed ${run.seed}` : null,
      progressText(run),
    ];
    return el(
      "button",
      {
        type: "button",
        class: "toggle",
        "aria-pressed": String(isChosen),
        onclick: change,
        "data-run": run.run,
        title: `${visible(run.path)}: ${details.filter(Boolean).join(", ")}`,
      },
      el("i", { class: "dot", style: `background:var(${colorOf(run)})` }),
      visible(run.name),
    );
  });
  return el("div", { class: "toggles", role: "group", "aria-label": "Runs that are shown" }, toggles);
}
