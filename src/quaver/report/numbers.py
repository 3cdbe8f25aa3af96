"""Numbers as the report prints them: rounded for reading, with the full value in the markup.

Every number of an estimate stands in a ``<data value="…">`` element that holds it unrounded, as
``estimates.csv`` does.
"""

from __future__ import annotations

from markupsafe import Markup

from quaver.records import Estimate

__all__ = ["SHARES", "interval", "number", "percent_measure", "points", "printed", "value_and_interval"]

SHARES = frozenset(
    {
        "accuracy",
        "label_shares",
        "compliance",
        "level_shares",
        "label_range",
        "variation",
        "unlike_share",
        "unlike_held",
        "strict_stability",
        "mode_frequency",
        "spread",
        "differences",
        "evaluator_flips",
        "evaluator_flips_accuracy_first",
        "evaluator_flips_accuracy_second",
        "evaluator_flips_accuracy_gain",
        "evaluator_flips_newly_wrong",
        "verbal_calibration_parse_rate",
        "readiness_accuracy",
        "readiness_compliance",
        "readiness_spread",
        "readiness_flips",
        "readiness_parse_rate",
    }
)
"""Measures that are shares of answers, printed as percents."""


def percent_measure(measure: str) -> bool:
    """Whether a measure's numbers are printed as percents."""
    return measure in SHARES


def printed(value: float, percent: bool = False) -> str:
    r"""A number as it is read: whole percents, or two decimals (three figures where these say nothing).

    What is not exactly 0 or 100 % is never printed so.

    >>> printed(0.384, percent=True), printed(0.9996, percent=True), printed(-0.0712)
    ('38\xa0%', '>\xa099\xa0%', '−0.07')
    >>> printed(0.00012), printed(2696)
    ('0.00012', '2696')
    """
    if percent:
        return _percent(value)
    if value == int(value) and abs(value) >= 10:
        text = f"{value:.0f}"
    elif value == 0 or 0.005 <= abs(value) < 1000:
        text = f"{value:.2f}"
    else:
        text = f"{value:.3g}"
    return text.replace("-", "−")


def _percent(value: float) -> str:
    if 0 < value < 0.005:
        return "<\u00a01\u00a0%"
    if -0.005 < value < 0:
        return ">\u00a0−1\u00a0%"
    if 0.995 <= value < 1:
        return ">\u00a099\u00a0%"
    return f"{100 * value:.0f}\u00a0%".replace("-", "−")


def number(value: float, percent: bool = False) -> Markup:
    """The number as HTML: what is printed, and what it is."""
    return Markup('<data value="{}">{}</data>').format(repr(float(value)), printed(value, percent))


def points(value: float) -> Markup:
    """A difference of shares, in points of a hundred.

    >>> points(0.4810).striptags()
    '48 points'
    """
    rounded = f"{100 * value:.0f}".replace("-", "−")
    return Markup('<data value="{}">{}</data> {}').format(
        repr(float(value)), rounded, "point" if rounded == "1" else "points"
    )


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
    rounded = round(estimate.value, 2) + 0.0 if coarse else estimate.value
    whole, shown = repr(float(estimate.value)), printed(rounded, percent)
    return Markup('<data value="{}">{}</data> [{}]').format(whole, shown, ends)
