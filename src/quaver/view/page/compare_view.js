// Two prompts, models or studies side by side: how many items flipped, which, and both answers.

import { addressOf, change, current } from "./address.js";
import { button, choice, count, cut, fill, made, percent } from "./elements.js";
import { term } from "./query_terms.js";
import { difference } from "./text_diff.js";
import { marked } from "./answer_parts.js";

const PAGE = 50;
const WHOLE = 4000; // characters up to which two answers are compared word by word

export class CompareView {
  constructor(app) {
    this.app = app;
    this.choose = made("div", {class: "sides"});
    this.summary = made("section", {class: "compared", "aria-live": "polite"});
    this.rows = made("ol", {class: "flips-list", "aria-label": "Items"});
    this.more = made("p");
    this.element = made("div", {class: "page compare-page"}, made("h1", {}, "What changes between two sides"), this.choose, this.summary, this.rows, this.more);
    app.keys.ofView({j: () => this.#go(1), k: () => this.#go(-1), x: () => this.#swap()}, [["j, k", "next, previous item"], ["x", "swap the two sides"]]);
  }

  async update(given) {
    const {app} = this;
    const a = app.study;
    const other = app.studies.find((one) => one.id !== a)?.id ?? a; // two studies are opened to be compared with each other
    const b = app.studies.some((one) => one.id === given.b) ? given.b : other;
    const [left, right] = await Promise.all([app.factsOf(a), app.factsOf(b)]);
    const [A, B] = defaults(given, left.design, right.design, a === b);
    Object.assign(this, {a, b, A, B, left, right});
    this.asked = {a, b, A, B, q: given.q, e: given.e, eb: given.eb, change: given.change};
    this.#choices(given);
    const key = JSON.stringify(this.asked);
    if (key === this.key) return;
    this.key = key;
    await this.#load(0);
  }

  refresh() {
    return this.#load(0).catch((error) => this.app.refused(error));
  }

  #choices(given) {
    const {app} = this;
    const studies = app.studies.map((one) => [one.id, app.titleOf(one)]);
    const several = studies.length > 1;
    const side = (words, study, name, value, facts, choose) => made(
      "fieldset",
      {},
      made("legend", {}, words),
      several ? choice("Study", studies, study, choose) : null,
      choice("Answers of", sidesOf(facts.design), value, (chosen) => change({[name]: chosen || "all"})),
    );
    const gold = this.left.design.has.gold;
    const changes = [["", "every flip"], ...(gold ? [["gain", "wrong on the left, right on the right"], ["loss", "right on the left, wrong on the right"]] : []), ["all", "every item"]];
    fill(
      this.choose,
      side("Left", this.a, "A", this.A, this.left, (study) => change({study, A: null})),
      button(made("span", {"aria-hidden": "true"}, "⇄"), () => this.#swap(), {class: "swap", "aria-label": "Swap the two sides"}),
      side("Right", this.b, "B", this.B, this.right, (study) => change({b: study, B: null})),
      choice("Show", changes, given.change || "", (value) => change({change: value})),
    );
  }

  #swap() {
    change({study: this.b, b: this.a, A: this.B || "all", B: this.A || "all"});
  }

  async #load(from) {
    const {key} = this;
    if (!from) this.element.setAttribute("aria-busy", "true");
    if (!this.known) fill(this.summary, made("p", {class: "waiting"}, "Comparing…"));
    let known = null;
    try {
      known = await this.app.source.compare({...this.asked, change: this.asked.change || "flip", from, count: PAGE});
    } finally {
      this.element.removeAttribute("aria-busy");
      this.summary.querySelector(".waiting")?.remove();
    }
    if (key !== this.key) return;
    this.element.parentElement?.querySelector(":scope > .refused")?.remove();
    this.known = known;
    this.app.count(null, null);
    this.app.matched.textContent = `${count(known.flipped)} flips · ${count(known.items)} items`;
    if (!from) {
      this.#summary(known);
      fill(this.rows);
    }
    this.rows.append(...known.rows.map((one) => this.#row(one)));
    this.#rest(from + known.rows.length, known);
  }

  #rest(next, known) {
    const full = known.rows.length === PAGE;
    fill(this.more, full ? button("Show more", () => this.#load(next).catch((error) => this.app.refused(error)), {class: "more"}) : this.rows.children.length ? null : made("span", {class: "missing"}, known.flipped ? "No such item." : "No item has another label: both sides agree on all."));
  }

  #summary(known) {
    const shared = known.items;
    const share = shared ? ` (${percent(known.flipped / shared)})` : "";
    const facts = [
      known.gain !== null && known.gain !== undefined ? ["Became right", count(known.gain)] : null,
      known.loss !== null && known.loss !== undefined ? ["Became wrong", count(known.loss)] : null,
      ["Same label", percent(known.agreement)],
      known.kappa !== null && known.kappa !== undefined ? ["Cohen’s kappa", known.kappa.toFixed(2)] : null,
      known.only_a ? ["Only on the left", `${count(known.only_a)} items`] : null,
      known.only_b ? ["Only on the right", `${count(known.only_b)} items`] : null,
    ].filter(Boolean);
    fill(
      this.summary,
      made("p", {class: "headline"}, made("strong", {}, count(known.flipped)), ` of ${count(shared)} items have different labels${share}.`),
      known.same_texts === false ? made("p", {class: "alarm open"}, "Some of these items have different texts in the two studies.") : null,
      made("dl", {class: "facts"}, ...facts.map(([name, fact]) => made("div", {}, made("dt", {}, name), made("dd", {}, fact)))),
      shared ? this.#table(known) : null,
    );
  }

  /** Labels on the left by labels on the right; the more items, the more colour. */
  #table({table}) {
    const name = (label) => this.left.legend.labelName(label);
    const most = Math.max(1, ...table.counts.flat());
    const head = made("tr", {}, made("td", {class: "corner"}, "left ↓ right →"), ...table.labels.map((one) => made("th", {scope: "col"}, name(one))));
    const body = table.counts.map((row, at) => made("tr", {}, made("th", {scope: "row"}, name(table.labels[at])), ...row.map((n, other) => {
      const cell = made("td", {class: at === other ? "n same" : "n"}, count(n));
      if (at !== other) cell.style.setProperty("--share", String(n / most));
      return cell;
    })));
    return made("div", {class: "scroll", tabIndex: 0, role: "region", "aria-label": "Labels on the left by labels on the right"}, made("table", {class: "flows"}, made("thead", {}, head), made("tbody", {}, ...body)));
  }

  #row(one) {
    const kind = one.change === "gain" ? made("span", {class: "good"}, "✓ became right") : one.change === "loss" ? made("span", {class: "bad"}, "✕ became wrong") : null;
    const gold = one.gold !== null && one.gold !== undefined ? made("span", {class: "soft"}, " gold ", this.left.legend.labelChip(one.gold)) : null;
    const [left, right] = [made("div", {class: "side"}), made("div", {class: "side"})];
    this.#side(left, one.a, this.left.legend, one.a.text, null);
    this.#side(right, one.b, this.right.legend, one.b.text, null);
    const differ = one.a.text && one.b.text && one.a.text !== one.b.text && one.a.text.length < WHOLE && one.b.text.length < WHOLE;
    if (differ) {
      const diff = difference(one.a.text, one.b.text);
      if (diff.some(([sort, text]) => sort === "same" && text.trim())) {
        this.#side(left, one.a, this.left.legend, one.a.text, diff.filter(([sort]) => sort !== "added"));
        this.#side(right, one.b, this.right.legend, one.b.text, diff.filter(([sort]) => sort !== "removed"));
      }
    }
    const link = (words, study, column) => made("a", {href: addressOf("answers", {study, q: term("item", one.item), item: one.item, column: String(column), e: this.asked.e})}, words);
    return made(
      "li",
      {tabIndex: -1},
      made("p", {class: "flip-head"}, made("b", {}, one.item), " ", kind, gold),
      one.text ? made("p", {class: "item-text"}, cut(one.text, 400)) : null,
      made("div", {class: "two"}, left, right),
      made("p", {class: "soft"}, one.a.column !== null && one.a.column !== undefined ? link("Left answer, whole", this.a, one.a.column) : null, " · ", one.b.column !== null && one.b.column !== undefined ? link("Right answer, whole", this.b, one.b.column) : null),
    );
  }

