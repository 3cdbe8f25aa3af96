// All marks of a study: whose they are, and how they become gold labels.

import { button, counted, fill, made, tick } from "./elements.js";

/** The part of the page about marks; its `tell` says anew whose they are, and leaves what somebody does there. */
export function marksPart(app, blind) {
  const people = made("p", {class: "soft"}, "…");
  const said = made("p", {role: "status", class: "soft"});
  const whole = made("section", {class: "all-marks"}, made("h2", {}, "All marks of this study"), people, made("div", {class: "columns"}, golden(app, said)), said);
  whole.tell = (isBlind) => app.source.marks(app.study, {count: 1, ...(isBlind ? {blind: 1} : {})}).then((known) => {
    people.textContent = known.total ? `${counted(known.total, "mark")}: ${known.who.map((one) => `${one.who} ${one.marks}`).join(", ")}.` : "No marks yet. They are kept in the study’s folder, with your name and the time.";
  }).catch((error) => app.refused(error, whole));
  whole.tell(blind);
  return whole;
}

function golden(app, said) {
  let replace = false;
  const write = async () => {
    try {
      const {labels, file, how} = await app.source.marksToGold(app.study, {replace});
      fill(said, labels ? made("span", {}, `${counted(labels, "label")} taken, from ${file}. Next: `, made("code", {}, how)) : "No mark has a label.");
    } catch (error) {
      said.textContent = error.words || error.message;
    }
  };
  return made("div", {}, made("h3", {}, "Make them gold labels"), made("p", {class: "soft"}, "The label that people gave an item becomes its gold label, unless they disagree or it has another one."), tick("Replace those that items have", false, (on) => { replace = on; }), button("Make them gold labels", write));
}
