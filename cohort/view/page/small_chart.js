// A titled chart of some figures of one run, for views that are about something else.
import { Chart } from "./chart.js";
import { el } from "./dom.js";
import { number } from "./format.js";
import { merged } from "./series.js";

/** figures: [{name, steps, values, color?}]; otherwise colors follow the order. Call draw() once the element is in the page. */
export function smallChart(group, title, figures, { format = number, marks = [], height = 150 } = {}) {
  const shown = figures.filter(({ steps }) => steps?.length > 0);
  const values = el("div", { class: "values" });
  const chart = new Chart(group, { label: title, height, onValues: (row) => show(row) });
  const rows = merged(shown.map(({ steps, values: ys }) => ({ xs: steps, ys })));
  const curves = shown.map(({ name, color }, n) => ({ name, color: color ?? `--curve-${n % 8}` }));
  const show = (row) => {
    const parts = shown.map(({ name }, n) => {
      const value = row ? row[n + 1] : rows.findLast((one) => one[n + 1] !== null)?.[n + 1];
      return el(
        "span",
        { class: "value" },
        el("i", { class: "dot", style: `background:var(${curves[n].color})` }),
        `${name} `,
        el("b", {}, format(value)),
      );
    });
    values.replaceChildren(...parts, ...(row ? [el("span", { class: "at" }, `step ${number(row[0])}`)] : []));
  };
  const element = el("article", { class: "card" }, el("h3", {}, title), values, chart.box);
  return {
    element,
    draw() {
      show(null);
      chart.setData({ curves, rows, marks });
    },
  };
}
