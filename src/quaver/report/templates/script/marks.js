// Marks of charts: whoever points at one, taps it or moves to it with the arrow keys reads what it stands for.
(() => {
  const near = 18;
  const tip = document.createElement("div");
  for (const [name, value] of [["id", "tip"], ["role", "tooltip"], ["hidden", ""]]) tip.setAttribute(name, value);
  document.body.append(tip);
  let shown = null;

  const place = (mark) => {
    const box = mark.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  };
  const hide = () => {
    tip.hidden = true;
    if (shown) shown.classList.remove("pointed");
    shown = null;
  };
  const show = (mark) => {
    if (shown === mark) return;
    hide();
    shown = mark;
    mark.classList.add("pointed");
    tip.textContent = mark.getAttribute("aria-label");
    tip.hidden = false;
    const box = mark.getBoundingClientRect();
    const [wide, high] = [tip.offsetWidth, tip.offsetHeight];
    const left = Math.min(Math.max(8, box.left + box.width / 2 - wide / 2), innerWidth - wide - 8);
    const above = box.top - high - 10;
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${(above > 4 ? above : box.bottom + 10) + scrollY}px`;
  };

  for (const picture of document.querySelectorAll("figure svg")) {
    const marks = [...picture.querySelectorAll(".described")];
    for (const mark of marks) {
      const title = mark.querySelector("title");
      mark.setAttribute("aria-label", title.textContent);
      title.remove();
      mark.setAttribute("role", "img");
      mark.setAttribute("tabindex", "-1");
    }
    if (!marks.length) continue;
    // One stop for the tab key; the arrow keys go on from mark to mark.
    const visible = () => marks.filter((mark) => mark.getClientRects().length);
    marks[0].setAttribute("tabindex", "0");
    picture.addEventListener("keydown", (event) => {
      const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
      const some = visible();
      const at = some.indexOf(event.target.closest(".described"));
      if (event.key === "Escape") hide();
      if (!step || at < 0) return;
      event.preventDefault();
      const next = some[(at + step + some.length) % some.length];
      for (const mark of marks) mark.setAttribute("tabindex", mark === next ? "0" : "-1");
      next.focus({preventScroll: true});
      next.scrollIntoView({block: "nearest"});
      show(next);
    });
    picture.addEventListener("focusin", (event) => {
      const mark = event.target.closest(".described");
      if (mark) show(mark);
    });
    picture.addEventListener("focusout", hide);

    const closest = (event) => {
      const over = event.target.closest(".described");
      if (over) return over;
      let [best, least] = [null, near];
      for (const mark of visible()) {
        const [x, y] = place(mark);
        const far = Math.hypot(x - event.clientX, y - event.clientY);
        if (far < least) [best, least] = [mark, far];
      }
      return best;
    };
    picture.addEventListener("pointermove", (event) => {
      if (event.pointerType === "touch") return;
      const mark = closest(event);
      if (mark) show(mark);
      else hide();
    });
    picture.addEventListener("pointerleave", (event) => {
      if (event.pointerType !== "touch") hide();
    });
    picture.addEventListener("click", (event) => {
      const mark = closest(event);
      if (mark) show(mark);
      else hide();
    });
  }
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
  addEventListener("scroll", hide, {passive: true});
})();
