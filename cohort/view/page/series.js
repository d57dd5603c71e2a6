// Turns figures into the rows of a chart. No function here touches the page.

/** Exponential moving average without its bias towards the start; null and NaN are passed over. */
export function smoothed(values, weight) {
  if (weight <= 0) return values;
  let sum = 0;
  let total = 0;
  return values.map((value) => {
    if (value === null || Number.isNaN(value)) return value;
    sum = weight * sum + (1 - weight) * value;
    total = weight * total + (1 - weight);
    return sum / total;
  });
}

/** The hours that training had taken at each step: Map(step -> hours). */
export function hoursOf({ steps, values }) {
  let sum = 0;
  return new Map(steps.map((step, n) => [step, (sum += (values[n] ?? 0) / 3600)]));
}

const gap = (value) => (value === null || value === undefined ? NaN : value);
const positive = (value) => (value > 0 ? value : NaN);

/** [[x, y of each curve, ...], ...], x ascending. null: the curve has no point there. NaN: the curve has a gap there. */
export function merged(curves) {
  const rows = new Map();
  curves.forEach(({ xs, ys }, n) => {
    xs.forEach((x, place) => {
      if (!rows.has(x)) rows.set(x, Array(curves.length).fill(null));
      rows.get(x)[n] = gap(ys[place]);
    });
  });
  return [...rows].sort(([a], [b]) => a - b).map(([x, ys]) => [x, ...ys]);
}

/** The mean, smallest and largest value of several curves at each x: {xs, low, mean, high}. */
export function band(curves) {
  const all = new Map();
  for (const { xs, ys } of curves) {
    xs.forEach((x, place) => {
      const value = gap(ys[place]);
      if (!Number.isNaN(value)) all.set(x, [...(all.get(x) ?? []), value]);
    });
  }
  const points = [...all].sort(([a], [b]) => a - b);
  return {
    xs: points.map(([x]) => x),
    low: points.map(([, values]) => Math.min(...values)),
    mean: points.map(([, values]) => values.reduce((sum, value) => sum + value, 0) / values.length),
    high: points.map(([, values]) => Math.max(...values)),
  };
}

/** Rows of [x, [low, middle, high] of each curve, ...]: what a chart with bands draws. */
export function mergedBands(bands) {
  const rows = new Map();
  bands.forEach(({ xs, low, mean, high }, n) => {
    xs.forEach((x, place) => {
      if (!rows.has(x)) rows.set(x, Array(bands.length).fill(null));
      rows.get(x)[n] = [low[place], mean[place], high[place]];
    });
  });
  return [...rows].sort(([a], [b]) => a - b).map(([x, ys]) => [x, ...ys]);
}

/** Leaves gaps where a logarithm has none. */
export function withoutNonPositive(rows) {
  const change = (value) => {
    if (value === null) return null;
    return Array.isArray(value) ? value.map(positive) : positive(value);
  };
  const result = rows.map(([x, ...ys]) => [x, ...ys.map(change)]);
  const hasValue = (value) => (Array.isArray(value) ? value.some(Number.isFinite) : Number.isFinite(value));
  return result.some(([, ...ys]) => ys.some(hasValue)) ? result : [];
}

/** What tells two runs apart besides the seed and where they lie: runs with equal texts are seeds of one recipe. */
export function recipeWithoutSeed(recipe) {
  const { seed, run, ...others } = recipe;
  return JSON.stringify(sorted(others));
}

function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  );
}

/** The place of the x nearest to `x` in rows; -1 if there are none. */
export function nearest(rows, x) {
  let low = 0;
  let high = rows.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle][0] < x) low = middle + 1;
    else high = middle;
  }
  return low > 0 && x - rows[low - 1][0] < rows[low][0] - x ? low - 1 : high < 0 ? -1 : low;
}
