// A chart of the report, put together anew from what a picture needs, so that it follows the page's colours.

import { made, visible } from "./elements.js";

const SVG = "http://www.w3.org/2000/svg";
const DRAWN = new Set(["svg", "g", "path", "rect", "line", "text", "tspan", "circle", "defs", "clipPath", "title", "a"]);
const KEPT = new Set([
  "d", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "rx", "ry", "width", "height", "viewBox", "transform", "clip-path", "id", "fill", "fill-opacity", "opacity",
  "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "stroke-miterlimit", "stroke-linecap", "text-anchor", "font-size", "font-weight", "font-style",
]);
const VARIABLE = /^var\(--[a-z0-9-]+\)$/;
const STYLED = new Set(["fill", "stroke"]);

function copied(from, name, lead) {
  const tag = from.localName;
  if (!DRAWN.has(tag) || from.namespaceURI !== SVG) return null;
  const made_anew = document.createElementNS(SVG, tag);
  for (const {name: key, value} of from.attributes) {
    if (!KEPT.has(key)) continue;
    if (key === "id") made_anew.setAttribute(key, `${name}-${value}`);
    else if (value.includes("url(")) made_anew.setAttribute(key, value.replace(/^url\(#([\w-]+)\)$/, `url(#${name}-$1)`).replace(/^url\((?!#).*/, "none"));
    else made_anew.setAttribute(key, value);
  }
  for (const part of (from.dataset.style || "").split(";")) {
    const [key, value = ""] = part.split(":", 2).map((one) => one.trim());
    if (STYLED.has(key) && VARIABLE.test(value)) made_anew.style.setProperty(key, value);
  }
  if (from.classList.contains("described")) described(from, made_anew, lead);
  for (const child of from.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) made_anew.append(document.createTextNode(visible(child.data)));
    else if (child.nodeType === Node.ELEMENT_NODE) {
      const whole = copied(child, name, lead);
      if (whole) made_anew.append(whole);
    }
  }
  return made_anew;
}

/** A mark that says what it stands for, and leads to the answers behind it. */
function described(from, mark, lead) {
  mark.classList.add("described");
  const found = /^#prompt-(\d+)$/.exec(from.getAttribute("href") || "");
  const address = found ? lead(Number(found[1]) - 1, from.dataset.model ? Number(from.dataset.model) - 1 : -1) : null;
  if (address) mark.setAttribute("href", address);
  else if (mark.localName === "g") mark.setAttribute("role", "img");
  const title = from.querySelector("title");
  if (title) mark.setAttribute("aria-label", visible(title.textContent));
}

/**
 * A picture from SVG text; null if it is none.
 *
 * @param text As the report writes it.
 * @param name Unique in the page.
 * @param alternative What it shows, for those who do not see it.
 * @param lead Gives the address of a prompt's answers, by the places of prompt and model.
 */
export function picture(text, name, alternative, lead) {
  // the page's policy forbids styles in markup, even in a document that is never shown
  const unstyled = text.replace(/<[^>]+>/g, (tag) => tag.replace(/ style="/g, ' data-style="'));
  const parsed = new DOMParser().parseFromString(unstyled, "image/svg+xml");
  const root = parsed.documentElement;
  if (root.localName !== "svg" || parsed.querySelector("parsererror")) return null;
  const svg = copied(root, name, lead);
  const marks = [...svg.querySelectorAll(".described")];
  svg.setAttribute("role", marks.length ? "group" : "img");
  svg.setAttribute("aria-label", alternative);
  const wide = Number.parseFloat(root.getAttribute("width")) || 0;
  if (wide) svg.style.maxWidth = `${wide}px`;
  oneStop(svg, marks);
  return made("div", {class: "picture"}, svg);
}

/** One stop of the tab key in a chart; the arrow keys go on from mark to mark. */
function oneStop(svg, marks) {
  marks.forEach((mark, at) => mark.setAttribute("tabindex", at ? "-1" : "0"));
  svg.addEventListener("keydown", (event) => {
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    const at = marks.indexOf(event.target.closest(".described"));
    if (!step || at < 0) return;
    event.preventDefault();
    const next = marks[(at + step + marks.length) % marks.length];
    for (const mark of marks) mark.setAttribute("tabindex", mark === next ? "0" : "-1");
    next.focus();
  });
}
