// Shows texts of models: characters that act on a terminal, turn the direction of writing or are invisible appear as
// their numbers.
import { el } from "./dom.js";

const HIDDEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}]/gu;

const numberOf = (character) => `⟨U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;

/** Adds a text to an element; what is hidden stands out. */
export function addText(element, text) {
  let place = 0;
  for (const found of text.matchAll(HIDDEN)) {
    element.append(text.slice(place, found.index));
    element.append(el("span", { class: "mark" }, numberOf(found[0])));
    place = found.index + found[0].length;
  }
  element.append(text.slice(place));
  return element;
}

/** The same as a string. */
export const visible = (text) => String(text ?? "").replace(HIDDEN, numberOf);

/** The same on one line. */
export const visibleLine = (text) => visible(text).replaceAll("\n", "⏎").replaceAll("\t", " ");

/** A text in a block that keeps its lines. The first part of a long text; a button shows more. */
export function textBlock(text, { name = "text", part = 20000 } = {}) {
  const block = el("div", { class: "model-text", dir: "auto" });
  let place = 0;
  const more = el("button", { type: "button", class: "more" });
  const add = () => {
    addText(block, text.slice(place, place + part));
    place += part;
    more.textContent = `Show more of the ${name}: ${(text.length - place).toLocaleString("en")} characters follow`;
    if (place >= text.length) more.remove();
  };
  more.addEventListener("click", add);
  const result = el("div", {}, block, more);
  add();
  return result;
}

/** A sentence of the documentation: code in backticks, links as their texts. */
export function sentence(markdown) {
  const plain = String(markdown ?? "").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1");
  return plain.split("`").map((part, n) => (n % 2 ? el("code", {}, visible(part)) : visible(part)));
}
