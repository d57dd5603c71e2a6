// A chart of curves over steps or hours, drawn by dygraphs. Its cross-hair moves with those of the charts beside it.
import { announce, el } from "./dom.js";
import { number, short } from "./format.js";
import { nearest } from "./series.js";

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
// The legend of dygraphs makes markup of texts and styles as attributes, which the server's policy refuses.
window.Dygraph.PLUGINS = window.Dygraph.PLUGINS.filter((plugin) => plugin !== window.Dygraph.Plugins.Legend);
const isTouch = () => matchMedia("(pointer: coarse)").matches;

/** Steps are whole numbers: no label stands between them. */
const stepText = (x) => (Number.isInteger(x) ? short(x) : "");

/** Charts that share cross-hair and zoom. onZoom([from, to] or null) is called after a zoom by hand. */
export class ChartGroup {
  charts = new Set();
  range = null;

  constructor(onZoom = () => {}) {
    this.onZoom = onZoom;
  }

  cross(x) {
    for (const chart of this.charts) chart.cross(x);
  }

  zoom(range, isByHand = false) {
    this.range = range;
    for (const chart of this.charts) chart.zoom(range);
    if (isByHand) this.onZoom(range);
  }

  repaint() {
    for (const chart of this.charts) chart.draw();
  }

  close() {
    for (const chart of [...this.charts]) chart.close();
  }
}

export class Chart {
  /** onValues(row or null): the values under the cross-hair. */
  constructor(group, { label, height = 130, onValues = () => {} }) {
    this.group = group;
    this.onValues = onValues;
    this.label = label;
    this.line = el("div", { class: "cross", hidden: true });
    this.canvas = el("div", { class: "canvas", style: `height:${height}px` });
    this.box = el(
      "div",
      {
        class: "chart",
        tabindex: 0,
        role: "img",
        "aria-label": label,
        onkeydown: (event) => this.key(event),
      },
      this.canvas,
      this.line,
    );
    group.charts.add(this);
  }

  /** curves: [{name, color (of a custom property), isFaint?, pattern?}]; rows as series.js makes them. */
  setData({ curves, rows, isBand = false, isLog = false, unit = "step", xFormat = stepText, marks = [] }) {
    Object.assign(this, { curves, rows, isBand, isLog, unit, xFormat, marks });
    this.box.setAttribute("aria-label", this.description());
    this.draw();
  }

  description() {
    if (this.rows.length === 0) return `${this.label}: no values`;
    const last = this.rows.at(-1);
    const values = this.curves
      .filter(({ isFaint }) => !isFaint)
      .map(({ name }, n) => `${name} ${number(this.middle(last[n + 1]))}`)
      .join(", ");
    return `${this.label}, ${this.unit} ${number(this.rows[0][0])} to ${number(last[0])}. Last: ${values}`;
  }

  middle(value) {
    return Array.isArray(value) ? value[1] : value;
  }

  options() {
    const series = {};
    this.curves.forEach(({ color, isFaint, pattern }, n) => {
      series[`s${n}`] = {
        color: css(color) + (isFaint ? "55" : ""),
        strokeWidth: isFaint ? 1 : 1.6,
        strokePattern: pattern ?? null,
        highlightCircleSize: isFaint ? 0 : 2.5,
      };
    });
    const muted = css("--line");
    return {
      labels: ["x", ...this.curves.map((_, n) => `s${n}`)],
      series,
      customBars: this.isBand,
      fillAlpha: 0.2,
      logscale: this.isLog,
      drawPoints: this.rows.length < 3,
      pointSize: 2.5,
      connectSeparatedPoints: true,
      legend: "never",
      showLabelsOnHighlight: false,
      animatedZooms: false,
      axisLabelFontSize: 11,
      axisLineColor: muted,
      gridLineColor: muted,
      gridLineWidth: 0.5,
      rightGap: 6,
      dateWindow: this.group.range,
      valueRange: this.valueRange(),
      axes: {
        x: { drawGrid: false, pixelsPerLabel: 36, axisLabelFormatter: (x) => this.xFormat(x) },
        y: { axisLabelWidth: 46, pixelsPerLabel: 28, axisLabelFormatter: (y) => short(y) },
      },
      underlayCallback: (context, area, graph) => this.drawMarks(context, area, graph),
      highlightCallback: (event, x) => this.group.cross(x),
      unhighlightCallback: () => this.group.cross(null),
      zoomCallback: (from, to) => this.group.zoom(this.isWhole(from, to) ? null : [from, to], true),
      ...(isTouch() ? { interactionModel: window.Dygraph.nonInteractiveModel } : {}),
    };
  }

  /** Room for the marks; null leaves the range to the values. */
  valueRange() {
    if (!this.marks?.length) return null;
    const values = [
      ...this.rows.flatMap(([, ...ys]) => ys).filter(Number.isFinite),
      ...this.marks.map(({ y }) => y),
    ];
    const [low, high] = [Math.min(...values), Math.max(...values)];
    return [low - 0.05 * (high - low), high + 0.08 * (high - low) + 1e-12];
  }

  isWhole(from, to) {
    return from <= this.rows[0][0] && to >= this.rows.at(-1)[0];
  }

  /** Horizontal lines with a meaning, such as what was planned: [{y, color}]. */
  drawMarks(context, area, graph) {
    for (const { y, color } of this.marks ?? []) {
      const place = graph.toDomYCoord(y);
      context.save();
      context.strokeStyle = css(color);
      context.setLineDash([4, 3]);
      context.beginPath();
      context.moveTo(area.x, place);
      context.lineTo(area.x + area.w, place);
      context.stroke();
      context.restore();
    }
  }

  draw() {
    if (!this.rows) return;
    this.graph?.destroy();
    this.graph = null;
    this.canvas.replaceChildren();
    if (this.rows.length === 0 || this.canvas.clientWidth === 0) return;
    this.graph = new window.Dygraph(this.canvas, this.rows, this.options());
  }

  /** Puts the cross-hair at the values nearest to x; null takes it away. */
  cross(x) {
    const place = x === null || !this.graph ? -1 : nearest(this.rows, x);
    this.place = place;
    this.line.hidden = place < 0;
    if (place >= 0) this.line.style.left = `${this.graph.toDomXCoord(this.rows[place][0])}px`;
    this.onValues(place < 0 ? null : this.rows[place]);
  }

  zoom(range) {
    this.graph?.updateOptions({ dateWindow: range });
  }

  key(event) {
    const moves = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
    if (event.key === "Escape") this.group.cross(null);
    if (!(event.key in moves) || !this.rows?.length || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const from = this.place >= 0 && this.place !== undefined ? this.place : this.rows.length - 1;
    const place = Math.max(0, Math.min(this.rows.length - 1, from + moves[event.key]));
    this.group.cross(this.rows[place][0]);
    const values = this.curves.map(
      ({ name }, n) => `${name} ${number(this.middle(this.rows[place][n + 1]))}`,
    );
    announce(`${this.unit} ${number(this.rows[place][0])}: ${values.join(", ")}`);
  }

  close() {
    this.graph?.destroy();
    this.graph = null;
    this.group.charts.delete(this);
  }
}
