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


def test_texts_and_costs(tmp_path):
    priced = STUDY.replace("use: function", "use: function, price: {input: 1, output: 4}")
    study = Study.open(written(tmp_path, priced + PARAPHRASES), functions={"fake": annotate})
    study.run()
    with evidence_of(study.source) as behind:
        assert behind.texts(["a", "nobody"]) == {"a": "I like it."}
        costs, parts = behind.costs(), behind.part_costs()
    assert costs.select("model", "calls", "reused", "errors").rows() == [("fake", 12, 0, 4)]
    assert costs["money"].null_count() == 0
    calls = [("paraphrase", "original", 6), ("paraphrase", "b", 6)]
    assert parts.select("factor", "level", "calls").rows() == calls
    assert parts["money"].sum() == pytest.approx(costs["money"].item())
    assert StoredBehind(study.source, None).costs().is_empty()
