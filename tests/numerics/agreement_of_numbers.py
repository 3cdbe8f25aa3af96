"""How many digits two numbers share."""

import math

MOST = 15.0
"""As many digits as a double holds."""


def digits(found, expected):
    """The log relative error (McCullough 1998, The American Statistician 52, 358-366): agreeing digits.

    −log10(|found − expected| / |expected|), from 0 to 15; −log10 |found| where 0 is expected. 0 where nothing
    was found.

    >>> digits(1.001, 1.0), digits(2.0, 2.0), digits(None, 1.0)
    (3.0, 15.0, 0.0)
    """
    if found is None or not math.isfinite(found):
        return 0.0
    apart = abs(found - expected) / (abs(expected) or 1.0)
    return MOST if not apart else round(min(MOST, max(0.0, -math.log10(apart))), 1)
