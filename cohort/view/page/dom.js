// Makes elements. Texts of runs and models are data: they only ever become text nodes, never markup.

/** el("a", {href: "#/x", class: "y", onclick: f}, "text", child, ...). A null child or property is left out. */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") element.style.cssText = value; // as an attribute the policy of the server refuses it
    else if (name === "value" || name === "checked" || name === "disabled" || name === "open")
      element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(
    ...children.flat().filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

/** A labelled control: the label's text stands before it. */
export function field(text, control, properties = {}) {
  return el("label", { class: "field", ...properties }, el("span", {}, text), control);
}

export function select(options, value, onchange) {
  const list = options.map(([key, text]) => el("option", { value: key }, text));
  const control = el("select", { onchange: () => onchange(control.value) }, list);
  control.value = value;
  return control;
}

export function checkbox(text, checked, onchange) {
  const box = el("input", { type: "checkbox", checked, onchange: () => onchange(box.checked) });
  return el("label", { class: "check" }, box, el("span", {}, text));
}

/** Says a line to screen readers. */
export function announce(text) {
  document.getElementById("announcer").textContent = text;
}

/** Calls f once no further call came for some milliseconds. */
export function debounced(f, milliseconds = 250) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => f(...values), milliseconds);
  };
}

/** A table of rows: columns are {title, cell: row => node or text, class?}. */
export function table(caption, columns, rows, properties = {}) {
  const head = columns.map(({ title, class: name }) => el("th", { scope: "col", class: name }, title));
  const body = rows.map((row) =>
    el(
      "tr",
      {},
      columns.map(({ cell, class: name }) => el("td", { class: name }, cell(row))),
    ),
  );
  const content = el(
    "table",
    properties,
    el("caption", { class: "hidden" }, caption),
    el("thead", {}, el("tr", {}, head)),
    el("tbody", {}, body),
  );
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, content);
}

export function heading(text, ...more) {
  return el("h1", { tabindex: -1 }, text, ...more);
}
