"""What stands behind a report: texts, raw answers and costs, as they are stored."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.studies import STUDY, written

from quaver.collect.run.progress import Price
from quaver.study.analysis.report_evidence import StoredBehind
from quaver.study.session import Study
from quaver.study.sources.study_folder import StudyFolder

PARAPHRASES = 'repeats: 2\nvariants: [{use: instructions, texts: {b: "Good or bad?"}}]\n'


def annotate(text: str, prompt: str) -> str:
    if "hate" in text:
        raise ValueError("no hate")
    return "positive " + "so " * 300 if "chair" in text else "positive"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    study = Study.open(
        written(tmp_path_factory.mktemp("behind"), STUDY + PARAPHRASES), functions={"fake": annotate}
    )
    study.run()
    return study


def test_texts_and_costs(study: Study) -> None:
    with StudyFolder(study.folder).store() as store:
        behind = StoredBehind(study.experiment, store, {"fake": Price(input=1.0, output=4.0, cached=1.0)})
        assert behind.texts(["a", "nobody"]) == {"a": "I like it."}
        (cost,) = behind.costs()
        assert (cost.model, cost.calls, cost.reused, cost.errors) == ("fake", 12, 0, 4)
        assert cost.money is not None
        parts = behind.part_costs()
        assert [(one.factor, one.level, one.calls) for one in parts] == [
            ("paraphrase", "original", 6),
            ("paraphrase", "b", 6),
        ]
        assert sum(one.money or 0 for one in parts) == pytest.approx(cost.money)


def test_labels_alone_have_nothing_behind_them(study: Study, tmp_path: Path) -> None:
    behind = StoredBehind(study.experiment, None, {})
    assert behind.costs() == []
