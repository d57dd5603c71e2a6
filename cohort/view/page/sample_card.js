// One completion of a group: its figures, its rewards with status and detail, its text, its messages.
import { flagChips } from "./completions_view.js";
import { el } from "./dom.js";
import { number, percent } from "./format.js";
import { textBlock, visible } from "./text.js";
import { TokenText } from "./tokens.js";

/** The flags that a line of completions.jsonl has, named as in the table of completions. */
export function flagsOf(sample) {
  const cells = Object.values(sample.rewards ?? {});
  return Object.entries({
    cut: sample.finish_reason === "length",
    masked: sample.masked,
    untrained: sample.untrained,
    failed: cells.some(({ status }) => status !== "ok" && status !== "skipped"),
    injected: sample.injected,
    demonstration: sample.demonstration,
    environment: sample.environment_failure,
  })
    .filter(([, has]) => has)
    .map(([flag]) => flag);
}

function rewardRows(sample) {
  return Object.entries(sample.rewards ?? {}).map(([name, { score, status, detail }]) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, visible(name)),
      el("td", { class: "num" }, status === "ok" ? number(score) : "–"),
      el(
        "td",
        {},
        el("span", { class: `status ${/^[a-z_]+$/.test(status) ? status : ""}` }, visible(status)),
      ),
      el("td", { class: "detail" }, detail ? textBlock(String(detail), { name: "detail", part: 500 }) : ""),
    ),
  );
}

function contentText(content) {
  return typeof content === "string"
    ? content
    : content === null || content === undefined
      ? ""
      : JSON.stringify(content, null, 1);
}

function callBlock(call) {
  const { name = "tool", arguments: given = {} } = call.function ?? call;
  return el(
    "details",
    { class: "call" },
    el("summary", {}, `calls ${visible(name)}`),
    textBlock(contentText(given), { part: 4000 }),
  );
}

function messageBlock(message) {
  const isTool = message.role === "tool" || message.role === "user";
  const calls = (message.tool_calls ?? []).map(callBlock);
  const text = textBlock(contentText(message.content), { name: "message", part: 4000 });
  const title = `${visible(message.role)}${message.name ? ` (${visible(message.name)})` : ""}`;
  if (isTool) return el("details", { class: "message" }, el("summary", {}, title), text);
  return el("div", { class: "message" }, el("h4", {}, title), text, calls);
}

function messages(sample) {
  const list = sample.messages ?? [];
  if (list.length === 0) return null;
  return el(
    "details",
    { class: "messages" },
    el("summary", {}, `Messages of the episode: ${list.length}`),
    list.map(messageBlock),
  );
}

/** The parts of the card: {element, color(coloring)}. */
export function sampleCard(sample, coloring) {
  const hasTokens = sample.tokens?.length > 0;
  const tokens = hasTokens ? new TokenText(sample.tokens, coloring) : null;
  const problem =
    !hasTokens && sample.tokens_problem
      ? el("p", { class: "note" }, "Tokens cannot be shown: ", visible(sample.tokens_problem))
      : null;
  const name = sample.sample === -1 ? "Greedy" : `Sample ${sample.sample}`;
  const facts = el(
    "div",
    { class: "facts" },
    el("span", {}, "reward ", el("b", { class: "reward" }, number(sample.reward))),
    el("span", {}, "advantage ", el("b", { class: "advantage" }, number(sample.advantage, 3))),
    el("span", {}, "tokens ", el("b", {}, number(sample.logprobs?.length ?? sample.tokens?.length ?? null))),
    el("span", {}, "ended by ", el("b", {}, visible(sample.finish_reason ?? "–"))),
    Number.isFinite(sample.gradient_share)
      ? el("span", { class: "gradient" }, "share of the gradient ", el("b", {}, percent(sample.gradient_share)))
      : null,
    flagChips(flagsOf(sample)),
  );
  const why = [
    sample.untrained && typeof sample.untrained === "string" ? `Not trained on: ${sample.untrained}.` : null,
    sample.environment_failure ? `Environment: ${sample.environment_failure}` : null,
  ].filter(Boolean);
  const element = el(
    "article",
    { class: "sample", "data-sample": sample.sample, "aria-label": name },
    el("h3", {}, name),
    facts,
    why.map((text) => el("p", { class: "note" }, visible(text))),
    el(
      "table",
      { class: "cells" },
      el("caption", { class: "hidden" }, `Rewards of ${name}`),
      el(
        "thead",
        { class: "hidden" },
        el(
          "tr",
          {},
          ["Reward", "Score", "Status", "Detail"].map((title) => el("th", { scope: "col" }, title)),
        ),
      ),
      el("tbody", {}, rewardRows(sample)),
    ),
    problem,
    tokens ? tokens.element : textBlock(sample.completion ?? "", { name: "completion" }),
    messages(sample),
  );
  return { element, color: (next) => tokens?.color(next) };
}
