// The query language over what a file has in itself: terms joined by "and", each with one or several values.

import { termsOf } from "./query_terms.js";

const TERM = /^(-?)("(?:\\.|[^"\\])*"|[\p{L}\p{N}_.-]+)(!?[:=]|<=|>=|<|>)(.*)$/u;

function unquoted(text) {
  return text.startsWith('"') ? text.replace(/^"|"$/g, "").replace(/\\(.)/g, "$1") : text;
}

function values(text) {
  return (text.match(/(?:"(?:\\.|[^"\\])*"|[^,"])+/g) || []).map((one) => unquoted(one).toLowerCase());
}

function fits(value, wanted) {
  const known = String(value ?? "none").toLowerCase();
  return wanted.some((one) => (one.endsWith("*") ? known.startsWith(one.slice(0, -1)) : known === one));
}

function compared(value, sign, wanted) {
  if (value === null || value === undefined) return false;
  const number = Number(wanted);
  return {"<": value < number, "<=": value <= number, ">": value > number, ">=": value >= number, ":": value === number, "=": value === number}[sign] ?? value !== number;
}

const NUMBERS = new Set(["confidence", "length", "instability", "agreement", "accuracy", "labels", "repeat"]);

/**
 * Whether an answer matches each term of a query.
 *
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
    const words = unquoted(not ? written.slice(1) : written).toLowerCase();
    return ({texts}) => texts().toLowerCase().includes(words) !== not;
  }
  const [, minus, name, sign, rest] = found;
  const field = unquoted(name).toLowerCase();
  const not = (minus === "-") !== (sign === "!=" || sign === "!:");
  const wanted = values(rest);
  if (field === "is") {
    return ({is}) => {
      if (!(wanted[0] in is)) throw {words: `This file does not know is:${wanted[0]}.`, at: [from, from + written.length]};
      return Boolean(is[wanted[0]]) !== not;
    };
  }
  if (!fields.has(field)) throw {words: `There is no field “${name}” in this file.`, at: [from, from + name.length]};
  if (["text", "answer", "note"].includes(field)) return (facts) => wanted.some((one) => String(facts[field]() ?? "").toLowerCase().includes(one)) !== not;
  if (NUMBERS.has(field)) return (facts) => compared(facts[field], sign.replace("!", ""), wanted[0]) !== not;
  return (facts) => fits(facts[field], wanted) !== not;
}
