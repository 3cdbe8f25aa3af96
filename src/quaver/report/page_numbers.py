"""Numbers as the report prints them: rounded for reading, with the full value in the markup.

Every number of an estimate stands in a ``<data value="…">`` element that holds it unrounded, as
``estimates.csv`` does.
"""

from __future__ import annotations

from markupsafe import Markup

from quaver.core.number_format import percent as in_percent
from quaver.core.number_format import points as in_points
from quaver.core.number_format import rounded
from quaver.core.records import Estimate
from quaver.report.measure_words import presentation_of


def percent_measure(measure: str) -> bool:
    """Whether a measure's numbers are printed as percents."""
    return presentation_of(measure).in_percent


def printed(value: float, percent: bool = False) -> str:
    """A number as it is read (`quaver.core.number_format`): a share as a percent, another with two decimals.

    >>> printed(0.384, percent=True), printed(-0.0712)
    ('38%', '−0.07')
    """
    return in_percent(value) if percent else rounded(value)


def number(value: float, percent: bool = False) -> Markup:
    """The number as HTML: what is printed, and what it is."""
    return Markup('<data value="{}">{}</data>').format(repr(float(value)), printed(value, percent))


def cell(value: object, percent: bool = False) -> Markup | str:
    """A table's cell for a number that may be missing."""
    return number(float(value), percent) if isinstance(value, (int, float)) else ""


def ends(estimate: Estimate, percent: bool = False) -> tuple[Markup | str, Markup | str]:
    """Two cells for the ends of an interval."""
    return cell(estimate.low, percent), cell(estimate.high, percent)


def points(value: float) -> Markup:
    """A difference of shares, in points of a hundred.

    >>> points(0.4810).striptags()
    '48 points'
    """
    figures, _, unit = in_points(value).partition(" ")
    return Markup('<data value="{}">{}</data> {}').format(repr(float(value)), figures, unit)


def interval(estimate: Estimate) -> Markup:
    """The interval's ends as HTML, or nothing where there is none."""
    if estimate.low is None or estimate.high is None:
        return Markup("")
    percent = percent_measure(estimate.measure)
    return Markup("{} to {}").format(number(estimate.low, percent), number(estimate.high, percent))


def value_and_interval(estimate: Estimate) -> Markup:
    """The value with its interval in brackets, as HTML; the reason where there is no value.

    A value near 0 has no more decimals than its interval.

    >>> value_and_interval(Estimate("alpha", -0.00227, -0.04, 0.05)).striptags()
    '0.00 [−0.04 to 0.05]'
    """
    if estimate.value is None:
        return Markup("not defined ({})").format(estimate.reason or "no reason given")
    percent = percent_measure(estimate.measure)
    ends = interval(estimate)
    if not ends:
        return number(estimate.value, percent)
    coarse = not percent and max(abs(estimate.low or 0.0), abs(estimate.high or 0.0)) >= 0.005
    near = round(estimate.value, 2) + 0.0 if coarse else estimate.value
    whole, shown = repr(float(estimate.value)), printed(near, percent)
    return Markup('<data value="{}">{}</data> [{}]').format(whole, shown, ends)
