// Elements of the page. Whatever comes from a study gets into it as text, never as HTML.

const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A text with its control characters, and those that turn the reading order, made visible. */
export function visible(text) {
  return String(text).replace(HIDDEN, (sign) => {
    const code = sign.charCodeAt(0);
    if (code < 32) return String.fromCharCode(0x2400 + code);
    return code === 127 ? "␡" : `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

const PROPERTIES = new Set(["hidden", "disabled", "checked", "value", "selected", "open", "tabIndex", "required", "inert"]);

/**
 * An element.
 *
 * Attributes whose name is a property (`hidden`, `value` …) are set as one, `on…` takes a listener, and an
 * attribute that is null, undefined or false is left out. Children that are null or false are left out too.
 */
export function made(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (PROPERTIES.has(name)) element[name] = value;
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : visible(value));
  }
  fill(element, ...children);
  return element;
}

/** Put children, elements or texts, where others were or nothing was. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat().filter((one) => one !== null && one !== undefined && one !== false).map(node));
  return element;
}

function node(child) {
  return child instanceof Node ? child : document.createTextNode(visible(child));
}

/** Words for people who do not see the page. */
export function unseen(text) {
  return made("span", {class: "unseen"}, text);
}

export function button(words, act, attributes = {}) {
  return made("button", {type: "button", onclick: act, ...attributes}, words);
}

/** A choice of one of several; `options` are pairs of value and words. */
export function choice(words, options, chosen, act, attributes = {}) {
  const select = made("select", {onchange: () => act(select.value), ...attributes}, ...options.map(([value, name]) => made("option", {value: String(value)}, name)));
  select.value = String(chosen);
  return made("label", {class: "choice"}, made("span", {}, words), select);
}

export function tick(words, checked, act, attributes = {}) {
  const box = made("input", {type: "checkbox", checked, onchange: () => act(box.checked), ...attributes});
  return made("label", {class: "tick"}, box, " ", words);
}

export function count(number) {
  return number === null || number === undefined ? "–" : number.toLocaleString("en");
}

/** "1 answer", "2 answers". */
export function counted(number, one, several = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : several}`;
}

/** A share as a percentage that never rounds something to nothing or to all. */
export function percent(share) {
  if (share === null || share === undefined || Number.isNaN(share)) return "–";
  const number = 100 * share;
  if (number > 0 && number < 1) return number < 0.1 ? "<0.1%" : `${number.toFixed(1)}%`;
  if (number > 99 && number < 100) return number > 99.9 ? ">99.9%" : `${number.toFixed(1)}%`;
  return `${Math.round(number)}%`;
}

export function money(amount) {
  if (amount === null || amount === undefined) return "–";
  if (amount === 0) return "$0";
  return amount < 0.01 ? `$${amount.toPrecision(2)}` : `$${amount.toLocaleString("en", {minimumFractionDigits: 2, maximumFractionDigits: 2})}`;
}

export function seconds(time) {
  if (time === null || time === undefined) return "–";
  if (time < 1) return `${Math.round(1000 * time)} ms`;
  return time < 120 ? `${time.toFixed(1)} s` : `${Math.round(time / 60)} min`;
}

/** A text on one line, of at most so many characters. */
export function cut(text, most) {
  const line = String(text ?? "").replace(/\s+/g, " ").trim();
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`;
}
