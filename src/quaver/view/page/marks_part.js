// All marks of a study: whose they are, how they go out and come back, and how they become gold labels.

import { button, choice, counted, fill, made, tick } from "./elements.js";

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
      const skipped = known.skipped?.length ? ` ${counted(known.skipped.length, "row")} left out; the first: ${known.skipped[0].why}.` : "";
      said.textContent = `${counted(known.read, "mark")} read, ${known.new} of them new.${skipped}`;
    } catch (error) {
      said.textContent = error.words || error.message;
    }
  };
  return made("div", {}, made("h3", {}, "Bring them back"), formats, file, button("Read the file", take));
}

function golden(app, said) {
  const look = async (preview) => {
    try {
      const known = await app.source.marksToGold(app.study, {who: null, preview});
      const conflicts = known.conflicts?.length ? ` ${counted(known.conflicts.length, "item")} with labels that contradict each other ${known.conflicts.length === 1 ? "is" : "are"} left out.` : "";
      said.textContent = preview ? `${counted(known.items, "item")} would have a gold label, ${known.new} of them a new one.${conflicts}` : `${counted(known.items, "gold label")} written to ${known.file}. ${known.how || ""}`;
      if (preview && known.items) said.append(" ", button("Write them", () => look(false)));
    } catch (error) {
      said.textContent = error.words || error.message;
    }
  };
  return made("div", {}, made("h3", {}, "Make them gold labels"), made("p", {class: "soft"}, "A label that you gave an item becomes its gold label."), button("See what that would do", () => look(true)));
}
