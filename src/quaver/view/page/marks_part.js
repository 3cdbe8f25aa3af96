// All marks of a study: whose they are, how they go out, and how they become gold labels.

import { button, count, counted, fill, made, percent, tick } from "./elements.js";
import { quoted } from "./query_terms.js";

/** The part of the page about marks. */
export function marksPart(app) {
  if (app.source.isStatic) return made("div");
  const people = made("p", {class: "soft"}, "…");
  const said = made("p", {role: "status", class: "soft"});
  const whole = made("section", {class: "all-marks"}, made("h2", {}, "All marks of this study"), people, made("div", {class: "columns"}, outgoing(app), golden(app, said)), said);
  app.source.marks(app.study, {count: 1}).then((known) => {
    people.textContent = known.total ? `${counted(known.total, "mark")}: ${known.who.map((one) => `${one.who} ${one.marks}`).join(", ")}.` : "No marks yet. They are kept in the study’s folder, with your name and the time.";
  }).catch((error) => app.refused(error, whole));
  return whole;
}

function outgoing(app) {
  return made("div", {}, made("h3", {}, "Take them out"), made("a", {href: app.source.marksFile(app.study), download: ""}, "CSV"), made("p", {class: "soft"}, "quaver gold --take reads it too."));
}

function golden(app, said) {
  const look = async (preview, replace = false) => {
    try {
      const known = await app.source.marksToGold(app.study, {who: null, preview, replace});
      const {items, twice, agreement, alpha, conflicts, disagreed, other, seen, waiting} = known;
      const left = Object.entries(waiting).map(([who, number]) => `${who} has ${counted(number, "item")} left`).join(", ");
      const some = other.slice(0, 5).map((one) => `${one.item} (${one.gold}, not ${one.label})`).join(", ") + (other.length > 5 ? ", …" : "");
      fill(
        said,
        preview ? `${counted(items, "item")} would have a gold label from marks, ${count(known.new)} of them had none. ` : made("span", {}, `${counted(items, "gold label")} written to ${known.file}. Next: `, made("code", {}, known.how), ". "),
        left ? `${left}: how well people agree, and on which items, is shown when all are done. ` : null,
        disagreed ? made("a", {href: app.href("judge", {what: "items", q: `item:${conflicts.map((one) => quoted(one.item)).join(",")}`})}, `People disagree on ${counted(disagreed, "item")}`) : null,
        disagreed ? "; nothing changes there. " : null,
        other.length ? `${counted(other.length, "item")} with another gold label, which ${replace ? "is replaced" : "stays"}: ${some}. ` : null,
        twice ? `${counted(twice, "item")} labelled by several people: ${percent(agreement)} of the pairs agree${alpha === null ? "" : `, alpha ${alpha.toFixed(2)}`}. ` : null,
        seen ? `${counted(seen, "label")} given with the model’s label in sight. ` : null,
        preview && other.length ? tick("Replace those that items have", replace, (on) => look(true, on)) : null,
        preview && items ? button("Write them", () => look(false, replace)) : null,
      );
    } catch (error) {
      said.textContent = error.words || error.message;
    }
  };
  return made("div", {}, made("h3", {}, "Make them gold labels"), made("p", {class: "soft"}, "The label that people gave an item becomes its gold label, unless they disagree or it has another one."), button("See what that would do", () => look(true)));
}
