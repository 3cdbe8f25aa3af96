"""Arguments that do not fit are one error of Quaver's, whoever is called with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.studies import written

import quaver
from quaver.errors import MeasureError, QuaverError

FRAME = pl.DataFrame({"item": [1, 2, 1, 2], "repeat": [0, 0, 1, 1], "label": list("abab")})

STUDY_CALLS: dict[str, tuple[Callable[[quaver.Study], Any], str]] = {
    "an argument of another name": (
        lambda study: study.estimates(measures=["accuracy"]),  # type: ignore[call-arg]
        "Study.estimates: unknown argument 'measures'\n  expected: one of names",
    ),
    "an argument that is none": (
        lambda study: study.run(concurrency=-1),  # type: ignore[call-arg]
        "Study.run: unknown argument 'concurrency'",
    ),
    "a text for a number": (
        lambda study: study.charts(width="wide"),  # type: ignore[arg-type]
        "Study.charts(width): this argument does not fit\n  expected: a whole number\n  found: 'wide'",
    ),
    "names that are no texts": (
        lambda study: study.rescore([1]),  # type: ignore[list-item]
        "Study.rescore(evaluators): this argument does not fit",
    ),
    "nothing where something is needed": (
        lambda study: study.measure(),  # type: ignore[call-arg]
        "Study.measure: missing a required argument: 'name'",
    ),
    "less than none": (lambda study: study.plan(pilot=-1), "Study.plan(pilot): this argument does not fit"),
    "fewer requests than none": (
        lambda study: study.run(requests=-1),
        "Study.run(requests): this argument does not fit\n  expected: 0 or more\n  found: -1",
    ),
    "no study": (lambda _: quaver.Study("study.yaml"), "Study: Study is not called"),  # type: ignore[arg-type]
    "no file": (lambda _: quaver.Study.open(123), "Study.open(study): this argument"),  # type: ignore[arg-type]
    "a comparison with nothing": (
        lambda study: quaver.compare(study, 3),  # type: ignore[arg-type]
        "compare(after): this argument does not fit",
    ),
}


@pytest.mark.parametrize("case", STUDY_CALLS)
def test_a_study_refuses_what_does_not_fit(tmp_path: Path, case: str) -> None:
    call, said = STUDY_CALLS[case]
    study = quaver.Study.open(written(tmp_path), functions={"fake": lambda text, prompt: "positive"})
    with pytest.raises(QuaverError) as caught:
        call(study)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"confidence_level": "high"}, "confidence_level"),
        ({"resamples": True}, "resamples"),
        ({"seed": "x"}, "seed"),
        ({"labels": 3}, "labels"),
        ({"columns": "code"}, "columns"),
        ({"columns": {"label": 3}}, "columns['label']"),
        ({"group": 3}, "group"),
        ({"by": 3}, "by"),
        ({"by": [None]}, "by"),
    ],
)
def test_a_measure_refuses_what_does_not_fit(options: dict[str, Any], where: str) -> None:
    with pytest.raises(MeasureError) as caught:
        quaver.measures.intra_pss(FRAME, **options)
    assert (caught.value.where, bool(caught.value.expected), bool(caught.value.found)) == (where, True, True)


def test_what_fits_is_handed_on_as_it_came() -> None:
    counted = quaver.measures.deviations(FRAME.with_columns(variant=pl.lit("v")))
    assert counted is not None
    assert quaver.measures.deviation_shares(counted) == []
    with pytest.raises(MeasureError, match="found"):
        quaver.measures.deviation_shares(FRAME)  # type: ignore[arg-type]
