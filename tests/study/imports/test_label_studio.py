"""Exports of Label Studio become studies of coders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from quaver.errors import QuaverError
from quaver.study.imports.label_import import import_annotations

CODED = {1: "pnpn", 2: "pnnn", 3: "ppnn"}
"""What three coders say of four texts: positive or negative."""
LABELS = {"p": "positive", "n": "negative"}


def choice(label: str) -> dict[str, Any]:
    """A result as the labelling page writes it."""
    return {"value": {"choices": [label]}, "from_name": "sentiment", "to_name": "text", "type": "choices"}


def rating(stars: int) -> dict[str, Any]:
    """A result of a control of stars."""
    return {"value": {"rating": stars}, "from_name": "strength", "to_name": "text", "type": "rating"}


def tasks(*, rated: bool = False) -> list[dict[str, Any]]:
    """A JSON export."""
    found: list[dict[str, Any]] = []
    for item in range(4):
        given = [
            {
                "id": 10 * item + coder,
                "completed_by": coder,
                "was_cancelled": False,
                "ground_truth": False,
                "result": [choice(LABELS[said[item]]), *([rating(1 + item)] if rated else [])],
            }
            for coder, said in CODED.items()
        ]
        found.append(
            {"id": 100 + item, "annotations": given, "predictions": [], "data": {"text": f"t{item}"}}
        )
    return found


def written(path: Path, found: list[dict[str, Any]]) -> Path:
    """A file as Label Studio writes it."""
    path.write_text(json.dumps(found))
    return path


def test_an_export_is_a_study_of_coders(tmp_path: Path) -> None:
    study, taken = import_annotations(written(tmp_path / "full.json", tasks()))
    assert ("log", "of Label Studio") in {(one.role, one.why) for one in taken}
    said = {(row["item"], row["model"]): row["label"] for row in study.annotations().iter_rows(named=True)}
    assert said == {
        (str(100 + item), str(coder)): LABELS[labels[item]]
        for coder, labels in CODED.items()
        for item in range(4)
    }
    assert study.experiment.items[0].fields["text"] == "t0"


def test_one_of_several_controls_is_named_and_stars_are_ordered(tmp_path: Path) -> None:
    path = written(tmp_path / "a.json", tasks(rated=True))
    with pytest.raises(QuaverError, match="one field of an export") as caught:
        import_annotations(path)
    assert caught.value.found == "sentiment, strength"
    study, _ = import_annotations(path, label="strength")
    assert study.experiment.labels.level == "ordinal"
    assert study.experiment.labels.codes == ("1", "2", "3", "4")
    nominal, _ = import_annotations(path, tmp_path / "nominal", label="strength", level="nominal")
    assert nominal.experiment.labels.level == "nominal"


def test_skipped_predicted_and_true_labels_go_where_they_belong(tmp_path: Path) -> None:
    found = tasks()
    found[0]["annotations"][0]["was_cancelled"] = True
    for item, task in enumerate(found):
        task["annotations"].append(
            {"completed_by": {"id": 9, "email": "e"}, "ground_truth": True, "result": [choice("positive")]}
        )
        said = choice(LABELS["pnnp"[item]])
        task["predictions"] = [{"model_version": "v1", "result": [said], "score": 0.9}]
    study, _ = import_annotations(written(tmp_path / "a.json", found))
    frame = study.annotations()
    assert set(frame["gold"]) == {"positive"}
    assert frame.group_by("model").len().sort("model").rows() == [("1", 3), ("2", 4), ("3", 4), ("v1", 4)]
