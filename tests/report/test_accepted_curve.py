"""The curve of labels that can be accepted, over the share of wrong ones that is promised."""

from __future__ import annotations

import polars as pl

from quaver.core.records import Estimate
from quaver.report.charts.declared import CHARTS
from quaver.report.charts.svg import svg_text
from quaver.report.estimate_index import Results


def results(*shares: float) -> Results:
    some = [
        Estimate("accepted_share", share, cell={"promise": f"{promise:g}"})
        for promise, share in zip((0.1, 0.01, 0.05), shares, strict=False)
    ]
    labels = {"labels": [{"code": "a", "name": "A"}], "level": "nominal"}
    lock = {"study": {"name": "s", "seed": 1}, "labels": labels}
    return Results(lock, pl.DataFrame(), [], audit=some)


def test_a_point_for_each_promise_in_their_order() -> None:
    (figure,) = CHARTS["accepted_curve"].figures(results(0.9, 0.2, 0.6))
    assert [one.cell["promise"] for one in figure.estimates] == ["0.01", "0.05", "0.1"]
    assert svg_text(figure.chart(720)).startswith("<svg")


def test_one_promise_makes_no_curve() -> None:
    assert list(CHARTS["accepted_curve"].figures(results(0.9))) == []
