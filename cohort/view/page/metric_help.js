// What a metric means, shown while its name is pointed at or has the focus.
import { el } from "./dom.js";
import { sentence, visible } from "./text.js";

let box = null;

function shownBox() {
  box ??= document.body.appendChild(
    el("div", { id: "metric-help", role: "tooltip", class: "popover", hidden: true }),
  );
  return box;
}

export function hideHelp() {
  if (box) box.hidden = true;
}

function row(title, text) {
  return text ? [el("dt", {}, title), el("dd", {}, sentence(text))] : [];
}

function show(button, info) {
  const help = shownBox();
  const rows = [
    ...row("Definition", info.definition),
    ...row("Of", info.denominator),
    ...row("Healthy", info.healthy),
    ...row("Otherwise", info.otherwise),
  ];
  help.replaceChildren(
    el("strong", {}, visible(info.name)),
    rows.length > 0 ? el("dl", {}, rows) : el("p", {}, "No documentation has this metric."),
  );
  help.hidden = false;
  const place = button.getBoundingClientRect();
  const width = Math.min(400, innerWidth - 16);
  help.style.width = `${width}px`;
  help.style.left = `${Math.max(8, Math.min(place.left, innerWidth - width - 8)) + scrollX}px`;
  const isBelow = place.bottom + help.offsetHeight + 8 < innerHeight || place.top < help.offsetHeight;
  help.style.top = `${(isBelow ? place.bottom + 4 : place.top - help.offsetHeight - 4) + scrollY}px`;
}

/** Makes a button show the description of a metric. */
export function explain(button, info) {
  button.setAttribute("aria-describedby", shownBox().id);
  for (const event of ["mouseenter", "focus"]) button.addEventListener(event, () => show(button, info));
  for (const event of ["mouseleave", "blur"]) button.addEventListener(event, hideHelp);
  button.addEventListener("keydown", (event) => event.key === "Escape" && hideHelp());
  return button;
}
