// The page's block of data, and how its texts get into the page: always as text, never as HTML.
function figureData() {
  if (!figureData.known) {
    const block = document.getElementById("figure-data");
    figureData.known = block ? JSON.parse(block.textContent) : {};
  }
  return figureData.known;
}

function made(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// The labels of a group (a model and a decoding): of each item under a prompt, "" where it was not asked.
function labelsOf(group, prompt) {
  const {width, labels} = figureData();
  const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const line = group.labels[prompt];
  const found = [];
  for (let at = 0; at < line.length; at += width) {
    if (line[at] === " ") found.push("");
    else if (line[at] === ".") found.push("no label");
    else {
      let number = 0;
      for (let digit = 0; digit < width; digit += 1) number = number * digits.length + digits.indexOf(line[at + digit]);
      found.push(labels[number]);
    }
  }
  return found;
}

function answerOf(group, prompt, item) {
  const line = group.answers[prompt];
  return line && line[item] >= 0 ? figureData().answers[line[item]] : undefined;
}

// A table of texts, of which only the first rows are shown until all are asked for.
function textTable(columns, rows, most) {
  const head = made("tr", {}, ...columns.map((name) => made("th", {scope: "col"}, name)));
  const body = made("tbody");
  const add = (some) => {
    for (const row of some) {
      body.append(made("tr", {}, ...row.map((text, at) => made("td", {"data-name": columns[at]}, text))));
    }
  };
  add(rows.slice(0, most));
  const table = made("table", {class: "live wordy"}, made("thead", {}, head), body);
  const parts = made("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": `Table: ${columns.join(", ")}`}, table);
  const whole = made("div", {}, parts);
  sortable(table);
  if (rows.length > most) {
    const button = made("button", {type: "button", class: "more"}, `Show all ${rows.length.toLocaleString("en")} rows`);
    button.addEventListener("click", () => {
      add(rows.slice(most));
      button.remove();
    });
    whole.append(button);
  }
  return whole;
}
