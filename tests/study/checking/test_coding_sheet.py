"""Coding sheets: labels, definitions and examples from a table, in the study file and in the prompt."""

import pytest

from quaver.errors import ItemError
from quaver.study.checking.check_design import prepared_check
from quaver.study.checking.coding_sheet import coding_sheet, fields_shown, prompt_shown, write_coding_sheet


def written(folder, text):
    path = folder / "codes.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_columns_are_known_by_their_usual_names(tmp_path):
    sheet = written(tmp_path, "Name,Description,Example,Notes\nfor,In favour,Count me in,x\nagainst,,,\n")
    assert coding_sheet(sheet) == {"for": "In favour Example: Count me in", "against": ""}


@pytest.mark.parametrize("labels", [{"=a": "{{ x }}", 'b "c", d': "é\nf"}, {"1": "", "2": "two"}])
def test_what_is_written_is_read_again(tmp_path, labels):
    write_coding_sheet(tmp_path / "codebook.jsonl", labels)
    assert coding_sheet(tmp_path / "codebook.jsonl") == labels


@pytest.mark.parametrize(
    "text", ["a,b\n1,2\n3,4\n", "label,definition\na,x\n", "label\na\na\n", "label\na\n\n"]
)
def test_a_sheet_without_two_labels_is_one_error(tmp_path, text):
    with pytest.raises(ItemError) as caught:
        coding_sheet(written(tmp_path, text))
    assert "codes.csv" in str(caught.value.where)


def test_a_check_shows_the_model_what_the_labels_mean(tmp_path):
    texts = tmp_path / "texts.csv"
    texts.write_text(
        "text,gold\n" + "".join(f"This is text number {n}.,{'ab'[n % 2]}\n" for n in range(8)),
        encoding="utf-8",
    )
    sheet = written(tmp_path, "label,definition\na,the {{ first }}\nb,\n")
    prepared = prepared_check(texts, codebook=sheet, model="ollama/tiny", prompts=1)
    (request, *_) = prepared.study.source.plan.requests("tiny")
    assert request.prompt.messages[-1].content == (
        f"{request.prompt.text}\n\nWhich label fits this text best?\na: the {{{{ first }}}}\n"
        "Answer with one of: a, b."
    )
    shown = prompt_shown("Which label fits this text best?", coding_sheet(sheet), request.prompt.text)
    assert shown == request.prompt.messages[-1].content
    assert prepared.study.experiment.labels.labels[0].definition == "the {{ first }}"


def test_several_variables_are_shown_as_they_are_asked_for(tmp_path):
    texts = tmp_path / "texts.csv"
    rows = (f"Text {n} about this.,{'ab'[n % 2]},{('x', 'x;y')[n % 2]},{n % 7 + 0.5}\n" for n in range(40))
    texts.write_text("text,tone,topics,amount\n" + "".join(rows), encoding="utf-8")
    prepared = prepared_check(texts, model="ollama/tiny", prompts=1, fields=["tone", "topics", "amount"])
    (request, *_) = prepared.study.source.plan.requests("tiny")
    shown = fields_shown("Code this text.", prepared.table.fields, request.prompt.text)
    assert len(prepared.table.fields) == 3
    assert shown == request.prompt.messages[-1].content
