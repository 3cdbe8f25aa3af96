// The colours of labels, as the report's charts have them; what they say is always said by words too.

const ROUNDS = 6; // the first six colours; grey is for answers without a label

/** How a label of the label set looks, by its place: a colour, and from the seventh on a lighter or darker one. */
export function lookOf(place) {
  return {colour: place % ROUNDS, round: Math.floor(place / ROUNDS) % 3};
}

export const SIGNS = {error: "×", empty: "∅", refused: "!", ambiguous: "?", no_label: "·", valid: "–"};

export const STATUS_WORDS = {
  valid: "has a label",
  no_label: "no label found",
  ambiguous: "more than one label",
  refused: "the model refused",
  empty: "empty answer",
  error: "the call failed",
};

/** The page's colours as the canvas needs them; read anew when light and dark change. */
export function palette() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  const [paper, ink] = [parsed(read("--paper")), parsed(read("--ink"))];
  const data = [0, 1, 2, 3, 4, 5].map((at) => parsed(read(`--data-${at}`)));
  const grey = parsed(read("--data-6"));
  const label = (place) => {
    const {colour, round} = lookOf(place);
    return round === 0 ? data[colour] : round === 1 ? mixed(data[colour], paper, 0.5) : mixed(data[colour], ink, 0.4);
  };
  return {
    paper: written(paper),
    panel: read("--panel"),
    ink: written(ink),
    soft: read("--soft"),
    rule: read("--rule"),
    link: read("--link"),
    label: (place) => written(label(place)),
    onLabel: (place) => (bright(label(place)) ? "#111111" : "#ffffff"),
    missing: written(mixed(grey, paper, 0.62)),
    onMissing: written(ink),
    failed: written(mixed(grey, ink, 0.35)),
    onFailed: written(paper),
  };
}

function parsed(colour) {
  const digits = colour.replace("#", "");
  return [0, 2, 4].map((at) => parseInt(digits.slice(at, at + 2), 16));
}

function mixed(one, other, share) {
  return one.map((part, at) => Math.round(part * (1 - share) + other[at] * share));
}

function written(parts) {
  return `rgb(${parts.join(" ")})`;
}

function bright(parts) {
  const [red, green, blue] = parts.map((part) => {
    const share = part / 255;
    return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  const light = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return (light + 0.05) / (0.0056 + 0.05) > 1.05 / (light + 0.05); // whether black contrasts more with it than white
}

/** A chip in the colour of a label, for lists and legends: the square is drawn by the style sheet. */
export function chipClass(place) {
  const {colour, round} = lookOf(place);
  return `chip c${colour} r${round}`;
}
