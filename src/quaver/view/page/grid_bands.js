// The bands above the grid: what its columns are of, joined where neighbours have the same.

const NAMES = new WeakMap();

/** What a prompt is called on the page. */
export function promptName(prompt, design) {
  if (!NAMES.has(design)) NAMES.set(design, new Map(design.prompts.map((one) => [one.id, one.short || one.id])));
  return NAMES.get(design).get(prompt) ?? prompt;
}

/** What a factor's level is called on the page: by the prompt's words, where these tell the levels apart. */
export function levelName(factor, level, design) {
  return design.levels?.[factor]?.[level] ?? level;
}

/** The bands of some columns: those of model, decoding, each factor and repeat that tell columns apart; null is no level. */
export function bandsOf(columns, design) {
  const prompts = new Map(design.prompts.map((one) => [one.id, one]));
  const factors = Object.keys(design.factors || {}).filter((name) => design.factors[name].length > 1);
  const read = [
    ["model", (one) => one.model],
    ["decoding", (one) => one.decoding],
    ...factors.map((name) => [name, (one) => prompts.get(one.prompt)?.factors?.[name]]),
  ];
  if (!factors.length) read.push(["prompt", (one) => promptName(one.prompt, design)]);
  read.push(["repeat", (one) => (one.repeat === null || one.repeat === undefined ? null : String(one.repeat + 1))]);
  return read
    .map(([name, of]) => ({name, values: columns.map((one) => of(one) ?? null)}))
    .filter((band) => new Set(band.values).size > 1 || (band.name === "prompt" && columns.length))
    .map((band) => ({...band, runs: runs(band.values, (value) => levelName(band.name, value, design))}))
    .sort((one, other) => one.runs.length - other.runs.length); // the coarsest on top
}

/** Neighbours with the same value: from, to, the value and what is written there. */
function runs(values, named) {
  const found = [];
  values.forEach((value, at) => {
    const last = found.at(-1);
    if (last && last.value === value) last.to = at + 1;
    else found.push({from: at, to: at + 1, value, text: value === "" ? "(empty)" : named(value) ?? ""});
  });
  return found;
}

/** A column in words. */
export function columnWords(column, design) {
  const parts = [design.models.length > 1 ? column.model : "", promptName(column.prompt, design), design.decodings.length > 1 ? column.decoding : ""];
  if (design.repeats > 1 && column.repeat !== null && column.repeat !== undefined) parts.push(`repeat ${column.repeat + 1}`);
  return parts.filter(Boolean).join(" · ") || column.model;
}
