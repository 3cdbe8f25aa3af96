"""The documentation as a site: it builds without a warning, and has a page for everything."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import quaver
from quaver.bundles.verification import verify
from quaver.cli.main import COMMANDS
from quaver.core import registry
from quaver.design.spec.json_schema import json_schema

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[1]
SECTIONS = (
    "Get started",
    "A spreadsheet",
    "Your own study",
    "Reading a report",
    "Guarding a prompt",
    "Reviewing",
    "Reference",
    "The statistics explained",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def test_every_measure_has_a_page_with_its_worked_number_and_source(site):
    for name in registry.names("measures"):
        page = (site / "measures" / name / "index.html").read_text(encoding="utf-8")
        for part in ("&gt;&gt;&gt;", "ndefined", "Source: ", "Every measure"):
            assert part in page, (name, part)


def test_every_command_is_in_the_reference(site):
    page = (site / "reference" / "commands" / "index.html").read_text(encoding="utf-8")
    for command in COMMANDS:
        assert f"quaver {command}" in page


def test_every_key_of_the_study_file_is_in_the_reference(site):
    page = (site / "reference" / "study-file" / "index.html").read_text(encoding="utf-8")
    for key, field in json_schema()["properties"].items():
        assert f'id="{key}"' in page
        assert field["description"].split("<")[0].split("`")[0] in page


def test_nothing_is_requested_from_a_network(site):
    loaded = re.compile(r"<(?:script|link|img)[^>]+(?:src|href)=\"?https?://(?!squidfunk)", re.IGNORECASE)
    for page in site.rglob("*.html"):
        found = [one for one in loaded.findall(page.read_text(encoding="utf-8")) if "canonical" not in one]
        assert not found, page


def test_the_sidebar_is_a_way_through_and_every_page_can_be_searched_in_light_and_dark(site):
    page = (site / "compare" / "index.html").read_text(encoding="utf-8")
    sidebar = page.partition("md-nav--primary")[2]
    places = [sidebar.index(part) for part in SECTIONS]
    assert places == sorted(places)
    assert 'data-md-component="search"' in page
    assert {"default", "slate"} <= set(re.findall(r"data-md-color-scheme=\"?(\w+)", page))
    found = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    assert {one["location"] for one in found} >= {"paper/", "notebook/", "tutorials/get-started/"}


def test_every_public_name_has_a_place_in_the_python_reference(site):
    pages = [path.read_text(encoding="utf-8") for path in (site / "reference" / "python").rglob("*.html")]
    for name in set(quaver.__all__) - {"__version__", "agreement", "errors", "measures"}:
        assert any(f'.{name}"' in page for page in pages), name


def test_the_gallery_shows_reports_that_open_from_the_site_alone(site):
    page = (site / "gallery" / "index.html").read_text(encoding="utf-8")
    for bundle in (site / "gallery").glob("*.quaver.zip"):
        name = bundle.name.removesuffix(".quaver.zip")
        assert f'href="{name}.html"' in page
        assert "Content-Security-Policy" in (site / "gallery" / f"{name}.html").read_text(encoding="utf-8")
    found = verify(site / "gallery" / "stability.quaver.zip")
    assert not found.differs
    assert {"report.html", "README.md"} <= set(found.compared)  # packed again with the site
    assert page.count("<iframe") >= 3


def test_a_pages_figures_say_at_its_end_where_they_come_from():
    for page in (ROOT / "docs" / "studies").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        assert text.index("<!-- made: run -->") > text.rindex("\n## ")
