// The grid's cells and rows, fetched a block at a time as they come into sight, and forgotten again.

const TALL = 256; // rows of a block of cells
const WIDE = 256; // its columns
const ROWS = 100; // rows of a block of row texts
const MOST_BLOCKS = 96; // of cells: 64 thousand cells each
const MOST_ROWS = 60;
const AT_ONCE = 4;

/** What is known of one view of the grid: asked for by block, the blocks in sight first. */
export class GridData {
  /**
   * @param ask Gets `("cells", {from, count, left, width, step})` or `("rows", {from, count})` and a signal.
   * @param arrived Called when something new is there to be drawn.
   * @param failed Called with what went wrong.
   */
  constructor(ask, arrived, failed) {
    Object.assign(this, {ask, arrived, failed});
    this.clear();
  }

  /** Forget everything: the view or the study has changed. */
  clear() {
    for (const one of this.flights?.values() || []) one.abort();
    this.cells = new Map();
    this.rows = new Map();
    this.flights = new Map();
    this.wanted = [];
  }

  /** Everything asked for anew, but shown as it was until then: answers have come. */
  refresh() {
    for (const some of [this.cells, this.rows]) for (const block of some.values()) block.old = true;
  }

  /** The block that has a cell, and the cell's place in it; null as long as it is not there. */
  cell(row, column, step = 1) {
    const block = this.cells.get(`${step} ${Math.floor(row / TALL)} ${Math.floor(column / WIDE)}`);
    if (!block) return null;
    const [down, right] = [row % TALL, column % WIDE];
    return down < block.rows && right < block.width ? {block, at: down * block.width + right} : null;
  }

  /** The blocks of a window, each with its place and size; `block` is null as long as it is not there. */
  *inSight({first, last, from, to, step}) {
    for (let down = Math.floor(first / TALL); down * TALL < last; down += 1) {
      for (let across = Math.floor(from / WIDE); across * WIDE < to; across += 1) {
        const [row, column] = [down * TALL, across * WIDE];
        const block = this.cells.get(`${step} ${down} ${across}`) ?? null;
        yield {block, row, column, rows: Math.min(TALL, last - row), width: Math.min(WIDE, to - column)};
      }
    }
  }

  row(row) {
    return this.rows.get(String(Math.floor(row / ROWS)))?.some[row % ROWS] ?? null;
  }

  /** Say what is in sight; blocks that are not there are asked for, others' requests are given up. */
  want({top, bottom, left, right, step = 1, texts}) {
    const wanted = [];
    if (texts) for (let at = Math.floor(top / ROWS); at * ROWS < bottom; at += 1) wanted.push({kind: "rows", key: String(at), from: at * ROWS});
    for (let down = Math.floor(top / TALL); down * TALL < bottom; down += 1) {
      for (let across = Math.floor(left / WIDE); across * WIDE < right; across += 1) {
        wanted.push({kind: "cells", key: `${step} ${down} ${across}`, from: down * TALL, left: across * WIDE, step});
      }
    }
    this.wanted = wanted;
    const names = new Set(wanted.map((one) => `${one.kind} ${one.key}`));
    for (const [name, flight] of this.flights) {
      if (!names.has(name)) {
        flight.abort();
        this.flights.delete(name);
      }
    }
    this.#more();
  }

  #more() {
    for (const one of this.wanted) {
      if (this.flights.size >= AT_ONCE) return;
      const name = `${one.kind} ${one.key}`;
      const known = this[one.kind].get(one.key);
      if (known) {
        this[one.kind].delete(one.key); // the last used is the last to go
        this[one.kind].set(one.key, known);
      }
      if ((!known || known.old) && !this.flights.has(name)) this.#fetch(one, name);
    }
  }

  async #fetch(one, name) {
    const flight = new AbortController();
    this.flights.set(name, flight);
    const known = this[one.kind];
    try {
      const window = one.kind === "rows" ? {from: one.from, count: ROWS} : {from: one.from * one.step, count: TALL, left: one.left, width: WIDE, step: one.step};
      const came = await this.ask(one.kind, window, flight.signal);
      if (this.flights.get(name) !== flight) return;
      known.set(one.key, one.kind === "rows" ? {some: came.rows} : came);
      const most = one.kind === "rows" ? MOST_ROWS : MOST_BLOCKS;
      for (const key of known.keys()) {
        if (known.size <= most) break;
        known.delete(key);
      }
      this.flights.delete(name);
      this.arrived();
      this.#more();
    } catch (error) {
      if (this.flights.get(name) === flight) this.flights.delete(name);
      if (error.name !== "AbortError") this.failed(error);
    }
  }
}
