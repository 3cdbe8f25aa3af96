// What is shown, as a file; and its address, to send to a colleague.

import { button, choice, fill, made } from "./elements.js";
import { shown } from "./keys.js";

const FORMATS = [
  ["csv", "CSV", "a table for spreadsheets and statistics programs"],
  ["jsonl", "JSON lines", "one answer a line, whole"],
  ["parquet", "Parquet", "for Polars, pandas, R and DuckDB"],
  ["html", "One HTML file", "this application with the items shown, at most 5,000; opens from disk"],
];

export function exportDialog(app) {
  const dialog = made("dialog", {class: "sheet", "aria-labelledby": "export-title"});
  const files = made("ul", {class: "files"});
  const said = made("p", {role: "status", class: "soft"});
  const draw = (what) => fill(files, ...FORMATS.map(([format, name, means]) => made("li", {}, made("a", {href: app.source.exportFile(app.study, {format, ...app.asked(), what}), download: ""}, name), made("span", {class: "means"}, means))));
  const copy = async (text, words) => {
    try {
      await navigator.clipboard.writeText(text);
      said.textContent = words;
    } catch {
      said.textContent = text;
    }
  };
  const q = app.q;
  const parts = [
    made("div", {class: "sheet-head"}, made("h2", {id: "export-title"}, "Export what is shown"), button("Close", () => dialog.close())),
    made("p", {}, q ? "The answers that match " : "All answers of this study.", q ? made("code", {}, q) : null),
  ];
  if (!app.source.isStatic) {
    draw("matching");
    parts.push(choice("Of the items shown", [["matching", "the answers that match"], ["rows", "all answers"]], "matching", draw), files);
  } else parts.push(made("p", {class: "soft"}, "This file is an export itself; files of other formats come from `quaver view`."));
  parts.push(
    made("h3", {}, "Address of this view"),
    made("p", {class: "soft"}, "A colleague who has the study opens the same view with it."),
    made("div", {class: "copies"}, made("code", {}, location.hash || "#/overview"), button("Copy", () => copy(location.hash || "#/overview", "Copied. It goes behind the address that `quaver view` prints, or after --at."))),
    said,
  );
  fill(dialog, ...parts);
  shown(dialog);
}
