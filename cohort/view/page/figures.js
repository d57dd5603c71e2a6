// The figures of runs: fetched in batches when a chart needs them, kept until the run has more.
import { ask } from "./api.js";

const kept = new Map(); // run -> Map(name -> promise of {steps, values})
const wanted = new Map(); // run -> Map(name -> {resolve, reject})
const BATCH = 24;

function send(run) {
  const requests = [...wanted.get(run)];
  wanted.delete(run);
  for (let place = 0; place < requests.length; place += BATCH) {
    const part = requests.slice(place, place + BATCH);
    ask("figures", { run, name: part.map(([name]) => name) })
      .then(({ figures }) => part.forEach(([name, { resolve }]) => resolve(figures[name])))
      .catch((error) => part.forEach(([, { reject }]) => reject(error)));
  }
}

/** {steps, values} of a figure, or undefined if the run has none of this name. */
export async function figure(run, name) {
  if (!(await figureNames(run)).has(name)) return undefined;
  if (!kept.has(run)) kept.set(run, new Map());
  const figures = kept.get(run);
  if (!figures.has(name)) {
    figures.set(
      name,
      new Promise((resolve, reject) => {
        if (!wanted.has(run)) {
          wanted.set(run, new Map());
          setTimeout(() => send(run), 10);
        }
        wanted.get(run).set(name, { resolve, reject });
      }),
    );
    figures.get(name).catch(() => figures.delete(name));
  }
  return figures.get(name);
}

const descriptions = new Map(); // run -> promise of the answer of api/metrics

/** [{name, section, definition, denominator, healthy, otherwise}] of a run. */
export function metrics(run) {
  if (!descriptions.has(run)) {
    descriptions.set(run, ask("metrics", { run }));
    descriptions.get(run).catch(() => descriptions.delete(run));
  }
  return descriptions.get(run);
}

async function figureNames(run) {
  return new Set((await metrics(run)).map(({ name }) => name));
}

const recipes = new Map(); // run -> promise of the answer of api/run

/** The run has changed: what is kept of it is old. */
export function forget(run) {
  kept.delete(run);
  descriptions.delete(run);
  recipes.delete(run);
}

/** The answer of api/run. */
export function runDetails(run) {
  if (!recipes.has(run)) {
    recipes.set(run, ask("run", { run }));
    recipes.get(run).catch(() => recipes.delete(run));
  }
  return recipes.get(run);
}
