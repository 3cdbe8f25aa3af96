// A prompt and the answers to it, in a dialog: opened by a mark of a chart or by its address, #prompt-3.
(() => {
  const data = figureData();
  if (!data.prompts) return;
  const address = /^#prompt-(\d+)(?:-(\d+))?$/;
  const dialog = made("dialog", {id: "prompt-panel", "aria-labelledby": "prompt-panel-name"});
  document.body.append(dialog);
  let [from, parts] = [false, null]; // whether a link of this page led here, and which prompt is shown

  const asked = () => {
    const found = address.exec(location.hash);
    const prompt = found ? Number(found[1]) - 1 : -1;
    return prompt >= 0 && prompt < data.prompts.length ? {prompt, model: found[2] ? Number(found[2]) - 1 : -1} : null;
  };

  // For each item, its most frequent label over all prompts of a model and decoding.
  const modes = (group) => {
    const lines = data.prompts.map((_, prompt) => labelsOf(group, prompt));
    return data.items.map((_, item) => {
      const counts = new Map();
      for (const line of lines) if (line[item]) counts.set(line[item], (counts.get(line[item]) || 0) + 1);
      return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map((pair) => pair[0])[0];
    });
  };

  const answers = (prompt, group) => {
    const [labels, usual] = [labelsOf(group, prompt), modes(group)];
    const some = labels.map((label, item) => ({item, label, other: label !== usual[item]})).filter((one) => one.label);
    const moved = some.filter((one) => one.other).length;
    some.sort((a, b) => Number(b.other) - Number(a.other) || a.item - b.item);
    const raw = some.some((one) => answerOf(group, prompt, one.item) !== undefined);
    const texts = data.texts.some(Boolean);
    const columns = ["item", ...(texts ? ["text"] : []), "label", "most frequent label over all prompts", ...(raw ? ["first answer"] : [])];
    const rows = some.map((one) => [
      data.items[one.item],
      ...(texts ? [data.texts[one.item] || ""] : []),
      one.label,
      usual[one.item],
      ...(raw ? [answerOf(group, prompt, one.item) ?? "not in this report"] : []),
    ]);
    const sample = data.items.length < data.itemsInAll ? ` This report lists ${data.items.length.toLocaleString("en")} of ${data.itemsInAll.toLocaleString("en")} items.` : "";
    const line = `${moved.toLocaleString("en")} of ${some.length.toLocaleString("en")} items have another label here than over all prompts; they come first.${sample}`;
    return [made("p", {}, line), textTable(columns, rows, 20)];
  };

  const text = (prompt) => {
    const known = document.getElementById(`prompt-${prompt + 1}`);
    if (!known) return [made("p", {class: "missing"}, "The text of this prompt is in study.lock.json.")];
    return [...known.children].filter((one) => one.tagName !== "SUMMARY").map((one) => one.cloneNode(true));
  };

  const fill = ({prompt, model}) => {
    const name = made("h2", {id: "prompt-panel-name"}, data.prompts[prompt]);
    const close = made("button", {type: "button", class: "more", "aria-label": "Close"}, "Close");
    close.addEventListener("click", () => dialog.close());
    const said = (data.said[prompt] || []).filter(([of]) => model < 0 || of < 0 || of === model).map(([, words]) => made("li", {}, words));
    dialog.replaceChildren(made("div", {class: "panel-head"}, name, close), ...text(prompt));
    if (said.length) dialog.append(made("h3", {}, "What was measured"), made("ul", {}, ...said));
    const groups = (data.groups || []).filter((one) => one.labels[prompt].trim());
    if (groups.length) {
      const names = groups.map((one) => [data.models.length > 1 ? data.models[one.model] : "", data.decodings.length > 1 ? data.decodings[one.decoding] : ""].filter(Boolean).join(", "));
      const select = made("select", {"aria-label": "Answers of"}, ...groups.map((_, at) => made("option", {value: at}, names[at])));
      select.value = String(Math.max(0, groups.findIndex((one) => one.model === model)));
      const table = made("div");
      const show = () => table.replaceChildren(...answers(prompt, groups[Number(select.value)]));
      select.addEventListener("change", show);
      dialog.append(made("h3", {}, "The answers"), ...(groups.length > 1 ? [made("div", {class: "choose"}, made("label", {}, "Answers of ", select))] : []), table);
      show();
    }
    const compare = document.querySelector("#compare [name=first]");
    if (compare && [...compare.options].some((one) => one.value === String(prompt))) {
      const link = made("a", {href: "#compare"}, "Compare it with another prompt");
      link.addEventListener("click", () => {
        compare.value = String(prompt);
        compare.dispatchEvent(new Event("change"));
        from = false;
      });
      dialog.append(made("p", {}, link));
    }
  };

  const follow = () => {
    const wanted = asked();
    if (wanted) {
      if (parts !== location.hash) fill(wanted);
      parts = location.hash;
      if (!dialog.open) dialog.showModal();
      dialog.scrollTop = 0;
    } else {
      parts = null;
      if (dialog.open) dialog.close();
    }
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#prompt-']");
    if (!link) return;
    event.preventDefault();
    const model = link.dataset.model ? `-${link.dataset.model}` : "";
    from = true;
    history.pushState(null, "", link.getAttribute("href") + model);
    follow();
  });
  dialog.addEventListener("close", () => {
    if (!asked()) return;
    if (from) history.back();
    else history.replaceState(null, "", "#prompts");
    from = false;
    parts = null;
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  addEventListener("popstate", follow);
  addEventListener("hashchange", follow);
  follow();
})();
