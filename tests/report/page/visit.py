"""A page that was opened in a real browser."""


class Visit:
    """A page that was opened, with what it said and asked for."""

    def __init__(self, browser, path, width=1280, scheme="light", at=""):
        self.said = []
        self.asked = []
        self.page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.said.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri() + at)

    def unfold(self):
        """Open all that is folded in."""
        self.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.page.close()
