"""What one answer cost, counted as the study's cost is."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.view.page.conftest import STUDY, collect
from tests.view.viewed import client

from quaver.view.answer_document import cost_of

PRICED = STUDY.replace("use: function}", "use: function, price: {input: 100, output: 1000}}")


def test_the_costs_of_all_answers_are_the_studys(tmp_path: Path) -> None:
    browser = client(collect(tmp_path, PRICED))
    place = "api/studies/tones"
    found = browser.get(f"{place}/answers", params={"count": 500}).json()["answers"]
    one = browser.get(f"{place}/answer", params={"item": "i1", "column": 0}).json()["response"]["money"]
    assert one == pytest.approx((31 * 100 + 9 * 1000) / 1e6)
    whole = browser.get(place).json()["progress"]["money"]
    assert whole == pytest.approx(len(found) * one)


def test_an_answer_whose_price_is_unknown_has_no_cost(tmp_path: Path) -> None:
    browser = client(collect(tmp_path))
    asked = {"item": "i1", "column": 0}
    assert browser.get("api/studies/tones/answer", params=asked).json()["response"]["money"] is None


FACTS = {
    "reused": None,
    "model": "fake",
    "prompt_tokens": 1000,
    "cached_tokens": 400,
    "written": 50,
    "batch": 0,
}
PRICES = {"fake": {"input": 10.0, "output": 40.0, "cached": 1.0, "batch": None}}


@pytest.mark.parametrize(
    ("other", "money"),
    [
        ({}, (600 * 10 + 400 * 1 + 50 * 40) / 1e6),
        ({"batch": 1}, (600 * 10 + 400 * 1 + 50 * 40) / 2e6),
        ({"reused": "another study"}, 0.0),
        ({"prompt_tokens": None}, None),
        ({"model": "other"}, None),
    ],
)
def test_cached_tokens_batches_and_reused_answers_cost_less(
    other: dict[str, object], money: float | None
) -> None:
    found = cost_of(FACTS | other, PRICES)
    assert found is money if money is None else found == pytest.approx(money)
