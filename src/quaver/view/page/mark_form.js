// A mark: agree, disagree, unclear, a label or a note, about one answer or its whole item.

import { button, choice, fill, made, tick } from "./elements.js";

/** A field for a label that is a number or a set, which nobody need have given before. */
export function labelEntry(entry, value, act) {
  if (entry.spans) return made("p", {class: "soft"}, "Mark the words in Judge.");
  const words = entry.number ? `The right number${entry.least === null ? "" : `, ${entry.least} or more`}` : "The right labels";
  const input = made("input", {type: "text", value: value ?? "", inputmode: entry.number ? "decimal" : "text", size: "16", "aria-label": words, onchange: () => act(input.value.trim() || null)});
  const hint = entry.number ? words : `${entry.labels.join(", ")}; several with ; between them, [] for none`;
  return made("div", {class: "label-entry"}, input, made("p", {class: "soft"}, hint));
}

export const MARKS = [["agree", "Agree", "✓"], ["disagree", "Disagree", "✕"], ["unclear", "Unclear", "?"]];

/** The form for one answer, and the marks that it has. */
export class MarkForm {
  /** `changed` is called once a mark has been kept or taken back. */
  constructor(app, changed = () => {}) {
    Object.assign(this, {app, changed});
    this.element = made("section", {class: "marking", "aria-label": "Your mark"});
    this.aboutItem = false;
  }

  /** Show it for an answer; `seen` is the label that was shown, null in blind mode; `labelled` if there are buttons for labels beside it. */
  show({item, column, marks, legend, design, seen, blind = false, labelled = false}) {
    Object.assign(this, {item, column, marks, legend, design, seen, blind, labelled});
    this.#draw();
  }

  get #column() {
    return this.aboutItem ? null : this.column;
  }

  /** The reader's own mark, where there is one. */
  get own() {
    return this.marks.find((one) => one.who === this.app.who && one.item === this.item && (one.column ?? null) === this.#column);
  }

  #draw() {
    const {own} = this;
    const verdicts = MARKS.map(([mark, words, sign]) => button([made("span", {"aria-hidden": "true"}, `${sign} `), words], () => this.mark(mark), {class: `verdict ${mark}`, "aria-pressed": String(own?.mark === mark)}));
    const labels = [["", "no label"], ...this.design.labels.map((one) => [one.code, one.name])];
    this.note = made("textarea", {rows: "1", "aria-label": "Note", placeholder: "Note"});
    this.note.value = own?.note || "";
    this.note.addEventListener("change", () => this.keep({note: this.note.value.trim()}));
    fill(
      this.element,
      made("h3", {}, "Your mark"),
      made("div", {class: "verdicts", role: "group", "aria-label": "Is the label right?"}, ...verdicts),
      made("div", {class: "mark-more"}, this.labelled ? null : this.design.entry ? labelEntry(this.design.entry, own?.label, (label) => this.keep({label})) : choice("Right label", labels, own?.label ?? "", (label) => this.keep({label: label || null})), this.note),
      this.column === null ? null : tick("About the item, whatever the prompt", this.aboutItem, (on) => { this.aboutItem = on; this.#draw(); }),
      this.#list(),
    );
  }

  #list() {
    const rows = this.marks.map((one) => {
      const parts = [MARKS.find(([mark]) => mark === one.mark)?.[1], one.label !== null && one.label !== undefined ? `label ${this.legend.labelName(one.label)}` : "", one.note ? `“${one.note}”` : ""].filter(Boolean);
      const mine = one.who === this.app.who;
      const about = one.column === null || one.column === undefined ? ", about the item" : "";
      const when = new Date(one.when);
      return made("li", {}, made("b", {}, one.who), `: ${parts.join(", ") || "no verdict"}${about}`, made("span", {class: "soft"}, ` ${Number.isNaN(when.valueOf()) ? "" : when.toLocaleDateString("en", {day: "numeric", month: "short"})}${one.blind ? ", blind" : ""} `), mine ? button("Take back", () => this.remove(one), {class: "link"}) : null);
    });
    return rows.length ? made("ul", {class: "marks"}, ...rows) : null;
  }

  /** Agree, disagree or unclear; the same again takes it back. */
  mark(mark) {
    return this.keep({mark: this.own?.mark === mark ? null : mark});
  }

  /** Keep a change of the reader's mark; one that says nothing any more is taken back. */
  async keep(change) {
    const before = this.own;
    const next = {mark: before?.mark ?? null, label: before?.label ?? null, note: before?.note ?? "", ...change};
    try {
      if (next.mark === null && next.label === null && !next.note) {
        if (before) await this.remove(before);
        return;
      }
      const kept = await this.app.source.mark(this.app.study, {
        item: this.item, column: this.#column, ...next, who: this.app.who, blind: this.blind, seen: this.blind ? null : this.seen, gold: false,
      });
      this.marks = [...this.marks.filter((one) => one !== before && one.id !== kept.id), kept];
      this.app.say("Mark kept");
      this.#draw();
      this.changed(kept);
    } catch (error) {
      this.app.refused(error, this.element);
    }
  }

  async remove(mark) {
    await this.app.source.unmark(this.app.study, mark.id);
    this.marks = this.marks.filter((one) => one !== mark);
    this.app.say("Mark taken back");
    this.#draw();
    this.changed(null);
  }
}
