// The parts of an answer: what the model wrote and what was read of it, how sure it was, what it was asked.

import { count, fill, made, percent, seconds, visible } from "./elements.js";
import { STATUS_WORDS, chipClass } from "./colours.js";
import { columnWords } from "./grid_bands.js";
import { difference } from "./text_diff.js";

const SHORT = 20_000; // characters of a text that are shown at once

/** A text, at first its beginning, with a button for the rest. */
export function longText(text, {attributes = {}} = {}) {
  const box = made("pre", {tabIndex: text.length > 1200 ? 0 : -1, ...attributes});
  const draw = (length) => {
    fill(box, text.slice(0, length));
    const rest = text.length - length;
    if (rest > 0) box.append(made("button", {type: "button", class: "more", onclick: () => draw(length + 10 * SHORT)}, `Show more (${count(rest)} characters left)`));
  };
  draw(SHORT);
  return box;
}

/** What the model wrote. */
export function rawAnswer({response, reading}) {
  if (!response) return [made("p", {class: "missing"}, reading?.label ? "Only the label is known; its answer was not imported." : "There is no answer here.")];
  const box = response.text ? longText(response.text, {attributes: {class: "answer", "aria-label": "The answer as it was written"}}) : made("p", {class: "missing"}, response.error ? "The call failed." : "The answer is empty.");
  const rest = response.length > response.text.length ? made("p", {class: "soft"}, `These are the first of ${count(response.length)} characters.`) : null;
  return [box, rest, response.error ? made("p", {class: "missing"}, response.error) : null];
}

export function thinking({response}) {
  if (!response?.thinking) return null;
  const box = longText(response.thinking, {attributes: {class: "thinking"}});
  return made("details", {open: response.thinking.length < 400}, made("summary", {}, `Thinking (${count(response.thinking.length)} characters)`), box);
}

/** An item's pictures and recordings; of any other file its name. */
export function shown(media) {
  return (media || []).map(({name, type, at}) => {
    if (type.startsWith("image/")) return made("img", {class: "shown", src: at, alt: name});
    return type.startsWith("audio/") ? made("audio", {controls: true, preload: "none", src: at, "aria-label": name}) : made("p", {}, made("a", {href: at, target: "_blank", rel: "noopener"}, name));
  });
}

const QUOTE_WORDS = {
  invented: "These words are not in the text.",
  none: "The answer quotes nothing.",
  fuzzy: "The text has these words in a slightly different form.",
};

/** The words that the answer quotes, marked in the text; of spans, also what the other answers mark. */
export function quote({quote: one, column}, legend, design) {
  if (!one) return null;
  if (one.markings.length) return made("section", {class: "markings"}, ...one.markings.flatMap((some, at) => marking(some, at, one, {column, legend, design})));
  const words = one.words ? made("blockquote", {}, one.words) : null;
  const text = one.parts ? made("p", {class: "quoted"}, one.parts[0], made("mark", {}, one.parts[1]), one.parts[2]) : words;
  const remark = QUOTE_WORDS[one.status];
  return made("section", {}, made("h3", {}, "The words that decide"), remark ? made("p", {class: "soft"}, remark) : null, text);
}

/** A text as some answers, or people, mark it: each span with its label behind it. */
function marking({columns, parts}, at, {status, words}, {column, legend, design}) {
  const others = columns.filter((one) => one !== column.at).map((one) => columnWords(design.columns[one], design));
  const names = others.length > 3 ? [...others.slice(0, 3), `${count(others.length - 3)} more`] : others;
  const title = columns.length ? (at ? `Marked differently by ${names.join(", ")}` : "What the answer marks") : "What people marked";
  const alike = names.length && !at ? made("p", {class: "soft"}, `The same is marked by ${names.join(", ")}.`) : null;
  const lost = !at && status === "invented" ? made("p", {class: "soft"}, "Some of these words are not in the text: ", words) : null;
  const text = parts.map(([part, labels]) => (labels.length ? made("mark", {class: chipClass(legend.placeOf(legend.codeOf(labels[0])) ?? 0)}, part, made("small", {}, labels.map((label) => legend.labelName(label)).join(", "))) : part));
  const none = parts.some(([, labels]) => labels.length) ? null : made("p", {class: "soft"}, "Nothing is marked.");
  return [made("h3", {}, title), alike, lost, none, made("p", {class: "quoted"}, ...text)];
}

