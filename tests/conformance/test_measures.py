"""What measures that are not declared do with answers without a label."""

import inspect

import pytest

from quaver.core import registry
from quaver.errors import MeasureError
from quaver.estimation.declaration import Measure
from quaver.testing.frames import noisy_annotations
from quaver.testing.test_measures import measured

# What these do with answers that have no label is what they are; the others have the option ``missing``.
NO_TREATMENT = {
    *("brier", "ece", "ece_shift", "mce", "output_uncertainty", "verbal_calibration"),  # of confidences
    *("compliance", "distinct_annotations", "missing_bounds", "strict_stability"),
    *("evaluator_flips", "recovered_share"),  # wrong
    *("coder_agreement", "readiness"),
}
OF_GOLD = {"accuracy", "differences", "f1", "factor_effects", "mixed_effects", "spread"}
OWN_CLASS = {"f1": {"category"}}


@pytest.mark.parametrize("name", registry.names("measures"))
def test_an_answer_without_a_label_is_dropped_a_category_or_wrong(name):
    if isinstance(registry.load("measures", name), Measure):
        return
    option = inspect.signature(registry.load("measures", name)).parameters.get("missing")
    assert (option is None) == (name in NO_TREATMENT), "see docs/evaluators.md, Missing answers"
    if option is None:
        return
    known = {"drop", "category"} if name not in OF_GOLD else {"drop", "wrong"} | OWN_CLASS.get(name, set())
    assert option.default in known | {None}
    for treatment in ("drop", "category", "wrong"):
        if treatment in known:
            measured(name, noisy_annotations(), missing=treatment)
            continue
        with pytest.raises(MeasureError) as caught:
            measured(name, noisy_annotations(), missing=treatment)
        assert caught.value.where == "missing"
