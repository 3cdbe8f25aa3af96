// The keyboard: what each key does, and the dialog that says so.

import { button, fill, made, tick } from "./elements.js";

const STORED = "quaver-view-keys";

const ALWAYS = [
  ["/", "write in the query line"],
  ["g then o, g, a, j", "go to Overview, Grid, Answers, Judge"],
  ["f", "show or hide the filters"],
  ["?", "this list"],
  ["Esc", "close what is open"],
];

function stored() {
  try {
    return localStorage.getItem(STORED) !== "off";
  } catch {
    return true;
  }
}

/** Keys of the page and of the view that is shown. */
export class Keys {
  constructor() {
    this.on = stored();
    this.page = new Map();
    this.view = new Map();
    this.lists = [];
    this.first = "";
    addEventListener("keydown", (event) => this.#pressed(event));
  }

  /** Keys that work everywhere, by name. */
  everywhere(actions) {
    for (const [key, act] of Object.entries(actions)) this.page.set(key, act);
  }

  /** The keys of a view, instead of those of the last one; `list` says what they do. */
  ofView(actions, list = []) {
    this.view = new Map(Object.entries(actions));
    this.lists = list;
  }

  #pressed(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const writing = event.target.closest("input:not([type=checkbox], [type=radio]), textarea:not([aria-readonly]), select, [contenteditable]");
    if (event.key === "Escape") {
      const act = this.view.get("Escape");
      if (!writing && !document.querySelector("dialog[open]") && act) act(event);
      return;
    }
    const selects = event.target.matches("textarea") && /^(Arrow|Home|End|Page)/.test(event.key);
    if (writing || selects || !this.on || document.querySelector("dialog[open]")) return;
    const keys = this.first ? `${this.first} ${event.key}` : event.key;
    const act = this.view.get(keys) || this.page.get(keys);
    this.first = "";
    if (act) {
      if (act(event) !== false) event.preventDefault();
    } else if (event.key === "g" && keys === "g") {
      this.first = "g";
      setTimeout(() => { this.first = ""; }, 1200);
    }
  }

  /** The dialog that lists them. */
  help() {
    const dialog = made("dialog", {class: "sheet small", "aria-labelledby": "keys-title"});
    const list = (rows) => made("dl", {class: "keys"}, ...rows.flatMap(([key, words]) => [made("dt", {}, ...key.split(/( then |, )/).map((part) => (/^( then |, )$/.test(part) ? part : made("kbd", {}, part)))), made("dd", {}, words)]));
    const use = tick("Use keys of one letter or sign", this.on, (on) => {
      this.on = on;
      try {
        localStorage.setItem(STORED, on ? "on" : "off");
      } catch {
        // a browser that keeps nothing: the choice holds until the page is closed
      }
    });
    fill(
      dialog,
      made("div", {class: "sheet-head"}, made("h2", {id: "keys-title"}, "Keys"), button("Close", () => dialog.close())),
      this.lists.length ? list(this.lists) : null,
      made("h3", {}, "Everywhere"),
      list(ALWAYS),
      use,
    );
    shown(dialog);
  }
}

/** Show a dialog; it is gone once it is closed. */
export function shown(dialog) {
  document.body.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.showModal();
}
