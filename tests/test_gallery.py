"""The bundles of the gallery hold with the code that ships them; ``make gallery`` makes them again."""

import pytest
from docs.gallery_reports import GALLERY

from quaver.bundles.verification import verify

BUNDLES = sorted(GALLERY.glob("*.quaver.zip"))
NOT_IN_BUNDLES = ("anes96", "examples", "made with", "pictures")
"""What may not be compared: data that a library brings, and what another code or machine has drawn."""


@pytest.mark.long
@pytest.mark.parametrize("bundle", BUNDLES, ids=[one.name for one in BUNDLES])
def test_a_bundle_of_the_gallery_holds(bundle):
    found = verify(str(bundle))
    assert not found.differs, [*found.changed, *found.differing]
    assert found.annotations
    assert all(any(word in line for word in NOT_IN_BUNDLES) for line in found.not_compared)
