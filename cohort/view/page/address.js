// The place that the page shows, as the hash of its address: "#/group?run=0&step=5&prompt=train.jsonl%3A4".

/** {view, parameters} of a hash; the parameters are a Map-like URLSearchParams. */
export function parse(hash) {
  const [, view = "", query = ""] = /^#\/([a-z]*)\??(.*)$/s.exec(hash) ?? [];
  return { view, parameters: new URLSearchParams(query) };
}

/** The hash of a view with parameters; those that are null, "" or [] are left out. */
export function link(view, values = {}) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined && one !== "") parameters.append(name, one);
    }
  }
  const query = parameters.toString();
  return `#/${view}${query ? `?${query}` : ""}`;
}

export const groupLink = (run, row) =>
  link("group", { run, step: row.step, prompt: row.prompt_id, sample: row.sample });
export const promptLink = (run, promptId) => link("prompt", { run, prompt: promptId });
export const metricLink = (run, names) => link("curves", { run, m: names });

/** Numbers of a list such as "0,2". */
export const numbers = (text) =>
  (text ?? "")
    .split(",")
    .filter((part) => /^\d+$/.test(part))
    .map(Number);
