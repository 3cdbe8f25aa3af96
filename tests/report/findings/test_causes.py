"""Why labels may be unstable: the evidence for each cause, in studies made so that one of them is at work."""

from __future__ import annotations

from typing import Any

import pytest

from quaver.core.records import Estimate
from quaver.report.estimate_index import NO_LABEL
from quaver.report.findings.causes import Cause, Evidence, causes, causes_table

FIRST = {"model": "tiny", "decoding": "greedy", "evaluator": "first_label"}


def found_in(study: Any, **scores: float) -> dict[str, Cause]:
    """The causes by name, with some stability scores."""
    study.estimates = [one for one in study.estimates if not one.measure.endswith("_pss")]
    study.estimates += [Estimate(name, value, n=8, cell=FIRST) for name, value in scores.items()]
    found = causes(study.results(), study.deviations())
    return {one.name.split()[-1]: one for one in found}


def evidence(some: list[Evidence]) -> set[tuple[str, float | None]]:
    """The rules with their numbers, for whole sentences."""
    assert all(one.text and not one.text.endswith(".") for one in some)
    return {(one.rule, one.value) for one in some}


def test_there_are_none_where_labels_are_stable(make: Any) -> None:
    assert found_in(make(), intra_pss=0.9, inter_pss=0.8) == {}


def test_one_paraphrase_in_ten_speaks_for_the_instruction(make: Any) -> None:
    paraphrases = [f"w{n}" for n in range(10)]
    study = make(
        paraphrases=paraphrases, layouts=("names",), answer=lambda i, w, f, k: "b" if w == "w3" else "a"
    )
    found = found_in(study, intra_pss=0.95, inter_pss=0.3)
    first = next(iter(found.values()))
    assert first.name == "An ambiguous instruction"
    # 8 items × 2 repeats, all of the one paraphrase: two of ten variants hold them all
    assert evidence(first.speaks_for) >= {("variants", 1.0), ("prompts", 0.3), ("factor", 1.0)}


def test_two_items_in_ten_speak_for_the_data(make: Any) -> None:
    study = make(items=10, answer=lambda i, w, f, k: "ab"[(k + (f == "names")) % 2] if i < 2 else "a")
    found = found_in(study, intra_pss=0.5)
    assert ("items", 1.0) in evidence(found["data"].speaks_for)
    assert ("items", 1.0) in evidence(found["model"].against)


def test_accidents_everywhere_speak_for_the_model(make: Any) -> None:
    study = make(items=10, answer=lambda i, w, f, k: "ab"[k % 2])
    found = found_in(study, intra_pss=-0.1)
    assert next(iter(found)) == "model"
    # The worst two of ten items hold a fifth; accuracy is no better than that of always one label.
    assert evidence(found["model"].speaks_for) >= {("items", 0.2), ("accuracy", 0.4876543), ("repeats", -0.1)}
    assert ("repeats", -0.1) in evidence(found["instruction"].against)


def test_answers_without_a_label_deviate_whatever_is_most_frequent(make: Any) -> None:
    """Three of four answers have no label; the items that got one are not the worst."""
    study = make(
        paraphrases=("a", "b", "c", "d"),
        layouts=("names",),
        repeats=1,
        evaluators=("exact",),
        answer=lambda i, w, f, k: "a" if w == "a" and i < 4 else None,
    )
    found = study.deviations()
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
    found = found_in(make(), inter_pss=0.1)
    table = causes_table(list(found.values()))
    assert len(table.rows) == 4
    assert table.columns[0] == "cause"


@pytest.mark.parametrize("gold", [True, False])
def test_what_cannot_be_known_is_said(make: Any, gold: bool) -> None:
    study = make(items=2, paraphrases=("plain",), gold=gold, answer=lambda i, w, f, k: "ab"[(k + i) % 2])
    found = found_in(study, intra_pss=0.0)
    assert ("items", None) in evidence(found["data"].unknown)
    assert ("models", None) in evidence(found["model"].unknown)
    assert ("pairs", None) in evidence(found["construct"].unknown)
    assert ("classes", None) in evidence(found["construct"].unknown)  # one item of each