  #side(box, side, legend, text, diff) {
    const many = side.answers > 1 ? made("span", {class: "soft"}, ` ${percent(side.share)} of ${count(side.answers)} answers`) : null;
    fill(box, made("p", {}, side.label !== null ? legend.labelChip(side.label) : legend.chip(side.legend), many), text === null || text === undefined ? null : made("pre", {class: "answer"}, ...(diff ? marked(diff) : [text || "(empty)"]), side.length > text.length ? "…" : ""));
  }

  #go(step) {
    const rows = [...this.rows.children];
    const at = rows.findIndex((one) => one.contains(document.activeElement));
    const next = rows[Math.max(0, Math.min(rows.length - 1, at + step))];
    next?.focus();
    next?.scrollIntoView({block: "nearest"});
  }
}

/** What can stand on a side: all answers, or those of a prompt, a model, a decoding or a level of a factor. */
function sidesOf(design) {
  const some = [["", "all prompts"]];
  if (design.prompts.length > 1) some.push(...design.prompts.map((one) => [term("prompt", one.id), `prompt: ${one.short || one.id}`]));
  if (design.models.length > 1) some.push(...design.models.map((one) => [term("model", one), `model: ${one}`]));
  if (design.decodings.length > 1) some.push(...design.decodings.map((one) => [term("decoding", one), `decoding: ${one}`]));
  for (const [factor, levels] of Object.entries(design.factors || {})) if (levels.length > 1 && Object.keys(design.factors).length > 1) some.push(...levels.map((one) => [term(factor, one), `${factor}: ${one}`]));
  return some;
}

/** The sides that the address names; at first the two first prompts, models or decodings of a study, or two studies whole. */
function defaults(given, left, right, same) {
  const [lefts, rights] = [sidesOf(left).map(([value]) => value), sidesOf(right).map(([value]) => value)];
  const known = (value, some) => (value === "all" ? "" : some.includes(value) ? value : null);
  const A = known(given.A, lefts);
  const B = known(given.B, rights);
  return [A ?? (same ? lefts[1] ?? "" : ""), B ?? (same ? rights[2] ?? rights[1] ?? "" : "")];
}
