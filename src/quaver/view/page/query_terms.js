// Terms of the query line: adding one, taking one away, and what a click means.

/** A value as the query language writes it: in quotes where it has anything but letters, digits and a few signs. */
export function quoted(value) {
  const text = String(value);
  return /^[\p{L}\p{N}_.\-/]+$/u.test(text) && !/^(and|or|not|none)$/i.test(text) ? text : `"${text.replace(/[\\"]/g, "\\$&")}"`;
}

export function term(field, value) {
  return `${/^[\p{L}\p{N}_.-]+$/u.test(field) ? field : quoted(field)}:${quoted(value)}`;
}

/** The terms of a query at its top, as they are written; null where it has parentheses or `or`. */
export function termsOf(query) {
  const found = query.match(/(?:"(?:\\.|[^"\\])*"?|[^\s"])+/g) || [];
  return found.some((one) => /^or$/i.test(one) || /^-?\(/.test(one)) ? null : found.filter((one) => !/^and$/i.test(one));
}

export function hasTerm(query, one) {
  const terms = termsOf(query);
  return terms !== null && terms.includes(one.trim());
}

/** The query without a term if it has it, with it if not; a term of the same field takes the other's place if `only`. */
export function toggled(query, one, {only = false} = {}) {
  const wanted = one.trim();
  const terms = termsOf(query);
  if (terms === null) return `(${query.trim()}) ${wanted}`;
  if (terms.includes(wanted)) return terms.filter((other) => other !== wanted).join(" ");
  const field = wanted.split(/[:<>=!]/, 1)[0];
  const kept = only ? terms.filter((other) => other.split(/[:<>=!]/, 1)[0] !== field) : terms;
  return [...kept, wanted].join(" ");
}
