// Terms of the query line: adding one, taking one away, and what a click means.

/** A value as the query language writes it: in quotes where it has anything but letters, digits and a few signs. */
export function quoted(value) {
  const text = String(value);
  return /^[\p{L}\p{N}_./-]+$/u.test(text) ? text : inQuotes(text);
}

function inQuotes(text) {
  return `"${text.replace(/[\\"]/g, "\\$&")}"`;
}

function written(field) {
  return /^[\p{L}\p{N}_][\p{L}\p{N}_.]*$/u.test(field) ? field : inQuotes(field);
}

/** The term that asks for a value of a field or, where it is null, for its absence. */
export function term(field, value) {
  return value === null || value === undefined ? `no:${written(field)}` : `${written(field)}:${quoted(value)}`;
}

/** The field that a term is about, as it is written. */
function fieldOf(term) {
  const absent = /^no:(.+)$/i.exec(term);
  return absent ? absent[1] : /^(?:"(?:\\.|[^"\\])*"|[^:<>=!])+/.exec(term)?.[0] ?? term;
}

/** The terms of a query, as they are written. */
function termsOf(query) {
  return query.match(/(?:"(?:\\.|[^"\\])*"?|[^\s"])+/g) || [];
}

export function hasTerm(query, one) {
  return termsOf(query).includes(one.trim());
}

/** The query without a term if it has it, with it if not; a term of the same field takes the other's place if `only`. */
export function toggled(query, one, {only = false} = {}) {
  const wanted = one.trim();
  const terms = termsOf(query);
  if (terms.includes(wanted)) return terms.filter((other) => other !== wanted).join(" ");
  const kept = only ? terms.filter((other) => fieldOf(other) !== fieldOf(wanted)) : terms;
  return [...kept, wanted].join(" ");
}
