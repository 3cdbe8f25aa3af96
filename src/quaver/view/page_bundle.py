"""The page as one file: its modules put into one script, with its styles and some data beside them."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

from quaver._secrets import Keys

_IMPORT = re.compile(
    r'^import (?:\{(?P<names>[^}]*)\}|\* as (?P<whole>\w+)) from "\./(?P<file>[\w.-]+)";$', re.MULTILINE
)
_EXPORT = re.compile(
    r"^export (?P<kind>(?:async )?function\*?|const|let|class) (?P<name>[\w$]+)", re.MULTILINE
)
_START = "start.js"


def one_file(page: Path, data: Any, title: str) -> str:
    """The page with its data.

    Args:
        page: The folder of the page.
        data: What it shows, for JSON.
        title: Of the page.
    """
    style = (page / "look.css").read_text(encoding="utf-8").replace("</style", "<\\/style")
    script = bundled(page)
    html = (page / "index.html").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; img-src data:; "
        "form-action 'none'; base-uri 'none'"
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    html = html.replace('<meta charset="utf-8">', f'<meta charset="utf-8">\n{head}', 1)
    html = re.sub(r"<title>.*?</title>", lambda _: f"<title>{escape(title)}</title>", html, count=1)
    html = html.replace('<link rel="stylesheet" href="page/look.css">', f"<style>{style}</style>", 1)
    parts = (
        f'<script type="application/json" id="quaver-data">{inert(data)}</script>\n<script>{script}</script>'
    )
    return html.replace('<script type="module" src="page/start.js"></script>', parts, 1)


def inert(data: Any) -> str:
    r"""JSON in plain ASCII that cannot end the element it stands in, without the value of any key.

    >>> inert({"a": "</script>é"})
    '{"a":"\\u003c/script\\u003e\\u00e9"}'
    """
    text = Keys().out_of(json.dumps(data, separators=(",", ":"), default=str))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def bundled(page: Path) -> str:
    """All modules as one script; each is a function that is called once and returns what it exports."""
    parts = [_wrapped(name, text) for name, text in _in_order(page)]
    return '"use strict";\nconst modules = {};\n' + "\n".join(parts).replace("</script", "<\\/script")


def _in_order(page: Path) -> Iterator[tuple[str, str]]:
    """The modules, each after those that it imports."""
    done: set[str] = set()

    def visited(name: str) -> Iterator[tuple[str, str]]:
        if name in done:
            return
        done.add(name)
        text = (page / name).read_text(encoding="utf-8")
        for one in _IMPORT.finditer(text):
            yield from visited(one["file"])
        yield name, text

    yield from visited(_START)


def _wrapped(name: str, text: str) -> str:
    exports = [one["name"] for one in _EXPORT.finditer(text)]
    body = _EXPORT.sub(lambda one: f"{one['kind']} {one['name']}", _IMPORT.sub(_taken, text))
    return f"modules[{json.dumps(name)}] = (() => {{\n{body}\nreturn {{ {', '.join(exports)} }};\n}})();"


def _taken(one: re.Match[str]) -> str:
    what = one["whole"] or "{" + re.sub(r"\bas\b", ":", one["names"]) + "}"
    return f"const {what} = modules[{json.dumps(one['file'])}];"


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
