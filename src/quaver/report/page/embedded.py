"""Files inside the page, behind links."""

from __future__ import annotations

import base64
import gzip

from markupsafe import Markup

_PACKED_FROM = 600
"""Bytes from which packing makes a file's link shorter."""


def download(name: str, data: str | bytes, kind: str, words: str = "") -> Markup:
    """A link that saves a file."""
    content = data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data
    packed = len(content) >= _PACKED_FROM and isinstance(data, str)
    if packed:
        content = gzip.compress(content, 9, mtime=0)
    coded = base64.b64encode(content).decode("ascii")
    suffix, held, more = (
        (".gz", "application/gzip", Markup(' data-kind="{}"').format(kind)) if packed else ("", kind, "")
    )
    link = Markup('<a class="save" download="{}{}" href="data:{};base64,{}"{}>{}</a>')
    return link.format(name, suffix, held, coded, more, words or name)
