// One answer, whole, beside the view that led to it.

import { change, current } from "./address.js";
import * as parts from "./answer_parts.js";
import { button, choice, fill, made, percent } from "./elements.js";
import { columnWords, promptName } from "./grid_bands.js";
import { MarkForm } from "./mark_form.js";
import { siblings } from "./siblings.js";
import { term } from "./query_terms.js";

/** The panel; which answer it shows stands in the address (`item`, `column`, `against`). */
export class AnswerPanel {
  /**
   * @param closed Called once it was closed by its reader.
   * @param step Goes to a neighbour instead of the server's: gets "up", "down"; true if it did.
   * @param marked Called when a mark was kept.
   */
  constructor(app, {closed = () => {}, step = null, marked = () => {}} = {}) {
    Object.assign(this, {app, closed, step});
    this.element = made("section", {class: "panel", "aria-label": "Answer", hidden: true, tabIndex: -1});
    this.form = new MarkForm(app, marked);
    this.key = "";
  }

  get isOpen() {
    return !this.element.hidden;
  }

  keys() {
    const when = (act) => () => (this.isOpen ? act() : false);
    return {
      j: when(() => this.go("down")), k: when(() => this.go("up")), l: when(() => this.go("right")), h: when(() => this.go("left")),
      a: when(() => this.form.mark("agree")), d: when(() => this.form.mark("disagree")), u: when(() => this.form.mark("unclear")),
      n: when(() => this.form.note?.focus()), Escape: () => this.close(),
    };
  }

  keyList() {
    return [["j, k", "next, previous item"], ["l, h", "next, previous prompt"], ["a, d, u", "agree, disagree, unclear"], ["n", "write a note"]];
  }

  leave() {
    this.asking?.abort();
  }

  /** Show what the address names, among the answers that `asked` gives. */
  follow(given, asked) {
    this.loading = this.#follow(given, asked);
    return this.loading;
  }

  async #follow(given, asked) {
    if (!given.item || given.column === undefined) {
      this.element.hidden = true;
      this.key = "";
      return;
    }
    this.asked = asked;
    const wanted = {item: given.item, column: given.column, against: given.against === "none" ? "" : given.against, ...asked};
    const key = JSON.stringify([this.app.study, wanted, given.against]);
    if (key === this.key) return;
    this.key = key;
    this.asking?.abort();
    this.asking = new AbortController();
    const opened = !this.isOpen;
    this.element.hidden = false;
    this.element.setAttribute("aria-busy", "true");
    try {
      const [answer, {design, legend}] = await Promise.all([this.app.source.answer(this.app.study, wanted, {signal: this.asking.signal}), this.app.factsOf()]);
      Object.assign(this, {answer, design, legend});
      this.element.removeAttribute("aria-busy");
      this.#draw();
      if (opened && innerWidth < 900) this.element.focus();
    } catch (error) {
      if (error.name === "AbortError") return;
      this.element.removeAttribute("aria-busy");
      fill(this.element, this.#head(null));
      this.key = "";
      this.app.refused(error, this.element);
    }
  }

  close() {
    if (!this.isOpen) return;
    change({item: null, column: null, against: null});
    this.closed();
  }

  async go(way) {
    await this.loading; // neighbours are those of the answer that was asked for last
    if (this.step && (way === "up" || way === "down") && this.step(way)) return;
    const near = this.answer?.neighbours;
    if (!near) return;
    const {given} = current();
    if (way === "up" || way === "down") {
      if (near[way] !== null && near[way] !== undefined) change({item: near[way]}, {replace: true});
    } else if (near[way] !== null && near[way] !== undefined) change({column: String(near[way]), item: given.item}, {replace: true});
  }