/** The labels' probabilities as bars. */
export function probabilities({probabilities: some, reading}, legend) {
  if (!some?.length) return null;
  const sorted = [...some].sort((one, other) => other.p - one.p);
  const rows = sorted.map((one) => {
    const code = legend.codeOf(one.label);
    const bar = made("span", {class: `fill c${(legend.placeOf(code) ?? 0) % 6}`});
    bar.style.width = `${Math.max(0.5, 100 * one.p)}%`;
    return made("li", {class: one.label === reading?.label ? "given" : ""}, legend.labelChip(one.label), made("span", {class: "track", "aria-hidden": "true"}, bar), made("span", {class: "n"}, percent(one.p)));
  });
  const mass = reading?.mass_coverage;
  return made("section", {}, made("h3", {}, "How likely each label was"), made("ul", {class: "bars"}, ...rows), mass !== null && mass !== undefined ? made("p", {class: "soft"}, `These labels have ${percent(mass)} of the probability; the rest went to other words.`) : null);
}

/** The answer's tokens, each with its probability and what else was likely. */
export function tokens({tokens: some, tokens_total: all}) {
  if (!some?.length) return null;
  const rows = some.map((one) => made("tr", {}, made("td", {}, made("code", {}, spaced(one.text))), made("td", {class: "n"}, percent(Math.exp(one.logprob))), made("td", {}, ...(one.top || []).slice(0, 6).flatMap(([text, logprob], at) => [at ? ", " : "", made("code", {}, spaced(text)), ` ${percent(Math.exp(logprob))}`]))));
  const head = made("tr", {}, ...["Token", "Probability", "Most likely here"].map((words) => made("th", {scope: "col"}, words)));
  const words = all > some.length ? `Tokens (the first ${count(some.length)} of ${count(all)})` : `Tokens (${count(some.length)})`;
  return made("details", {}, made("summary", {}, words), made("div", {class: "scroll", tabIndex: 0, role: "region", "aria-label": "Tokens"}, made("table", {}, made("thead", {}, head), made("tbody", {}, ...rows))));
}

function spaced(text) {
  return visible(text).replace(/ /g, "␣").replace(/\n/g, "⏎") || "∅";
}

/** The label that was read, and why there is none. */
export function verdict({reading, readings, item, gold, modal, is: known, evaluator}, legend, chooseEvaluator) {
  if (!reading) return null;
  const chip = reading.label !== null ? legend.labelChip(reading.label) : legend.chip(legend.codeOf(null, reading.status));
  const notes = [];
  if (gold !== null && gold !== undefined) notes.push(known?.right ? [made("b", {class: "good"}, "✓ right"), ", as the gold label"] : [made("b", {class: "bad"}, "✕ wrong"), ": gold is ", legend.labelChip(gold)]);
  if (known?.flip && modal !== null && modal !== undefined) notes.push(["this item’s most frequent label is ", legend.labelChip(modal)]);
  if (reading.label === null && reading.reason) notes.push([reading.reason]);
  else if (reading.reason) notes.push([reading.reason]);
  if (reading.confidence !== null && reading.confidence !== undefined) notes.push([`confidence ${percent(reading.confidence)}`]);
  if (reading.truncated) notes.push(["cut off at max_tokens"]);
  if (reading.looping) notes.push(["repeats itself until it ends"]);
  const others = (readings || []).length > 1
    ? made("details", {class: "readings"}, made("summary", {}, agreed(readings) ? `All ${readings.length} evaluators agree` : `The ${readings.length} evaluators differ`), made("ul", {}, ...readings.map((one) => made("li", {}, made("button", {type: "button", class: "link", "aria-pressed": String(one.evaluator === evaluator), onclick: () => chooseEvaluator(one.evaluator)}, one.evaluator), ": ", one.label !== null ? legend.labelChip(one.label) : STATUS_WORDS[one.status] || one.status, one.reason ? made("span", {class: "soft"}, ` ${one.reason}`) : null))))
    : null;
  return made("div", {class: "reading"}, made("p", {class: "label"}, chip), notes.length ? made("ul", {class: "notes"}, ...notes.map((parts) => made("li", {}, ...parts))) : null, others);
}

