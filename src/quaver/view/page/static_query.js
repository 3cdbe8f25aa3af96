// The query language over what a file has in itself: terms joined by "and", each with one or several values.

import { termsOf } from "./query_terms.js";

const TERM = /^(-?)("(?:\\.|[^"\\])*"|[^"\s:=<>!,-][^"\s:=<>!,]*)(!=|<=|>=|[:=<>])(.*)$/u;

function unquoted(text) {
  return text.startsWith('"') ? text.replace(/^"|"$/g, "").replace(/\\(.)/g, "$1") : text;
}

/** The values of a term: what each says, and whether `*` leaves its end open. */
function values(text) {
  return (text.match(/(?:"(?:\\.|[^"\\])*"|[^,"])+/g) || []).map((one) => {
    const open = /^[^"].*\*$/.test(one);
    return {text: unquoted(open ? one.slice(0, -1) : one), open};
  });
}

/** Whether a value is wanted: by the name that it has or, where nothing of that field is so called, in any case. */
function fits(value, wanted, known) {
  if (value === null || value === undefined) return false;
  return wanted.some(({text, open}) => {
    const [own, asked] = [String(value).toLowerCase(), text.toLowerCase()];
    if (open) return own.startsWith(asked);
    return known?.has(text) ? value === text : own === asked;
  });
}

function compared(value, sign, wanted) {
  if (value === null || value === undefined) return false;
  const number = Number(wanted);
  return {"<": value < number, "<=": value <= number, ">": value > number, ">=": value >= number, ":": value === number, "=": value === number}[sign] ?? value !== number;
}

const TEXTS = new Set(["text", "answer"]);
const NUMBERS = new Set(["confidence", "length", "instability", "agreement", "accuracy", "labels", "repeat"]);

/**
 * Whether an answer matches each term of a query.
 *
 * @param fields the names of fields in lower case, each with the values that are known to occur (null where any may).
 * @returns a function of an answer's facts; what is wrong with the query is thrown as `{words, at}`.
 */
export function matcher(query, fields) {
  const terms = termsOf(query);
  if (terms === null) throw {words: "A file that was exported knows no “or” and no parentheses.", at: [0, query.length]};
  const tests = terms.map((written) => tested(written, fields, query));
  return (facts) => tests.every((test) => test(facts));
}

function tested(written, fields, query) {
  const from = query.indexOf(written);
  const found = TERM.exec(written);
  if (!found) {
    const not = written.startsWith("-");
    const sought = unquoted(not ? written.slice(1) : written).toLowerCase();
    return ({texts}) => texts().toLowerCase().includes(sought) !== not;
  }
  const [, minus, name, sign, rest] = found;
  const field = unquoted(name).toLowerCase();
  const not = (minus === "-") !== (sign === "!=");
  const wanted = values(rest);
  const words = wanted.map((one) => one.text.toLowerCase());
  if (!words.length) throw {words: `Nothing stands after ${name}${sign}`, at: [from, from + written.length]};
  if (field === "is") {
    return ({is}) => {
      const strange = words.find((one) => !Object.hasOwn(is, one));
      if (strange !== undefined) throw {words: `This file does not know is:${strange}.`, at: [from, from + written.length]};
      return words.some((one) => is[one]) !== not;
    };
  }
  if (field === "no") {
    const strange = words.find((one) => !fields.has(one) || TEXTS.has(one));
    if (strange !== undefined) throw {words: `No field that may be absent is named ${strange}.`, at: [from, from + written.length]};
    return (facts) => words.some((one) => (facts[one] ?? null) === null && (one !== "label" || facts.is.answered)) !== not;
  }
  if (!fields.has(field)) throw {words: `There is no field “${name}” in this file.`, at: [from, from + name.length]};
  if (TEXTS.has(field)) return (facts) => words.some((one) => facts[field]().toLowerCase().includes(one)) !== not;
  if (NUMBERS.has(field)) return (facts) => compared(facts[field], sign === "!=" ? "=" : sign, words[0]) !== not;
  return (facts) => fits(facts[field], wanted, fields.get(field)) !== not;
}
