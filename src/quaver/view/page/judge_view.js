// Judging: one answer (or item) at a time, by hand or by keyboard, blind to the model's label if wished.

import { change, current } from "./address.js";
import * as parts from "./answer_parts.js";
import { button, choice, count, counted, fill, made, tick } from "./elements.js";
import { columnWords } from "./grid_bands.js";
import { labelEntry, MarkForm } from "./mark_form.js";
import { marksPart } from "./marks_part.js";
import { SpanEntry } from "./span_entry.js";

const BLOCK = 50;

export class JudgeView {
  constructor(app) {
    this.app = app;
    this.head = made("div", {class: "judge-head"});
    this.body = made("div", {class: "judge-body"});
    this.foot = made("section", {class: "judge-foot"});
    this.form = new MarkForm(app, (mark) => this.#kept(mark));
    this.element = made("div", {class: "page judge-page"}, made("h1", {class: "unseen"}, "Judge"), this.head, this.body, this.foot);
    this.blocks = new Map();
  }

  update(given) {
    this.loading = this.#update(given);
    return this.loading;
  }

  async #update(given) {
    const {app} = this;
    const {design, legend} = await app.factsOf();
    Object.assign(this, {design, legend});
    this.blind = given.blind === "1";
    this.what = given.what === "answers" ? "answers" : "items";
    const asked = {...app.asked(), who: app.who, ...(this.blind ? {blind: 1} : {})};
    const key = JSON.stringify([app.study, asked, this.what]);
    if (key !== this.key) {
      Object.assign(this, {key, asked, blocks: new Map(), total: null});
      await this.#place(0);
      if (!this.foot.children.length) fill(this.foot, marksPart(app, this.blind));
    }
    this.at = Math.max(0, Math.min(this.total - 1, Number(given.n || 1) - 1));
    this.#keys();
    this.#head();
    await this.#show();
  }

