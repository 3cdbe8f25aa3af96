"""Bounds on what calls take: the length of their answers, and their price."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.view.page.conftest import STUDY, collect

import quaver
from quaver.comparison.paired_comparison import compare
from quaver.errors import MeasureError


def priced(folder: Path, cost: int) -> quaver.Study:
    """A study of calls that read 31 tokens and write 9."""
    folder.mkdir()
    text = STUDY.replace("use: function}", f"use: function, price: {{input: {cost}, output: 1000}}}}")
    return quaver.Study.open(collect(folder, text))


@pytest.fixture(scope="module")
def cheap(tmp_path_factory: pytest.TempPathFactory) -> quaver.Study:
    return priced(tmp_path_factory.mktemp("cheap") / "cheap", 100)


def test_a_price_can_be_a_bound(cheap: quaver.Study, tmp_path: Path) -> None:
    dear = priced(tmp_path / "dear", 200)
    found = compare(cheap, dear, measures=["compliance"], fail_if=["price > 0", "price > 4"])
    assert [one.held for one in found.judgements] == [False, True]
    one = found.judgements[0].failed[0]
    assert (one.details["before"], one.value) == pytest.approx((1000 * (31 * 100 + 9 * 1000) / 1e6, 3.1))
    assert {v.kind for v in found.verdicts if v.estimate.measure == "price"} == {"loss"}
    assert "evaluator" not in one.cell


def test_the_length_of_answers_can_be_a_bound_and_differences_have_intervals(tmp_path: Path) -> None:
    sides = []
    for name, words in (("before", 0), ("after", 10)):
        folder = tmp_path / name
        folder.mkdir()
        rows = [f"i{n},a text of {n}" for n in range(60)]
        (folder / "items.csv").write_text("\n".join(["id,text", *rows]))
        (folder / "study.yaml").write_text(
            "task: {labels: [yes, no]}\nitems: {source: items.csv, id: id, text: '{{ text }}'}\n"
            "prompt: {instruction: Is it?}\nmodels: [{name: m, use: function}]\nmeasures: [compliance]\n"
        )

        def longer(text: str, prompt: str, words: int = words) -> str:
            return "yes" + "!" * (words and int(text.split()[-1]) % (2 * words + 1))

        sides.append(quaver.Study.open(folder, functions={"m": longer}))
        sides[-1].run()
    found = compare(*sides, fail_if=["answer_length > 5"], fail_unless=["answer_length < 12"])
    (fails, holds) = found.judgements
    assert (fails.held, holds.held) == (False, True)
    (one,) = fails.judged
    assert one.details["before"] == 3
    assert one.value == pytest.approx(sum(n % 21 for n in range(60)) / 60)
    assert one.low is not None
    assert one.high is not None
    assert 7 < one.low < one.value < one.high < 12
    same = compare(sides[0], sides[0], fail_if=["answer_length > 0"])
    assert same.held
    (none,) = same.judgements[0].judged
    assert none.low == -(none.high or 0.0) < 0


def test_a_price_that_nobody_knows_is_no_bound(cheap: quaver.Study, tmp_path: Path) -> None:
    unknown = quaver.Study.open(collect(tmp_path, STUDY))
    with pytest.raises(MeasureError, match="cannot be judged"):
        compare(cheap, unknown, fail_if=["price > 0"])


def test_the_prompts_of_one_study_can_be_bound_by_length(cheap: quaver.Study) -> None:
    found = compare(cheap, fail_if=["answer_length > 0"], fail_unless=["price < 1"])
    assert found.judgements[0].judged
    assert {one.value for one in found.judgements[1].judged} == {0.0}
