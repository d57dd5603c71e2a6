// The filters of the table of completions: a form whose values stand in the address.
import { checkbox, debounced, el, field } from "./dom.js";

const RANGES = [
  ["step", "Step", 1],
  ["reward", "Reward", "any"],
  ["advantage", "Advantage", "any"],
  ["tokens", "Tokens", 1],
];
const FLAGS = {
  cut: "cut at the length limit",
  masked: "masked: carries no loss",
  untrained: "drawn and not trained on",
  failed: "a reward failed",
  injected: "has tokens of tools",
  demonstration: "a demonstration",
  environment: "its environment failed",
};

export const flagMeaning = (flag) => FLAGS[flag] ?? flag;

/** The parameters of api/completions that an address has. */
export function filterValues(parameters) {
  const values = { flag: parameters.getAll("flag") };
  for (const [name] of RANGES) {
    for (const end of ["from", "to"]) values[`${name}_${end}`] = parameters.get(`${name}_${end}`);
  }
  return { ...values, prompt_id: parameters.get("prompt_id"), text: parameters.get("text") };
}

/** The form; onChange(values) follows each change. */
export function filterForm(values, onChange) {
  const changed = debounced(() => onChange(values), 250);
  const input = (name, properties) => {
    const control = el("input", {
      value: values[name] ?? "",
      name,
      ...properties,
      oninput: () => {
        values[name] = control.value;
        changed();
      },
    });
    return control;
  };
  const ranges = RANGES.map(([name, title, step]) =>
    el(
      "fieldset",
      { class: "range" },
      el("legend", {}, title),
      input(`${name}_from`, { type: "number", step, placeholder: "from", "aria-label": `${title} from` }),
      input(`${name}_to`, { type: "number", step, placeholder: "to", "aria-label": `${title} to` }),
    ),
  );
  const flags = Object.entries(FLAGS).map(([flag, meaning]) => {
    const box = checkbox(flag, values.flag.includes(flag), (isChecked) => {
      values.flag = values.flag.filter((other) => other !== flag).concat(isChecked ? [flag] : []);
      onChange(values);
    });
    box.title = meaning;
    return box;
  });
  const clear = el(
    "button",
    {
      type: "button",
      onclick: () => {
        for (const name of Object.keys(values)) values[name] = name === "flag" ? [] : null;
        for (const control of form.querySelectorAll("input")) {
          if (control.type === "checkbox") control.checked = false;
          else control.value = "";
        }
        onChange(values);
      },
    },
    "Clear",
  );
  const form = el(
    "form",
    {
      class: "filters",
      role: "search",
      "aria-label": "Filter completions",
      onsubmit: (event) => event.preventDefault(),
    },
    field(
      "Text",
      input("text", { type: "search", placeholder: "in prompt or completion", "aria-keyshortcuts": "/" }),
    ),
    ranges,
    el("fieldset", { class: "choices" }, el("legend", {}, "Only if"), flags),
    field("Prompt id", input("prompt_id", { type: "text", spellcheck: "false" })),
    clear,
  );
  // A phone folds the form; elsewhere the style sheet hides the summary.
  const isWide = matchMedia("(min-width: 601px)");
  const fold = el(
    "details",
    { class: "filter-fold", open: isWide.matches },
    el("summary", {}, "Filters"),
    form,
  );
  isWide.addEventListener("change", () => (fold.open ||= isWide.matches));
  return fold;
}
