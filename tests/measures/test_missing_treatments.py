"""What Quaver's own measures can make of an answer without a label; docs/evaluators.md says so, too."""

from __future__ import annotations

import pytest

from quaver.core import registry

# What these do with answers that have no label is what they are.
NO_TREATMENT = {
    *("brier", "ece", "ece_shift", "mce", "output_uncertainty", "verbal_calibration"),  # of confidences
    *("compliance", "distinct_annotations", "missing_bounds", "strict_stability"),
    *("evaluator_flips", "recovered_share"),  # wrong
    *("coder_agreement", "readiness"),
}
OF_GOLD = {"accuracy", "differences", "f1", "factor_effects", "mixed_effects", "spread"}
OWN_CLASS = {"f1": {"category"}}


@pytest.mark.parametrize("name", registry.names("measures"))
def test_the_treatments_that_are_declared(name: str) -> None:
    known = {"drop", "wrong"} | OWN_CLASS.get(name, set()) if name in OF_GOLD else {"drop", "category"}
    expected = set() if name in NO_TREATMENT else known
    assert set(registry.load("measures", name).missing) == expected
