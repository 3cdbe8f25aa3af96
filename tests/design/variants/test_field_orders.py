"""Fields asked together, in reverse, and alone: what is asked, and what each field's labels are then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from quaver import Study
from quaver.errors import QuaverError

_FIELDS = {
    "tone": {"labels": ["good", "bad"], "gold": "tone"},
    "stance": {"labels": ["1", "2", "3"], "level": "ordinal", "gold": "stance"},
}


def _asked(**task: Any) -> dict[str, Any]:
    rows = [
        {"id": f"i{at}", "text": f"Text {at}", "tone": ["good", "bad"][at % 2], "stance": str(at % 3 + 1)}
        for at in range(40)
    ]
    return {
        "name": "Asked",
        "task": {"held": False, "fields": _FIELDS, "asked": ["together", "reversed", "alone"], **task},
        "items": {"source": rows, "id": "id", "text": "{{ text }}"},
        "prompt": {"instruction": "Code this text."},
        "models": [{"name": "m", "use": "function"}],
        "measures": ["accuracy"],
    }


def _answer(text: str, prompt: str) -> str:
    """Right, but for a stance that is asked beside the tone: it is then the tone's."""
    at = int(text.split()[-1])
    said = {"tone": ["good", "bad"][at % 2], "stance": str(at % 3 + 1)}
    if "tone" in prompt:
        said["stance"] = {"good": "3", "bad": "1"}[said["tone"]]
    return json.dumps({name: value for name, value in said.items() if f'"{name}"' in prompt})


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    study = Study.open(_asked(), folder=tmp_path_factory.mktemp("asked"), functions={"m": _answer})
    study.run()
    return study


def test_each_way_is_a_prompt_of_its_own(study: Study) -> None:
    found = {one.factors["asked"]: one.postfix for one in study.experiment.variants}
    assert [*found] == ["together", "together, reversed", "alone: tone", "alone: stance"]
    assert found["together"].index("tone") < found["together"].index("stance")
    assert found["together, reversed"].index("stance") < found["together, reversed"].index("tone")
    assert "stance" not in found["alone: tone"]
    assert study.status().answered == 160


def test_a_schema_has_the_fields_that_are_asked(tmp_path: Path) -> None:
    held = Study.open(_asked(held=True), folder=tmp_path, functions={"m": _answer}).experiment.variants
    properties = {one.factors["asked"]: [*json.loads(one.schema)["properties"]] for one in held}
    assert properties["together, reversed"] == ["stance", "tone"]
    assert properties["alone: stance"] == ["stance"]


def test_a_field_that_is_not_asked_has_no_annotation(study: Study) -> None:
    frame = study.annotations().select(pl.col("field", "asked").cast(pl.String))
    ways = {field: {*some["asked"]} for (field,), some in frame.group_by("field")}
    assert ways["tone"] == {"together", "together, reversed", "alone: tone"}
    assert frame.height == 40 * 6
    assert study.annotations()["label"].null_count() == 0


def test_what_is_asked_beside_a_field_shows_as_a_factor(study: Study) -> None:
    found = {
        (one.cell["field"], one.cell["asked"]): one.value for one in study.measure("accuracy", by=["asked"])
    }
    assert found["stance", "alone: stance"] == 1
    assert found["stance", "together"] == 14 / 40  # seven texts of each tone
    assert found["tone", "together"] == found["tone", "alone: tone"] == 1
    kinds = {one.field: one.kind for one in study.verdict().recommendations}
    assert kinds["tone"] == "use"
    assert kinds["stance"] != "use"
    assert study.report().is_file()


def test_only_fields_are_asked_alone(tmp_path: Path) -> None:
    task = {"labels": ["good", "bad"], "asked": ["alone"]}
    with pytest.raises(QuaverError, match="together or alone"):
        Study.open({**_asked(), "task": task}, folder=tmp_path, functions={"m": _answer})