function agreed(readings) {
  return new Set(readings.map((one) => `${one.label} ${one.label === null ? one.status : ""}`)).size === 1;
}

/** What differs between two prompts: what is only in the other one, what is only in this. */
export function marked(parts) {
  return parts.map(([kind, text]) => (kind === "same" ? text : made(kind === "removed" ? "del" : "ins", {}, text)));
}

/** What differs from another prompt, message by message; the item's text is the same in both, or not, as a whole. */
export function differing(before, after, text) {
  return after.map((one, at) => difference(before[at]?.content ?? "", one.content, text));
}

/** The prompt as it was sent, a message at a time. */
export function prompt(messages, diff) {
  return messages.map((one, at) => {
    const parts = diff?.[at];
    const body = parts ? made("pre", {class: "prompt"}, ...marked(parts)) : longText(one.content, {attributes: {class: "prompt"}});
    return made("div", {class: "message"}, made("p", {class: "role"}, one.role === "plain" ? "text" : one.role), ...shown(one.shown), body, one.cut ? made("p", {class: "soft"}, `The first part of ${count(one.length)} characters.`) : null);
  });
}

/** Further calls about the answer: how sure the model says it was, or the label that ends a free answer. */
export function followUps({follow_ups: some}) {
  if (!some?.length) return null;
  const one = (call) => [made("h3", {}, `Asked further: ${call.name}`), longText(call.text || "(empty)", {attributes: {class: "answer"}}), call.prompt?.length ? made("details", {}, made("summary", {}, "What was asked"), ...prompt(call.prompt, null)) : null];
  return made("section", {}, ...some.flatMap(one).filter(Boolean));
}

const USUAL = {top_p: 1, top_k: 0, min_p: 0, repeat_penalty: 1, constraint: "none", name: undefined, grid: undefined};

/** The parameters of a decoding that say something. */
function decodingWords(decoding) {
  const said = ([name, value]) => value !== null && !(name in USUAL && (USUAL[name] === undefined || USUAL[name] === value)) && !(Array.isArray(value) && !value.length);
  return Object.entries(decoding || {}).filter(said).map(([name, value]) => `${name} ${Array.isArray(value) ? value.join(" ") : value}`).join(", ");
}

export function facts({response, column}) {
  if (!response) return null;
  const decoding = decodingWords(response.decoding);
  const rows = [
    ["Model", [column.model, response.served_model && response.served_model !== column.model ? ` (served as ${response.served_model})` : ""].join("")],
    ["Decoding", decoding || column.decoding],
    ["Tokens", tokenWords(response)],
    ["Time", response.latency ? seconds(response.latency) : null],
    ["Ended", response.finish === "length" ? "cut off at max_tokens" : response.finish],
    ["Received", response.received ? new Date(1000 * response.received).toLocaleString("en", {dateStyle: "medium", timeStyle: "short"}) : null],
    ["Seed", response.seed],
    ["Asked and sent", instrumentWords(response.instrument)],
    ["Reused from", response.reused_from],
    ["Key", response.key ? made("code", {}, response.key) : null],
  ].filter(([, value]) => value !== null && value !== undefined && value !== "");
  return made("details", {class: "facts-of"}, made("summary", {}, ["Tokens and time", tokenWords(response) ? `: ${tokenWords(response)}` : ""].join("")), made("dl", {class: "pairs"}, ...rows.flatMap(([name, value]) => [made("dt", {}, name), made("dd", {}, value)])));
}

/** What was asked of each knob, and what the server did with it. */
function instrumentWords(knobs) {
  return (knobs || []).map((one) => `${one.name} ${one.asked}: ${one.state}${one.sent !== one.asked && one.sent !== null ? ` as ${one.sent}` : ""}`).join("; ");
}

function tokenWords(one) {
  if (one.prompt_tokens === null && one.completion_tokens === null) return null;
  const parts = [`${count(one.prompt_tokens)} in`, `${count(one.completion_tokens)} out`];
  if (one.cached_tokens) parts.push(`${count(one.cached_tokens)} cached`);
  if (one.thinking_tokens) parts.push(`${count(one.thinking_tokens)} thinking`);
  return parts.join(", ");
}
