// Where everything that is shown comes from: the server. No other module asks for anything.

import { wholeDesign } from "./legend.js";

/** A refusal of the server, in words: `problem`, `where`, `expected`, `found`, `fix`. */
export class Refusal extends Error {
  constructor(said) {
    super(said.problem || "The server gave no reason.");
    this.said = said;
  }

  get words() {
    const {found, expected, fix} = this.said;
    return [this.message, found ? `Found: ${found}.` : "", expected ? `Expected: ${expected}.` : "", fix ? `Try: ${fix}` : ""].filter(Boolean).join(" ");
  }
}

/** The parameters of an address, without those that are empty. */
export function query(given) {
  const kept = Object.entries(given).filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false);
  return new URLSearchParams(kept.map(([name, value]) => [name, value === true ? "1" : String(value)])).toString();
}

/** What came of cells: `rows` × `width` legend codes, and whether each matches the query. */
export function unpackedCells(bytes, rows, width, cellBytes, {match}) {
  const size = rows * width;
  const codes = cellBytes === 2 ? new Uint16Array(bytes.slice(0, 2 * size)) : new Uint8Array(bytes, 0, size);
  return {rows, width, codes, match: match ? new Uint8Array(bytes, size * cellBytes, size) : null};
}

export class ServerSource {
  async #sent(path, options = {}) {
    let reply;
    try {
      reply = await fetch(path, {cache: "no-store", credentials: "omit", ...options});
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Refusal({problem: "The server does not answer.", fix: "check that `quaver view` is still running, then reload this page."});
    }
    if (reply.ok) return reply;
    let said = {error: {problem: reply.status === 404 ? "There is nothing at this address." : `The server answered ${reply.status}.`}};
    try {
      said = await reply.json();
    } catch {
      // an empty body: the status says it
    }
    throw new Refusal(said.error || {});
  }

  async #read(path, given = {}, options = {}) {
    const asked = query(given);
    return (await this.#sent(asked ? `${path}?${asked}` : path, options)).json();
  }

  async #changed(path, method, body, type = "application/json") {
    const headers = {"X-Quaver-View": "1", "Content-Type": type};
    const reply = await this.#sent(path, {method, headers, body: type === "application/json" ? JSON.stringify(body ?? {}) : body});
    return reply.json();
  }

  #of(study) {
    return `api/studies/${encodeURIComponent(study)}`;
  }

  studies() {
    return this.#read("api/studies");
  }

  pulse() {
    return this.#read("api/pulse");
  }

  async overview(study) {
    const known = await this.#read(this.#of(study));
    return {...known, design: wholeDesign(known.design)};
  }

  async design(study) {
    return wholeDesign(await this.#read(`${this.#of(study)}/design`));
  }

  grid(study, view, options) {
    return this.#read(`${this.#of(study)}/grid`, view, options);
  }

  rows(study, view, from, count, options) {
    return this.#read(`${this.#of(study)}/rows`, {...view, from, count}, options);
  }

  find(study, view, item, options) {
    return this.#read(`${this.#of(study)}/rows`, {...view, find: item, count: 1}, options);
  }

  /** A window of cells; `cellBytes` is the design's. */
  async cells(study, view, window, cellBytes, options) {
    const reply = await this.#sent(`${this.#of(study)}/cells?${query({...view, ...window})}`, options);
    const bytes = await reply.arrayBuffer();
    return unpackedCells(bytes, Number(reply.headers.get("X-Rows")), Number(reply.headers.get("X-Width")), cellBytes, window);
  }

  answers(study, view, from, count, excerpt, options) {
    return this.#read(`${this.#of(study)}/answers`, {...view, from, count, excerpt}, options);
  }

  async answer(study, given, options) {
    const known = await this.#read(`${this.#of(study)}/answer`, given, options);
    return {...known, column: {...known.column, at: known.column.column ?? known.column.at}};
  }

  facets(study, view, options) {
    return this.#read(`${this.#of(study)}/facets`, view, options);
  }

  marks(study, given, options) {
    return this.#read(`${this.#of(study)}/marks`, given, options);
  }

  mark(study, mark) {
    return this.#changed(`${this.#of(study)}/marks`, "POST", mark);
  }

  unmark(study, id) {
    return this.#changed(`${this.#of(study)}/marks/${encodeURIComponent(id)}`, "DELETE");
  }

  marksToGold(study, given) {
    return this.#changed(`${this.#of(study)}/marks/gold`, "POST", given);
  }

  setWho(who) {
    return this.#changed("api/who", "POST", {who});
  }
}
