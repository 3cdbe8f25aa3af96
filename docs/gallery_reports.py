"""The gallery's reports, made from the bundles in ``docs/gallery`` whenever the site is built.

A bundle holds the answers, so its report is always today's report, and the gallery shows no old one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from quaver.study.session import Study

GALLERY = Path(__file__).parent / "gallery"


def pages() -> Iterator[tuple[str, str]]:
    """Each report: its path in the site and its HTML."""
    for bundle in sorted(GALLERY.glob("*.quaver.zip")):
        yield f"gallery/{bundle.name.removesuffix('.quaver.zip')}.html", _report(bundle)


@cache  # a server that shows the site while you write builds it again and again
def _report(bundle: Path) -> str:
    with TemporaryDirectory() as folder:
        return Study.open(bundle).report(folder).read_text(encoding="utf-8")