  /** Answers or items come in blocks; the place at a number, asked for where it is not known. */
  async #place(at) {
    const block = Math.floor(at / BLOCK);
    if (!this.blocks.has(block)) {
      const {source, study} = this.app;
      const came = this.what === "items" ? await source.rows(study, this.asked, block * BLOCK, BLOCK) : await source.answers(study, this.asked, block * BLOCK, BLOCK, 1);
      if (this.what === "items") {
        this.total ??= (await source.grid(study, this.asked)).rows;
        this.blocks.set(block, came.rows.map((one) => ({...one, column: null})));
      } else {
        this.total = came.total;
        this.blocks.set(block, came.answers);
      }
    }
    return this.blocks.get(block)[at % BLOCK] ?? null;
  }

  #keys() {
    const mark = (name) => () => this.#inTurn(() => this.#mark(name));
    const {entry} = this.design;
    const act = entry?.spans ? (code) => this.spans?.mark(code) : (code) => this.#inTurn(() => this.#label(code));
    const codes = entry?.spans ? entry.labels : entry ? [] : this.design.labels.map((one) => one.code);
    const labels = Object.fromEntries(codes.slice(0, 9).map((code, at) => [String(at + 1), () => act(code)]));
    this.app.keys.ofView(
      {...labels, a: mark("agree"), d: mark("disagree"), u: mark("unclear"), n: () => this.form.note?.focus(), j: () => this.#go(1), k: () => this.#go(-1), ArrowRight: () => this.#go(1), ArrowLeft: () => this.#go(-1), s: () => this.#next(), b: () => change({blind: this.blind ? null : "1"})},
      [...(codes.length ? [["1 to 9", entry ? "the label of the selected words, by its place" : "the right label, by its place"]] : []), ["a, d, u", "agree, disagree, unclear"], ["n", "write a note"], ["j, k", "next, previous"], ["s", "the next one without a mark"], ["b", "hide or show the model’s label"]],
    );
  }

  #head() {
    const {given} = current();
    const name = made("input", {type: "text", value: this.app.who, size: "12", "aria-label": "Your name", onchange: () => this.#queue(() => this.#rename(name.value))});
    const focus = this.head.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") || document.activeElement.closest("label")?.textContent : null;
    fill(
      this.head,
      choice("Judge", [["items", "items"], ["answers", "answers"]], this.what, (what) => change({what, n: null})),
      choice("Order", this.design.sorts.map((one) => [one.name, one.title]), given.sort || "item", (sort) => change({sort, n: null})),
      tick("Hide the model’s label", this.blind, (on) => change({blind: on ? "1" : null})),
      made("label", {class: "choice"}, made("span", {}, "Marks by"), name),
      made("div", {class: "steps"}, button("Previous", () => this.#go(-1), {disabled: !this.total || this.at === 0}), made("span", {class: "place"}, this.total ? `${count(this.at + 1)} of ${count(this.total)}` : "none"), button("Next", () => this.#go(1), {disabled: !this.total || this.at >= this.total - 1}), button("Next without a mark", () => this.#next(), {disabled: !this.total})),
    );
    if (focus) [...this.head.querySelectorAll("button, select, input")].find((one) => (one.getAttribute("aria-label") || one.closest("label")?.textContent || one.textContent) === focus)?.focus();
  }

  async #rename(who) {
    const known = await this.app.source.setWho(who.trim());
    this.app.who = known.who ?? who.trim();
    this.shown = "";
    await this.update(current().given);
  }

  async #show() {
    if (!this.total) {
      this.app.count(0, 0);
      fill(this.body, made("p", {class: "missing"}, "No answer matches the query. Clear it to judge all answers."));
      return;
    }
    const one = await this.#place(this.at);
    if (!one) return;
    const key = JSON.stringify([this.key, this.app.who, one.item, one.column]);
    if (key === this.shown) return;
    this.shown = key;
    this.app.matched.textContent = this.what === "items" ? `${count(this.total)} items` : counted(this.total, "answer");
    const column = one.column ?? 0;
    const given = {item: one.item, column: String(column), e: this.asked.e, ...(this.blind ? {blind: 1, part: this.what === "answers" ? "answer" : ""} : {})};
    const [answer, own] = await Promise.all([this.app.source.answer(this.app.study, given), this.app.source.marks(this.app.study, {item: one.item, ...(this.blind ? {who: this.app.who} : {})})]);
    if (this.shown !== key) return;
    this.#draw(answer, one, own.marks);
  }

  #draw(answer, one, marks) {
    const {legend, design, blind} = this;
    const about = this.what === "items" ? null : one.column;
    const prompt = answer.prompt || [];
    const seen = blind ? null : this.what === "items" ? answer.modal ?? null : answer.reading?.label ?? null;
    const canLabel = design.entry !== null || design.labels.length > 0;
    this.form.aboutItem = about === null;
    this.form.show({item: one.item, column: about, marks: marks.filter((mark) => (mark.column ?? null) === about || (mark.column ?? null) === null), legend, design, seen, blind, labelled: canLabel});
    const read = this.what === "items"
      ? [seen === null ? null : made("p", {class: "label"}, "Most frequent label: ", legend.labelChip(seen))]
      : [made("h2", {}, "The answer"), ...parts.rawAnswer(blind ? {...answer, reading: null} : answer), blind ? null : parts.verdict({...answer, readings: []}, legend, () => {}), blind ? null : parts.quote(answer, legend, design)];
    const keep = (label) => this.#inTurn(() => this.form.keep({label}));
    this.spans = design.entry?.spans ? new SpanEntry(answer.item?.text ?? "", design.entry.labels, legend, keep) : null;
    this.spans?.show(this.form.own?.label);
    const labels = this.spans ? this.spans.element : design.entry ? labelEntry(design.entry, this.form.own?.label, keep) : canLabel
      ? made("div", {class: "label-buttons", role: "group", "aria-label": "The right label"}, ...design.labels.map((label, at) => button([at < 9 ? made("kbd", {}, String(at + 1)) : null, " ", legend.labelChip(label.code)], () => this.#inTurn(() => this.#label(label.code)), {"aria-pressed": String(this.form.own?.label === label.code)})))
      : null;
    fill(
      this.body,
      made("article", {class: "judged"},
        made("p", {class: "soft"}, "Item ", made("b", {}, one.item), this.what === "items" ? null : ` · ${columnWords(answer.column, design)}`),
        ...parts.shown(answer.item?.media),
        answer.item?.text ? made("div", {}, made("h2", {}, "The text"), this.spans ? this.spans.field : parts.longText(answer.item.text, {attributes: {class: "item-whole"}})) : null,
        ...read,
        prompt.length ? made("details", {open: !answer.item?.text}, made("summary", {}, "The prompt as it was sent"), ...parts.prompt(prompt, null)) : null),
      made("aside", {class: "verdict-side", "aria-label": "Your judgement"}, labels ? made("h3", {}, "The right label") : null, labels, this.form.element),
    );
    this.app.say(`${this.at + 1} of ${this.total}: item ${one.item}`);
  }

  #inTurn(act) {
    this.#queue(() => (this.total ? act() : null));
  }

  /** One thing after the other, however quickly the keys come: a mark is about what is shown, by who is named. */
  #queue(act) {
    this.turn = (this.turn ?? Promise.resolve()).then(() => this.loading).then(act).catch((error) => this.app.refused(error, this.element));
  }

  async #mark(mark) {
    await this.form.mark(mark);
    if (this.form.own?.mark === mark) this.#go(1);
  }

  async #label(code) {
    const taken = this.form.own?.label === code;
    const agrees = !this.blind && this.form.seen !== null && !taken ? {mark: this.form.seen === code ? "agree" : "disagree"} : {};
    await this.form.keep({label: taken ? null : code, ...agrees});
    if (!taken) this.#go(1);
  }

  #kept(mark) {
    const one = this.blocks.get(Math.floor(this.at / BLOCK))?.[this.at % BLOCK];
    if (one) one.mark = mark ? mark.mark || (mark.label ? "label" : "note") : null;
    this.spans?.show(this.form.own?.label);
    if (!this.design.entry) for (const [at, label] of [...this.body.querySelectorAll(".label-buttons button")].entries()) label.setAttribute("aria-pressed", String(this.form.own?.label === this.design.labels[at].code));
    clearTimeout(this.telling);
    this.telling = setTimeout(() => this.foot.firstChild?.tell(this.blind), 800);
  }

  leave() {
    clearTimeout(this.telling);
  }

  #go(step) {
    if (!this.total) return;
    const next = Math.max(0, Math.min(this.total - 1, this.at + step));
    change({n: next ? String(next + 1) : null}, {replace: true});
  }

  /** To the next one that has no mark; around to the first. */
  async #next() {
    try {
      for (let step = 1; step <= this.total; step += 1) {
        const at = (this.at + step) % this.total;
        const one = await this.#place(at);
        if (one && !one.mark) {
          change({n: at ? String(at + 1) : null}, {replace: true});
          return;
        }
        if (step >= 5000) break;
      }
      this.app.say("Everything here has a mark");
    } catch (error) {
      this.app.refused(error, this.element);
    }
  }
}

