"""Models that the tests of the papers register are gone after the tests of their file."""

import pytest

from quaver.core import registry


@pytest.fixture(scope="module", autouse=True)
def _only_installed():
    yield
    registry._entries.cache_clear()
