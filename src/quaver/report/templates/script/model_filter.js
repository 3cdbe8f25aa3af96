// Charts and tables of one model, where there are several.
(() => {
  const {models} = figureData();
  const slot = document.getElementById("model-filter");
  if (!slot || !models || models.length < 2) return;
  const every = made("option", {value: ""}, "all models");
  const select = made("select", {}, every, ...models.map((name, at) => made("option", {value: at + 1}, name)));
  slot.append(made("div", {class: "choose"}, made("label", {}, "Charts and tables of ", select)));

  // A panel that is of one model alone moves to where the first of its row stands.
  const panels = [...document.querySelectorAll("figure svg g[data-panel]")];
  const place = (panel) => panel.firstElementChild.getAttribute("transform") || "";
  const places = new Map(panels.map((panel) => [panel, place(panel)]));
  const first = new Map();
  for (const panel of panels) if (!first.has(panel.parentElement)) first.set(panel.parentElement, panel);
  const pictures = (chosen) => {
    for (const mark of document.querySelectorAll("figure svg [data-model]")) {
      mark.classList.toggle("off", chosen !== "" && mark.dataset.model !== chosen);
    }
    for (const panel of panels) {
      const other = chosen !== "" && panel.dataset.panel !== chosen;
      panel.classList.toggle("off", other);
      const at = chosen === "" || other ? panel : first.get(panel.parentElement);
      panel.firstElementChild.setAttribute("transform", places.get(at));
    }
    for (const figure of document.querySelectorAll("figure")) {
      const of = new Set([...figure.querySelectorAll("svg [data-model]")].map((mark) => mark.dataset.model));
      const all = figure.querySelectorAll("svg .described").length === figure.querySelectorAll("svg .described[data-model]").length;
      figure.classList.toggle("off", chosen !== "" && all && of.size > 0 && !of.has(chosen));
    }
  };
  const tables = (name) => {
    for (const table of document.querySelectorAll("table")) {
      const heads = table.tHead ? [...table.tHead.rows[0].cells].map((head) => head.textContent.trim()) : [];
      const at = heads.indexOf("model");
      if (at < 0) continue;
      for (const row of table.tBodies[0].rows) {
        const own = row.cells[at].textContent;
        row.classList.toggle("off", name !== null && own !== name && models.includes(own));
      }
    }
  };
  select.addEventListener("change", () => {
    const chosen = select.value;
    pictures(chosen);
    tables(chosen === "" ? null : models[Number(chosen) - 1]);
  });
})();
