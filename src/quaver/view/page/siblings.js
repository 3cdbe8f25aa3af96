// The same item under every other prompt: its labels as a strip, the answers beside them when asked for.

import { addressOf, change, current } from "./address.js";
import { button, counted, fill, made } from "./elements.js";
import { columnWords } from "./grid_bands.js";

const SHOWN = 60; // conditions that are listed at once
const ANSWERS = 50; // answers that are fetched at once

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
  const texts = made("div");
  return made(
    "section",
    {class: "siblings"},
    made("h3", {}, "The same item under every prompt"),
    made("p", {class: "soft"}, words),
    made("table", {class: "strip"}, made("caption", {class: "unseen"}, "Labels of this item by prompt"), body),
    rows.length > SHOWN ? button(`Show all ${rows.length}`, (event) => { draw(rows.length); event.target.remove(); }, {class: "more"}) : null,
    app.source.isStatic || !design.has.answers ? null : button("Show what was answered", (event) => { event.target.remove(); answers(app, answer.item.id, texts, {legend, design}); }, {class: "more"}),
    texts,
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

async function answers(app, item, where, {legend, design}, from = 0) {
  try {
    const known = await app.source.item(app.study, {item, e: app.asked().e, from, count: ANSWERS, excerpt: 300});
    const rows = known.answers.map((one) => made("li", {}, legend.chip(one.legend), " ", made("span", {class: "soft"}, columnWords(one, design)), made("p", {class: "said"}, one.text ?? "")));
    where.append(made("ul", {class: "answers-of"}, ...rows));
    const next = from + known.answers.length;
    if (next < known.total && known.answers.length) where.append(button(`Show more (${(known.total - next).toLocaleString("en")} left)`, (event) => { event.target.remove(); answers(app, item, where, {legend, design}, next); }, {class: "more"}));
  } catch (error) {
    app.refused(error, where);
  }
}
