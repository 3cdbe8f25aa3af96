"""What a shorter text lacks of a longer one."""

from __future__ import annotations

import pytest

from quaver.core.records import Label, LabelSet
from quaver.design.prompts.rendering import missing_in

LABELS = LabelSet(
    (
        Label("pos", "positive", definition="The writer praises the product."),
        Label("neg", "negative", definition="The writer complains about the product."),
    )
)
ANSWERS = {"pos": "positive", "neg": "negative"}
DEFINED = "{% for label in labels %}{{ label.answer }}: {{ label.definition }}\n{% endfor %}"


@pytest.mark.parametrize(
    ("concise", "standard", "missing"),
    [
        ("Positive or negative?", "Is it positive or is it negative?", []),
        ("Positive?", "Is it positive or is it negative?", ["the label 'negative'"]),
        ("Non-negatives: positive?", "Is it positive or negative?", ["the label 'negative'"]),
        ("{{ answers | join('/') }}?", "Is it positive or negative?", []),
        ("0 to 1.", "From 0 to 1, in steps of 0.5.", ["the number 0.5"]),
        ("Who?", "Who is {{ item.name }}?", ["the placeholder item.name"]),
        ("Who is {{ item['name'] }}?", "Who is {{ item.name }}?", []),
        ("In {{ text }}?", "In the text: {{ text }}?", []),
        (
            "{{ answers | join(' or ') }}",
            DEFINED,
            ["the definition of 'negative'", "the definition of 'positive'"],
        ),
        ("positive: writer praises it; negative: blames.", DEFINED, ["the definition of 'negative'"]),
        ("positive: writer praises; negative: complains about product.", DEFINED, []),
        ("{% for x in options %}{{ x.text }}{% endfor %}", "{{ options }}", []),
    ],
)
def test_what_is_missing(concise: str, standard: str, missing: list[str]) -> None:
    assert missing_in(concise, standard, LABELS, ANSWERS) == missing


def test_answers_and_names_both_count() -> None:
    letters = {"pos": "A", "neg": "B"}
    found = missing_in("A or B?", "A for positive, B for negative?", LABELS, letters)
    assert found == ["the label 'negative'", "the label 'positive'"]
    assert missing_in("a positive or B negative", "A positive, B negative", LABELS, letters) == [
        "the label 'A'"
    ]
