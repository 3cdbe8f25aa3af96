"""A data set of the Hugging Face hub as items."""

from __future__ import annotations

import sys

import pytest

from quaver.core import registry
from quaver.errors import ItemError


def test_a_dataset_without_the_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ItemError, match="not installed") as caught:
        registry.load("items", "hf")(path="owner/name")
    assert caught.value.fix == "pip install datasets"
