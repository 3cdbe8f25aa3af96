"""A report prints a number with as many decimals as the ends of its interval, wherever it prints one."""

import re
from html import unescape
from zipfile import ZipFile

import pytest
from docs.gallery_reports import GALLERY

NUMBER = r"[<>−-]?[\d,]*\.?\d+"
WITH_INTERVAL = re.compile(rf"(?<![\w.,])({NUMBER})%? \[({NUMBER})%? to ({NUMBER})%?\]")


def texts(bundle):
    """The text of each page that a bundle holds, which another test compares with what is written today."""
    with ZipFile(bundle) as archive:
        pages = [archive.read(name).decode() for name in archive.namelist() if name.endswith(".html")]
    for page in pages:
        shown = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL)
        yield re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", shown)))


@pytest.mark.parametrize("name", ["tweets", "factorial", "fields", "sensitivity"])
def test_every_number_of_a_report_has_as_many_decimals_as_its_interval(name):
    found = [
        match for text in texts(GALLERY / f"{name}.quaver.zip") for match in WITH_INTERVAL.finditer(text)
    ]
    assert len(found) > 5
    for match in found:
        decimals = {len(number.partition(".")[2]) for number in match.groups()}
        assert len(decimals) == 1, match[0]
        assert max(decimals) <= 3, match[0]
