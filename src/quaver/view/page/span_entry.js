// Spans by hand: words are selected in the text, a label is pressed for them, and each can be removed again.

import { chipClass } from "./colours.js";
import { button, cut, fill, made } from "./elements.js";

const NOTHING = "[]";

/** The spans of a label, each with the places of its first character and of the one behind its last. */
function spansIn(label) {
  return [...(label ?? "").matchAll(/([^;[\]]+)\[(\d+):(\d+)\](?:;|$)/g)].map(([, code, start, end]) => ({code, start: Number(start), end: Number(end)}));
}

/** How many characters of a text, as Python counts them, stand before a place in a field that shows it. */
function charactersBefore(characters, place) {
  let [at, units] = [0, 0];
  while (units < place) {
    const isBreak = characters[at] === "\r" && characters[at + 1] === "\n"; // one line break in the field
    units += isBreak ? 1 : characters[at].length;
    at += isBreak ? 2 : 1;
  }
  return at;
}

/** A text in which words can be selected, the labels to press for them, and what is marked. */
export class SpanEntry {
  /** `act` is called with the label that has all spans, or null. */
  constructor(text, codes, legend, act) {
    Object.assign(this, {characters: [...text], codes, legend, act, spans: [], isNothing: false});
    // No browser moves a caret through what is readonly, so nobody could select words with the keyboard.
    this.area = made("textarea", {"aria-readonly": "true", class: "item-whole", rows: "10", "aria-label": "The text: select words, then press a label", value: text, onbeforeinput: (event) => event.preventDefault(), oninput: () => { this.area.value = text; }, onscroll: () => this.#follow()});
    this.area.setSelectionRange(0, 0); // a new field's caret stands at its end, and the focus would scroll there
    this.below = made("div", {class: "item-whole", "aria-hidden": "true"}); // the same words, marked; the field above it shows no background
    this.field = made("div", {class: "span-field"}, this.below, this.area);
    this.hint = made("p", {class: "soft", role: "status"});
    this.list = made("ul", {class: "marks"});
    this.nothing = button("Nothing to mark", () => this.act(this.isNothing ? null : NOTHING));
    const labels = codes.map((code, at) => button([at < 9 ? made("kbd", {}, String(at + 1)) : null, " ", legend.labelChip(code)], () => this.mark(code)));
    this.element = made("div", {}, made("div", {class: "label-buttons", role: "group", "aria-label": "The label of the selected words"}, ...labels), this.hint, this.list, this.nothing);
  }

  /** Show what is marked. */
  show(label) {
    this.spans = spansIn(label);
    this.isNothing = label === NOTHING;
    this.nothing.setAttribute("aria-pressed", String(this.isNothing));
    this.hint.textContent = this.spans.length ? "" : "Select words in the text, then press a label.";
    const row = (span) => {
      const words = cut(this.characters.slice(span.start, span.end).join(""), 80);
      return made("li", {}, this.legend.labelChip(span.code), ` ${words} `, button("Remove", () => this.#remove(span), {class: "link", "aria-label": `Remove ${this.legend.labelName(span.code)}: ${words}`}));
    };
    fill(this.list, ...this.spans.map(row));
    fill(this.below, ...this.#stretches(), "\n");
    this.#follow();
  }

  /** The text in stretches that are marked alike, each in the colour of the label that was given it last. */
  #stretches() {
    const edges = [0, ...this.spans.flatMap(({start, end}) => [start, end]), this.characters.length];
    const places = [...new Set(edges)].sort((a, b) => a - b);
    return places.slice(1).map((end, at) => {
      const words = this.characters.slice(places[at], end).join("").replace(/\r\n?/g, "\n");
      const span = this.spans.findLast((one) => one.start <= places[at] && end <= one.end);
      return span ? made("mark", {class: chipClass(this.legend.placeOf(this.legend.codeOf(span.code)) ?? 0)}, words) : words;
    });
  }

  /** The marks stand below their words however the field is scrolled. */
  #follow() {
    this.below.scrollTop = this.area.scrollTop;
  }

  /** Give the selected words a label. */
  mark(code) {
    let {selectionStart: start, selectionEnd: end} = this.area;
    const isSpace = (at) => /\s/.test(this.area.value[at]);
    while (start < end && isSpace(start)) start += 1;
    while (start < end && isSpace(end - 1)) end -= 1;
    if (start === end) {
      this.hint.textContent = "No words are selected. Select some in the text, then press a label.";
      return this.area.focus();
    }
    return this.#keep([...this.spans, {code, start: charactersBefore(this.characters, start), end: charactersBefore(this.characters, end)}]);
  }

  #remove(span) {
    this.area.focus();
    return this.#keep(this.spans.filter((one) => one !== span));
  }

  #keep(spans) {
    return this.act(spans.map(({code, start, end}) => `${code}[${start}:${end}]`).join(";") || null);
  }
}
