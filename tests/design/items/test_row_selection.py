"""A study that uses some rows of a table, and takes its examples from another."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.studies import resolved, written

from quaver.errors import ItemError, QuaverError, SpecError, UnknownName

STUDY = """
task: {labels: [positive, negative]}
items:
  source: items.csv
  text: "{{ text }}"
  gold: truth
  where: {language: en}
prompt: {instruction: Which?}
models: [{name: m, use: function}]
"""
ITEMS = """text,truth,language,year
Good,positive,en,2019
Gut,positive,de,2020
Bad,negative,en,2021
Fine,positive,en,
"""
POOL = """text,truth
Great,positive
 bad ,negative
Awful,negative
Lovely,positive
GOOD,positive
"""


def test_only_rows_that_meet_the_conditions_are_items_and_keep_their_numbers(tmp_path: Path) -> None:
    found = resolved(written(tmp_path, STUDY, ITEMS)).items
    assert [(item.id, item.fields["text"]) for item in found] == [("1", "Good"), ("3", "Bad"), ("4", "Fine")]
    text = STUDY.replace("{language: en}", "{language: [en, de], year: {at_least: 2020}}")
    assert [item.id for item in resolved(written(tmp_path, text, ITEMS)).items] == ["2", "3"]


def test_a_list_is_chosen_by_its_length(tmp_path: Path) -> None:
    """As the hub has multiple choice: a list, an object with the texts, or either as JSON in a CSV."""
    items = 'text,choices\nx,"[""a"", ""b""]"\ny,"{""text"": [""a""], ""label"": [1, 2]}"\nz,a\n'
    text = STUDY.replace("  gold: truth\n", "").replace("{language: en}", "{choices: {entries: 2}}")
    assert [item.id for item in resolved(written(tmp_path, text, items)).items] == ["1"]
    with pytest.raises(ItemError, match=r"2 entries \(1\), 1 entries \(1\), 0 entries \(1\)"):
        resolved(written(tmp_path, text.replace("entries: 2", "entries: 3"), items))


@pytest.mark.parametrize(
    ("where", "kind", "said"),
    [
        ("{langage: en}", UnknownName, "language"),
        ("{language: fr}", ItemError, "en (3), de (1)"),
        ("{text: {above: 3}}", ItemError, "items.csv:2: text"),
        ("{language: {equals: en}}", SpecError, "one_of"),
        ("{language: {}}", SpecError, "is empty"),
        ("language", SpecError, "where"),
    ],
)
def test_a_condition_that_cannot_be_is_one_error(
    tmp_path: Path, where: str, kind: type[QuaverError], said: str
) -> None:
    with pytest.raises(kind) as caught:
        resolved(written(tmp_path, STUDY.replace("{language: en}", where), ITEMS))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "variants", ["{use: shots, k: 4}", "{use: strategies, strategies: {one-shot: {examples: 1}}}"]
)
def test_examples_come_from_the_other_table_and_never_are_texts_that_are_labelled(
    tmp_path: Path, variants: str
) -> None:
    (tmp_path / "train.csv").write_text(POOL + "Dreadful,negative\n")
    text = STUDY.replace("  where: {language: en}", "  examples: train.csv") + f"variants: [{variants}]\n"
    found = resolved(written(tmp_path, text, ITEMS))
    shown = [one for variant in found.variants for one in variant.examples]
    assert shown
    assert {one.fields["text"] for one in shown} <= {"Great", "Awful", "Lovely", "Dreadful"}
    assert len(found.items) == 4


def test_a_table_of_examples_has_conditions_and_columns_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("nr,text,code,set\n7,Great,p,train\n8,Awful,n,test\n9,Poor,n,train\n")
    gold = "{column: code, map: {p: positive, n: negative}}"
    pool = f"  examples: {{source: train.csv, id: nr, gold: {gold}, where: {{set: train}}}}"
    text = STUDY.replace("  where: {language: en}", pool) + "variants: [{use: shots, k: 2}]\n"
    shown = resolved(written(tmp_path, text, ITEMS)).variants[0].examples
    assert {(one.id, one.gold) for one in shown} == {("7", "positive"), ("9", "negative")}
    with pytest.raises(SpecError) as caught:
        resolved(written(tmp_path, text.replace("k: 2", "k: 3"), ITEMS))
    assert "shots" in str(caught.value.where) or "variants" in str(caught.value.where)
    with pytest.raises(UnknownName) as unknown:
        resolved(written(tmp_path, text.replace("id: nr", "id: number"), ITEMS))
    assert "items.examples.id" in str(unknown.value.where)
