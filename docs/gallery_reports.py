"""The gallery's reports and bundles, made from those in ``docs/gallery`` whenever the site is built.

A bundle holds the answers, so its report is always today's report, and the gallery shows no old one.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from quaver.bundles.derived_files import made_with, write_derived, write_json
from quaver.study.sources.archive import extract, pack
from quaver.study.sources.bundle_source import FORM, PACKED, Bundle

GALLERY = Path(__file__).parent / "gallery"


def pages() -> Iterator[tuple[str, str | bytes]]:
    """Each report and each bundle that holds it: its path in the site and its content."""
    for bundle in sorted(GALLERY.glob("*.quaver.zip")):
        reports, packed = made_again(bundle)
        for name, report in reports.items():
            own = f"{bundle.name.removesuffix('.quaver.zip')}.html" if name == "report.html" else name
            yield f"gallery/{own}", report
        yield f"gallery/{bundle.name}", packed


@cache  # a server that shows the site while you write builds it again and again
def made_again(bundle: Path) -> tuple[dict[str, str], bytes]:
    """A bundle's report as today's Quaver writes it, with those of its fields, and the bundle with them."""
    with TemporaryDirectory() as home:
        opened, folder = Path(home) / "opened", Path(home) / "packed"
        found = extract(bundle, opened, FORM)
        shutil.copytree(opened, folder)
        source = Bundle(bundle, found, opened)
        facts = json.loads((opened / PACKED).read_text(encoding="utf-8"))
        write_json(folder / PACKED, facts | {"made_with": made_with()})
        write_derived(source, folder)
        about = {name: value for name, value in found.items() if name not in ("files", "bytes")}
        pack(Path(home) / "again", {one.name: one for one in folder.iterdir()}, about)
        pages = {one.name: one.read_text(encoding="utf-8") for one in sorted(folder.glob("report*.html"))}
        return pages, (Path(home) / "again").read_bytes()
