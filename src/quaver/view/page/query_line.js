// The query line: one line of text that says which answers are shown, completed as you write.

import { count, cut, fill, later, made } from "./elements.js";
import { Refusal } from "./source.js";

let made_lines = 0;

/** A text field with a list of completions (a combobox, as ARIA names it). */
export class QueryLine {
  /**
   * @param complete Asks for completions: text and cursor in, `{from, to, options}` out.
   * @param apply What to do with a finished query.
   */
  constructor(complete, apply) {
    made_lines += 1;
    this.complete = complete;
    this.apply = apply;
    this.options = [];
    this.chosen = -1;
    this.span = [0, 0];
    this.offered = ""; // the text that the options on the screen complete
    this.asked = 0;
    const list = `query-list-${made_lines}`;
    this.input = made("input", {
      type: "text", id: `query-${made_lines}`, class: "query-input", role: "combobox", autocomplete: "off", autocapitalize: "off", spellcheck: "false",
      "aria-expanded": "false", "aria-controls": list, "aria-autocomplete": "list", "aria-label": "Filter answers", placeholder: "Filter: label:… is:flip prompt:… or any words",
    });
    this.list = made("ul", {id: list, role: "listbox", "aria-label": "Completions", class: "completions", hidden: true});
    this.clear = made("button", {type: "button", class: "clear", "aria-label": "Clear the filter", hidden: true, onclick: () => this.set("", true)}, "×");
    this.said = made("p", {class: "query-said", role: "alert", hidden: true});
    this.element = made("div", {class: "query-line"}, this.input, this.clear, this.list, this.said);
    this.offer = later(90, () => this.#offer());
    this.input.addEventListener("input", () => {
      this.clear.hidden = !this.input.value;
      this.refuse(null);
      this.#choose(-1);
      this.offer();
    });
    this.input.addEventListener("keydown", (event) => this.#pressed(event));
    this.input.addEventListener("focus", () => this.offer());
    this.input.addEventListener("blur", () => setTimeout(() => this.#close(), 150));
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

  /** Say what is wrong with the query, and mark it. */
  refuse(refusal) {
    this.said.hidden = !refusal;
    this.input.toggleAttribute("aria-invalid", Boolean(refusal));
    if (refusal) {
      const [from, to] = refusal.at || [0, 0];
      const wrong = this.input.value.slice(from, to);
      fill(this.said, wrong ? made("mark", {}, cut(wrong, 60)) : null, wrong ? " " : null, refusal instanceof Refusal ? refusal.words : refusal.message);
    }
  }

  focus() {
    this.input.focus();
    this.input.select();
  }

  async #offer() {
    if (document.activeElement !== this.input) return;
    const number = (this.asked += 1);
    const text = this.input.value;
    try {
      const found = await this.complete(text, this.input.selectionStart ?? text.length);
      if (number !== this.asked || document.activeElement !== this.input) return;
      if (this.chosen >= 0 && !this.list.hidden) return; // a list is not changed under the hand that chooses from it
      this.options = found.options;
      this.span = [found.from, found.to];
      this.offered = text;
      this.#show();
    } catch {
      this.#close();
    }
  }

  #show() {
    this.chosen = -1;
    fill(this.list, ...this.options.map((one, at) => made(
      "li",
      {role: "option", id: `${this.list.id}-${at}`, "aria-selected": "false", onpointerdown: (event) => { event.preventDefault(); this.#take(at); }},
      made("span", {class: "what"}, one.shown),
      one.means ? made("span", {class: "means"}, one.means) : null,
      one.count !== null && one.count !== undefined ? made("span", {class: "many"}, count(one.count)) : null,
    )));
    this.list.hidden = !this.options.length;
    this.input.setAttribute("aria-expanded", String(Boolean(this.options.length)));
    this.input.removeAttribute("aria-activedescendant");
  }

  #close() {
    this.list.hidden = true;
    this.chosen = -1;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }

  #choose(at) {
    this.chosen = at;
    [...this.list.children].forEach((one, place) => one.setAttribute("aria-selected", String(place === at)));
    if (at < 0) this.input.removeAttribute("aria-activedescendant");
    else {
      this.input.setAttribute("aria-activedescendant", this.list.children[at].id);
      this.list.children[at].scrollIntoView({block: "nearest"});
    }
  }

  #take(at) {
    const [from, to] = this.span;
    const text = this.options[at].text;
    const since = this.input.value.length - this.offered.length; // what was typed while the list was on its way
    this.input.setRangeText(text, from, Math.max(from, to + since), "end");
    this.#choose(-1);
    this.clear.hidden = false;
    this.input.focus();
    if (text.endsWith(" ")) {
      this.#close();
      this.apply(this.value);
    }
    this.offer();
  }

  #pressed(event) {
    const open = !this.list.hidden && this.options.length;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!open) {
        this.#offer();
        return;
      }
      const step = event.key === "ArrowDown" ? 1 : -1;
      this.#choose((this.chosen + step + this.options.length + (this.chosen < 0 && step < 0 ? 1 : 0)) % this.options.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (open && this.chosen >= 0) this.#take(this.chosen);
      else {
        this.asked += 1;
        this.#close();
        this.apply(this.value);
      }
    } else if (event.key === "Tab" && open && this.chosen >= 0) {
      event.preventDefault();
      this.#take(this.chosen);
    } else if (event.key === "Escape") {
      event.preventDefault();
      if (open) this.#close();
      else this.input.blur();
    }
  }
}
