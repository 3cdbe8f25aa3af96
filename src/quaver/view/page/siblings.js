// The same item under every other prompt: its labels as a strip.

import { addressOf, change, current } from "./address.js";
import { button, counted, fill, made } from "./elements.js";
import { columnWords } from "./grid_bands.js";
import { term } from "./query_terms.js";

const SHOWN = 60; // conditions that are listed at once

/** A row a condition, with a chip for each repeat. */
export function siblings(app, answer, {legend, design}) {
  const some = answer.siblings || [];
  if (some.length < 2) return null;
  const conditions = new Map();
  for (const one of some) {
    const column = design.columns[one.column] ?? {};
    const key = JSON.stringify([column.model, column.prompt, column.decoding]);
    if (!conditions.has(key)) conditions.set(key, {column, cells: []});
    conditions.get(key).cells.push(one);
  }
  const rows = [...conditions.values()];
  const body = made("tbody");
  const draw = (length) => {
    fill(body, ...rows.slice(0, length).map((row) => condition(row, answer, {legend, design})));
  };
  draw(SHOWN);
  const moved = some.filter((one) => one.flip).length;
  const words = `${counted(some.length, "answer")}; ${moved ? `${moved.toLocaleString("en")} differ from the most frequent label` : "all with the same label"}`;
  return made(
    "section",
    {class: "siblings"},
    made("h3", {}, "The same item under every prompt"),
    made("p", {class: "soft"}, words),
    made("table", {class: "strip"}, made("caption", {class: "unseen"}, "Labels of this item by prompt"), body),
    rows.length > SHOWN ? button(`Show all ${rows.length}`, (event) => { draw(rows.length); event.target.remove(); }, {class: "more"}) : null,
    design.has.answers ? made("p", {}, made("a", {href: app.href("answers", {q: term("item", answer.item.id)})}, "Show what was answered")) : null,
  );
}

function condition({column, cells}, answer, {legend, design}) {
  const name = columnWords({...column, repeat: null}, design);
  const chips = cells.map((one) => {
    const here = one.column === answer.column.at;
    const words = legend.wordsOf(one.legend);
    const {view, given} = current();
    const href = addressOf(view, {...given, item: answer.item.id, column: String(one.column)});
    const label = `${words}: ${name}${cells.length > 1 ? `, repeat ${(one.repeat ?? 0) + 1}` : ""}`;
    const chip = legend.chip(one.legend, {}, cells.length > 2 ? "" : words);
    return made("a", {href, class: `sibling${one.flip ? " flip" : ""}`, "aria-label": label, title: label, "aria-current": here ? "true" : null, onclick: (event) => { event.preventDefault(); change({column: String(one.column)}); }}, chip);
  });
  return made("tr", {}, made("th", {scope: "row"}, name), made("td", {}, ...chips));
}
