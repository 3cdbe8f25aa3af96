"""What every result that holds rows can do: become a Polars or a pandas frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from quaver.errors import QuaverError

if TYPE_CHECKING:
    import polars as pl

SHOWN = 10
"""The most rows that a short text shows."""


class Rows:
    """The base of results that hold rows; each has ``rows``."""

    __slots__ = ()

    def rows(self) -> Sequence[dict[str, Any]]:
        """The rows, each by its columns."""
        raise NotImplementedError

    def to_polars(self) -> pl.DataFrame:
        """The rows as a Polars frame."""
        import polars as pl

        return pl.DataFrame(self.rows(), infer_schema_length=None)

    def to_pandas(self) -> Any:
        """The rows as a pandas frame.

        Raises:
            QuaverError: pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise QuaverError(
                "pandas is not installed",
                where="to_pandas",
                found=str(error),
                fix="pip install pandas, or use to_polars()",
            ) from None
        return pd.DataFrame(self.to_polars().to_dict(as_series=False))


def short_lines(lines: Sequence[str], noun: str) -> str:
    """The first of many lines, and how many are left out.

    >>> print(short_lines([str(n) for n in range(12)], "rows").splitlines()[-1])
    … and 2 more rows; to_polars() has all of them
    """
    left = len(lines) - SHOWN
    more = [f"… and {left:,} more {noun}; to_polars() has all of them"] if left > 0 else []
    return "\n".join([*lines[:SHOWN], *more])
