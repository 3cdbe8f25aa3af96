// Tables sort by their headings and filter by a word. Without this they read as they are.
for (const table of document.querySelectorAll(".scroll > table")) sortable(table);

function sortable(table) {
  const body = table.tBodies[0];
  const count = body ? body.rows.length : 0;
  if (!table.tHead || count < 2) return;
  const heads = [...table.tHead.rows[0].cells];

  const value = (row, at) => {
    const data = row.cells[at].querySelector("data");
    const text = row.cells[at].textContent.trim();
    if (data) return Number(data.value);
    const number = text.replace(/,/g, "").replace(/^−/, "-");
    return text !== "" && !Number.isNaN(Number(number)) ? Number(number) : text;
  };
  const order = (a, b) => {
    if (typeof a === typeof b) return typeof a === "number" ? a - b : a.localeCompare(b, "en", {numeric: true});
    return typeof a === "number" ? -1 : 1;
  };
  heads.forEach((head, at) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    head.scope = "col";
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const first = head.classList.contains("n") ? "descending" : "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      const now = head.getAttribute("aria-sort") === first ? other : first;
      heads.forEach((one) => one.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", now);
      const sign = now === "ascending" ? 1 : -1;
      const keyed = [...body.rows].map((row, place) => [value(row, at), place, row]);
      keyed.sort((a, b) => sign * order(a[0], b[0]) || a[1] - b[1]);
      body.append(...keyed.map((one) => one[2]));
    });
  });

  if (count < 8) return;
  const label = document.createElement("label");
  label.className = "filter";
  const field = document.createElement("input");
  field.type = "search";
  const found = document.createElement("output");
  label.append("Rows with ", field, " ", found);
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of body.rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    found.textContent = words.length ? `${shown} of ${body.rows.length}` : "";
  });
  const scroll = table.closest(".scroll");
  (scroll || table).before(label);
}
