"""pandas, where it is installed: promptstability's frames are its frames."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quaver.core.spreadsheet import safe_cell
from quaver.errors import StoreError, Unavailable


def pandas() -> Any:
    """The module pandas.

    Raises:
        Unavailable: It is not installed.
    """
    try:
        import pandas as found
    except ImportError as error:
        raise Unavailable(
            "promptstability's results are pandas frames, and pandas is not installed",
            where="quaver.promptstability",
            found=str(error),
            fix='pip install "quaver[pandas]"',
        ) from None
    return found


def pandas_frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    """A pandas frame of rows."""
    return pandas().DataFrame(list(rows))


def check_path(path: str | Path | None) -> None:
    """Check, before anything is spent, that a file can be written there.

    Raises:
        StoreError: Its folder does not exist.
    """
    if path is not None and not Path(path).absolute().parent.is_dir():
        raise StoreError(
            "there is no such folder", where=str(path), expected="a folder that exists", fix="create it first"
        )


def write_rows(frame: Any, path: str | Path) -> None:
    """Write a pandas frame as CSV in which a spreadsheet finds no formula.

    Raises:
        StoreError: The file cannot be written.
    """
    missing = frame.isna().to_numpy()
    try:
        with Path(path).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(frame.columns)
            for cells, blank in zip(frame.itertuples(index=False), missing, strict=True):
                writer.writerow(["" if b else safe_cell(c) for c, b in zip(cells, blank, strict=True)])
    except OSError as error:
        raise StoreError("the file cannot be written", where=str(path), found=str(error)) from None
