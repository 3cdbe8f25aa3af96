"""What measures share with other functions of frames: what they take, how they refuse an argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import polars as pl

from quaver.core import arguments
from quaver.errors import MeasureError

if TYPE_CHECKING:
    import pandas as pd

    from quaver.estimation.gathered import Gathered

Frame: TypeAlias = "pl.DataFrame | pl.LazyFrame | pd.DataFrame | Gathered"

OUTPUT: Final = "output"
"""The column of the answers as they were written, for measures that read them."""

_F = TypeVar("_F", bound=Callable[..., Any])


def guarded(function: _F) -> _F:
    """Have a function refuse an argument that does not fit its signature with a `MeasureError`."""
    return arguments.guarded(function, MeasureError, "{1}")
