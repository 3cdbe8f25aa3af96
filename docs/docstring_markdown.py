"""Docstrings as Markdown."""

from __future__ import annotations

import re


def markdown(docstring: str) -> str:
    """A docstring's sections as lists, and its examples as code."""
    blocks = []
    for block in docstring.split("\n\n"):
        title, _, body = block.partition(":\n")
        if title in ("Args", "Returns", "Raises"):
            entries = re.sub(r"^    (\*{0,2}\w+): ", r"- **`\1`**: ", body, flags=re.MULTILINE)
            blocks += [
                f"**{title}**",
                re.sub(r"^ {4,}", "  " if entries != body else "", entries, flags=re.MULTILINE),
            ]
        else:
            blocks.append(f"```pycon\n{block}\n```" if block.startswith(">>>") else block)
    return "\n\n".join(blocks)
