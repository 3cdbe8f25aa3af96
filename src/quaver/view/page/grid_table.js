// The part of the grid that is in sight as a table: for screen readers, and for whoever prefers words.

import { columnWords } from "./grid_bands.js";
import { fill, made, percent } from "./elements.js";

const ROWS = 20;
const COLUMNS = 12;

/** A table of a window of the grid, with buttons that move it. */
export class GridTable {
  /** `open` gets a row and a column; `moved` gets the window's first row and column. */
  constructor(open, moved) {
    Object.assign(this, {open, moved});
    this.element = made("div", {class: "as-table"});
  }

  show({data, columns, rows, design, legend, top, left}) {
    const first = Math.max(0, Math.min(top, rows - ROWS));
    const from = Math.max(0, Math.min(left, columns.length - COLUMNS));
    const [last, to] = [Math.min(rows, first + ROWS), Math.min(columns.length, from + COLUMNS)];
    this.window = {first, last, from, to};
    const some = columns.slice(from, to);
    const head = made("tr", {}, made("th", {scope: "col"}, "Item"), made("th", {scope: "col"}, "Gold"), ...some.map((one) => made("th", {scope: "col"}, columnWords(one, design))), made("th", {scope: "col"}, "Agreement"));
    const shares = made("tr", {}, made("th", {scope: "row"}, "Agreement"), made("td", {}, ""), ...some.map((one) => made("td", {}, percent(one.agreement))), made("td", {}, ""));
    const body = made("tbody", {}, shares);
    for (let row = first; row < last; row += 1) body.append(this.#row(row, {data, legend, design, columns, from, to}));
    const words = `Rows ${(first + 1).toLocaleString("en")} to ${last.toLocaleString("en")} of ${rows.toLocaleString("en")}, columns ${from + 1} to ${to} of ${columns.length}`;
    const step = (name, down, right, off) => made("button", {type: "button", disabled: off, onclick: () => this.moved(first + down, from + right)}, name);
    const buttons = () => [...this.element.querySelectorAll("button")];
    const focus = buttons().indexOf(document.activeElement);
    const steps = [
      step("Rows above", -ROWS, 0, first === 0), step("Rows below", ROWS, 0, last >= rows),
      step("Columns before", 0, -COLUMNS, from === 0), step("Columns after", 0, COLUMNS, to >= columns.length),
    ];
    fill(
      this.element,
      made("div", {class: "steps"}, ...steps),
      made("div", {class: "scroll", tabIndex: 0, role: "region", "aria-label": "Labels as a table"}, made("table", {}, made("caption", {}, words), made("thead", {}, head), body)),
    );
    if (focus >= 0) buttons()[focus]?.focus();
  }

  #row(row, {data, legend, design, columns, from, to}) {
    const known = data.row(row);
    const line = made("tr", {}, made("th", {scope: "row"}, known?.item ?? "…"), made("td", {}, known?.gold ? legend.labelName(known.gold) : ""));
    for (let column = from; column < to; column += 1) {
      const found = data.cell(row, column);
      if (!found) line.append(made("td", {}, "…"));
      else {
        const code = found.block.codes[found.at];
        const words = legend.wordsOf(code);
        const name = `${words}: item ${known?.item ?? ""}, ${columnWords(columns[column], design)}`;
        line.append(made("td", {}, made("button", {type: "button", class: "cell", "aria-label": name, onclick: () => this.open(row, column)}, legend.chip(code))));
      }
    }
    line.append(made("td", {class: "n"}, percent(known?.agreement)));
    return line;
  }
}
