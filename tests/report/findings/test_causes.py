"""Why labels may be unstable: what speaks for each cause, in studies made so that one of them is at work."""

from __future__ import annotations

from typing import Any

import pytest

from quaver.core.records import Estimate
from quaver.report.estimate_index import NO_LABEL
from quaver.report.findings.causes import Cause, causes, causes_table

FIRST = {"model": "tiny", "decoding": "greedy", "evaluator": "first_label"}


def told(study: Any, **scores: float) -> dict[str, Cause]:
    """The causes by name, with some stability scores."""
    study.estimates = [one for one in study.estimates if not one.measure.endswith("_pss")]
    study.estimates += [Estimate(name, value, n=8, cell=FIRST) for name, value in scores.items()]
    found = causes(study.results(), study.unlike())
    return {one.name.split()[-1]: one for one in found}


def test_there_are_none_where_labels_are_stable(make: Any) -> None:
    assert told(make(), intra_pss=0.9, inter_pss=0.8) == {}


def test_one_paraphrase_in_ten_speaks_for_the_instruction(make: Any) -> None:
    paraphrases = [f"w{n}" for n in range(10)]
    study = make(
        paraphrases=paraphrases, layouts=("names",), answer=lambda i, w, f, k: "b" if w == "w3" else "a"
    )
    found = told(study, intra_pss=0.95, inter_pss=0.3)
    first = next(iter(found.values()))
    assert first.name == "An ambiguous instruction"
    # 8 items × 2 repeats, all of the one paraphrase: two of ten variants hold them all
    assert any("the worst 2 of 10 variants hold 100%" in said for said in first.speaks_for)
    assert any("in other words at 0.30" in said for said in first.speaks_for)
    assert any("by paraphrase alone a label’s share moves by 100 points" in said for said in first.speaks_for)


def test_two_items_in_ten_speak_for_the_data(make: Any) -> None:
    study = make(items=10, answer=lambda i, w, f, k: "ab"[(k + (f == "names")) % 2] if i < 2 else "a")
    found = told(study, intra_pss=0.5)
    assert any("the worst 2 of 10 items hold 100%" in said for said in found["data"].speaks_for)
    assert any("most items are labelled alike" in said for said in found["model"].against)


def test_accidents_everywhere_speak_for_the_model(make: Any) -> None:
    study = make(items=10, answer=lambda i, w, f, k: "ab"[k % 2])
    found = told(study, intra_pss=-0.1)
    assert next(iter(found)) == "model"
    assert any("it is spread over all items" in said for said in found["model"].speaks_for)
    assert any("accuracy is 49" in said for said in found["model"].speaks_for)  # no better than always one
    assert any("no paraphrase is needed to move it" in said for said in found["instruction"].against)


def test_answers_without_a_label_are_unlike_whatever_is_commonest(make: Any) -> None:
    """Three of four answers have no label; the items that got one are not the worst."""
    study = make(
        paraphrases=("a", "b", "c", "d"),
        layouts=("names",),
        repeats=1,
        evaluators=("exact",),
        answer=lambda i, w, f, k: "a" if w == "a" and i < 4 else None,
    )
    found = study.unlike()
    assert found is not None
    shares = dict(found.items.select("item", "share").iter_rows())
    assert {shares[str(n)] for n in range(4)} == {0.75}
    assert {shares[str(n)] for n in range(4, 8)} == {1.0}
    assert dict(found.items.select("item", "mode").iter_rows()) == {
        str(n): "a" if n < 4 else NO_LABEL for n in range(8)
    }
    # the paraphrase that gets labels is the best: 4 of its 8 answers have none
    assert found.variants.row(-1, named=True)["share"] == 0.5


def test_the_table_has_a_row_a_cause(make: Any) -> None:
    found = told(make(), inter_pss=0.1)
    table = causes_table(list(found.values()))
    assert len(table.rows) == 4
    assert table.columns[0] == "cause"


@pytest.mark.parametrize("gold", [True, False])
def test_what_cannot_be_known_is_said(make: Any, gold: bool) -> None:
    study = make(items=2, paraphrases=("plain",), gold=gold, answer=lambda i, w, f, k: "ab"[(k + i) % 2])
    found = told(study, intra_pss=0.0)
    assert any("too few items" in said for said in found["data"].unknown)
    assert any("one model only" in said for said in found["model"].unknown)
    assert any("with two labels" in said for said in found["construct"].unknown)
