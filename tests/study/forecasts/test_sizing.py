"""How many items, paraphrases and repeats an interval takes, by hand and from stored answers."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from tests.cli.commands import here
from tests.studies import STUDY, written

from quaver import Study
from quaver.errors import MeasureError
from quaver.study.forecasts.sizing import Sizing, assumed_sizes

PARAPHRASES = """
variants:
  - use: instructions
    texts: {one: "Good or bad?", two: "Is it good?", three: "Say whether it is good."}
measures: [accuracy, inter_pss]
"""


def opened(folder: Path, items: int = 40, answer: str = "") -> Study:
    rows = "id,text,truth\n" + "".join(
        f"{n},text {n},{'positive' if n % 2 else 'negative'}\n" for n in range(items)
    )
    path = written(folder, STUDY + PARAPHRASES, rows)

    def annotate(text: str, prompt: str) -> str:
        if answer:
            return answer
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
        (e for e in study.measure("inter_pss", estimand="fixed") if e.low is not None),
        key=lambda e: (e.high or 0) - (e.low or 0),
    )
    now = (one.high or 0.0) - (one.low or 0.0)
    told = study.sizes(now / 2, "inter_pss")
    assert needs(told)["items"] == 4 * one.n
    items, paraphrases = told.needs[:2]
    # the variance of 40 items: 39 / 58.12 to 39 / 23.65 of it
    assert items.between == pytest.approx((4 * 40 * 39 / 58.12, 4 * 40 * 39 / 23.65), abs=1)
    assert paraphrases.number is not None
    assert paraphrases.between is not None
    assert paraphrases.between[1] > 10 * paraphrases.number  # four show little of how they differ
    assert "In brackets" in str(told)


def test_a_tiny_pilot_gives_a_reason_in_place_of_a_number(tmp_path: Path) -> None:
    few, alike = opened(tmp_path / "few", items=6), opened(tmp_path / "alike", answer="positive")
    for study in (few, alike):
        study.run()
    assert needs(few.sizes(0.1, "accuracy"))["items"] is None
    assert "10 or more" in str(few.sizes(0.1, "accuracy"))
    told = alike.sizes(0.1, "compliance")
    assert needs(told)["items"] is None
    assert "All 40" in str(told)


def test_the_command_says_what_it_assumes_and_how_sure_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened(tmp_path)
    (tmp_path / "functions.py").write_text(
        "def annotate(text, prompt):\n    return 'positive' if int(text.split()[-1]) % 3 else 'negative'\n",
        encoding="utf-8",
    )
    given = ["--function", "fake=functions:annotate"]
    asked = ["plan", "study.yaml", "--width", "0.1", *given]
    before = here(tmp_path, *asked, monkeypatch=monkeypatch, capsys=capsys)
    said = " ".join(before.stdout.split())
    assert "accuracy that is 0.1 wide" in said
    assert "items: 385." in said
    here(tmp_path, "run", "study.yaml", *given, monkeypatch=monkeypatch, capsys=capsys)
    after = here(tmp_path, *asked, monkeypatch=monkeypatch, capsys=capsys)
    said = " ".join(after.stdout.split())
    assert "(by 160 stored annotations):" in said
    assert "In brackets" in said
    refused = here(tmp_path, *asked[:3], "3", *given, monkeypatch=monkeypatch, capsys=capsys)
    assert refused.returncode == 2
    assert "not a width" in refused.stderr


@pytest.mark.parametrize("width", [0.0, -1.0, 2.0, float("nan")])
def test_what_is_no_width_is_refused(width: float) -> None:
    with pytest.raises(MeasureError, match="not a width"):
        assumed_sizes("accuracy", width, 2)
