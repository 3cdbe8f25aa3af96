"""Results of promptfoo become studies: tests are items, prompts variants, and tests asked again repeats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from quaver.errors import ItemError
from quaver.study.imports.label_import import import_annotations
from quaver.study.imports.promptfoo_results import rows_of_results

_PROMPTS = ("For or against? {{text}}", "Stance of {{text}}:")


def result(
    test: int, prompt: int, answer: str | None, text: str = "t0", score: float = 1, **about: Any
) -> dict[str, Any]:
    """One result, as promptfoo 0.120 writes it to both of its formats, without times and tokens."""
    said = {"assertion": {"type": "icontains", "value": "{{stance}}"}}
    grading = {
        "pass": bool(score),
        "componentResults": [said | {"metadata": {"renderedAssertionValue": "favor"}}],
    }
    return {
        "provider": {"id": "openai:chat:gpt-a", "label": "", "config": {"apiKey": "secret"}},
        "prompt": {"raw": f"For or against? {text}", "label": _PROMPTS[prompt]},
        "promptIdx": prompt,
        "testIdx": test,
        "vars": {"id": text, "text": f"text of {text}", "stance": "favor"},
        "response": {} if answer is None else {"output": answer},
        "score": score,
        "namedScores": {},
        "gradingResult": grading,
        **about,
    }


RESULTS = [
    result(2, 0, "against", "t1", 0),  # in the order in which the calls ended
    result(0, 0, "favor"),
    result(1, 0, "against", score=0),
    result(0, 1, "in favor"),
    result(1, 1, "favor"),
    result(3, 0, "favor", "t1"),
    result(2, 1, "favor", "t1"),
    result(3, 1, "against", "t1", 0),
]


def written(path: Path, results: list[dict[str, Any]]) -> Path:
    """A file as promptfoo writes it."""
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(one) + "\n" for one in results))
    else:
        path.write_text(
            json.dumps({"evalId": "e", "results": {"version": 3, "results": results}, "config": {}})
        )
    return path


@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_tests_are_items_and_tests_asked_again_are_repeats(tmp_path: Path, ending: str) -> None:
    study, taken = import_annotations(
        written(tmp_path / f"out.{ending}", RESULTS), labels=("favor", "against")
    )
    assert ("log", "of promptfoo") in {(one.role, one.why) for one in taken}
    frame = study.annotations()
    found = {
        (row["item"], row["variant"], row["repeat"]): (row["label"], row["gold"], row["model"])
        for row in frame.iter_rows(named=True)
    }
    places = sorted(found)
    assert [place[1:] for place in places] == 2 * [
        ("variant=prompt 1", 0),
        ("variant=prompt 1", 1),
        ("variant=prompt 2", 0),
        ("variant=prompt 2", 1),
    ]
    said = ["favor", "against", "favor", "favor", "against", "favor", "favor", "against"]
    assert [found[place] for place in places] == [(label, "favor", "openai:chat:gpt-a") for label in said]
    assert [one.system.replace("{{ '{{' }}", "{{") for one in study.experiment.variants] == list(_PROMPTS)


def test_a_providers_key_is_not_taken_over(tmp_path: Path) -> None:
    study, _ = import_annotations(written(tmp_path / "out.jsonl", RESULTS), labels=("favor", "against"))
    assert study.folder is not None
    assert not any(b"secret" in file.read_bytes() for file in study.folder.iterdir())


def test_a_call_that_failed_has_no_score() -> None:
    failed = result(0, 0, None, score=0, error="API call error")
    (row,) = rows_of_results([failed])
    assert (row["answer"], row["score"]) == (None, None)


def test_scores_between_0_and_1_have_distances(tmp_path: Path) -> None:
    graded = [
        result(at, 0, f"a long answer {at}", f"t{at}", at / 7, gradingResult={"componentResults": []})
        for at in range(8)
    ]
    study, taken = import_annotations(written(tmp_path / "out.json", graded))
    assert ("level", "numbers: interval") in {(one.role, one.why) for one in taken}
    assert study.experiment.labels.level == "interval"


def test_tests_without_an_id_are_numbered_by_their_variables() -> None:
    plain = [result(at, 0, "favor", vars={"text": text}) for at, text in enumerate("aabb")]
    assert [(row["item"], row["repeat"]) for row in rows_of_results(plain)] == [
        ("test 1", 0),
        ("test 1", 1),
        ("test 2", 0),
        ("test 2", 1),
    ]


@pytest.mark.parametrize("document", [{"results": {"results": [{"testIdx": 0}]}}, {"a": 1}, [1, 2], "x"])
def test_an_odd_document_is_one_clear_error(tmp_path: Path, document: Any) -> None:
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(document))
    with pytest.raises(ItemError, match=r"damaged|no log that Quaver knows"):
        import_annotations(path)
