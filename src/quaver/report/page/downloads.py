"""Files inside the page: links that hold what they lead to, so that a report that is forwarded lacks nothing.

A text is packed, and the page's script unpacks it when it is saved; without the script it is saved as it is,
as a ``.gz`` file.
"""

from __future__ import annotations

import base64
import gzip

from markupsafe import Markup

_PACKED_FROM = 600
"""Bytes from which packing makes a file's link shorter."""


def download(name: str, data: str | bytes, kind: str, words: str = "") -> Markup:
    """A link that saves a file.

    Args:
        name: The file's name.
        data: What is in it.
        kind: Its media type, such as ``text/csv``.
        words: The link's text; the name if left out.
    """
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
