// The query line: one line of text that says which answers are shown, with what is wrong with it.

import { fill, made } from "./elements.js";
import { Refusal } from "./source.js";

/** A text field for a query. */
export class QueryLine {
  /** @param apply What to do with a finished query. */
  constructor(apply) {
    this.apply = apply;
    this.input = made("input", {type: "text", class: "query-input", autocomplete: "off", autocapitalize: "off", spellcheck: "false", "aria-label": "Filter answers", placeholder: "Filter: label:… is:flip prompt:… or any words"});
    this.clear = made("button", {type: "button", class: "clear", "aria-label": "Clear the filter", hidden: true, onclick: () => this.set("", true)}, "×");
    this.said = made("p", {class: "query-said", role: "alert", hidden: true});
    this.element = made("div", {class: "query-line"}, this.input, this.clear, this.said);
    this.input.addEventListener("input", () => {
      this.clear.hidden = !this.input.value;
      this.refuse(null);
    });
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.apply(this.value);
      else if (event.key === "Escape") this.input.blur();
      else return;
      event.preventDefault();
    });
  }

  get value() {
    return this.input.value.trim();
  }

  /** Write a query into the line. */
  set(query, apply = false) {
    if (this.value !== query || apply) this.input.value = query;
    this.clear.hidden = !query;
    this.refuse(null);
    if (apply) this.apply(query);
  }

  /** Say what is wrong with the query. */
  refuse(refusal) {
    this.said.hidden = !refusal;
    this.input.toggleAttribute("aria-invalid", Boolean(refusal));
    if (refusal) fill(this.said, refusal instanceof Refusal ? refusal.words : refusal.message);
  }

  focus() {
    this.input.focus();
    this.input.select();
  }
}
