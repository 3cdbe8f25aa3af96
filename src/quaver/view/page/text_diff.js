// What differs between two texts, word by word.

const MOST = 4_000_000; // words of one times words of the other; of more, all between their common ends differs

const SHORTEST = 12; // characters of a text that counts as one word

function words(text, whole) {
  const at = whole.length < SHORTEST ? -1 : text.indexOf(whole);
  if (at >= 0) return [...words(text.slice(0, at), ""), whole, ...words(text.slice(at + whole.length), "")];
  return text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) || [];
}

/**
 * The parts of two texts: pairs of "same", "removed" or "added" and the text.
 *
 * The words that both have in common are a longest common subsequence. `whole`, a text within both, is one word.
 */
export function difference(before, after, whole = "") {
  const [left, right] = [words(before, whole), words(after, whole)];
  let [start, ends] = [0, 0];
  const shorter = Math.min(left.length, right.length);
  while (start < shorter && left[start] === right[start]) start += 1;
  while (ends < shorter - start && left[left.length - 1 - ends] === right[right.length - 1 - ends]) ends += 1;
  const middle = between(left.slice(start, left.length - ends), right.slice(start, right.length - ends));
  return joined([...left.slice(0, start).map((word) => ["same", word]), ...middle, ...left.slice(left.length - ends).map((word) => ["same", word])]);
}

function between(left, right) {
  if (!left.length || !right.length || left.length * right.length > MOST) {
    return [...left.map((word) => ["removed", word]), ...right.map((word) => ["added", word])];
  }
  const width = right.length + 1;
  const longest = new Uint16Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      longest[i * width + j] = left[i] === right[j] ? longest[(i + 1) * width + j + 1] + 1 : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  const parts = [];
  let [i, j] = [0, 0];
  while (i < left.length && j < right.length) {
    if (left[i] === right[j]) {
      parts.push(["same", left[i]]);
      i += 1;
      j += 1;
    } else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) parts.push(["removed", left[i++]]);
    else parts.push(["added", right[j++]]);
  }
  return [...parts, ...left.slice(i).map((word) => ["removed", word]), ...right.slice(j).map((word) => ["added", word])];
}

/** Neighbours of a kind as one, what is removed before what is added, and no space alone kept between two changes. */
function joined(parts) {
  const runs = [];
  let [removed, added] = ["", ""];
  const flush = () => {
    if (removed) runs.push(["removed", removed]);
    if (added) runs.push(["added", added]);
    [removed, added] = ["", ""];
  };
  parts.forEach(([kind, word], at) => {
    const changing = removed || added;
    const loose = kind === "same" && /^\s+$/.test(word) && changing && at + 1 < parts.length && parts[at + 1][0] !== "same";
    if (loose) {
      if (removed) removed += word;
      if (added) added += word;
    } else if (kind === "removed") removed += word;
    else if (kind === "added") added += word;
    else {
      flush();
      const last = runs.at(-1);
      if (last && last[0] === "same") last[1] += word;
      else runs.push(["same", word]);
    }
  });
  flush();
  return runs;
}
