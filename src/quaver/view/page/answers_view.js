// The answers that the query matches, one below the other, with one of them whole beside them.

import { AnswerPanel } from "./answer_panel.js";
import { addressOf, change, current } from "./address.js";
import { choice, count, cut, fill, made } from "./elements.js";
import { Facets } from "./facets.js";
import { columnWords } from "./grid_bands.js";
import { ScrollWindow } from "./scroll_window.js";

const HIGH = innerWidth < 672 ? 88 : 72; // pixels of a row, as in the style sheet
const BLOCK = 50;
const MOST_BLOCKS = 40;
const EXCERPT = 240;

export class AnswersView {
  constructor(app) {
    this.app = app;
    this.list = made("ol", {class: "answer-list", "aria-label": "Answers"});
    this.spacer = made("div", {class: "spacer"});
    this.area = made("div", {class: "list-area", onkeydown: (event) => this.#pressed(event)}, this.spacer, this.list);
    this.tools = made("div", {class: "tools"});
    this.none = made("p", {class: "missing", hidden: true}, "No answer matches. Take a term out of the query line, or clear it.");
    this.panel = new AnswerPanel(app, {step: (way) => this.#step(way), closed: () => this.#focus(this.at ?? 0), marked: (mark) => this.#marked(mark)});
    this.facets = new Facets(app);
    this.element = made("div", {class: "workspace"}, this.facets.element, made("div", {class: "list-sheet"}, made("h1", {class: "unseen"}, "Answers"), this.tools, this.none, this.area), this.panel.element);
    this.blocks = new Map();
    this.asking = new Map();
    this.total = 0;
    this.scroll = new ScrollWindow(this.area, this.spacer, () => this.#draw());
    const into = () => (document.activeElement === document.body || document.activeElement === app.main ? this.#focus(this.at ?? this.tabbed ?? 0) : false);
    app.keys.ofView({...this.panel.keys(), ArrowDown: into, ArrowUp: into}, [["up, down", "from answer to answer"], ["Enter", "open the answer"], ...this.panel.keyList()]);
  }

  async update(given) {
    const {design, legend} = await this.app.factsOf();
    Object.assign(this, {design, legend, asked: this.app.asked()});
    const key = JSON.stringify([this.app.study, this.asked]);
    if (key !== this.key) {
      this.key = key;
      await this.#load(true);
    }
    this.#sync(given);
    await this.panel.follow(given, this.asked);
  }

  async #load(anew) {
    const {key} = this;
    this.element.setAttribute("aria-busy", "true");
    let first = null;
    try {
      first = await this.app.source.answers(this.app.study, this.asked, 0, BLOCK, EXCERPT);
    } finally {
      this.element.removeAttribute("aria-busy");
    }
    if (key !== this.key) return;
    this.element.querySelector(".refused")?.remove();
    for (const one of this.asking.values()) one.abort();
    this.asking.clear();
    this.blocks = new Map([[0, first.answers]]);
    this.total = first.total;
    this.none.hidden = this.total > 0;
    this.app.count(first.total, first.items ?? null);
    this.app.matched.textContent = `${count(first.total)} ${first.total === 1 ? "answer" : "answers"}${first.items === undefined ? "" : ` · ${count(first.items)} items`}`;
    this.facets.show(this.asked);
    this.#tools();
    this.scroll.size(0, this.total * HIGH);
    if (anew) {
      this.at = null;
      this.scroll.to(0);
    }
  }

  refresh() {
    return this.#load(false).catch((error) => this.app.refused(error));
  }

  leave() {
    for (const one of this.asking.values()) one.abort();
    this.scroll.close();
    this.panel.leave();
    this.facets.leave();
  }

  #tools() {
    const {design} = this;
    const {given} = current();
    const set = (name) => (value) => change({[name]: value, item: null, column: null});
    fill(
      this.tools,
      choice("Items", design.sorts.map((one) => [one.name, one.title]), given.sort || "item", set("sort")),
      design.evaluators.length > 1 ? choice("Read by", design.evaluators.map((one) => [one, one]), given.e || design.evaluators[0], set("e")) : null,
    );
  }

  #row(at) {
    return this.blocks.get(Math.floor(at / BLOCK))?.[at % BLOCK] ?? null;
  }

  async #fetch(block) {
    if (this.blocks.has(block) || this.asking.has(block)) return;
    const flight = new AbortController();
    const {key} = this;
    this.asking.set(block, flight);
    try {
      const came = await this.app.source.answers(this.app.study, this.asked, block * BLOCK, BLOCK, EXCERPT, {signal: flight.signal});
      if (key !== this.key) return;
      this.blocks.set(block, came.answers);
      for (const one of this.blocks.keys()) {
        if (this.blocks.size <= MOST_BLOCKS) break;
        if (Math.abs(one - block) > 4) this.blocks.delete(one);
      }
      this.scroll.ask();
    } catch (error) {
      this.app.refused(error, this.element);
    } finally {
      if (this.asking.get(block) === flight) this.asking.delete(block);
    }
  }

  #draw() {
    if (!this.legend) return;
    const {scroll} = this;
    const first = Math.max(0, Math.floor(scroll.top / HIGH) - 3);
    const last = Math.min(this.total, Math.ceil((scroll.top + scroll.viewHeight) / HIGH) + 3);
    for (let block = Math.floor(first / BLOCK); block * BLOCK < last; block += 1) this.#fetch(block);
    const focused = this.list.contains(document.activeElement) ? Number(document.activeElement.dataset.at) : -1;
    const top = Math.ceil(scroll.top / HIGH);
    this.tops = top;
    this.tabbed = this.at !== null && this.at >= top && this.at < last - 3 ? this.at : top; // one stop of the tab key
    const rows = [];
    for (let at = first; at < last; at += 1) rows.push(this.#line(at));
    fill(this.list, ...rows);
    if (rows.length) rows[0].style.marginTop = `${first * HIGH - scroll.top}px`;
    if (focused >= first && focused < last) this.list.children[focused - first].firstElementChild.focus({preventScroll: true});
  }

  #line(at) {
    const one = this.#row(at);
    const attributes = {"aria-posinset": String(at + 1), "aria-setsize": String(this.total)};
    if (!one) return made("li", attributes, made("a", {"data-at": String(at), class: "answer-row waiting-row", tabIndex: -1}, "…"));
    const {view, given} = current();
    const shown = at === this.at;
    const again = at > this.tops && this.#row(at - 1)?.item === one.item; // one text stands once on a screen
    const column = this.design.columns[one.column] ?? one;
    return made(
      "li",
      attributes,
      made(
        "a",
        {href: addressOf(view, {...given, item: one.item, column: String(one.column), against: null}), class: again ? "answer-row again" : "answer-row", "data-at": String(at), "aria-current": shown ? "true" : null, tabIndex: at === this.tabbed ? 0 : -1, onclick: (event) => this.#clicked(event, at)},
        made("span", {class: "row-label"}, this.legend.chip(one.legend), one.flip ? made("span", {class: "flips"}, "flip") : null),
        one.of && !again ? made("span", {class: "row-item"}, cut(one.of, EXCERPT)) : null,
        made("span", {class: "row-text"}, one.text === null || one.text === undefined ? made("i", {}, "no text") : cut(one.text, EXCERPT) || made("i", {}, "empty")),
        made("span", {class: "row-of"}, made("b", {class: again ? "unseen" : null}, one.item), `${again ? "" : " · "}${columnWords(column, this.design)}`, one.gold !== null && one.gold !== undefined ? [" · gold ", this.legend.labelName(one.gold)].join("") : null, one.mark ? made("span", {class: "marked"}, ` ● ${one.mark}`) : null),
      ),
    );
  }

  #clicked(event, at) {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    this.#open(at);
  }

  #open(at, replace = this.panel.isOpen) {
    const one = this.#row(at);
    if (!one) return;
    this.at = at;
    change({item: one.item, column: String(one.column), against: null}, {replace});
    this.scroll.ask();
  }

