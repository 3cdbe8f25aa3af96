"""What stands in the page beside its text: the data of its script, and files behind links."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from quaver.report.estimate_index import Results
from quaver.report.page_words import visible


def figure_data(results: Results) -> Markup:
    """The names of models and prompts as JSON that can stand in a ``script`` element."""
    prompts = [results.variant_name(str(variant["id"])) for variant in results.variants]
    return inert({"models": results.models, "prompts": prompts})


def inert(document: Mapping[str, Any]) -> Markup:
    r"""JSON that cannot end the element it stands in, with what cannot be printed made visible.

    >>> inert({"a": ["</script>"]})
    Markup('{"a":["\\u003c/script\\u003e"]}')
    """
    text = json.dumps(_shown(document), ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _shown(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {key: _shown(one) for key, one in value.items()}
    return [_shown(one) for one in value] if isinstance(value, (list, tuple)) else value


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
