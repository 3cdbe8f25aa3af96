// A part of a study inside the page's own file: the same answers as the server's, from what the file has.

import { wholeDesign } from "./legend.js";
import { quoted, term } from "./query_terms.js";
import { matcher } from "./static_query.js";

const IS = ["flip", "modal", "right", "wrong", "valid", "error", "answered", "missing", "flipped"];

function refusal({words, at}) {
  return Object.assign(new Error(words), {said: {problem: words}, words, at});
}

function unpacked(text, bytes) {
  const letters = atob(text || "");
  const known = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at += 1) known[at] = letters.charCodeAt(at);
  return bytes === 2 ? new Uint16Array(known.buffer) : known;
}

const SORTS = {
  id: (one) => one.item, instability: (one) => -(one.instability ?? -1), agreement: (one) => -(one.agreement ?? -1), gold: (one) => one.gold ?? "￿",
  accuracy: (one) => one.accuracy ?? 2, unlabelled: (one) => one.valid ?? 2,
};

/** Answers from a block of data what the server answers over a study. */
export class StaticSource {
  constructor(data) {
    this.data = data;
    this.isStatic = true;
    this.local = new Map();
  }

  #kept(path) {
    const known = this.data.responses[path];
    if (known === undefined) throw refusal({words: "This file does not have that."});
    return known;
  }

  async studies() {
    return this.data.responses["api/studies"] ?? {studies: this.data.studies, who: ""};
  }

  async overview(study) {
    const known = this.#kept(`api/studies/${study}`);
    return {...known, design: wholeDesign(known.design)};
  }

  async design(study) {
    const known = wholeDesign(this.data.responses[`api/studies/${study}/design`] ?? this.#kept(`api/studies/${study}`).design);
    const evaluator = Object.values(this.data.answers[study] ?? {})[0]?.evaluator;
    return {...known, may_mark: false, evaluators: evaluator ? [evaluator] : known.evaluators.slice(0, 1), sorts: known.sorts.filter((one) => one.name === "item" || SORTS[one.name]), examples: known.examples.filter((one) => this.#understood(study, known, one.query))};
  }

  #understood(study, design, query) {
    try {
      matcher(query, this.#fields(design));
      return !/^-?is:/.test(query) || IS.includes(query.replace(/^-?is:/, ""));
    } catch {
      return false;
    }
  }

  async chart(href) {
    return this.#kept(href);
  }

  async look() {
    return {};
  }

  /** The fields that a query may name, in lower case, with the values that are known. */
  #fields(design) {
    const labels = new Set(design.labels.map((one) => one.code));
    const known = new Map(["status", "repeat", "item", "text", "answer", "confidence", "instability", "agreement", "accuracy", "labels", "length"].map((one) => [one, null]));
    for (const one of ["label", "gold", "modal"]) known.set(one, labels);
    known.set("model", new Set(design.models)).set("decoding", new Set(design.decodings)).set("prompt", new Set(design.prompts.map((one) => one.id)));
    for (const [name, levels] of Object.entries(design.factors)) known.set(name.toLowerCase(), new Set(levels));
    for (const [name, {values}] of Object.entries(design.groups)) known.set(name.toLowerCase(), new Set(values));
    return known;
  }

  async #of(study) {
    if (!this.local.has(study)) {
      const design = await this.design(study);
      const {grid, rows, cells, match} = this.data.grids[study];
      const legend = new Map(design.legend.map((one) => [one.code, one]));
      const codeOf = new Map(design.labels.map((one) => [one.code, one.legend]));
      this.local.set(study, {design, grid, rows, legend, codeOf, codes: unpacked(cells, design.cell_bytes), match: match ? unpacked(match, 1) : null, prompts: new Map(design.prompts.map((one) => [one.id, one])), known: new Map()});
    }
    return this.local.get(study);
  }

  /** What the query language can ask about one cell. */
  #facts(study, local, row, column) {
    const {design, grid, rows, legend, codes, prompts, codeOf} = local;
    const [line, head] = [rows[row], grid.columns[column]];
    const code = codes[row * grid.columns.length + column];
    const one = legend.get(code) ?? {kind: "missing", name: "missing"};
    const label = one.kind === "label" ? one.name : null;
    const modal = line.modal === null || line.modal === undefined ? -1 : codeOf.get(line.modal);
    const gold = line.gold === null || line.gold === undefined ? null : codeOf.get(line.gold);
    const answer = () => this.data.answers[study]?.[`${line.item}\u0000${head.column}`];
    const written = () => answer()?.response?.text ?? "";
    const named = {...prompts.get(head.prompt)?.factors, ...line.groups};
    const own = Object.fromEntries(Object.entries(named).map(([name, value]) => [name.toLowerCase(), value]));
    const whole = () => this.data.items[study]?.[line.item]?.text ?? line.text ?? "";
    const labelled = label !== null && modal >= 0;
    return {
      ...own, label, status: one.kind === "label" ? "valid" : one.name, model: head.model, decoding: head.decoding, repeat: head.repeat, item: line.item,
      prompt: design.prompts.length ? head.prompt : null, gold: line.gold, modal: line.modal, instability: line.instability, agreement: line.agreement, accuracy: line.accuracy, labels: line.labels,
      get confidence() { return answer()?.reading?.confidence ?? null; },
      get length() { return answer()?.response?.length ?? null; },
      text: whole, answer: written, texts: () => `${whole()}\n${written()}`,
      is: {flip: labelled && code !== modal, modal: labelled && code === modal, right: gold !== null && code === gold, wrong: gold !== null && label !== null && code !== gold, valid: one.kind === "label", error: one.name === "error", answered: one.kind !== "missing", missing: one.kind === "missing", flipped: (line.labels ?? 0) > 1},
    };
  }

  /** The rows of a view in its order, and which cells match its query. */
  async #view(study, {q = "", sort = "item"}) {
    const own = await this.#of(study);
    const key = JSON.stringify([q, sort]);
    if (own.known.has(key)) return own.known.get(key);
    const width = own.grid.columns.length;
    const hit = new Uint8Array(own.rows.length * width);
    let found = null;
    try {
      const matches = matcher(q, this.#fields(own.design));
      for (let row = 0; row < own.rows.length; row += 1) for (let column = 0; column < width; column += 1) hit[row * width + column] = q ? Number(matches(this.#facts(study, own, row, column))) : 1;
      const order = [...own.rows.keys()].filter((row) => hit.subarray(row * width, (row + 1) * width).includes(1) || !q);
      const [name, back] = [sort.replace(/^-/, ""), sort.startsWith("-")];
      const by = SORTS[name];
      if (by) order.sort((one, other) => (by(own.rows[one]) < by(own.rows[other]) ? -1 : by(own.rows[one]) > by(own.rows[other]) ? 1 : one - other));
      if (back) order.reverse();
      found = {own, width, hit, order};
    } catch (error) {
      throw error.words ? refusal(error) : error;
    }
    own.known.clear(); // the last view is the only one that is asked for again
    own.known.set(key, found);
    return found;
  }

  async grid(study, view) {
    const {own, width, hit, order} = await this.#view(study, view);
    const counts = new Map();
    const matched = new Array(width).fill(0);
    for (const row of order) {
      for (let column = 0; column < width; column += 1) {
        if (!hit[row * width + column]) continue;
        matched[column] += 1;
        const code = own.codes[row * width + column];
        counts.set(code, (counts.get(code) || 0) + 1);
      }
    }
    const columns = own.grid.columns.map((one, at) => ({...one, matched: matched[at]}));
    return {...own.grid, columns, rows: order.length, matched: matched.reduce((sum, n) => sum + n, 0), counts: [...counts].sort((one, other) => one[0] - other[0]), partial: false};
  }

  async rows(study, view, from, count) {
    const {own, order} = await this.#view(study, view);
    return {rows: order.slice(from, from + count).map((row, at) => ({...own.rows[row], row: from + at}))};
  }

  async find(study, view, item) {
    const {own, order} = await this.#view(study, view);
    const found = order.findIndex((row) => own.rows[row].item === item);
    return {rows: [], found: found < 0 ? null : found};
  }

  async cells(study, view, {from, count, left, width: wide, step}) {
    const {own, width, hit, order} = await this.#view(study, view);
    const some = order.slice(from, from + count * (step || 1)).filter((_, at) => at % (step || 1) === 0);
    const across = Math.max(0, Math.min(wide, width - left));
    const codes = new own.codes.constructor(some.length * across);
    const match = new Uint8Array(codes.length);
    some.forEach((row, at) => {
      for (let column = 0; column < across; column += 1) {
        codes[at * across + column] = own.codes[row * width + left + column];
        match[at * across + column] = hit[row * width + left + column];
      }
    });
    return {rows: some.length, width: across, codes, match: view.q ? match : null, confidence: null};
  }

  #cell(study, own, row, column) {
    const head = own.grid.columns[column];
    const line = own.rows[row];
    const facts = this.#facts(study, own, row, column);
    const answer = this.data.answers[study]?.[`${line.item}\u0000${head.column}`];
    return {item: line.item, of: this.data.items[study]?.[line.item]?.text ?? line.text, column: head.column, short: head.short, model: head.model, decoding: head.decoding, repeat: head.repeat, label: facts.label, status: facts.status, legend: own.codes[row * own.grid.columns.length + column], flip: facts.is.flip, gold: line.gold, confidence: facts.confidence, text: answer?.response?.text?.slice(0, 300) ?? null, length: facts.length, mark: line.mark};
  }

  async answers(study, view, from, count) {
    const {own, width, hit, order} = await this.#view(study, view);
    const some = [];
    let total = 0;
    for (const row of order) {
      for (let column = 0; column < width; column += 1) {
        if (!hit[row * width + column] || own.codes[row * width + column] === 0) continue;
        if (total >= from && total < from + count) some.push(this.#cell(study, own, row, column));
        total += 1;
      }
    }
    return {total, answers: some};
  }

  async answer(study, given) {
    const {own, width, order} = await this.#view(study, given);
    const column = own.grid.columns.findIndex((one) => String(one.column) === String(given.column));
    const row = own.rows.findIndex((one) => one.item === given.item);
    const known = this.data.answers[study]?.[`${given.item}\u0000${given.column}`];
    if (!known || row < 0 || column < 0) throw refusal({words: "This answer is not in the file."});
    const place = order.indexOf(row);
    const near = (step) => (place < 0 ? null : own.rows[order[place + step]]?.item ?? null);
    const siblings = own.grid.columns.map((_, at) => this.#cell(study, own, row, at)).filter((one) => one.legend !== 0);
    const prompt = this.#prompt(study, known);
    return {...known, prompt, against: this.#against(study, own, given, column, prompt), item: this.data.items[study][given.item], column: {...own.grid.columns[column], at: own.grid.columns[column].column}, siblings, neighbours: {row: place, rows: order.length, up: near(-1), down: near(1), left: own.grid.columns[column - 1]?.column ?? null, right: column + 1 < width ? own.grid.columns[column + 1].column : null}, marks: known.marks ?? []};
  }

  #prompt(study, answer) {
    return typeof answer?.prompt === "number" ? this.data.prompts[study][answer.prompt] : answer?.prompt ?? [];
  }

  /** The prompt that an answer's is compared with: the one that was chosen, or the study's own. */
  #against(study, own, given, column, prompt) {
    const {columns} = own.grid;
    const here = columns[column];
    const beside = (one) => one.prompt !== here.prompt && one.model === here.model && one.decoding === here.decoding;
    const original = own.design.prompts.find((one) => one.original)?.id;
    const other = columns.find((one) => String(one.column) === String(given.against)) ?? columns.find((one) => beside(one) && one.prompt === original) ?? columns.find(beside);
    const messages = other ? this.#prompt(study, this.data.answers[study][`${given.item}\u0000${other.column}`]) : [];
    if (!messages.length || messages.length !== prompt.length) return null;
    return {column: other, prompt: messages};
  }

  async item(study, given) {
    const own = await this.#of(study);
    const row = own.rows.findIndex((one) => one.item === given.item);
    return {item: this.data.items[study][given.item], total: own.grid.columns.length, answers: own.grid.columns.map((_, at) => this.#cell(study, own, row, at)).slice(given.from, given.from + given.count)};
  }

  rawFile() {
    return "#";
  }

  async complete(study, q, at) {
    const {design} = await this.#of(study);
    const word = /(?:"[^"]*"?|[^\s"])*$/.exec(q.slice(0, at))[0];
    const from = at - word.length;
    const [field, value] = word.includes(":") ? [word.slice(0, word.indexOf(":")), word.slice(word.indexOf(":") + 1)] : [null, word];
    const offered = {label: design.labels.map((one) => one.code), gold: design.labels.map((one) => one.code), modal: design.labels.map((one) => one.code), is: IS, status: design.legend.filter((one) => one.kind === "status").map((one) => one.name), model: design.models, decoding: design.decodings, prompt: design.prompts.map((one) => one.short || one.id), ...design.factors};
    const starts = (text) => String(text).toLowerCase().startsWith(value.replace(/^["-]/, "").toLowerCase());
    const options = field === null
      ? [...this.#fields(design).keys(), "is", "no"].filter(starts).map((one) => ({text: `${one}:`, shown: `${one}:`, means: null, count: null}))
      : (offered[field.replace(/^-/, "")] || []).filter(starts).map((one) => ({text: `${field}:${quoted(one)} `, shown: String(one), means: null, count: null}));
    return {from, to: at, options: options.slice(0, 12)};
  }

  async facets(study, view) {
    const {own, width, hit, order} = await this.#view(study, view);
    const many = {label: new Map(), status: new Map(), gold: new Map(), ...Object.fromEntries(Object.keys(own.design.factors).map((one) => [one, new Map()]))};
    for (const row of order) {
      for (let column = 0; column < width; column += 1) {
        if (!hit[row * width + column]) continue;
        const facts = this.#facts(study, own, row, column);
        for (const [field, counts] of Object.entries(many)) {
          const value = facts[field.toLowerCase()] ?? null;
          if (value !== null && !(field === "status" && value === "valid")) counts.set(value, (counts.get(value) || 0) + 1);
        }
      }
    }
    return {fields: Object.entries(many).map(([field, counts]) => ({field, values: [...counts].sort((one, other) => other[1] - one[1]).map(([value, count]) => ({value, count, query: term(field, value)}))}))};
  }

  /** The items of two sides: each side's most frequent label, and where they differ. */
  async compare(given) {
    const {own, width, order} = await this.#view(given.a, {q: given.q});
    const sides = [given.A, given.B].map((side) => matcher(side || "", this.#fields(own.design)));
    const labels = [...own.design.labels.map((one) => one.code), null];
    const counts = labels.map(() => labels.map(() => 0));
    const rows = [];
    let [items, flipped, gain, loss] = [0, 0, 0, 0];
    for (const row of order) {
      const both = sides.map((side) => this.#sideOf(given.a, own, row, width, side));
      if (both.some((one) => one === null)) continue;
      items += 1;
      const [one, other] = both;
      counts[labels.indexOf(one.label)][labels.indexOf(other.label)] += 1;
      const gold = own.rows[row].gold ?? null;
      const change = gold === null || one.label === other.label ? null : other.label === gold ? "gain" : one.label === gold ? "loss" : null;
      if (one.label !== other.label) flipped += 1;
      gain += Number(change === "gain");
      loss += Number(change === "loss");
      const wanted = given.change === "all" || (given.change === "flip" ? one.label !== other.label : change === given.change);
      if (wanted) rows.push({item: own.rows[row].item, text: own.rows[row].text, gold, change, a: one, b: other});
    }
    const named = own.design.has.gold;
    return {a: {study: given.a}, b: {study: given.a}, items, only_a: 0, only_b: 0, flipped, gain: named ? gain : null, loss: named ? loss : null, agreement: items ? 1 - flipped / items : null, kappa: null, table: {labels, counts}, same_texts: true, rows: rows.slice(given.from, given.from + given.count)};
  }

  #sideOf(study, own, row, width, side) {
    const cells = [];
    for (let column = 0; column < width; column += 1) {
      if (own.codes[row * width + column] !== 0 && side(this.#facts(study, own, row, column))) cells.push(this.#cell(study, own, row, column));
    }
    if (!cells.length) return null;
    const many = new Map();
    for (const one of cells) if (one.label !== null) many.set(one.label, (many.get(one.label) || 0) + 1);
    const label = [...many].sort((one, other) => other[1] - one[1] || (one[0] < other[0] ? -1 : 1))[0]?.[0] ?? null;
    const typical = cells.find((one) => one.label === label) ?? cells[0];
    return {label, legend: typical.legend, share: cells.filter((one) => one.label === label).length / cells.length, answers: cells.length, column: typical.column, text: typical.text, length: typical.length, status: typical.status};
  }

  exportFile() {
    return "#";
  }

  async marks() {
    return {marks: [], total: 0, who: []};
  }
}
