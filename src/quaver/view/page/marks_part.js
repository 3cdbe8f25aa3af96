// All marks of a study: whose they are, how they go out and come back, and how they become gold labels.

import { button, choice, count, counted, fill, made, percent, tick } from "./elements.js";
import { quoted } from "./query_terms.js";

const FORMATS = [["csv", "CSV"], ["jsonl", "JSON lines"], ["label-studio", "Label Studio"], ["argilla", "Argilla"]];

/** The part of the page about marks. */
export function marksPart(app) {
  if (app.source.isStatic) return made("div");
  const people = made("p", {class: "soft"}, "…");
  const said = made("p", {role: "status", class: "soft"});
  const whole = made("section", {class: "all-marks"}, made("h2", {}, "All marks of this study"), people, made("div", {class: "columns"}, outgoing(app), incoming(app, said), golden(app, said)), said);
  app.source.marks(app.study, {count: 1}).then((known) => {
    people.textContent = known.total ? `${counted(known.total, "mark")}: ${known.who.map((one) => `${one.who} ${one.marks}`).join(", ")}.` : "No marks yet. They are kept in the study’s folder, with your name and the time.";
  }).catch((error) => app.refused(error, whole));
  return whole;
}

function outgoing(app) {
  const links = made("ul", {});
  const draw = (blind) => fill(links, ...FORMATS.map(([format, name]) => made("li", {}, made("a", {href: app.source.marksFile(app.study, {format, ...app.asked(), blind: blind ? 1 : ""}), download: ""}, name))));
  draw(false);
  return made("div", {}, made("h3", {}, "Take them out"), links, tick("Without the model’s labels", false, draw));
}

function incoming(app, said) {
  const formats = made("div");
  let format = "label-studio";
  fill(formats, choice("Format", FORMATS, format, (value) => { format = value; }));
  const file = made("input", {type: "file", "aria-label": "File with marks"});
  const take = async () => {
    const [chosen] = file.files;
    if (!chosen) {
      said.textContent = "Choose a file first.";
      return;
    }
    try {
      const known = await app.source.importMarks(app.study, format, app.who, await chosen.arrayBuffer());
      const skipped = known.left_out ? ` ${counted(known.left_out, "row")} left out; the first: ${known.skipped[0].why}.` : "";
      said.textContent = `${counted(known.read, "mark")} read, ${known.new} of them new.${skipped}`;
    } catch (error) {
      said.textContent = error.words || error.message;
    }
  };
  return made("div", {}, made("h3", {}, "Bring them back"), formats, file, button("Read the file", take));
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
