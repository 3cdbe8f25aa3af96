"""Where the question stands."""

import re
from dataclasses import replace

import pytest
from tests.design.variants.prompts import prompt_of, study_of, variants_of

from quaver.design.prompts.templates import names_in
from quaver.design.variants.perturbations import question_moved
from quaver.errors import SpecError
from quaver.testing.prompts import PROMPT

VOTER = "Voter: {{ text }}\nQuestion: {{ instruction }}\n{{ postfix }}\nAnswer:"


@pytest.mark.parametrize(
    ("layout", "moved"),
    [
        ("{{ text }}\n\n{{ question }}", "{{ question }}\n\n{{ text }}"),
        (VOTER, "Question: {{ instruction }}\n{{ postfix }}\nVoter: {{ text }}\nAnswer:"),
        ("Hi.\n{{ question }}\n---\n{{ text }}\n\nGo:", "Hi.\n{{ text }}\n---\n{{ question }}\n\nGo:"),
        ("{{ text }}", "{{ text }}"),
    ],
)
def test_the_question_moves_and_all_else_stays(layout, moved):
    variant = replace(PROMPT, layout=layout)
    assert question_moved(variant).layout == moved
    assert question_moved(question_moved(variant)) == variant
    assert names_in(moved) == names_in(layout)


@pytest.mark.parametrize(
    "layout", ["{{ text }}: {{ question }}", "{{ question }}\n{{ text }}\n{{ postfix }}"]
)
def test_a_layout_that_mixes_question_and_text(layout):
    with pytest.raises(SpecError, match="layout") as caught:
        variants_of({"use": "position"}, layout=layout)
    assert caught.value.found == layout


def test_a_layout_without_a_question():
    with pytest.raises(SpecError, match="no question"):
        variants_of({"use": "position"}, layout="{{ text }}")


def test_the_question_before_and_after():
    after, before = variants_of({"use": "position"})
    assert (after.id, before.id) == ("position=after", "position=before")
    text = study_of().items[0].fields["text"]
    asked = "Is it liked?\nAnswer with one of: positive, negative."
    assert (prompt_of(after), prompt_of(before)) == (f"{text}\n\n{asked}", f"{asked}\n\n{text}")
    first, second = variants_of({"use": "position"}, layout="{{ question }}\n{{ text }}")
    assert (first.id, second.id) == ("position=before", "position=after")


def test_examples_stand_first_wherever_the_question_goes():
    shots = {"use": "shots", "k": [1], "place": "message"}
    for families in ([shots, {"use": "position"}], [{"use": "position"}, shots]):
        for variant in variants_of(*families):
            assert re.match(r"Text \d+\.\nAnswer: (positive|negative)\n\n", prompt_of(variant))
