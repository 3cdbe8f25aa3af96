"""The parts of studies that people change first: half of a factorial design, questions of their own."""

import polars as pl
import pytest
from tests.studies import written

from quaver.study.session import Study

QUESTIONS = {
    "questions.csv": "id,context,question,answer0,answer1,label\n"
    "q1,It rained.,Was it wet?,Yes.,No.,0\nq2,It shone.,Was it wet?,Yes.,No.,1\n",
    "questions.jsonl": '{"stem": "Is ice cold?", "options": {"A": "Yes.", "B": "No."}, "answer": "A"}\n'
    '{"stem": "Is fire cold?", "options": ["Yes.", "No."], "answer": "B"}\n',
}
READ = {
    "questions.csv": {
        "task": {"labels": ["A", "B"], "options": ["answer0", "answer1"]},
        "items": {
            "id": "id",
            "gold": {"column": "label", "map": {"0": "A", "1": "B"}},
            "text": "{{ context }}\n\n{{ question }}\n{{ options }}",
        },
    },
    "questions.jsonl": {
        "task": {"labels": ["A", "B"], "options": "options"},
        "items": {"gold": "answer", "text": "{{ stem }}\n{{ options }}"},
    },
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_treatments_take_a_file_of_questions(tmp_path, name):
    written(tmp_path, items=QUESTIONS[name], name=name)
    asked = {
        "task": READ[name]["task"],
        "items": {**READ[name]["items"], "source": str(tmp_path / name)},
        "prompt": {"instruction": "Which option is right?"},
        "variants": ["treatments"],
        "models": [{"name": "mine", "use": "function"}],
        "evaluators": ["final_line"],
    }
    seen = []

    def annotate(text, prompt):
        seen.append(text)
        return "A) Yes.\nFINAL: A"

    study = Study.open(asked, folder=tmp_path / "study", functions={"mine": annotate})
    study.run()
    frame = study.annotations()
    assert len(frame) == 2 * 6
    assert all("A) Yes.\nB) No." in text for text in seen)
    right = frame.filter(pl.col("label").cast(pl.String) == pl.col("gold").cast(pl.String))
    assert len(right) == 6
