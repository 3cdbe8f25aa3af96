"""A reply of gigabytes does not make the process grow that reads it."""

import sys

import pytest
from tests.large_replies import MOST, growth


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize(
    ("reader", "kind"),
    [
        ("chat", "gzip twice"),
        ("Claude", "chunks"),
        ("chat", "small lists"),
        ("a batch", "gzip"),
        ("a new batch", "gzip twice"),
    ],
)
def test_the_growth_is_limited(reader, kind):
    grown, end = growth(reader, kind)
    assert grown < MOST, end
