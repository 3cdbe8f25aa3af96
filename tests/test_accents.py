"""A label is one label, whichever way its accents are written: é in one character, or e and an accent."""

import json

import polars as pl
import pytest
from tests.studies import written

import quaver
from quaver.errors import SpecError
from quaver.study.imports.label_import import import_annotations

ONE, TWO = "caf\u00e9", "cafe\u0301"
STUDY = """\
task: {labels: [%s, thé]}
items: {source: items.csv, id: id, text: "{{ text }}", gold: {column: truth, map: {c: %s}}}
prompt:
  instruction: What is it?
  answers: {%s: Café, thé: Thé}
models: [{name: fake, use: function}]
evaluators: [%s]
measures: [accuracy, {use: f1, by: [variant]}]
"""
PATTERN = "{use: pattern, pattern: 'Cafe\u0301|caf.|Thé|thé'}"
ITEMS = "id,text,truth\n1,One.,{0}\n2,Two.,{1}\n3,Three.,c\n4,Four.,thé\n"


@pytest.mark.parametrize("evaluator", ["exact", "label_match", "first_label", "json_field", PATTERN])
@pytest.mark.parametrize("code", [ONE, TWO])
def test_a_study_says_one_label_in_two_ways(tmp_path, code, evaluator):
    path = written(tmp_path, STUDY % (code, TWO, ONE, evaluator), ITEMS.format(ONE, TWO))
    answers = {"One.": ONE, "Two.": TWO, "Three.": "Cafe\u0301.", "Four.": "the\u0301"}

    def annotate(text, prompt):
        answer = answers[text]
        return json.dumps({"label": answer}, ensure_ascii=True) if evaluator == "json_field" else answer

    study = quaver.Study.open(path, functions={"fake": annotate})
    study.run()
    frame = study.annotations().sort(pl.col("item").cast(pl.String))
    assert frame["gold"].cast(pl.String).to_list() == [code] * 3 + ["thé"]
    assert frame["label"].cast(pl.String).to_list() == [code] * 3 + ["thé"]
    assert study.measure("accuracy")[0].value == 1
    assert study.spec.task.label_set().codes == (code, "thé")  # as the user wrote it


def test_a_label_set_has_each_label_once(tmp_path):
    path = written(tmp_path, STUDY.replace("thé]", f"{TWO}]") % (ONE, ONE, ONE, "exact"), ITEMS)
    with pytest.raises(SpecError) as caught:
        quaver.Study.open(path)
    assert str(caught.value.where).endswith("task.labels[1]")


def test_files_and_frames_of_labels(tmp_path):
    rows = [(0, "p", ONE), (0, "q", TWO), (1, "p", "b"), (1, "q", "b"), (2, "p", TWO), (2, "q", TWO)]
    path = tmp_path / "labels.csv"
    path.write_text(
        "item,rater,label,gold\n" + "".join(f"{i},{r},{x},{ONE if i != 1 else 'b'}\n" for i, r, x in rows)
    )
    study, taken = import_annotations(path, coder="rater")
    assert study.experiment.labels.codes == ("b", ONE)  # as most cells have it
    assert ("same", f"{ONE!r} and {TWO!r}") in [(one.role, one.column) for one in taken]
    assert study.measure("accuracy")[0].value == 1
    assert quaver.measure_agreement(path, resamples=0)[0].value == 1
    frame = pl.read_csv(path)
    assert quaver.measure_agreement(frame, resamples=0)[0].value == 1
    assert (
        quaver.agreement.krippendorff_alpha(
            frame, item="item", rater="rater", label="label", resamples=0
        ).value
        == 1
    )
    renamed = frame.rename({"rater": "repeat"}).with_columns(
        model=pl.lit("m"), variant=pl.lit("v"), decoding=pl.lit("d")
    )
    found = quaver.measures.coder_agreement(renamed, resamples=0)
    assert found[0].value == 1
    assert quaver.measures.accuracy(renamed, resamples=0)[0].value == 1
