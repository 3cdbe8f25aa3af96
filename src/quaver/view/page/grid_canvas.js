// Draws the part of the grid that is in sight: cells in the colours of their labels, names and margins around them.

import { palette } from "./colours.js";
import { cut, percent, visible } from "./elements.js";

export const ZOOMS = [
  {name: "2 pixels", width: 2, height: 2},
  {name: "4 pixels", width: 4, height: 4},
  {name: "8 pixels", width: 8, height: 8},
  {name: "marks", width: 15, height: 15},
  {name: "letters", width: 22, height: 22, signs: true},
  {name: "words", width: 84, height: 26, words: true},
];
const FONT = '"Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif';
const BAND = 17;
const MARGIN = 30; // above the cells: each column's agreement
const TALLEST = 96; // of names that stand upright

/** The sheet that the grid is drawn on. */
export class GridCanvas {
  constructor(canvas) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d", {alpha: false});
    this.colours = palette();
    this.lines = new Map();
    this.made = 0; // pictures of blocks in earlier colours are drawn anew
  }

  /** Take the page's colours anew: light has become dark, or the other way round. */
  recolour() {
    this.colours = palette();
    this.made += 1;
  }

  /** How much room names and margins take. */
  frame({bands, zoom, narrow, whole}) {
    const texts = !whole && zoom.height >= 15;
    this.pen.font = `11.5px ${FONT}`;
    this.heights = bands.map((band) => this.#bandHeight(band, zoom));
    const left = texts ? (narrow ? 104 : 264) : 44;
    return {left, top: this.heights.reduce((sum, one) => sum + one, 0) + MARGIN + 4, right: texts ? 58 : whole ? 4 : 44, texts};
  }

  #bandHeight(band, zoom) {
    const single = band.runs.every((one) => one.to - one.from === 1);
    if (!single || zoom.width < 12) return BAND;
    const widest = Math.max(...band.runs.map((one) => this.pen.measureText(one.text).width));
    return widest + 6 <= zoom.width ? BAND : Math.min(TALLEST, widest + 8);
  }

  /** Draw everything once; `state` is the view's. */
  draw(state) {
    const {pen, canvas} = this;
    const {viewWidth, viewHeight} = state;
    const scale = devicePixelRatio || 1;
    if (canvas.width !== Math.round(viewWidth * scale) || canvas.height !== Math.round(viewHeight * scale)) {
      canvas.width = Math.round(viewWidth * scale);
      canvas.height = Math.round(viewHeight * scale);
      canvas.style.width = `${viewWidth}px`;
      canvas.style.height = `${viewHeight}px`;
    }
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.fillStyle = this.colours.paper;
    pen.fillRect(0, 0, viewWidth, viewHeight);
    this.#cells(state);
    this.#names(state);
    this.#bands(state);
    this.#cursor(state);
  }

  #cells(state) {
    const {pen} = this;
    const {data, zoom, frame, first, last, from, to, step} = state;
    pen.save();
    pen.beginPath();
    pen.rect(frame.left, frame.top, state.viewWidth - frame.left - frame.right, state.viewHeight - frame.top);
    pen.clip();
    pen.textBaseline = "middle";
    for (const {block, row, column, rows, width} of data.inSight({first, last, from, to, step})) {
      const x = frame.left + column * zoom.width - state.left;
      const y = frame.top + row * zoom.height - state.top;
      if (!block) {
        pen.fillStyle = this.colours.panel;
        pen.fillRect(x, y, width * zoom.width - 1, rows * zoom.height - 1);
      } else if (Math.min(zoom.width, zoom.height) < 8) this.#small(block, x, y, state);
      else this.#large(block, row, column, state);
    }
    pen.restore();
  }

  /** Cells too small for gaps and signs: one picture a block, of a pixel a cell. */
  #small(block, x, y, {zoom, legend, dimmed}) {
    const key = `${this.made} ${dimmed}`;
    if (block.picture?.key !== key) block.picture = {key, canvas: this.#pixels(block, legend, dimmed)};
    this.pen.imageSmoothingEnabled = false;
    this.pen.drawImage(block.picture.canvas, x, y, block.width * zoom.width, block.rows * zoom.height);
  }

  #pixels(block, legend, dimmed) {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [Math.max(1, block.width), Math.max(1, block.rows)];
    const pen = canvas.getContext("2d");
    const picture = pen.createImageData(canvas.width, canvas.height);
    const known = new Map();
    for (let at = 0; at < block.codes.length; at += 1) {
      const code = block.codes[at];
      if (!known.has(code)) known.set(code, (this.#fill(code, legend).match(/\d+/g) || [0, 0, 0]).map(Number));
      const [red, green, blue] = known.get(code);
      const missing = legend.kindOf(code) === "missing";
      const strength = missing ? 0 : dimmed && block.match && !block.match[at] ? 40 : 255;
      picture.data.set([red, green, blue, strength], 4 * at);
    }
    pen.putImageData(picture, 0, 0);
    return canvas;
  }

  #fill(code, legend) {
    const place = legend.placeOf(code);
    if (place !== undefined) return this.colours.label(place);
    return legend.statusOf(code) === "error" ? this.colours.failed : this.colours.missing;
  }

  #large(block, start, left, state) {
    const {pen, colours} = this;
    const {zoom, frame, first, last, from, to, legend, dimmed} = state;
    for (let row = Math.max(start, first); row < Math.min(start + block.rows, last); row += 1) {
      const y = frame.top + row * zoom.height - state.top;
      for (let column = Math.max(left, from); column < Math.min(left + block.width, to); column += 1) {
        const x = frame.left + column * zoom.width - state.left;
        const at = (row - start) * block.width + column - left;
        const code = block.codes[at];
        const place = legend.placeOf(code);
        const kind = place === undefined ? legend.kindOf(code) : "label";
        if (kind === "missing") {
          pen.fillStyle = colours.rule;
          pen.fillRect(x + zoom.width / 2 - 1, y + zoom.height / 2 - 1, 2, 2);
          continue;
        }
        pen.globalAlpha = dimmed && block.match && !block.match[at] ? 0.16 : 1;
        const failed = kind === "status" && legend.statusOf(code) === "error";
        pen.fillStyle = this.#fill(code, legend);
        pen.fillRect(x, y, zoom.width - 1, zoom.height - 1);
        if (zoom.signs || zoom.words) this.#written(code, kind, failed, place, x, y, state);
        pen.globalAlpha = 1;
      }
    }
  }

  #written(code, kind, failed, place, x, y, {zoom, legend}) {
    const {pen, colours} = this;
    pen.fillStyle = kind === "label" ? colours.onLabel(place) : failed ? colours.onFailed : colours.onMissing;
    const words = zoom.words ? legend.wordsOf(code) : legend.signOf(code);
    if (zoom.words) {
      pen.font = `11.5px ${FONT}`;
      pen.textAlign = "left";
      pen.fillText(this.#fitted(words, zoom.width - 12), x + 6, y + zoom.height / 2);
    } else {
      pen.font = `600 11px ${FONT}`;
      pen.textAlign = "center";
      pen.fillText(words, x + zoom.width / 2 - 0.5, y + zoom.height / 2);
    }
  }

  /** A text cut to a width; kept, since measuring takes longer than drawing. */
  #fitted(text, width) {
    const key = `${Math.round(width)} ${this.pen.font} ${text}`;
    let line = this.lines.get(key);
    if (line === undefined) {
      const whole = cut(visible(String(text).slice(0, 200)), 120);
      let length = whole.length;
      line = whole;
      while (length > 0 && this.pen.measureText(line).width > width) {
        length = Math.min(length - 1, Math.floor(length * 0.9));
        const tail = /\s/.test(whole) ? 0 : Math.floor((2 * length) / 3); // the ends of ids tell them apart
        line = length > 0 ? `${whole.slice(0, length - tail).trimEnd()}…${tail ? whole.slice(-tail) : ""}` : "";
      }
      if (this.lines.size > 4000) this.lines.clear();
      this.lines.set(key, line);
    }
    return line;
  }

  #names(state) {
    const {pen, colours} = this;
    const {frame, first, last, zoom, top, data, viewWidth, viewHeight, legend, whole} = state;
    pen.fillStyle = colours.paper;
    pen.fillRect(0, frame.top, frame.left - 3, viewHeight);
    pen.fillRect(viewWidth - frame.right, frame.top, frame.right, viewHeight);
    pen.save();
    pen.beginPath();
    pen.rect(0, frame.top, viewWidth, viewHeight - frame.top);
    pen.clip();
    pen.textBaseline = "middle";
    pen.textAlign = "left";
    for (let row = first; row < last && !whole; row += 1) {
      const one = data.row(row);
      const y = frame.top + row * zoom.height - top;
      if (!one) continue;
      if (frame.texts) this.#rowName(one, row, y, state);
      this.#agreement(viewWidth - frame.right + 6, y, one.agreement, state);
      if (!frame.texts && one.gold !== null && one.gold !== undefined) {
        pen.fillStyle = colours.label(legend.placeOf(legend.codeOf(one.gold)) ?? 0);
        pen.fillRect(frame.left - 14, y, 8, zoom.height);
      }
    }
    pen.restore();
  }

  #rowName(one, row, y, {frame, zoom, legend, cursor, viewWidth}) {
    const {pen, colours} = this;
    const middle = y + zoom.height / 2;
    if (cursor && cursor.row === row) {
      pen.fillStyle = colours.panel;
      pen.fillRect(0, y, frame.left - 4, zoom.height - 1);
      pen.fillRect(viewWidth - frame.right + 2, y, frame.right, zoom.height - 1);
    }
    pen.font = `600 11.5px ${FONT}`;
    pen.fillStyle = colours.ink;
    const name = this.#fitted(one.item, frame.left * 0.34);
    const wide = pen.measureText(name).width;
    pen.fillText(name, 10, middle);
    if (one.mark) {
      pen.fillStyle = colours.link;
      pen.beginPath();
      pen.arc(5, middle, 2.5, 0, 7);
      pen.fill();
    }
    pen.font = `11.5px ${FONT}`;
    pen.fillStyle = colours.soft;
    const room = frame.left - 10 - wide - 10 - 24;
    if (one.text && room > 30) pen.fillText(this.#fitted(one.text, room), 10 + wide + 8, middle);
    if (one.gold === null || one.gold === undefined) return;
    pen.fillStyle = colours.label(legend.placeOf(legend.codeOf(one.gold)) ?? 0);
    pen.beginPath();
    pen.arc(frame.left - 12, middle, 4.5, 0, 7);
    pen.fill();
  }

  #agreement(x, y, share, {zoom, frame}) {
    if (share === null || share === undefined) return;
    const {pen, colours} = this;
    const wide = frame.right - 12;
    const high = Math.max(1, Math.min(8, zoom.height - 2));
    const at = y + (zoom.height - high) / 2;
    pen.fillStyle = colours.rule;
    pen.fillRect(x, at, wide, high);
    pen.fillStyle = colours.soft;
    pen.fillRect(x, at, wide * share, high);
  }

  #bands(state) {
    const {pen, colours, heights} = this;
    const {bands, columns, frame, from, to, zoom, left, viewWidth, margin, goldShown, narrow} = state;
    pen.fillStyle = colours.paper;
    pen.fillRect(0, 0, viewWidth, frame.top);
    pen.textBaseline = "middle";
    let y = 0;
    bands.forEach((band, at) => {
      pen.font = `11.5px ${FONT}`;
      pen.fillStyle = colours.soft;
      pen.textAlign = "right";
      if (frame.left > 60) pen.fillText(this.#fitted(band.name, frame.left - 20), frame.left - 10, y + heights[at] - BAND / 2);
      this.#runs(band, y, heights[at], state);
      y += heights[at];
    });
    pen.save();
    pen.beginPath();
    pen.rect(frame.left, y, viewWidth - frame.left - frame.right, MARGIN);
    pen.clip();
    for (let column = from; column < to; column += 1) {
      const share = columns[column].agreement;
      const x = frame.left + column * zoom.width - left;
      const wide = Math.max(1, zoom.width - (zoom.width >= 4 ? 1 : 0));
      pen.fillStyle = colours.panel;
      pen.fillRect(x, y + 4, wide, MARGIN - 6);
      if (share === null || share === undefined) continue;
      pen.fillStyle = colours.soft;
      pen.fillRect(x, y + 4 + (MARGIN - 6) * (1 - share), wide, (MARGIN - 6) * share);
    }
    pen.restore();
    pen.font = `11px ${FONT}`;
    pen.fillStyle = colours.soft;
    pen.textAlign = "right";
    if (frame.left > 60) {
      pen.fillText(narrow ? "agreement" : `${goldShown ? "● gold label · " : ""}agreement`, frame.left - 10, y + MARGIN / 2 + 1);
    }
    pen.textAlign = "left";
    if (frame.right > 20) pen.fillText(percent(margin?.agreement), viewWidth - frame.right + 6, y + MARGIN / 2 + 1);
    pen.fillStyle = colours.rule;
    pen.fillRect(0, frame.top - 2, viewWidth, 1);
  }

  #runs(band, y, height, {frame, zoom, left, viewWidth}) {
    const {pen, colours} = this;
    const edge = viewWidth - frame.right;
    pen.save();
    pen.beginPath();
    pen.rect(frame.left, y, edge - frame.left, height);
    pen.clip();
    pen.font = `11.5px ${FONT}`;
    band.runs.forEach((run, at) => {
      const start = frame.left + run.from * zoom.width - left;
      const end = frame.left + run.to * zoom.width - left;
      if (end < frame.left || start > edge) return;
      pen.fillStyle = colours.panel;
      if (at % 2 === 0) pen.fillRect(start, y, end - start - 1, height - 1);
      pen.fillStyle = colours.rule;
      if (end - start > 3) pen.fillRect(start, y, 1, height - 1);
      pen.fillStyle = colours.ink;
      if (height > BAND) {
        pen.save();
        pen.translate((start + end) / 2, y + height - 5);
        pen.rotate(-Math.PI / 2);
        pen.textAlign = "left";
        pen.fillText(this.#fitted(run.text, height - 8), 0, 0);
        pen.restore();
        return;
      }
      const [shown, room] = [Math.max(start, frame.left), Math.min(end, edge) - Math.max(start, frame.left)];
      if (room < 12) return;
      pen.textAlign = "left";
      pen.fillText(this.#fitted(run.text, room - 6), shown + 4, y + BAND / 2);
    });
    pen.restore();
  }

  #cursor({cursor, frame, zoom, top, left, focused, whole}) {
    if (!cursor || whole) return;
    const {pen, colours} = this;
    const x = frame.left + cursor.column * zoom.width - left;
    const y = frame.top + cursor.row * zoom.height - top;
    if (x < frame.left - 1 || y < frame.top - 1) return;
    const grow = zoom.width < 8 ? 3 : 1;
    pen.lineWidth = focused ? 2.5 : 1.5;
    pen.strokeStyle = colours.paper;
    pen.strokeRect(x - grow - 1, y - grow - 1, zoom.width + 2 * grow + 1, zoom.height + 2 * grow + 1);
    pen.strokeStyle = focused ? colours.link : colours.ink;
    pen.strokeRect(x - grow, y - grow, zoom.width + 2 * grow - 1, zoom.height + 2 * grow - 1);
  }
}
