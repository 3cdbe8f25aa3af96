// A link to what is folded in opens it; what a reviewer reads is printed, open or not.
(() => {
  const unfold = (target) => {
    for (let part = target; part; part = part.parentElement) {
      if (part instanceof HTMLDetailsElement) part.open = true;
    }
  };
  const follow = () => {
    let name = location.hash.slice(1);
    try {
      name = decodeURIComponent(name);
    } catch {
      return; // no address of ours
    }
    const target = document.getElementById(name);
    if (!target) return;
    unfold(target);
    const own = target.querySelector(":scope > details.part");
    if (own) own.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", follow);
  if (location.hash) follow();

  const printed = [];
  addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details.printed:not([open])")) {
      part.open = true;
      printed.push(part);
    }
  });
  addEventListener("afterprint", () => {
    for (const part of printed.splice(0)) part.open = false;
  });
})();
