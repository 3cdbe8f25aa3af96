// The page's block of data, and how its texts get into the page: always as text, never as HTML.
function figureData() {
  if (!figureData.known) {
    const block = document.getElementById("figure-data");
    figureData.known = block ? JSON.parse(block.textContent) : {};
  }
  return figureData.known;
}

function made(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
