// What all views share: the source, the study that is shown, the query, and the page around them.

import { addressOf, change, current, go } from "./address.js";
import { button, counted, fill, made, percent } from "./elements.js";
import { Keys } from "./keys.js";
import { Legend } from "./legend.js";
import { QueryLine } from "./query_line.js";
import { toggled } from "./query_terms.js";

const TABS = [["overview", "Overview"], ["grid", "Grid"], ["answers", "Answers"], ["judge", "Judge"]];
const KEPT = ["study", "q", "e"]; // what stays from view to view
const ASKED = ["q", "e", "sort"];

/** The page: its bar, its query line, and the view that is shown. */
export class App {
  constructor(source, known) {
    this.source = source;
    this.studies = known.studies;
    this.who = known.who;
    this.keys = new Keys();
    this.facts = new Map();
    this.there = new Set(); // studies of which something can be shown
    this.live = made("p", {role: "status", class: "unseen"});
    this.line = new QueryLine((q) => this.setQuery(q));
    this.matched = made("p", {class: "matched"});
    this.filters = button("Filters", () => this.toggleFilters(), {class: "quiet", "aria-expanded": "false", "aria-controls": "facets"});
    this.tabs = made("nav", {"aria-label": "Views"}, ...TABS.map(([view, words]) => made("a", {"data-view": view}, words)));
    this.pulse = made("p", {class: "pulse"});
    this.main = made("main", {id: "view", tabIndex: -1});
    this.query = made("div", {class: "query", role: "search"}, this.filters, this.line.element, this.matched);
    this.#keysEverywhere();
  }

  /** The page's own elements. */
  frame() {
    const skip = button("Skip to the content", () => this.main.focus(), {class: "skip"});
    const bar = made(
      "header",
      {class: "bar"},
      made("span", {class: "brand"}, "Quaver"),
      this.#chooser(),
      this.tabs,
      this.pulse,
      button("Keys", () => this.keys.help(), {class: "quiet keys-button"}),
    );
    return [skip, bar, this.query, this.main, this.live];
  }

  #chooser() {
    if (this.studies.length < 2) {
      this.name = made("span", {class: "study-name"}, this.studies[0]?.name ?? "");
      return this.name;
    }
    const select = made("select", {"aria-label": "Study", onchange: () => go(current().view, {study: select.value})});
    fill(select, ...this.studies.map((one) => made("option", {value: one.id}, this.titleOf(one))));
    this.select = select;
    return select;
  }

  #keysEverywhere() {
    const to = (view) => () => go(view, this.kept());
    this.keys.everywhere({
      "/": () => this.line.focus(),
      "?": () => this.keys.help(),
      f: () => this.toggleFilters(),
      "g o": to("overview"), "g g": to("grid"), "g a": to("answers"), "g j": to("judge"),
    });
  }

  get study() {
    const {study} = current().given;
    return this.studies.some((one) => one.id === study) ? study : this.studies[0]?.id;
  }

  get brief() {
    return this.studies.find((one) => one.id === this.study);
  }

  /** What a study is called where it is chosen: its name, with its id where another one has the same name. */
  titleOf(one) {
    return this.studies.some((other) => other.id !== one.id && other.name === one.name) && one.id !== one.name ? `${one.name} (${one.id})` : one.name;
  }

  get q() {
    return current().given.q || "";
  }

  /** The parameters that go along from view to view. */
  kept() {
    const {given} = current();
    return Object.fromEntries(KEPT.filter((name) => given[name]).map((name) => [name, given[name]]));
  }

  /** The address of a view of this study, with the query and evaluator that are set. */
  href(view, given = {}) {
    return addressOf(view, {...this.kept(), ...given});
  }

  /** What the server is asked for: the parameters that every view of answers shares. */
  asked() {
    const {given} = current();
    return Object.fromEntries(ASKED.filter((name) => given[name]).map((name) => [name, given[name]]));
  }

  /** Wait until something of the study that is shown can be shown; `waiting` gets words on how far its answers are read. */
  async ready(waiting) {
    const {study} = this;
    while (!this.there.has(study)) {
      const {index, name} = this.brief;
      if (index.version || index.state === "ready") {
        this.there.add(study);
        if (this.name) this.name.textContent = name;
        const option = this.select && [...this.select.options].find((one) => one.value === study);
        if (option) option.textContent = this.titleOf(this.brief);
      } else if (index.state === "failed") throw Object.assign(new Error(index.error?.problem), {said: index.error, words: [index.error?.problem, index.error?.found, index.error?.fix].filter(Boolean).join(". ")});
      else {
        waiting(index.of ? `Reading the answers: ${percent(index.done / index.of)}` : "Reading the answers…");
        await new Promise((go) => setTimeout(go, 300));
        if (this.study !== study) return false;
        this.studies = (await this.source.studies()).studies;
      }
    }
    return this.study === study;
  }

  /** The design of a study and its legend; asked for once. */
  factsOf(study = this.study) {
    if (!this.facts.has(study)) {
      const asked = this.source.design(study).then((design) => ({design, legend: new Legend(design)}));
      asked.catch(() => this.facts.delete(study));
      this.facts.set(study, asked);
    }
    return this.facts.get(study);
  }

  setQuery(q) {
    const {view} = current();
    if (view === "overview") go("answers", {...this.kept(), q});
    else change({q, at: null, item: null, column: null, n: null});
  }

  toggleTerm(term, options) {
    this.setQuery(toggled(this.q, term, options));
  }

  /** Say something to people who do not see the page. */
  say(words) {
    this.live.textContent = words;
  }

  /** What went wrong, where people look: at the query if it is to blame, else above the view. */
  refused(error, where = this.main) {
    if (error.name === "AbortError") return;
    if (error.at) {
      this.line.refuse(error);
      this.matched.textContent = "";
      this.main.dataset.stale = "1"; // what is shown is not what was asked for
      return;
    }
    if (!error.said) console.error(error);
    where.querySelector(":scope > .refused")?.remove();
    where.prepend(made("p", {class: "refused", role: "alert"}, error.words || `This page has a fault: ${error.message}`));
  }

  toggleFilters(open = this.query.dataset.filters !== "open") {
    this.query.dataset.filters = open ? "open" : "closed";
    this.filters.setAttribute("aria-expanded", String(open));
    document.dispatchEvent(new CustomEvent("filters", {detail: open}));
  }

  get filtersOpen() {
    return this.query.dataset.filters === "open";
  }

  /** What the bar says of the view that is shown. */
  mark(view) {
    for (const link of this.tabs.children) {
      const own = link.dataset.view === view;
      link.href = this.href(link.dataset.view);
      if (own) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    if (this.select) this.select.value = this.study;
    this.line.set(this.q);
    delete this.main.dataset.stale;
    this.query.dataset.view = view;
    const name = TABS.find(([one]) => one === view)?.[1] ?? "";
    document.title = `${name} · ${this.brief?.name ?? ""} · Quaver`;
  }

  /** How many answers and items are shown. */
  count(matched, rows, more = "") {
    const words = matched === null ? "" : `${counted(matched, "answer")} · ${counted(rows, "item")}${more}`;
    if (this.matched.textContent === words) return;
    this.matched.textContent = words;
    this.say(words);
  }
}
