"""The chart of scores: promptstability's and Quaver's intervals side by side."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quaver.errors import StoreError

_KINDS = {
    "resampling items (Quaver)": ("Alpha", "Alpha Lower", "Alpha Upper"),
    "resampling rows (promptstability)": ("Average Alpha", "CI Lower", "CI Upper"),
}
_ENDINGS = (".png", ".svg", ".pdf", ".html", ".json")


def stability_chart(scores: Mapping[Any, Mapping[str, Any]], axis: str, path: str | Path | None) -> Any:
    """Draw scores over iterations or temperatures, and write or show them.

    Args:
        scores: By iteration or temperature.
        axis: The title of that axis.
        path: Where the chart is written; if left out, a notebook shows it.

    Returns:
        The chart, an Altair object.

    Raises:
        StoreError: The file's ending is unknown, or it cannot be written.
    """
    import altair as alt  # slow to load

    rows = [
        {axis: place, "alpha": score[value], "low": score[low], "high": score[high], "interval": kind}
        for place, score in scores.items()
        for kind, (value, low, high) in _KINDS.items()
    ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X(f"{axis}:O", axis=alt.Axis(labelAngle=0), scale=alt.Scale(padding=0.8)),
        xOffset=alt.XOffset("interval:N"),
        color=alt.Color("interval:N", title=None, legend=alt.Legend(orient="top", labelLimit=400)),
    )
    y = alt.Y("alpha:Q", title="Krippendorff's alpha", scale=alt.Scale(zero=False))
    bars = base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q", title="Krippendorff's alpha"), y2="high:Q")
    points = base.mark_point(filled=True, size=50).encode(y=y)
    bar = alt.Chart(alt.InlineData(values=[{"y": 0.8}])).mark_rule(strokeDash=[4, 4]).encode(y="y:Q")
    made = alt.layer(bar, bars, points).properties(
        width=640, height=320, title=f"Stability by {axis.lower()}, with 95% intervals"
    )
    if path is None:
        _show(made)
    elif Path(path).suffix.lower() not in _ENDINGS:
        raise StoreError("this kind of file cannot be written", where=str(path), expected=", ".join(_ENDINGS))
    else:
        made.save(str(path))
    return made


def _show(made: Any) -> None:
    """Show a chart where a notebook runs."""
    try:
        from IPython import get_ipython  # type: ignore[import-not-found,unused-ignore]
        from IPython.display import display  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return
    if get_ipython() is not None:
        display(made)
