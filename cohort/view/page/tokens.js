// The text of a completion token by token, colored by a figure of each token.
import { el } from "./dom.js";
import { number, percent } from "./format.js";
import { addText, visibleLine } from "./text.js";

/** What a token can be colored by: its key in the answers, its scale (-1 to 1 or 0 to 1), and what it says.
 * `most` of a scale is the largest magnitude of the group's tokens. */
const COLORINGS = [
  {
    key: "logprob",
    title: "log-probability",
    ends: ["0 (certain)", "−5 or less"],
    scale: (value) => Math.min(1, -value / 5),
  },
  {
    key: "advantage",
    title: "advantage",
    ends: ["−2", "0", "2"],
    isSigned: true,
    scale: (value) => Math.max(-1, Math.min(1, value / 2)),
  },
  { key: "entropy", title: "entropy", ends: ["0", "3 nats"], scale: (value) => Math.min(1, value / 3) },
  {
    key: "ratio",
    title: "ratio",
    ends: ["0.8", "1", "1.2"],
    isSigned: true,
    scale: (value) => Math.max(-1, Math.min(1, (value - 1) * 5)),
  },
  {
    key: "gradient",
    title: "share of gradient",
    ends: ["made less likely", "0", "more likely"],
    isSigned: true,
    isShare: true,
    scale: (value, most) => (most > 0 ? value / most : 0),
  },
];

/** The colorings that some token has a value for, with the scale of these samples. */
export function availableColorings(samples) {
  return COLORINGS.flatMap((coloring) => {
    let most = -1;
    for (const { tokens } of samples) {
      for (const token of tokens ?? []) {
        const value = token[coloring.key];
        if (Number.isFinite(value)) most = Math.max(most, Math.abs(value));
      }
    }
    return most < 0 ? [] : [{ ...coloring, scale: (value) => coloring.scale(value, most) }];
  });
}

export function legend(coloring) {
  if (!coloring) return null;
  const stops = coloring.isSigned ? [-1, -0.5, 0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1];
  const boxes = stops.map((stop) => colored(el("i", { class: "swatch" }), stop));
  return el(
    "span",
    { class: "legend" },
    coloring.ends[0],
    el("span", { class: "swatches" }, boxes),
    coloring.ends.at(-1),
  );
}

function colored(element, share) {
  if (!share) return element;
  element.classList.add(share > 0 ? "warm" : "cold");
  element.style.setProperty("--share", `${Math.round(Math.abs(share) * 100)}%`);
  return element;
}

/** "“ 12”, token 4 of 20, log-probability −0.2 (82 %), advantage 1.1". */
function describe(token, place, count) {
  const parts = [`“${visibleLine(token.text)}”`, `token ${place + 1} of ${count}`];
  if (token.injected) parts.push("injected: not sampled, not trained on");
  for (const { key, title, isShare } of COLORINGS) {
    if (!Number.isFinite(token[key])) continue;
    const chance = key === "logprob" ? ` (${percent(Math.exp(token.logprob))})` : "";
    parts.push(`${title} ${isShare ? percent(token[key]) : number(token[key], 3)}${chance}`);
  }
  if (token.clipped) parts.push("clipped");
  return parts.join(", ");
}

/** Runs of tokens that are all injected or all sampled: [{first, tokens, isInjected}]. */
function spans(tokens) {
  const parts = [];
  tokens.forEach((token, n) => {
    const isInjected = Boolean(token.injected);
    if (parts.at(-1)?.isInjected !== isInjected) parts.push({ first: n, tokens: [], isInjected });
    parts.at(-1).tokens.push(token);
  });
  return parts;
}

const PART = 3000; // tokens that are drawn at once

export class TokenText {
  constructor(tokens, coloring) {
    this.tokens = tokens;
    this.readout = el(
      "div",
      { class: "readout", "aria-live": "polite" },
      "Point at a token, or focus the text and press ← →.",
    );
    this.text = el("div", {
      class: "model-text tokens",
      tabindex: 0,
      role: "group",
      dir: "auto",
      "aria-label": "Tokens; the arrow keys move from one to the next",
      onkeydown: (event) => this.key(event),
      onmouseover: (event) => this.point(event.target),
    });
    this.element = el("div", {}, this.text, this.readout);
    this.spans = new Map();
    this.place = -1;
    this.coloring = coloring;
    this.add(0);
  }

  add(from) {
    for (const { first, tokens, isInjected } of spans(this.tokens.slice(from, from + PART))) {
      const elements = tokens.map((token, n) => this.tokenElement(token, from + first + n));
      if (!isInjected) this.text.append(...elements);
      else
        this.text.append(
          el(
            "details",
            { class: "injected" },
            el("summary", {}, `injected: ${number(tokens.length)} tokens`),
            elements,
          ),
        );
    }
    const rest = this.tokens.length - from - PART;
    if (rest <= 0) return;
    const more = el(
      "button",
      {
        type: "button",
        class: "more",
        onclick: () => {
          more.remove();
          this.add(from + PART);
        },
      },
      `Show the next ${number(Math.min(rest, PART))} of ${number(rest)} tokens`,
    );
    this.text.append(more);
  }

  tokenElement(token, place) {
    const element = addText(
      el("span", { class: "token", "data-place": place }),
      token.text.replaceAll("\n", "⏎\n"),
    );
    this.spans.set(place, element);
    this.paint(element, token);
    return element;
  }

  paint(element, token) {
    element.classList.remove("warm", "cold");
    const value = this.coloring ? token[this.coloring.key] : null;
    if (Number.isFinite(value)) colored(element, this.coloring.scale(value));
  }

  color(coloring) {
    this.coloring = coloring;
    for (const [place, element] of this.spans) this.paint(element, this.tokens[place]);
  }

  point(target) {
    const element = target.closest?.(".token");
    if (element) this.show(Number(element.dataset.place));
  }

  show(place) {
    this.spans.get(this.place)?.classList.remove("current");
    this.place = place;
    this.spans.get(place)?.classList.add("current");
    this.readout.textContent = describe(this.tokens[place], place, this.tokens.length);
  }

  key(event) {
    if (event.target !== this.text || event.ctrlKey || event.altKey || event.metaKey) return;
    const moves = {
      ArrowRight: this.place + 1,
      ArrowLeft: this.place - 1,
      Home: 0,
      End: this.spans.size - 1,
    };
    if (!(event.key in moves)) return;
    event.preventDefault();
    event.stopPropagation();
    const place = Math.max(0, Math.min(this.spans.size - 1, moves[event.key]));
    this.show(place);
    this.spans.get(place)?.scrollIntoView({ block: "nearest" });
  }
}
