"""What stands behind a report: texts, raw answers and costs, as they are stored."""

import pytest
from tests.studies import STUDY, written

from quaver.study.analysis.report_evidence import StoredBehind, evidence_of
from quaver.study.session import Study

PARAPHRASES = 'repeats: 2\nvariants: [{use: instructions, texts: {b: "Good or bad?"}}]\n'


def annotate(text, prompt):
    if "hate" in text:
        raise ValueError("no hate")
    return "positive " + "so " * 300 if "chair" in text else "positive"


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    priced = STUDY.replace("use: function", "use: function, price: {input: 1, output: 4}")
    folder = written(tmp_path_factory.mktemp("behind"), priced + PARAPHRASES)
    study = Study.open(folder, functions={"fake": annotate})
    study.run()
    return study


def test_texts_and_costs(study):
    with evidence_of(study.source) as behind:
        assert behind.texts(["a", "nobody"]) == {"a": "I like it."}
        costs = behind.costs()
        assert costs.select("model", "calls", "reused", "errors").rows() == [("fake", 12, 0, 4)]
        assert costs["money"].null_count() == 0
        parts = behind.part_costs()
        assert parts.select("factor", "level", "calls").rows() == [
            ("paraphrase", "original", 6),
            ("paraphrase", "b", 6),
        ]
        assert parts["money"].sum() == pytest.approx(costs["money"].item())


def test_without_answers_there_are_no_costs(study):
    assert StoredBehind(study.source, None).costs().is_empty()
