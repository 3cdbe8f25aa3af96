"""Items from a Hugging Face dataset, if the library ``datasets`` is installed."""

from __future__ import annotations

from typing import Any

from quaver.errors import ItemError


def rows(
    *, path: str, name: str | None = None, split: str = "train", revision: str | None = None
) -> list[dict[str, Any]]:
    """The rows of one split.

    Args:
        path: The dataset's name on the hub (``owner/name``) or a folder: the text after ``hf:``.
        name: Its configuration, if it has several.
        split: The split to load.
        revision: A commit or tag, to fix the items.

    Raises:
        ItemError: ``datasets`` is not installed, or the dataset cannot be loaded.
    """
    try:
        import datasets
    except ImportError:
        raise ItemError(
            "Hugging Face datasets need the library datasets, which is not installed",
            where="items.source",
            fix="pip install datasets",
        ) from None
    try:
        loaded = datasets.load_dataset(path, name, split=split, revision=revision)
    except Exception as error:  # its readers and the network can raise anything
        raise ItemError(
            f"the dataset {path!r} cannot be loaded",
            where="items.source",
            found=f"{type(error).__name__}: {error}"[:300],
            fix="check its name, split and revision",
        ) from error
    return [dict(row) for row in loaded]
