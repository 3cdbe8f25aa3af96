// The address: which view is shown, of what, filtered how. It holds nothing but names, so it can be shared.

const listeners = new Set();

/** The view that the address names, and its parameters. */
export function current() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  return {view: path || "overview", given: Object.fromEntries(new URLSearchParams(query))};
}

/** The address of a view; parameters that are empty are left out. */
export function addressOf(view, given = {}) {
  const kept = Object.entries(given).filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false);
  const query = new URLSearchParams(kept.map(([name, value]) => [name, String(value)])).toString().replace(/%3A/g, ":").replace(/%2C/g, ",");
  return `#/${view}${query ? `?${query}` : ""}`;
}

/** Go to a view. What stays the same from view to view (`study`, `q`, …) is for the caller to pass on. */
export function go(view, given, {replace = false} = {}) {
  const address = addressOf(view, given);
  if (address === location.hash) return;
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  tell();
}

/** Change parameters of the view that is shown. */
export function change(changes, options) {
  const {view, given} = current();
  go(view, {...given, ...changes}, options);
}

export function onAddress(act) {
  listeners.add(act);
}

function tell() {
  for (const act of listeners) act(current());
}

addEventListener("popstate", tell);
addEventListener("hashchange", tell);
