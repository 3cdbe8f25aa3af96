"""Rounds that may end at any time: when they do, and what they ask."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.studies import ITEMS, STUDY, written

from quaver.collect.run.progress import Outcome
from quaver.core.records import Estimate, IntervalWarning
from quaver.design.spec import UntilSpec
from quaver.errors import SpecError
from quaver.study.collection.rounds import Part, Round, collect_at_any_time, is_clear, planned_rounds
from quaver.study.collection.study_run import texts_by_label
from quaver.study.session import Study

WHOLE = Part(items=400, variants=3, repeats=2)
CLEAR = UntilSpec(measure="m", clear_of=0.8)


def collected(
    until: UntilSpec, found: dict[int, Sequence[Estimate]], ended: dict[int, str] | None = None
) -> tuple[list[Round], Outcome]:
    def ask(part: Part) -> Outcome:
        how: Any = (ended or {}).get(part.items, "finished")
        return Outcome(how, 10, 0, 1, 0, 0.0)

    return collect_at_any_time(until, WHOLE, ask, lambda part, level: found.get(part.items, [wide()]))


def wide() -> Estimate:
    return Estimate("m", 0.8, 0.5, 0.95)


def above() -> Estimate:
    return Estimate("m", 0.9, 0.85, 0.95)


def test_only_items_grow_and_the_rounds_are_known_beforehand() -> None:
    parts = [part for part, _ in planned_rounds(CLEAR, WHOLE)]
    assert parts == [Part(items, 3, 2) for items in (50, 100, 200, 400)]


def test_it_ends_when_every_cell_is_clear() -> None:
    below = Estimate("m", 0.5, 0.4, 0.6)
    rounds, last = collected(CLEAR, {50: [above(), wide()], 100: [above(), below]})
    assert [one.part.items for one in rounds] == [50, 100]
    assert [one.grows for one in rounds] == ["items", None]
    assert last.ended == "clear"
    assert rounds[-1].document()["cells"][1] == {"cell": {}, "value": 0.5, "low": 0.4, "high": 0.6}
    assert rounds[0].wider > rounds[-1].wider > 1


def test_it_ends_with_the_design_where_nothing_is_clear() -> None:
    rounds, last = collected(CLEAR, {})
    assert [one.part.items for one in rounds] == [50, 100, 200, 400]
    assert last.ended == "finished"


def test_a_budget_ends_it_without_a_look() -> None:
    rounds, last = collected(CLEAR, {100: [above()]}, {100: "money"})
    assert (len(rounds), rounds[-1].cells, last.ended) == (2, (), "money")


def test_a_width_can_be_reached_at_any_time_too() -> None:
    until = UntilSpec(measure="m", width=0.2, anytime=True)
    _, last = collected(until, {100: [above()]})
    assert last.ended == "narrow"


def test_what_is_clear() -> None:
    assert is_clear([above()], 0.8)
    assert not is_clear([], 0.8)
    assert not is_clear([Estimate("m", 0.9, 0.8, 0.95)], 0.8)
    assert not is_clear([Estimate("m", None, reason="no labels")], 0.8)
    doubted = Estimate("m", 0.9, 0.85, 0.95, warnings=(IntervalWarning("too few"),))
    assert not is_clear([doubted], 0.8)
    assert is_clear([Estimate("m", 0.9, 0.85, 0.95, warnings=("a remark on the value",))], 0.8)


@pytest.mark.parametrize(
    ("until", "where"),
    [
        ("{measure: accuracy, clear_of: 0.8, width: 0.1}", "until.width"),
        ("{measure: accuracy, clear_of: 0.8, anytime: false}", "until.anytime"),
        ("{measure: accuracy, clear_of: 0.8, repeats: 2}", "until.repeats"),
        ("{measure: accuracy, width: 0.1, anytime: true, variants: 2}", "until.variants"),
    ],
)
def test_rules_that_contradict_themselves(until: str, where: str, tmp_path: Path) -> None:
    written(tmp_path, STUDY + f"until: {until}\n", ITEMS)
    with pytest.raises(SpecError) as caught:
        Study.open(tmp_path)
    assert str(caught.value.where).endswith(where)


def test_a_run_stops_early_and_a_later_one_finds_nothing_to_ask(tmp_path: Path) -> None:
    study = {
        "name": "early",
        "items": {"source": str(tmp_path / "items.csv"), "text": "{{ text }}", "gold": {"column": "gold"}},
        "task": {"labels": ["yes", "no"]},
        "prompt": {"instruction": "yes or no?"},
        "models": [{"name": "m", "use": "function"}],
        "until": {"measure": "accuracy", "clear_of": 0.6},
    }
    lines = ["text,gold", *(f"text {at},yes" for at in range(300))]
    (tmp_path / "items.csv").write_text("\n".join(lines), encoding="utf-8")
    asked = 0

    def answer(text: str, prompt: str) -> str:
        nonlocal asked
        asked += 1
        return "no" if text.endswith("0") else "yes"

    opened = Study.open(study, folder=tmp_path, functions={"m": answer})
    outcome = opened.run()
    assert outcome.ended == "clear"
    assert outcome.done == asked < 300
    assert "above 0.6" in opened.status().round_verdict
    assert opened.run().done == 0
    assert asked == outcome.done


def test_a_label_has_the_texts_that_it_is_the_most_frequent_answer_to() -> None:
    """Text 1 is mostly "a", 2 as often "b" as "a"; "c" is nowhere more than a slip; of 4 nothing is known."""
    answers = {1: "aab", 2: "ab", 3: "bbc", 4: [None]}
    rows = [{"item": item, "label": label} for item, labels in answers.items() for label in labels]
    found = texts_by_label(pl.DataFrame(rows, infer_schema_length=None))
    assert sorted(map(sorted, found)) == [[], [1, 2], [2, 3]]


def annotated(slips: int) -> Callable[[str, str], str]:
    """Says "no" of three texts in a hundred, and of so many more to one of three prompts."""

    def annotate(text: str, prompt: str) -> str:
        number = int(text) % 100
        return "no" if number < 3 or (number < 3 + slips and "third" in prompt) else "yes"

    return annotate


@pytest.mark.parametrize("slips", [0, 37])
def test_slips_into_a_rare_label_decide_nothing_early(slips: int, tmp_path: Path) -> None:
    """Of 400 texts 12 have the label, and up to 160 an answer with it: too few for alpha's early rounds."""
    rows = ["text", *(str(37 * at % 400) for at in range(400))]
    (tmp_path / "items.csv").write_text("\n".join(rows))
    given = {
        "name": "s",
        "items": {"source": "items.csv", "text": "{{ text }}"},
        "task": {"labels": ["yes", "no"]},
        "prompt": {"instruction": "yes or no?"},
        "variants": [{"use": "instructions", "texts": {"second": "no or yes?", "third": "third: yes?"}}],
        "models": [{"name": "m", "use": "function"}],
        "until": {"measure": "inter_pss", "clear_of": -0.5},
    }
    (tmp_path / "study.yaml").write_text(json.dumps(given))
    study = Study.open(tmp_path, functions={"m": annotated(slips)})
    assert study.run().ended == "finished"
    assert len(json.loads((tmp_path / "rounds.json").read_text())["rounds"]) == 4
