"""Numbers for people, the same on the terminal and in the report: rounded, never in powers of e.

The report wraps them in markup that keeps the full number (``page_numbers``).
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from math import floor, log10
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quaver.core.records import Estimate

_NOTHING = 1e-9
"""Anything closer to 0 (or, for a share, to 1) is a rounding error of sums and printed as 0 (or 1)."""

_TINY = 1e-4
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def percent(share: float) -> str:
    """A share in percent: whole, or with enough decimals to differ from 0 and 100.

    >>> percent(0.384), percent(1.0), percent(0.9996), percent(-0.002), percent(2.22e-16)
    ('38%', '100%', '99.96%', '−0.2%', '0%')
    """
    from_ends = min(abs(share), abs(1 - abs(share)))
    share = round(share) if from_ends < _NOTHING else share
    places = 0 if from_ends < _NOTHING or from_ends >= 0.005 else -floor(log10(100 * from_ends))
    if places == 0:
        return _signed(f"{100 * share:.0f}%")
    return _signed(f"{100 * share:.{max(1, places)}f}%")


def rounded(value: float) -> str:
    """A number with two decimals; more or fewer where two do not suit it.

    >>> rounded(-0.0712), rounded(0.00123), rounded(2.22e-16), rounded(8.35e-07), rounded(12345.678)
    ('−0.07', '0.0012', '0.00', '8.4 × 10⁻⁷', '12,346')
    """
    size = abs(value)
    if size < _NOTHING:
        return "0.00"
    if size >= 1000 or (size >= 10 and value == int(value)):
        return _signed(f"{value:,.0f}")
    if size >= 0.005:
        return _signed(f"{value:.2f}")
    if size >= _TINY:
        return _signed(f"{value:.{1 - floor(log10(size))}f}")
    figures, _, power = f"{value:.1e}".partition("e")
    return _signed(f"{figures} × 10{str(int(power)).translate(_RAISED)}")


def decimals(value: float, places: int = 3) -> str:
    """A number with a fixed number of decimals, for a column; never ``-0.000``.

    >>> decimals(0.12345), decimals(-1e-17), decimals(-0.25, 2)
    ('0.123', '0.000', '-0.25')
    """
    return f"{round(value, places) + 0.0:.{places}f}"


def points(difference: float) -> str:
    """A difference of shares, in percentage points.

    >>> points(0.4810), points(0.01), points(-0.003)
    ('48 points', '1 point', '−0.3 points')
    """
    size = percent(difference).removesuffix("%")
    return f"{size} {'point' if size == '1' else 'points'}"


def duration(seconds: float | None) -> str:
    """Seconds as people say them.

    >>> duration(125), duration(0.2), duration(None)
    ('2 min 5 s', 'under a second', 'unknown')
    """
    if seconds is None:
        return "unknown"
    if seconds < 1:
        return "under a second"
    hours, rest = divmod(round(seconds), 3600)
    minutes, rest = divmod(rest, 60)
    parts = [(hours, "h"), (minutes, "min"), (rest, "s")]
    return " ".join([f"{n} {unit}" for n, unit in parts if n][:2])


def moment(at: float) -> str:
    """A time in seconds since 1970 as people write it.

    >>> moment(1_800_000_000)
    '2027-01-15 08:00 UTC'
    """
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(at)) + " UTC"


def count(number: int, noun: str) -> str:
    """A number and its noun.

    >>> count(1, "item"), count(1200, "item")
    ('1 item', '1,200 items')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def with_interval(one: Estimate) -> str:
    """A share with its interval; the share alone if it has none.

    >>> from quaver.core.records import Estimate
    >>> with_interval(Estimate("accuracy", 0.5, 0.4, 0.6))
    '50% [40% to 60%]'
    """
    if one.value is None:
        return "not defined"
    ends = "" if one.low is None or one.high is None else f" [{percent(one.low)} to {percent(one.high)}]"
    return percent(one.value) + ends


def enumeration(names: Iterable[str]) -> str:
    """Names as an enumeration.

    >>> enumeration(["a", "b", "c"])
    'a, b and c'
    """
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def p_heading(tested: Iterable[Estimate]) -> str:
    """The heading of a column of adjusted p-values: the adjustment and the number of tests.

    >>> from quaver.core.records import Estimate
    >>> p_heading([Estimate("differences", 0.1, details={"p_holm": 0.2, "comparisons": 3})])
    'p (Holm, 3 tests)'
    """
    sizes = sorted({int(one.details["comparisons"]) for one in tested})
    return "p (one test)" if sizes == [1] else f"p (Holm, {' or '.join(map(str, sizes))} tests)"


def _signed(text: str) -> str:
    return text.replace("-", "−")