  #head(answer) {
    const near = answer?.neighbours || {};
    const to = (way, sign, words) => button(made("span", {"aria-hidden": "true"}, sign), () => this.go(way), {"aria-label": words, title: words, disabled: !this.step && (near[way] === null || near[way] === undefined)});
    return made(
      "div",
      {class: "panel-head"},
      made("div", {class: "steps"}, to("up", "↑", "Previous item (k)"), to("down", "↓", "Next item (j)"), to("left", "←", "Previous prompt (h)"), to("right", "→", "Next prompt (l)")),
      button("Close", () => this.close(), {class: "quiet"}),
    );
  }

  #draw() {
    const {answer, legend, design, app} = this;
    const {item, column} = answer;
    const focus = this.element.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
    const inside = [
      this.#head(answer),
      made("h2", {}, "Item ", made("span", {class: "id"}, item.id)),
      made("p", {class: "soft"}, columnWords(column, design)),
      parts.verdict(answer, legend, (e) => change({e}, {replace: true})),
      made("h3", {}, "The answer"),
      ...parts.rawAnswer(answer),
      parts.quote(answer, legend, design),
      parts.thinking(answer),
      parts.probabilities(answer, legend),
      parts.tokens(answer),
      parts.followUps(answer),
      this.form.element,
      this.#prompt(),
      siblings(app, answer, {legend, design}),
      this.#item(),
      parts.facts(answer),
    ];
    this.form.show({item: item.id, column: column.at, marks: answer.marks || [], legend, design, seen: answer.reading?.label ?? null});
    fill(this.element, ...inside);
    this.element.scrollTop = 0;
    if (focus) [...this.element.querySelectorAll("button, select")].find((one) => one.getAttribute("aria-label") === focus && !one.disabled)?.focus();
    const label = answer.reading ? legend.labelName(answer.reading.label) : "";
    app.say(`Item ${item.id}, ${columnWords(column, design)}: ${label}`);
  }

  #prompt() {
    const {answer, design} = this;
    if (!answer.prompt?.length) return null;
    const own = answer.column;
    const others = [];
    const seen = new Set();
    for (const one of design.columns) {
      if (one.model !== own.model || one.prompt === own.prompt || seen.has(one.prompt)) continue;
      seen.add(one.prompt);
      others.push([String(one.at), promptName(one.prompt, design)]);
    }
    const against = answer.against;
    const unmarked = current().given.against === "none";
    const chosen = against && !unmarked ? String(others.find(([at]) => design.columns[Number(at)]?.prompt === against.column.prompt)?.[0] ?? "") : "";
    const choose = others.length ? choice("Marked: what differs from", [["", "nothing"], ...others], chosen, (at) => change({against: at || "none"}, {replace: true})) : null;
    const diff = against && against.column.prompt !== own.prompt && !unmarked && against.prompt.length ? parts.differing(against.prompt, answer.prompt, answer.item.text) : null;
    const same = diff?.every((one) => one.every(([kind]) => kind === "same"));
    return made(
      "section",
      {class: "prompted"},
      made("h3", {}, "The prompt as it was sent"),
      choose,
      same ? made("p", {class: "soft"}, "Both prompts are the same.") : diff ? made("p", {class: "soft"}, made("del", {}, "only there"), ", ", made("ins", {}, "only here")) : null,
      ...parts.prompt(answer.prompt, diff),
    );
  }

  #item() {
    const {item} = this.answer;
    const fields = Object.entries(item.fields || {});
    const groups = Object.entries(item.groups || {});
    if (!item.text && !fields.length && !groups.length) return null;
    return made(
      "details",
      {},
      made("summary", {}, `The item${item.agreement !== null && item.agreement !== undefined ? `: ${percent(item.agreement)} of its labels agree` : ""}`),
      ...parts.shown(item.media),
      item.text ? parts.longText(item.text, {attributes: {class: "prompt"}}) : null,
      fields.length ? made("dl", {class: "pairs"}, ...fields.flatMap(([name, value]) => [made("dt", {}, name), made("dd", {}, String(value))])) : null,
      groups.length ? made("p", {}, ...groups.map(([name, value]) => made("button", {type: "button", class: "link", onclick: () => this.app.toggleTerm(term(name, value))}, `${name}: ${value}`)).flatMap((one, at) => (at ? [", ", one] : [one]))) : null,
    );
  }
}
