// Filters by click: what the shown answers have, how often, each a term of the query line.

import { STATUS_WORDS } from "./colours.js";
import { button, count, fill, made } from "./elements.js";
import { promptName } from "./grid_bands.js";
import { hasTerm } from "./query_terms.js";

const SHOWN = 8;
const TITLES = {label: "Label", status: "Status", gold: "Gold label", model: "Model", decoding: "Decoding", prompt: "Prompt", repeat: "Repeat"};

export class Facets {
  constructor(app) {
    this.app = app;
    this.element = made("aside", {id: "facets", "aria-label": "Filters"});
    this.whole = new Set();
    this.toggle = () => this.#open();
    document.addEventListener("filters", this.toggle);
    this.element.hidden = !app.filtersOpen;
  }

  leave() {
    this.asking?.abort();
    document.removeEventListener("filters", this.toggle);
  }

  #open() {
    this.element.hidden = !this.app.filtersOpen;
    if (this.asked) this.show(this.asked);
  }

  /** Count what a view has; nothing is asked for while the filters are hidden. */
  async show(asked) {
    this.asked = asked;
    const key = JSON.stringify([this.app.study, asked, this.app.brief?.index?.version]);
    if (this.element.hidden || key === this.key) return;
    this.asking?.abort();
    this.asking = new AbortController();
    try {
      const {fields} = await this.app.source.facets(this.app.study, asked, {signal: this.asking.signal});
      const known = await this.app.factsOf();
      Object.assign(this, known, {key, fields});
      this.#draw();
    } catch (error) {
      this.app.refused(error, this.element);
    }
  }

  #draw() {
    const focused = document.activeElement?.closest("#facets") ? document.activeElement.dataset.query : null;
    fill(this.element, ...this.fields.filter((field) => field.values.length).map((field) => this.#field(field)));
    if (focused) [...this.element.querySelectorAll("button")].find((one) => one.dataset.query === focused)?.focus();
  }

  #field(field) {
    const most = Math.max(1, ...field.values.map((one) => one.count));
    const values = this.whole.has(field.field) ? field.values : field.values.slice(0, SHOWN);
    const rows = values.map((one) => {
      const on = hasTerm(this.app.q, one.query);
      const bar = made("span", {class: "bar-of", "aria-hidden": "true"});
      bar.style.width = `${(100 * one.count) / most}%`;
      return made("li", {}, made(
        "button",
        {type: "button", "aria-pressed": String(on), "data-query": one.query, onclick: () => this.app.toggleTerm(one.query)},
        bar, made("span", {class: "what"}, this.#words(field.field, one)), made("span", {class: "many"}, count(one.count)),
      ));
    });
    const more = field.values.length - values.length;
    return made(
      "section",
      {},
      made("h2", {}, TITLES[field.field] ?? field.field),
      made("ul", {}, ...rows),
      more > 0 ? button(`${count(more)} more`, () => { this.whole.add(field.field); this.#draw(); }, {class: "more"}) : null,
    );
  }

  #words(field, {value}) {
    const {legend, design} = this;
    if (field === "status") return value === "valid" ? STATUS_WORDS.valid : legend.chip(legend.codeOf(null, value));
    if (field === "prompt") return promptName(value, design);
    if (field === "repeat") return String(Number(value) + 1);
    if (field === "label" || field === "gold") return value === null ? made("i", {}, "no gold label") : legend.labelChip(value);
    return value === null ? made("i", {}, `no ${field}`) : value === "" ? made("i", {}, "empty text") : value;
  }
}
