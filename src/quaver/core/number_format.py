"""Numbers for people, the same on the terminal and in the report: rounded, never in powers of e.

The report wraps them in markup that keeps the full number (``page_numbers``).
"""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from math import floor, log10
from typing import TYPE_CHECKING, Any

from quaver._secrets import Keys
from quaver.errors import ItemError

if TYPE_CHECKING:
    from quaver.core.records import Estimate

_NOTHING = 1e-9
"""Anything closer to 0 (or, for a share, to 1) is a rounding error of sums and printed as 0 (or 1)."""

_HALF = 0.0050001
"""Half a percent and what rounding adds: a share that is no farther from 0 or 1 needs decimals."""

_TINY = 1e-4
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def percent(share: float, places: int | None = None) -> str:
    """A share in percent: whole, or with up to two decimals where it would else be 0 or 100.

    With a number of decimals it has these, and what they do not tell from 0 or 100 is less or more than that.

    >>> percent(0.384), percent(1.0), percent(0.9996), percent(-0.002), percent(2.22e-16)
    ('38%', '100%', '99.96%', '−0.2%', '0%')
    >>> percent(0.9999998), percent(2e-9)
    ('>99.99%', '<0.01%')
    >>> percent(0.384, 1), percent(0.9996, 1), percent(0.0, 1)
    ('38.4%', '>99.9%', '0.0%')
    """
    from_ends = min(abs(share), abs(1 - abs(share)))
    share = round(share) if from_ends < _NOTHING else share
    least = 10.0 ** -(2 + (places or 2))
    if _NOTHING <= from_ends < least:
        end = round(share) or (least if share > 0 else -least)
        shown = end if abs(end) < 1 else end * (1 - least)
        return ("<" if share < shown else ">") + _signed(f"{100 * shown:.{places or 2}f}%")
    return _signed(f"{100 * share:.{_percent_places(share) if places is None else places}f}%")


def _percent_places(share: float) -> int:
    """The decimals with which a share in percent is neither 0 nor 100, unless it is."""
    from_ends = min(abs(share), abs(1 - abs(share)))
    return 0 if from_ends < _NOTHING or from_ends > _HALF else max(1, -floor(log10(100 * from_ends)))


