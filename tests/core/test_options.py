"""An option that is declared in a record is checked, shown and filled in wherever the record is taken."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Annotated, Any

import polars as pl
import pytest
from typing_extensions import TypedDict, Unpack

import quaver
from quaver.core.arguments import guarded, taking
from quaver.core.options import Option, options_in, with_defaults
from quaver.errors import MeasureError, QuaverError


class Options(TypedDict, total=False):
    """Some.

    Attributes:
        size: How many. More is slower.
        share: What part, such as 0.5.
    """

    size: Annotated[int, Option(50, least=1)]
    share: Annotated[float | None, Option(above=0, most=1)]
    name: str | None


class More(Options, total=False):
    """More.

    Attributes:
        parts: Which parts:
            a,b.
    """

    parts: Sequence[str]
    whole: bool


FRAME = pl.DataFrame({"item": [1, 2, 1, 2], "repeat": [0, 0, 1, 1], "label": list("abab")})


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
        ({"by": [None]}, "by"),
    ],
)
def test_a_measure_refuses_what_does_not_fit(options, where):
    with pytest.raises(MeasureError) as caught:
        quaver.measures.intra_pss(FRAME, **options)
    assert (caught.value.where, bool(caught.value.expected), bool(caught.value.found)) == (where, True, True)
    counted = quaver.measures.deviations(FRAME.with_columns(variant=pl.lit("v")))
    assert quaver.measures.deviation_shares(counted) == [], "what fits is handed on as it came"
    with pytest.raises(MeasureError, match="found"):
        quaver.measures.deviation_shares(FRAME)


def test_what_is_said_of_an_option_is_the_first_sentence_of_the_docstring():
    found = {name: option.help for name, (_, option) in options_in(More).items()}
    assert (found["size"], found["share"]) == ("How many.", "What part, such as 0.5.")
    assert (found["name"], found["parts"]) == ("", "Which parts: a,b.")
    assert with_defaults(More, {}) == {"size": 50, "share": None, "name": None, "parts": (), "whole": False}


@guarded
@taking(Options)
def draw(of: str, **options: Unpack[Options]) -> Any:
    return of, with_defaults(Options, options)


def test_what_is_left_out_has_its_default_and_the_signature_shows_it():
    assert draw("x", size=3) == ("x", {"size": 3, "share": None, "name": None})
    assert draw("x", share=1)[1]["size"] == 50
    shown = inspect.signature(draw).parameters
    assert [*shown] == ["of", "size", "share", "name"]
    assert shown["size"].default == 50


@pytest.mark.parametrize(
    ("given", "where", "expected"),
    [
        ({"size": 0}, "size", "1 or more"),
        ({"share": 0}, "share", "more than 0"),
        ({"share": 2}, "share", "1"),
        ({"sise": 1}, "", ""),
    ],
)
def test_a_value_out_of_range_or_an_unknown_option_is_refused(given, where, expected):
    with pytest.raises(QuaverError) as caught:
        draw("x", **given)
    assert where in str(caught.value.where)
    assert expected in str(caught.value.expected)
    assert where or "size" in str(caught.value.fix)
