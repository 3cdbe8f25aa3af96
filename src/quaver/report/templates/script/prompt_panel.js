// A prompt in a dialog: opened by a mark of a chart or by its address, #prompt-3.
(() => {
  const data = figureData();
  if (!data.prompts) return;
  const address = /^#prompt-(\d+)$/;
  const dialog = made("dialog", {id: "prompt-panel", "aria-labelledby": "prompt-panel-name"});
  document.body.append(dialog);
  let [from, parts] = [false, null]; // whether a link of this page led here, and which prompt is shown

  const asked = () => {
    const found = address.exec(location.hash);
    const prompt = found ? Number(found[1]) - 1 : -1;
    return prompt >= 0 && prompt < data.prompts.length ? prompt : null;
  };

  const text = (prompt) => {
    const known = document.getElementById(`prompt-${prompt + 1}`);
    if (!known) return [made("p", {class: "missing"}, "The text of this prompt is in study.lock.json.")];
    return [...known.children].filter((one) => one.tagName !== "SUMMARY").map((one) => one.cloneNode(true));
  };

  const fill = (prompt) => {
    const name = made("h2", {id: "prompt-panel-name"}, data.prompts[prompt]);
    const close = made("button", {type: "button", class: "more", "aria-label": "Close"}, "Close");
    close.addEventListener("click", () => dialog.close());
    dialog.replaceChildren(made("div", {class: "panel-head"}, name, close), ...text(prompt));
  };

  const follow = () => {
    const wanted = asked();
    if (wanted !== null) {
      if (parts !== location.hash) fill(wanted);
      parts = location.hash;
      if (!dialog.open) dialog.showModal();
      dialog.scrollTop = 0;
    } else {
      parts = null;
      if (dialog.open) dialog.close();
    }
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#prompt-']");
    if (!link) return;
    event.preventDefault();
    from = true;
    history.pushState(null, "", link.getAttribute("href"));
    follow();
  });
  dialog.addEventListener("close", () => {
    if (asked() === null) return;
    if (from) history.back();
    else history.replaceState(null, "", "#prompts");
    from = false;
    parts = null;
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  addEventListener("popstate", follow);
  addEventListener("hashchange", follow);
  follow();
})();
