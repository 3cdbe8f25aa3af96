"""``quaver view``: a local application over studies, from the verdict down to a single answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["answers"]


def answers(
    study: str | Path, query: str = "", *, field: str | None = None, evaluator: str = "", sort: str = "item"
) -> pl.DataFrame:
    """The answers that a query of the viewer matches, as a frame: copy the query line into a notebook.

    Args:
        study: A study file, its folder, or a bundle.
        query: The query line, ``"is:wrong prompt:curt"``; if left out, every answer.
        field: Which variable, where the task has several.
        evaluator: Whose labels; those of the study's first evaluator if left out.
        sort: The order of the items, as the page offers it: ``"item"``, ``"instability"`` …

    Returns:
        An answer a row, in the page's order: ``item``, ``text``, the columns of the prompt (``prompt``,
        ``model``, ``decoding``, ``repeat`` and a column for each factor), ``label``, ``status``, ``gold``,
        ``modal`` and ``confidence``.

    Raises:
        QuaverError: The query cannot be read, or there is no such field or evaluator.
    """
    from quaver.view.serving import studies_of
    from quaver.view.study_reader import keep

    viewed = next(iter(studies_of([Path(study)], field).values()))
    keep(viewed.path, viewed.root, viewed.field)
    view, snapshot = viewed.view(query, evaluator, sort), viewed.snapshot
    found = view.answers(slice(0, view.matched))
    prompts = snapshot.design.columns_frame.with_row_index("column").cast({"column": found["column"].dtype})
    joined = found.join(prompts, on="column", how="left", maintain_order="left")
    return joined.select(
        snapshot.ids[found["row"]].alias("item"),
        found["row"].replace_strict(snapshot.item_texts(found["row"].unique())).alias("text"),
        *prompts.columns[1:],
        *("label", "status", "gold", "modal", "confidence"),
    )
