// The dialog of keyboard shortcuts, and whether single keys act at all.
import { checkbox, el } from "./dom.js";

const KEYS = [
  ["1 … 8", "open a view, in the order of the menu"],
  ["/", "go to the search field"],
  ["[ ]", "earlier and later step (group, timeline)"],
  ["c", "next coloring of tokens (group)"],
  ["t", "dark or light"],
  ["?", "this list"],
  ["↑ ↓ or k j", "previous and next row (completions)"],
  ["Enter", "open the row's group"],
  ["Page up, page down", "previous and next page of rows"],
  ["← →", "move the cross-hair of a chart, or from token to token, that has the focus"],
  ["Escape", "close what is open"],
];
const STORE = "cohort-keys";

function read() {
  try {
    return localStorage.getItem(STORE) !== "off";
  } catch {
    return true;
  }
}

export let areKeysOn = read();

function setKeys(isOn) {
  areKeysOn = isOn;
  try {
    localStorage.setItem(STORE, isOn ? "on" : "off");
  } catch {
    // Storage is off: the choice holds until the page is left.
  }
}

let dialog = null;

export function openHelp() {
  if (!dialog) {
    const rows = KEYS.map(([key, text]) =>
      el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, text)),
    );
    dialog = el(
      "dialog",
      { "aria-labelledby": "help-title" },
      el("h2", { id: "help-title" }, "Keyboard"),
      el("dl", { class: "keys" }, rows),
      checkbox("Keys without Ctrl or Alt act", areKeysOn, setKeys),
      el("form", { method: "dialog" }, el("button", { type: "submit" }, "Close")),
    );
    document.body.append(dialog);
    // The server's policy forbids forms to send anything: close without one.
    dialog.querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault();
      dialog.close();
    });
  }
  if (!dialog.open) dialog.showModal();
}