  /** The row of the answer that the address names, where it is known. */
  #sync(given) {
    if (!given.item) this.at = null;
    const known = this.at === null ? null : this.#row(this.at);
    if (given.item && !(known && known.item === given.item && String(known.column) === given.column)) {
      this.at = null;
      for (const [block, some] of this.blocks) {
        const place = some.findIndex((one) => one.item === given.item && String(one.column) === given.column);
        if (place >= 0) this.at = block * BLOCK + place;
      }
    }
    this.scroll.ask();
  }

  #show(at) {
    const top = at * HIGH;
    if (top < this.scroll.top) this.scroll.to(top);
    else if (top + HIGH > this.scroll.top + this.scroll.viewHeight) this.scroll.to(top + HIGH - this.scroll.viewHeight);
  }

  #focus(at) {
    this.#show(at);
    requestAnimationFrame(() => requestAnimationFrame(() => this.list.querySelector(`[data-at="${at}"]`)?.focus({preventScroll: true})));
  }

  #step(way) {
    if (this.at === null) return false;
    const next = this.at + (way === "down" ? 1 : -1);
    if (next < 0 || next >= this.total) return true;
    this.#show(next);
    if (this.#row(next)) this.#open(next, true);
    else this.#fetch(Math.floor(next / BLOCK)).then(() => this.#open(next, true));
    return true;
  }

  #pressed(event) {
    const at = Number(event.target.closest("[data-at]")?.dataset.at ?? -1);
    const page = Math.max(1, Math.floor(this.scroll.viewHeight / HIGH) - 1);
    const to = {ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: this.total - 1}[event.key];
    if (to === undefined || at < 0) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(this.total - 1, to));
    for (const link of this.list.querySelectorAll("a")) link.tabIndex = -1;
    this.#focus(next);
    if (this.panel.isOpen && this.#row(next)) this.#open(next, true);
  }

  #marked(mark) {
    const one = this.at === null ? null : this.#row(this.at);
    if (one) one.mark = mark ? mark.mark || (mark.label ? "label" : "note") : null;
    this.scroll.ask();
  }
}
