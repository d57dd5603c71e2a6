// The table of all completions: the server filters, sorts and pages; DataTables draws a page at a time.
import { groupLink, promptLink } from "./address.js";
import { ask } from "./api.js";
import { announce, el, heading } from "./dom.js";
import { filterForm, filterValues, flagMeaning } from "./filters.js";
import { number, percent } from "./format.js";
import { runOf } from "./runs.js";
import { visible, visibleLine } from "./text.js";

const SEARCHES = 10; // of half a second each, for one page of a search for text

const COLUMNS = [
  {
    name: "step",
    title: "Step",
    class: "num",
    cell: (row, run) => el("a", { href: groupLink(run, row), "data-opens": "" }, number(row.step)),
  },
  {
    name: "prompt",
    title: "Prompt",
    class: "id",
    cell: (row, run) =>
      el(
        "a",
        { href: promptLink(run, row.prompt_id), title: visibleLine(row.prompt) },
        visibleLine(row.prompt_id),
      ),
  },
  {
    name: "sample",
    title: "Sample",
    class: "num",
    cell: (row) => (row.sample === -1 ? "greedy" : String(row.sample)),
  },
  { name: "reward", title: "Reward", class: "num", cell: (row) => number(row.reward) },
  { name: "advantage", title: "Advantage", class: "num", cell: (row) => number(row.advantage, 3) },
  { name: "tokens", title: "Tokens", class: "num", cell: (row) => number(row.tokens) },
  { name: null, title: "Flags", class: "flags", cell: (row) => flagChips(row.flags) },
  { name: null, title: "Completion", class: "excerpt", cell: (row) => visibleLine(row.completion) },
];

export function flagChips(flags) {
  return el(
    "span",
    {},
    flags.map((flag) => el("span", { class: `flag ${flag}`, title: flagMeaning(flag) }, visible(flag))),
  );
}

const inLineOrder = (sort) => sort === "order" || sort === "step"; // a search then finds the first rows first

/** A page of rows. A search for text stops after half a second; the same request goes on with it. */
async function page(query, signal) {
  let answer = await ask("completions", query, signal);
  const isFull = () => answer.rows.length === query.limit && inLineOrder(query.sort);
  for (let n = 1; n < SEARCHES && !answer.is_complete && !isFull(); ++n)
    answer = await ask("completions", query, signal);
  return answer;
}

class CompletionsView {
  constructor(main, parameters, app) {
    this.app = app;
    this.run = runOf(parameters.get("run")).run;
    this.filters = filterValues(parameters);
    this.sort = parameters.get("sort") ?? "order";
    this.isDescending = parameters.get("descending") === "1";
    this.pageLength = Number(parameters.get("limit")) || 50;
    this.first = Number(parameters.get("offset")) || 0;
    this.table = el("table", { class: "rows" }, el("caption", { class: "hidden" }, "Completions"));
    this.isComplete = true; // false: a search for text has seen a part of the run
    this.isSearching = false; // on and on, until it has seen all
    this.hint = el("p", { class: "note", hidden: true, role: "status" });
    this.more = el("button", { type: "button", hidden: true, onclick: () => this.searchOn() }, "Search on");
    main.append(
      el("div", { class: "bar" }, heading("Completions")),
      filterForm(this.filters, () => this.grid.page(0).draw()),
      this.hint,
      this.more,
      this.table,
    );
    this.draw();
  }

  draw() {
    const order = COLUMNS.findIndex(({ name }) => name === this.sort);
    window.jQuery.fn.dataTable.ext.errMode = (settings, code, message) => this.say(message);
    this.grid = window.jQuery(this.table).DataTable({
      serverSide: true,
      processing: false,
      searching: false,
      autoWidth: false,
      dom: "<'table-top'ip>t<'table-bottom'l>",
      pageLength: this.pageLength,
      displayStart: this.first,
      lengthMenu: [25, 50, 100, 200],
      order: order < 0 ? [] : [[order, this.isDescending ? "desc" : "asc"]],
      columns: COLUMNS.map(({ name, title, class: className, cell }) => ({
        title,
        className,
        orderable: name !== null,
        data: null,
        render: () => "", // cells are filled with text nodes, never with markup
        createdCell: (element, data, row) => element.append(cell(row, this.run)),
      })),
      createdRow: (element, row) => this.prepareRow(element, row),
      ajax: (request, done) => this.load(request, done),
      language: {
        info: "_START_ to _END_ of _TOTAL_",
        infoFiltered: "(of _MAX_ in all)",
        infoEmpty: "none",
        emptyTable: "No completion matches.",
        zeroRecords: "No completion matches.",
        lengthMenu: "_MENU_ rows a page",
        paginate: { previous: "Previous", next: "Next" },
        thousands: "\u202f",
      },
      infoCallback: (settings, start, end, max, total, text) =>
        this.isComplete ? text : text.replace("of ", "of at least "),
    });
  }

