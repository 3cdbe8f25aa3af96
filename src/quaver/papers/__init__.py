"""The tables of five papers on prompt stability, laid out as each paper prints them, from stored answers.

``table(study, "intra-stability")`` makes one of a study or of a collection, and ``tables()`` lists them all;
``quaver table`` prints them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quaver.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from quaver.papers.catalogue import table, tables
    from quaver.papers.published_table import PublishedTable

__all__ = ["PublishedTable", "table", "tables"]

__getattr__ = lazy_names(
    __name__,
    {
        "PublishedTable": "quaver.papers.published_table",
        "table": "quaver.papers.catalogue",
        "tables": "quaver.papers.catalogue",
    },
)


def __dir__() -> list[str]:
    return __all__
