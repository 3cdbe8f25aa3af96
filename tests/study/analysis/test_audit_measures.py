"""What a report says of how the answers were read, from a study that asks for none of it."""

import re

from tests.studies import STUDY, written

from quaver.study.session import Study

TWO_PROMPTS = """\
variants:
  - {use: instructions, texts: {plain: Good or bad?}}
evaluators: [exact, label_match]
measures: [accuracy]
"""


def chatty(text, prompt):
    """One word to the one question, a sentence to the other, and of the chair it will not speak."""
    if "chair" in text:
        return "I'm sorry, I cannot say."
    label = "positive" if "like" in text else "negative"
    return f"It is {label}." if "Good" in prompt else label


def rows(page):
    found = re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)
    return [[re.sub("<[^>]*>", "", cell) for cell in re.findall("<td.*?>(.*?)</td>", row)] for row in found]


def reported(tmp_path, study):
    opened = Study.open(written(tmp_path, STUDY + study), functions={"fake": chatty})
    opened.run()
    return opened.report().read_text(encoding="utf-8")


def test_evaluators_are_compared_and_failures_counted(tmp_path):
    page = reported(tmp_path, TWO_PROMPTS)
    assert "label_match read 66.7%" in page
    table = rows(page)
    flips = next(row for row in table if row[:1] == ["evaluator_flips"] and "paraphrase=plain" in row)
    # Of three answers to the plain prompt exact reads none; two are gained, the refusal stays one.
    assert flips[4:7] == ["exact", "label_match", "66.7%"]
    assert flips[8:12] == ["1", "2", "0", "0"]
    failures = [
        cell for row in table if row[:1] == ["label_match"] and "paraphrase=plain" in row for cell in row
    ]
    assert any(one.startswith("refused:") and one.endswith("(1)") for one in failures)
    assert re.search(r"no label: [^;]*\(2\); refused: [^;]*\(1\)", page)


def test_one_evaluator_is_compared_with_none(tmp_path):
    page = reported(tmp_path, "evaluators: [label_match]\n")
    assert "The evaluators compared" not in page
    assert "two evaluators" not in page
    assert "Compliance" in page
