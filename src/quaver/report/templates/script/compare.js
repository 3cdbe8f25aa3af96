// Two prompts compared: how many labels differ between them, and of which items.
(() => {
  const data = figureData();
  const section = document.getElementById("compare");
  if (!section || !data.groups || data.prompts.length < 2) return;
  const [model, decoding, first, second] = ["model", "decoding", "first", "second"].map((name) => section.querySelector(`[name=${name}]`));
  const group = () => data.groups.find((one) => one.model === Number(model.value) && one.decoding === Number(decoding.value));
  const asked = (one, prompt) => one.labels[prompt].trim() !== "";

  const offer = (select, places, names, chosen) => {
    select.replaceChildren(...places.map((at) => made("option", {value: at}, names[at])));
    if (places.includes(chosen)) select.value = String(chosen);
  };
  const places = (name) => [...new Set(data.groups.map((one) => one[name]))];
  offer(model, places("model"), data.models);
  offer(decoding, places("decoding"), data.decodings);
  for (const select of [model, decoding]) select.closest("label").hidden = select.options.length < 2;

  const flips = (one, before, after) => {
    const [left, right] = [labelsOf(one, before), labelsOf(one, after)];
    const both = left.map((label, item) => ({item, left: label, right: right[item]})).filter((pair) => pair.left && pair.right);
    return {both: both.length, flipped: both.filter((pair) => pair.left !== pair.right)};
  };

  // The prompts of a model and decoding; at first, the first prompt and the one that differs most from it.
  const prompts = () => {
    const one = group();
    const some = one ? data.prompts.map((_, at) => at).filter((at) => asked(one, at)) : [];
    const from = some.includes(Number(first.value)) && first.value !== "" ? Number(first.value) : some[0];
    const counts = some.map((at) => (at === from ? -1 : flips(one, from, at).flipped.length));
    const to = some.includes(Number(second.value)) && second.value !== "" ? Number(second.value) : some[counts.indexOf(Math.max(...counts))];
    offer(first, some, data.prompts, from);
    offer(second, some, data.prompts, to);
  };

  const kinds = (flipped) => {
    const counts = new Map();
    for (const pair of flipped) {
      const kind = `${pair.left} → ${pair.right}`;
      counts.set(kind, (counts.get(kind) || 0) + 1);
    }
    const sorted = [...counts].sort((a, b) => b[1] - a[1]);
    const listed = sorted.slice(0, 6).map(([kind, count]) => `${kind}: ${count.toLocaleString("en")}`);
    return listed.join("; ") + (sorted.length > 6 ? `; and ${sorted.length - 6} more kinds` : "");
  };

  const show = () => {
    const one = group();
    const said = section.querySelector(".compared");
    const table = section.querySelector(".flipped");
    table.replaceChildren();
    if (!one || first.value === "") {
      said.replaceChildren(made("p", {}, "These prompts were not asked."));
      return;
    }
    const [before, after] = [Number(first.value), Number(second.value)];
    const {both, flipped} = flips(one, before, after);
    const share = both ? ` (${Math.round((100 * flipped.length) / both)}%)` : "";
    const sampled = data.items.length < data.itemsInAll ? ` Counted in a sample of ${data.items.length.toLocaleString("en")} of ${data.itemsInAll.toLocaleString("en")} items.` : "";
    const count = made("strong", {"data-flips": flipped.length}, flipped.length.toLocaleString("en"));
    const line = ` of ${both.toLocaleString("en")} items have different labels under these two prompts${share}.${sampled}`;
    said.replaceChildren(made("p", {}, count, line), ...(flipped.length ? [made("p", {class: "aside"}, kinds(flipped))] : []));
    if (!flipped.length) return;
    const raw = flipped.some((pair) => answerOf(one, before, pair.item) !== undefined);
    const texts = data.texts.some(Boolean);
    const columns = ["item", ...(texts ? ["text"] : []), "first prompt", "second prompt", ...(raw ? ["first prompt’s first answer", "second prompt’s first answer"] : [])];
    const rows = flipped.map((pair) => [
      data.items[pair.item],
      ...(texts ? [data.texts[pair.item] || ""] : []),
      pair.left,
      pair.right,
      ...(raw ? [answerOf(one, before, pair.item) ?? "not in this report", answerOf(one, after, pair.item) ?? "not in this report"] : []),
    ]);
    table.replaceChildren(textTable(columns, rows, 50));
  };

  section.hidden = false;
  for (const link of document.querySelectorAll("[data-scripted]")) link.hidden = false;
  for (const select of [model, decoding]) select.addEventListener("change", () => (prompts(), show()));
  for (const select of [first, second]) select.addEventListener("change", show);
  prompts();
  show();
})();
