"""How many items, wordings and repeats an interval takes, by hand and from stored answers."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from tests.studies import written

from quaver import Study
from quaver.errors import MeasureError
from quaver.sizing import Sizing, assumed_sizes

WORDINGS = """
variants:
  - use: wordings
    texts: {one: "Good or bad?", two: "Is it good?", three: "Say whether it is good."}
measures: [accuracy, inter_pss]
"""


def opened(folder: Path) -> Study:
    from tests.studies import STUDY

    items = "id,text,truth\n" + "".join(
        f"{n},text {n},{'positive' if n % 2 else 'negative'}\n" for n in range(40)
    )
    path = written(folder, STUDY + WORDINGS, items)

    def annotate(text: str, prompt: str) -> str:
        number = int(text.split()[-1])
        wrong = number % 5 == 0 or ("Say" in prompt and number % 3 == 0)
        return "positive" if (number % 2 == 1) != wrong else "negative"

    return Study.open(path, functions={"fake": annotate})


def needs(sizing: Sizing) -> dict[str, int | None]:
    return {one.what: one.number for one in sizing.needs}


def test_before_a_study_a_share_takes_the_widest_case() -> None:
    assert needs(assumed_sizes("accuracy", 0.05, 2))["items"] == math.ceil(0.25 * (2 * 1.96 / 0.05) ** 2)


def test_a_measure_without_a_rule_says_so() -> None:
    (only,) = assumed_sizes("ece", 0.05, 2).needs
    assert only.number is None
    assert "pilot" in only.why


def test_after_a_pilot_items_go_with_the_square_of_the_width(tmp_path: Path) -> None:
    study = opened(tmp_path)
    assert "assumptions" in str(study.sizes(0.1))
    study.run()
    one = max(
        (e for e in study.measure("inter_pss") if e.low is not None and e.high is not None),
        key=lambda e: (e.high or 0) - (e.low or 0),
    )
    now = (one.high or 0.0) - (one.low or 0.0)
    told = study.sizes(now / 2, "inter_pss")
    assert needs(told)["items"] == 4 * one.n
    assert needs(told)["wordings"] is not None
    assert "stored" in str(told)


@pytest.mark.parametrize("width", [0.0, -1.0, 2.0, float("nan")])
def test_what_is_no_width_is_refused(width: float) -> None:
    with pytest.raises(MeasureError, match="not a width"):
        assumed_sizes("accuracy", width, 2)
