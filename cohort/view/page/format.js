// Numbers as texts.

/** At most `digits` significant digits, without an exponent where that is short; "–" for null and NaN. */
export function number(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (typeof value !== "number") return String(value);
  if (value === 0) return "0"; // -0 as well
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e9) return value.toExponential(digits - 2).replace("e+", "e");
  if (Number.isInteger(value)) return value.toLocaleString("en").replaceAll(",", "\u202f");
  return String(Number(value.toPrecision(size >= 10 ** digits ? Math.ceil(Math.log10(size)) : digits)));
}

/** For the labels of an axis: 0.02, 15k, 1e-5. */
export function short(value) {
  const size = Math.abs(value);
  if (size >= 1e9) return value.toExponential(0).replace("e+", "e");
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`;
  if (size >= 1e4) return `${Number((value / 1e3).toPrecision(3))}k`;
  if (size !== 0 && size < 1e-3) return value.toExponential(1).replace(".0e", "e");
  return String(Number(value.toPrecision(3)));
}

export function seconds(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0 s";
  if (value < 1e-3) return `${number(value * 1e6, 3)} µs`;
  if (value < 1) return `${number(value * 1e3, 3)} ms`;
  if (value < 120) return `${number(value, 3)} s`;
  return value < 7200 ? `${number(value / 60, 3)} min` : `${number(value / 3600, 3)} h`;
}

/** All numbers of bytes, such as 6.89 MiB. */
export function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let place = 0;
  for (; value >= 1024 && place < units.length - 1; ++place) value /= 1024;
  return `${number(value, 3)} ${units[place]}`;
}

export const percent = (share) => (Number.isFinite(share) ? `${number(100 * share, 3)} %` : "–");
export const gigabytes = (value) => (value === null || value === undefined ? "–" : `${number(value, 3)} GiB`);