  async load(request, done) {
    const [order] = request.order;
    this.sort = order ? COLUMNS[order.column].name : "order";
    this.isDescending = order?.dir === "desc";
    this.pageLength = request.length;
    this.first = request.start;
    this.remember();
    this.waiting?.abort();
    this.waiting = new AbortController();
    this.isSearching = false;
    this.query = {
      run: this.run,
      ...this.filters,
      sort: this.sort,
      descending: this.isDescending ? 1 : null,
      offset: request.start,
      limit: request.length,
    };
    try {
      const found = await page(this.query, this.waiting.signal);
      if (this.app.isGone(this)) return;
      this.showProgress(found);
      done({
        draw: request.draw,
        recordsTotal: found.total,
        recordsFiltered: found.matched,
        data: found.rows,
      });
      const none = this.table.querySelector(".dataTables_empty");
      if (none && !this.isComplete) none.textContent = "No match so far.";
      if (this.table.querySelector("tbody tr[tabindex]") === null) this.activate(this.rows()[0], false);
    } catch (error) {
      if (error.name === "AbortError" || this.app.isGone(this)) return;
      this.say(error.message);
      done({ draw: request.draw, recordsTotal: 0, recordsFiltered: 0, data: [] });
    }
  }

  /** What a search for text has seen of the run, and whether it can go on. */
  showProgress({ is_complete: isComplete, num_searched: numSearched, total, matched }) {
    this.isComplete = isComplete;
    this.more.hidden = isComplete;
    this.more.textContent = this.isSearching ? "Stop searching" : "Search on";
    if (isComplete) return this.say("");
    const order = inLineOrder(this.sort) ? "" : ", and the rows are the first of those";
    const seen = `The search has seen ${percent(numSearched / total)} of the completions`;
    return this.say(`${seen}: at least ${number(matched)} match${order}.`);
  }

  say(text) {
    this.hint.textContent = visible(text);
    this.hint.hidden = text === "";
  }

  remember() {
    this.app.set({
      run: this.run,
      ...this.filters,
      sort: this.sort === "order" ? null : this.sort,
      descending: this.isDescending ? 1 : null,
      offset: this.first || null,
      limit: this.pageLength === 50 ? null : this.pageLength,
    });
  }

  /** Goes on until the search has seen all, or the reader stops it or chooses something else. */
  async searchOn() {
    this.waiting?.abort();
    this.waiting = new AbortController();
    this.isSearching = !this.isSearching;
    this.more.textContent = this.isSearching ? "Stop searching" : "Search on";
    const { query, waiting } = this;
    try {
      while (this.isSearching && !waiting.signal.aborted) {
        const found = await ask("completions", { ...query, limit: 0 }, waiting.signal);
        if (this.app.isGone(this)) return;
        this.showProgress(found);
        if (!found.is_complete) continue;
        announce(`${number(found.matched)} completions match`);
        this.grid.draw("page");
        return;
      }
    } catch (error) {
      if (error.name === "AbortError" || this.app.isGone(this)) return;
      this.isSearching = false;
      this.more.textContent = "Search on";
      this.say(error.message);
    }
  }

  rows() {
    return [...this.table.querySelectorAll("tbody tr[data-index]")];
  }

  prepareRow(element, row) {
    element.dataset.index = row.index;
    element.addEventListener("focus", () => this.activate(element, false));
    element.addEventListener("click", (event) => {
      if (event.target.closest("a") || getSelection().toString() !== "") return;
      this.openRow(element);
    });
    element.addEventListener("keydown", (event) => this.key(event, element));
  }

  /** One row at a time is in the order of the tabulator key; the arrow keys move it. */
  activate(row, isFocused = true) {
    if (!row) return;
    for (const other of this.rows()) {
      if (other === row) continue; // without tabindex it would lose the focus
      other.removeAttribute("tabindex");
      other.classList.remove("active");
    }
    row.tabIndex = 0;
    row.classList.add("active");
    if (isFocused) row.focus();
  }

  openRow(element) {
    location.hash = element.querySelector("a[data-opens]").hash;
  }

  key(event, element) {
    if (event.target !== element || event.ctrlKey || event.altKey || event.metaKey) return;
    const rows = this.rows();
    const place = rows.indexOf(element);
    const moves = {
      ArrowDown: place + 1,
      j: place + 1,
      ArrowUp: place - 1,
      k: place - 1,
      Home: 0,
      End: rows.length - 1,
    };
    if (event.key === "Enter") this.openRow(element);
    else if (event.key === "PageDown" || event.key === "PageUp")
      this.turn(event.key === "PageDown" ? "next" : "previous");
    else if (event.key in moves) this.activate(rows[moves[event.key]]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  turn(direction) {
    this.grid.one("draw", () => {
      this.activate(this.rows()[0]);
      announce(`page ${this.grid.page() + 1} of ${this.grid.page.info().pages}`);
    });
    this.grid.page(direction).draw("page");
  }

  refresh(run) {
    // Rows must not move under a reader: only the first page without a choice of his follows the run.
    if (this.isSearching) return;
    if (run === this.run && this.first === 0 && !this.table.contains(document.activeElement))
      this.grid.draw("page");
  }

  close() {
    this.waiting?.abort();
    this.grid?.destroy();
  }
}

export async function open(main, parameters, app) {
  app.own(new CompletionsView(main, parameters, app));
}