def promised(share: float) -> str:
    """A share that somebody chose, in percent and with all of its digits.

    >>> promised(0.05), promised(0.075)
    ('5%', '7.5%')
    """
    return f"{100 * share:.6g}%"


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

    >>> count(1, "item"), count(1200, "item"), count(54, "query")
    ('1 item', '1,200 items', '54 queries')
    """
    return f"{number:,} {noun if number == 1 else several(noun)}"


def several(noun: str) -> str:
    """The plural of a noun, such as the name of a column of groups.

    >>> several("text"), several("query"), several("survey")
    ('texts', 'queries', 'surveys')
    """
    is_changed = noun[-1:] == "y" and noun[-2:-1] not in "aeiou"
    return f"{noun[:-1]}ies" if is_changed else f"{noun}s"


def alike(estimate: Estimate, written: Callable[[float], str] = percent) -> Callable[[float], str]:
    """The way of writing by which a value and the ends of its interval have equally many decimals.

    A share has as many as keep all three from 0 and 100: one at most, or two where the interval is narrow.
    """
    low, high = estimate.low, estimate.high
    if estimate.value is None or low is None or high is None:
        return written
    numbers = estimate.value, low, high
    if written is percent:
        most = 2 if high - low < _HALF else 1
        return partial(percent, places=min(most, max(map(_percent_places, numbers))))
    size = max(map(abs, numbers))
    if written is rounded and _TINY <= size < 1000:
        places = 2 if size >= 0.005 else 1 - floor(log10(size))
        return lambda number: _signed(decimals(number, places))
    return written


def with_interval(estimate: Estimate, written: Callable[[float], str] = percent) -> str:
    """A share, or a number written in another way, with its interval; alone if it has none.

    >>> from quaver.core.records import Estimate
    >>> with_interval(Estimate("accuracy", 0.5, 0.4, 0.6)), with_interval(Estimate("kappa", 0.5), rounded)
    ('50% [40% to 60%]', '0.50')
    >>> with_interval(Estimate("accuracy", 0.02, 0.0049, 0.09))
    '2.0% [0.5% to 9.0%]'
    """
    if estimate.value is None:
        return "not defined"
    written = alike(estimate, written)
    ends = span(estimate.low, estimate.high, written)
    return f"{written(estimate.value)} [{ends}]" if ends else written(estimate.value)


def span(low: float | None, high: float | None, written: Callable[[float], str] = rounded) -> str:
    """An interval by its ends, or nothing where there is none; as markup where its ends are.

    >>> span(0.1, 0.25), span(None, None)
    ('0.10 to 0.25', '')
    """
    return "" if low is None or high is None else written(low) + " to " + written(high)


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
    sizes = sorted({int(estimate.details["comparisons"]) for estimate in tested})
    return "p (one test)" if sizes == [1] else f"p (Holm, {' or '.join(map(str, sizes))} tests)"


def _signed(text: str) -> str:
    return text.replace("-", "−")


def text_of(value: Any, where: str = "") -> str:
    """A cell's text without white space around it; empty for an empty cell. A list of one is that one.

    >>> text_of(" a "), text_of(None), text_of(float("nan")), text_of(1.0), text_of(["B"])
    ('a', '', '', '1.0', 'B')
    """
    if isinstance(value, str):
        stripped = value.strip()
        # JSON can hold half of a surrogate pair, which no file can: its escape replaces it.
        return stripped if stripped.isascii() else stripped.encode("utf-8", "backslashreplace").decode()
    if value is None or value != value:  # numeric columns have NaN for an empty cell
        return ""
    if isinstance(value, bytes):
        try:
            return value.decode().strip()
        except UnicodeDecodeError:
            raise _several(where, "bytes that are not UTF-8") from None
    if isinstance(value, list | tuple) and len(value) == 1:
        return text_of(value[0], where)
    if isinstance(value, list | tuple | dict | set):
        raise _several(where, f"a {type(value).__name__}: {str(value)[:80]}")
    return str(value).strip()


def _several(where: str, found: str) -> ItemError:
    return ItemError(
        "this cell does not contain a single text or number",
        where=where or None,
        expected="a text, a number or nothing",
        found=found,
        fix="name another column, or put one value in each cell",
    )


def composed(text: str) -> str:
    """The form in which texts are compared: a letter and its accents as one character (NFC).

    An é may be one character or an e followed by an accent, and looks the same. Compare this form, and keep
    what the user wrote.

    >>> composed("e\u0301") == composed("\u00e9"), composed("e\u0301") == "e\u0301"
    (True, False)
    """
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def visible(text: str) -> str:
    r"""The text without keys, and with unprintable characters but line ends written as Python writes them.

    >>> visible("red\x1b[31m \u202eevil\nnext")
    'red\\x1b[31m \\u202eevil\nnext'
    """
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in Keys().out_of(text))


def visible_line(text: str, most: int = 200) -> str:
    r"""A visible text on one line, cut off after some number of characters.

    >>> visible_line("one\ntwo"), visible_line("abcdef", 4)
    ('one\\ntwo', 'abc…')
    """
    line = visible(text).replace("\n", "\\n")
    return line if len(line) <= most else line[: most - 1] + "…"


ARROW = " → "
"""Between the names of the two sides of a comparison."""


def short_name(value: str) -> str:
    """A variant by its levels alone, on either side of an arrow.

    >>> short_name("text=full,format=digits"), short_name("paraphrase=plain → paraphrase=curt")
    ('full · digits', 'plain → curt')
    """
    return ARROW.join(map(_short, value.split(ARROW)))


def _short(value: str) -> str:
    parts = re.findall(r"(?:^|,)[^=,]+=([^,]*)", value)
    if {*parts} == {"original"}:  # of every factor
        return "original"
    return " · ".join(parts) if parts else value


def is_level(cell: Mapping[str, str], column: str, level: str) -> bool:
    """Whether a cell has a level, however the level is written.

    It may be written in full, short, as one side of an arrow, or as one of the variant's factors. A factor's
    level is also found in the variant, where the cell has no column of that factor.

    >>> cell = {"variant": "text=full,format=digits", "model": "old → new"}
    >>> is_level(cell, "variant", "full · digits"), is_level(cell, "format", "digits")
    (True, True)
    >>> is_level(cell, "model", "new"), is_level(cell, "format", "full")
    (True, False)
    """
    if column in cell:
        value = cell[column]
        sides = [value, *value.split(ARROW)]
        return level in (
            *sides,
            *map(short_name, sides),
            *(part for side in sides for part in side.split(",")),
        )
    sides = cell.get("variant", "").split(ARROW)
    return any(f"{column}={level}" in side.split(",") for side in sides)
