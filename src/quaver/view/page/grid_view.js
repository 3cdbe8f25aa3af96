// The grid: items as rows, prompts (and models, repeats …) as columns, labels in colour.

import { AnswerPanel } from "./answer_panel.js";
import { change, current } from "./address.js";
import { button, choice, count, fill, made, percent } from "./elements.js";
import { Facets } from "./facets.js";
import { bandsOf, columnWords, levelName } from "./grid_bands.js";
import { GridCanvas, ZOOMS } from "./grid_canvas.js";
import { GridData } from "./grid_data.js";
import { GridTable } from "./grid_table.js";
import { term } from "./query_terms.js";
import { ScrollWindow } from "./scroll_window.js";

const FIRST_ZOOM = 3;
const LARGEST = 24; // pixels of a cell where the whole grid has room

export class GridView {
  constructor(app) {
    this.app = app;
    this.cursor = null;
    this.canvas = made("canvas", {"aria-hidden": "true"});
    this.spacer = made("div", {class: "spacer"});
    this.area = made("div", {
      class: "grid-area", tabIndex: 0, role: "application", "aria-roledescription": "grid of labels", "aria-describedby": "grid-keys",
      "aria-label": "Labels of every item under every prompt", onkeydown: (event) => this.#pressed(event),
    }, this.spacer, this.canvas);
    this.readout = made("p", {class: "readout", "aria-live": "polite"}, "");
    this.tools = made("div", {class: "tools"});
    this.legendLine = made("ul", {class: "legend", "aria-label": "Labels; choose one to filter by it"});
    this.table = new GridTable((row, column) => this.#open(row, column), (row, column) => this.#moveTable(row, column));
    this.table.element.hidden = true;
    this.panel = new AnswerPanel(app, {place: () => this.#place(), closed: () => this.area.focus()});
    this.facets = new Facets(app);
    const keys = made("p", {id: "grid-keys", class: "unseen"}, "Arrow keys move from cell to cell, Enter opens the answer, plus and minus change the size, t shows a table.");
    const sheet = made("div", {class: "grid-sheet"}, made("h1", {class: "unseen"}, "Grid"), this.tools, this.legendLine, this.area, this.table.element, this.readout, keys);
    this.element = made("div", {class: "workspace"}, this.facets.element, sheet, this.panel.element);
    this.drawing = new GridCanvas(this.canvas);
    this.data = new GridData((kind, window, signal) => this.#ask(kind, window, signal), () => this.#arrived(), (error) => this.app.refused(error, sheet));
    this.scroll = new ScrollWindow(this.area, this.spacer, () => this.#draw());
    this.#pointers();
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.recolour = () => {
      this.drawing.recolour();
      this.scroll.ask();
    };
    this.scheme.addEventListener("change", this.recolour);
    this.area.addEventListener("focus", () => this.scroll.ask());
    this.area.addEventListener("blur", () => this.scroll.ask());
    const into = (event) => (document.activeElement === document.body || document.activeElement === app.main ? this.#entered(event) : false);
    const arrows = Object.fromEntries(["ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight"].map((key) => [key, into]));
    app.keys.ofView({...this.panel.keys(), ...arrows, "+": () => this.#zoom(1), "=": () => this.#zoom(1), "-": () => this.#zoom(-1), t: () => this.#toggleTable()}, [
      ["arrow keys", "move from cell to cell"], ["Enter", "open the answer"], ["+, -", "larger, smaller cells"], ["Home, End", "first, last column"], ["PageUp, PageDown", "a screen up, down"], ["t", "a table instead of colours"], ...this.panel.keyList(),
    ]);
  }

  get zoomAt() {
    const asked = current().given.zoom;
    if (asked === "whole") return -1;
    const at = ZOOMS.findIndex((one, place) => String(place) === asked);
    return at < 0 ? FIRST_ZOOM : at;
  }

  async update(given) {
    const {app} = this;
    const {design, legend} = await app.factsOf();
    Object.assign(this, {design, legend});
    const asked = app.asked();
    const key = JSON.stringify([app.study, asked]);
    if (key !== this.key) {
      Object.assign(this, {key, asked});
      await this.#load(true);
    } else this.#arrange();
    await this.panel.follow(given, {...asked});
    if (given.item) this.#toCursor(given);
  }

  async #load(anew) {
    const key = this.key;
    this.element.setAttribute("aria-busy", "true");
    let grid = null;
    try {
      grid = await this.app.source.grid(this.app.study, this.asked);
    } finally {
      this.element.removeAttribute("aria-busy");
    }
    if (key !== this.key) return;
    this.element.querySelector(".refused")?.remove();
    this.grid = grid;
    if (anew) {
      this.data.clear();
      this.scroll.to(0, 0);
      this.cursor = null;
    } else this.data.refresh();
    this.bands = bandsOf(grid.columns, this.design);
    this.app.count(grid.matched, grid.rows, grid.partial ? " so far" : "");
    this.facets.show(this.asked);
    this.#tools();
    this.#legendChips();
    this.#arrange();
  }

  refresh() {
    return this.#load(false).catch((error) => this.app.refused(error));
  }

  leave() {
    this.data.clear();
    this.scroll.close();
    this.panel.leave();
    this.facets.leave();
    this.scheme.removeEventListener("change", this.recolour);
  }

  #ask(kind, window, signal) {
    const {app, asked, design} = this;
    if (kind === "rows") return app.source.rows(app.study, asked, window.from, window.count, {signal});
    return app.source.cells(app.study, asked, {...window, match: asked.q ? 1 : 0, step: window.step === 1 ? "" : window.step}, design.cell_bytes, {signal});
  }

  #tools() {
    const {design, grid} = this;
    const {given} = current();
    const set = (name) => (value) => change({[name]: value, item: null, column: null});
    const sorts = design.sorts.map((one) => [one.name, one.title]);
    const zoom = this.zoomAt;
    const parts = [
      choice("Rows", sorts, given.sort || "item", set("sort")),
      design.evaluators.length > 1 ? choice("Read by", design.evaluators.map((one) => [one, one]), given.e || design.evaluators[0], set("e")) : null,
      made("span", {class: "zoom", role: "group", "aria-label": "Size of cells"},
        button("−", () => this.#zoom(-1), {"aria-label": "Smaller cells", disabled: zoom < 0}),
        button("+", () => this.#zoom(1), {"aria-label": "Larger cells", disabled: zoom >= ZOOMS.length - 1}),
        button("Whole", () => change({zoom: zoom < 0 ? null : "whole"}, {replace: true}), {"aria-pressed": String(zoom < 0)})),
      button("Table", () => this.#toggleTable(), {"aria-pressed": String(!this.table.element.hidden)}),
    ];
    const focus = document.activeElement?.closest(".tools") ? [...this.tools.querySelectorAll("select, button")].indexOf(document.activeElement) : -1;
    fill(this.tools, ...parts);
    if (focus >= 0) this.tools.querySelectorAll("select, button")[focus]?.focus();
  }

  #legendChips() {
    const {grid, legend, app} = this;
    const many = new Map(grid.counts);
    const all = grid.counts.reduce((sum, [, n]) => sum + n, 0);
    const chips = [...legend.entries.values()].filter((one) => many.get(one.code)).map((one) => {
      const wanted = one.kind === "label" ? term("label", one.name) : term("status", one.name);
      const words = `${count(many.get(one.code))} (${percent(many.get(one.code) / all)})`;
      return made("li", {}, made("button", {type: "button", onclick: () => app.toggleTerm(wanted)}, legend.chip(one.code), made("span", {class: "many"}, words)));
    });
    fill(this.legendLine, ...chips);
  }

  /** Sizes of everything, after the view, the window or the zoom have changed. */
  #arrange() {
    if (!this.grid) return;
    const {grid, app} = this;
    this.whole = this.zoomAt < 0;
    const narrow = this.scroll.viewWidth < 640;
    const sized = (zoom) => {
      this.zoom = zoom;
      this.frame = this.drawing.frame({bands: this.bands, zoom, narrow, whole: this.whole});
      return Math.max(50, this.scroll.viewHeight - this.frame.top - 4);
    };
    const room = sized(this.whole ? {name: "all of them", width: 2, height: 2} : ZOOMS[this.zoomAt]);
    if (this.whole) {
      const fit = (pixels, cells) => Math.max(2, Math.min(LARGEST, Math.floor(pixels / Math.max(1, cells))));
      sized({...this.zoom, width: fit(this.scroll.viewWidth - this.frame.left - this.frame.right, grid.columns.length), height: fit(room, grid.rows)});
    }
    this.step = this.whole ? Math.max(1, Math.ceil((grid.rows * this.zoom.height) / (this.scroll.viewHeight - this.frame.top - 4))) : 1;
    const lines = Math.ceil(grid.rows / this.step);
    const width = this.frame.left + grid.columns.length * this.zoom.width + this.frame.right;
    this.scroll.size(width, this.frame.top + lines * this.zoom.height + (this.whole ? 0 : 6));
    this.#tools();
    app.keys.lists = app.keys.lists.filter(Boolean);
    if (!grid.rows) this.readout.textContent = "No answer matches.";
  }

  #state() {
    const {scroll, frame, zoom, grid, step} = this;
    const lines = Math.ceil(grid.rows / step);
    const first = Math.max(0, Math.floor(scroll.top / zoom.height));
    const from = Math.max(0, Math.floor(scroll.left / zoom.width));
    const viewWidth = Math.min(scroll.viewWidth, frame.left + grid.columns.length * zoom.width + frame.right);
    return {
      data: this.data, zoom, frame, step, legend: this.legend, bands: this.bands, columns: grid.columns, margin: grid.margin, cursor: this.cursor,
      top: scroll.top, left: scroll.left, viewWidth, viewHeight: scroll.viewHeight, whole: this.whole, narrow: scroll.viewWidth < 640,
      first, last: Math.min(lines, first + Math.ceil((scroll.viewHeight - frame.top) / zoom.height) + 1),
      from, to: Math.min(grid.columns.length, from + Math.ceil((viewWidth - frame.left - frame.right) / zoom.width) + 1),
      dimmed: Boolean(this.asked.q), focused: document.activeElement === this.area, goldShown: this.design.has.gold,
    };
  }

  #draw() {
    if (!this.grid || !this.element.isConnected) return;
    if (this.area.hidden) {
      this.#tableNow();
      return;
    }
    if (this.sized !== `${this.scroll.viewWidth} ${this.scroll.viewHeight}`) {
      this.sized = `${this.scroll.viewWidth} ${this.scroll.viewHeight}`;
      this.#arrange();
    }
    const state = this.#state();
    this.data.want({top: state.first, bottom: state.last, left: state.from, right: state.to, step: this.step, texts: !this.whole});
    this.drawing.draw(state);
  }

  #arrived() {
    this.scroll.ask();
    if (this.cursor && !this.whole) this.#read();
  }

  #zoom(step) {
    const to = Math.max(-1, Math.min(ZOOMS.length - 1, this.zoomAt + step));
    const middle = (this.scroll.top + (this.scroll.viewHeight - this.frame.top) / 2) / this.zoom.height * this.step;
    change({zoom: to < 0 ? "whole" : to === FIRST_ZOOM ? null : String(to)}, {replace: true});
    this.#arrange();
    const row = this.cursor ? this.cursor.row : middle;
    this.scroll.to(Math.max(0, (row / this.step) * this.zoom.height - (this.scroll.viewHeight - this.frame.top) / 2));
    this.app.say(`Cells: ${this.zoom.name}`);
  }

