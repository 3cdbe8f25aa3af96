// Files inside the page are packed: unpack one when it is saved, and offer pictures as PNG too.
(() => {
  const unpacked = async (link) => {
    const bytes = Uint8Array.from(atob(link.href.split(",")[1]), (sign) => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Blob([await new Response(stream).arrayBuffer()], {type: link.dataset.kind});
  };
  const save = (blob, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  const asPng = async (svg) => {
    const picture = new Image();
    picture.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(await svg.text());
    await picture.decode();
    const canvas = document.createElement("canvas");
    canvas.width = 2 * picture.naturalWidth;
    canvas.height = 2 * picture.naturalHeight;
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    return new Promise((made) => canvas.toBlob(made, "image/png"));
  };

  if ("DecompressionStream" in window) {
    for (const link of document.querySelectorAll("a.save[data-kind]")) {
      const name = link.download.replace(/\.gz$/, "");
      link.addEventListener("click", async (event) => {
        event.preventDefault();
        save(await unpacked(link), name);
      });
      if (link.dataset.kind !== "image/svg+xml") continue;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "save";
      button.textContent = "PNG";
      button.addEventListener("click", async () => save(await asPng(await unpacked(link)), name.replace(/svg$/, "png")));
      link.after(" ", button);
    }
  }
})();
