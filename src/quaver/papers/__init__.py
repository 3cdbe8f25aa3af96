"""The tables of five papers on prompt stability, laid out as each paper prints them, from stored answers.

``table(study, "intra-stability")`` makes one of a study or of a collection, ``printed`` lays it out as the
paper does, ``figure(study, "errica-2025:6")`` draws a figure; ``tables()`` and ``figures()`` list them all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaver.core.registry import lazy_names

if TYPE_CHECKING:
    from quaver.papers.catalogue import figure, figures, printed, table, tables
    from quaver.papers.published_table import PublishedTable

__all__ = ["PublishedTable", "figure", "figures", "printed", "table", "tables"]

__getattr__ = lazy_names(
    __name__,
    {
        "PublishedTable": "quaver.papers.published_table",
        "figure": "quaver.papers.catalogue",
        "figures": "quaver.papers.catalogue",
        "printed": "quaver.papers.catalogue",
        "table": "quaver.papers.catalogue",
        "tables": "quaver.papers.catalogue",
    },
)


def __dir__() -> list[str]:
    return __all__
