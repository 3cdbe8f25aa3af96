"""Every kind of value in three bundles, changed: what passes is listed in docs/bundle.md, with the reason."""

import re
from pathlib import Path

import pytest
from tests.bundles.bundle_leaves import PASSING, changed_values
from tests.bundles.leaf_studies import BUNDLES

pytestmark = pytest.mark.long

PAGE = (Path(__file__).parents[2] / "docs" / "bundle.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", BUNDLES)
def test_a_changed_value_is_found_or_listed(name, tmp_path):
    """One value of a fourth of the kinds of place, others each day, in each file from which others follow."""
    ends = changed_values(BUNDLES[name](tmp_path / "study"), tmp_path, most=1, parts=4, derived=False)
    passed = [kind for kind, end in ends if end == "holds"]
    assert ends.total() > 15
    assert [kind for kind in passed if not re.fullmatch("|".join(PASSING), kind)] == []


@pytest.mark.parametrize("kind", PASSING)
def test_what_passes_is_on_the_page(kind):
    names = re.search(r"\(([^)]*)\)", kind)[1].split("|")
    assert all(f"`{name}`" in PAGE for name in names)
