// What the codes of cells mean: labels in their colours, and why an answer has no label.

import { STATUS_WORDS, SIGNS, chipClass } from "./colours.js";
import { made } from "./elements.js";

/** A design as a server or a file has it, with what follows from it: the codes of cells, and menus of its columns. */
export function wholeDesign(design) {
  if (!design) return design;
  const labels = design.labels.map((one, place) => ({...one, legend: place + 1}));
  const factors = {};
  for (const {factors: levels} of design.prompts) for (const [name, level] of Object.entries(levels)) factors[name] = [...new Set([...(factors[name] ?? []), level])];
  const each = (name) => [...new Set(design.columns.map((one) => one[name]))];
  return {
    ...design, labels, factors, models: each("model"), decodings: each("decoding"), repeats: each("repeat").length,
    legend: [
      {code: 0, kind: "missing", name: "missing"},
      ...labels.map((one) => ({code: one.legend, kind: "label", name: one.code, title: one.name})),
      ...design.statuses.map((name, at) => ({code: labels.length + 1 + at, kind: "status", name})),
    ],
  };
}

/** The legend of a study's design. */
export class Legend {
  constructor(design) {
    this.entries = new Map(design.legend.map((one) => [one.code, one]));
    this.codes = new Map(design.labels.map((one) => [one.code, one]));
    this.places = new Map(design.labels.map((one, place) => [one.legend, place]));
    this.hidden = design.cell_bytes === 2 ? 65535 : 255;
  }

  /** `label`, `status`, `missing` or `hidden`. */
  kindOf(code) {
    if (code === this.hidden) return "hidden";
    return this.entries.get(code)?.kind ?? "missing";
  }

  /** The place of a label in the label set; undefined for what is no label. */
  placeOf(code) {
    return this.places.get(code);
  }

  statusOf(code) {
    return this.entries.get(code)?.name;
  }

  /** A cell in words. */
  wordsOf(code) {
    const one = this.entries.get(code);
    if (code === this.hidden) return "hidden";
    if (!one || one.kind === "missing") return "not answered";
    return one.kind === "label" ? one.title || one.name : STATUS_WORDS[one.name] || one.name;
  }

  signOf(code) {
    const one = this.entries.get(code);
    if (!one || one.kind === "missing") return "";
    return one.kind === "label" ? /[\p{L}\p{N}]/u.exec(one.title)?.[0] ?? (one.title || one.name).slice(0, 1) : SIGNS[one.name] || "·";
  }

  /** The name of a label by its code in the label set. */
  labelName(label) {
    if (label === null || label === undefined) return "no label";
    return this.codes.get(label)?.name ?? String(label);
  }

  codeOf(label, status) {
    if (label !== null && label !== undefined) return this.codes.get(label)?.legend ?? -1;
    for (const one of this.entries.values()) if (one.kind === "status" && one.name === status) return one.code;
    return 0;
  }

  /** A chip with the colour and the words of a code. */
  chip(code, attributes = {}, words = this.wordsOf(code)) {
    const place = this.placeOf(code);
    const kind = this.kindOf(code);
    const look = place === undefined ? `chip ${kind === "status" && this.statusOf(code) === "error" ? "failed" : kind}` : chipClass(place);
    return made("span", {...attributes, class: `${look} ${attributes.class || ""}`.trim()}, made("i", {"aria-hidden": "true"}, place === undefined ? this.signOf(code) : ""), words);
  }

  labelChip(label, status = "no_label") {
    return label === null || label === undefined ? this.chip(this.codeOf(null, status)) : this.chip(this.codeOf(label), {}, this.labelName(label));
  }
}
