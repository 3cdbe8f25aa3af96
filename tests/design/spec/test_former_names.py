"""What stored studies call by another name reads as what it is called today."""

from __future__ import annotations

import pytest

from quaver.design.spec import MeasureSpec
from quaver.design.spec.former_names import renamed_estimates


@pytest.mark.parametrize(
    ("option", "drawn", "estimand"),
    [
        ("wordings", "random", "population"),
        ("paraphrases", "random", "population"),
        ("paraphrases", "fixed", "fixed"),
    ],
)
def test_what_was_drawn_anew_is_the_estimand(option: str, drawn: str, estimand: str) -> None:
    found = MeasureSpec.model_validate({"use": "inter_pss", option: drawn})
    assert (found.estimand, found.options) == (estimand, {})


def test_an_estimate_over_variants_holds_for_their_population() -> None:
    stored = [
        {"measure": "inter_pss", "value": 0.5, "cell": {}, "unit": unit}
        for unit in ("item", "item and variant", "author and variant")
    ]
    found = renamed_estimates(stored)
    assert [(one["unit"], one.get("estimand", "fixed")) for one in found] == [
        ("item", "fixed"),
        ("item and prompt", "population"),
        ("author and prompt", "population"),
    ]