  /** The cell under a point; null beside the cells. */
  #cellAt(event) {
    const box = this.area.getBoundingClientRect();
    const {frame, zoom, scroll, grid, step} = this;
    if (!grid) return null;
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    if (y < frame.top || x > scroll.viewWidth - frame.right) return null;
    const row = Math.floor((y - frame.top + scroll.top) / zoom.height) * step;
    const column = x < frame.left ? -1 : Math.floor((x - frame.left + scroll.left) / zoom.width);
    return row < grid.rows && column < grid.columns.length ? {row, column} : null;
  }

  /** The run of columns under a point in the bands: the band's name and value. */
  #bandAt(event) {
    const box = this.area.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    if (!this.grid || y >= this.frame.top || x < this.frame.left) return null;
    const column = Math.floor((x - this.frame.left + this.scroll.left) / this.zoom.width);
    let below = 0;
    for (let at = 0; at < this.bands.length; at += 1) {
      below += this.drawing.heights[at];
      if (y < below) return column < this.grid.columns.length ? {name: this.bands[at].name, value: this.bands[at].values[column], column} : null;
    }
    return column < this.grid.columns.length ? {name: "", value: "", column} : null;
  }

  #pointers() {
    this.area.addEventListener("click", (event) => {
      const band = this.#bandAt(event);
      if (band?.name === "repeat") this.app.toggleTerm(`repeat:${Number(band.value) - 1}`, {only: true});
      else if (band?.name) this.app.toggleTerm(term(band.name, band.value), {only: true});
      const cell = this.#cellAt(event);
      if (!cell) return;
      if (this.whole) {
        change({zoom: null}, {replace: true});
        this.#arrange();
        this.#move(cell.row, Math.max(0, cell.column), true);
      } else this.#open(cell.row, Math.max(0, cell.column));
    });
    this.area.addEventListener("pointermove", (event) => {
      const [cell, band] = [this.#cellAt(event), this.#bandAt(event)];
      this.area.style.cursor = cell || band?.name ? "pointer" : "";
      if (cell && cell.column >= 0 && !this.whole) this.readout.textContent = this.#words(cell);
      else if (cell && !this.whole) this.readout.textContent = this.#rowWords(cell.row);
      else if (band) this.readout.textContent = this.#columnWords(band);
    });
    this.area.addEventListener("pointerleave", () => this.#read());
  }

  #columnWords({name, value, column}) {
    const one = this.grid.columns[column];
    return name ? (value === null ? `no ${name}` : `${name}: ${levelName(name, value, this.design)}`) : `${columnWords(one, this.design)}: ${percent(one.agreement)} of the labels are the item’s most frequent one, ${percent(one.valid)} of the answers have a label`;
  }

  #rowWords(row) {
    const one = this.data.row(row);
    return one ? `Item ${one.item}${one.gold ? `, gold ${this.legend.labelName(one.gold)}` : ""}: ${percent(one.agreement)} of its labels agree. ${one.text || ""}` : "";
  }

  #words({row, column}) {
    const found = this.data.cell(row, column);
    const one = this.data.row(row);
    if (!found || !one) return "…";
    const parts = [`Item ${one.item}`, columnWords(this.grid.columns[column], this.design), this.legend.wordsOf(found.block.codes[found.at])];
    if (one.gold) parts.push(`gold ${this.legend.labelName(one.gold)}`);
    return parts.join(" · ");
  }

  #read() {
    this.readout.textContent = this.cursor && this.grid?.rows ? this.#words(this.cursor) : "";
  }

  /** An arrow key before anything has the focus. */
  #entered(event) {
    this.area.focus({preventScroll: true});
    this.#pressed(event);
  }

  #pressed(event) {
    if (!this.grid?.rows || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor((this.scroll.viewHeight - this.frame.top) / this.zoom.height) - 1);
    const {row, column} = this.cursor ?? {row: -1, column: 0};
    const moves = {
      ArrowDown: [row + 1, column], ArrowUp: [row - 1, column], ArrowRight: [Math.max(0, row), column + (row < 0 ? 0 : 1)], ArrowLeft: [Math.max(0, row), column - 1],
      PageDown: [row + page, column], PageUp: [row - page, column], Home: [Math.max(0, row), 0], End: [Math.max(0, row), this.grid.columns.length - 1],
    };
    if (event.key === "Enter" && this.cursor) this.#open(row, column);
    else if (moves[event.key]) this.#move(...moves[event.key], false, true);
    else return;
    event.preventDefault();
  }

  /** Put the cursor on a cell, in sight. */
  #move(row, column, open = false, follow = false) {
    const {grid, scroll, frame, zoom} = this;
    this.cursor = {row: Math.max(0, Math.min(grid.rows - 1, row)), column: Math.max(0, Math.min(grid.columns.length - 1, column))};
    const [y, x] = [this.cursor.row * zoom.height, this.cursor.column * zoom.width];
    const [high, wide] = [scroll.viewHeight - frame.top, scroll.viewWidth - frame.left - frame.right];
    const top = y < scroll.top ? y : y + zoom.height > scroll.top + high ? y + zoom.height - high : scroll.top;
    const left = x < scroll.left ? x : x + zoom.width > scroll.left + wide ? x + zoom.width - wide : scroll.left;
    scroll.to(open ? y - high / 2 : top, left);
    this.#read();
    if (follow && this.panel.isOpen) this.#open(this.cursor.row, this.cursor.column, true);
  }

  async #open(row, column, replace = this.panel.isOpen) {
    this.#move(row, column);
    let known = this.data.row(row);
    if (!known) known = (await this.app.source.rows(this.app.study, this.asked, row, 1)).rows[0];
    if (known) change({item: known.item, column: String(this.grid.columns[column].column)}, {replace});
  }

  /** Where the panel's answer lies in this view, for its neighbours. */
  #place() {
    return this.asked;
  }

  /** Put the cursor where the address is. */
  async #toCursor({item, column}) {
    const place = this.grid.columns.findIndex((one) => String(one.column) === String(column));
    if (this.cursor && this.data.row(this.cursor.row)?.item === item && (place < 0 || place === this.cursor.column)) return;
    const found = await this.app.source.find(this.app.study, this.asked, item);
    if (found.found !== null && found.found !== undefined) this.#move(found.found, Math.max(0, place));
  }

  #toggleTable() {
    const table = this.table.element.hidden;
    this.table.element.hidden = !table;
    this.area.hidden = table;
    if (table && this.whole) change({zoom: null}, {replace: true});
    this.#tools();
    this.scroll.ask();
    if (table) this.#tableNow();
    else this.area.focus();
  }

  #tableNow() {
    const {top, left} = this.tableAt ?? {top: this.cursor?.row ?? 0, left: this.cursor?.column ?? 0};
    this.tableAt = {top, left};
    this.table.show({data: this.data, columns: this.grid.columns, rows: this.grid.rows, design: this.design, legend: this.legend, top, left});
    const {first, last, from, to} = this.table.window;
    this.data.want({top: first, bottom: last, left: from, right: to, step: 1, texts: true});
  }

  #moveTable(row, column) {
    this.tableAt = {top: Math.max(0, row), left: Math.max(0, column)};
    this.#tableNow();
  }
}
