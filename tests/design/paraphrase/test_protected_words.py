"""What labels that are codes stand for."""

from __future__ import annotations

import pytest

from quaver.core.records import Label, LabelSet
from quaver.design.paraphrase.meaning import explained_words

BINARY = LabelSet((Label("0", "0"), Label("1", "1")))
CODES = {"0": "0", "1": "1"}
WINGS = "Is this manifesto left-wing or right-wing?"
WINGS_POSTFIX = "Respond 0 for left-wing, or 1 for right-wing. Respond nothing else."


@pytest.mark.parametrize(
    ("instruction", "postfix", "words"),
    [
        (WINGS, WINGS_POSTFIX, ["left-wing", "right-wing"]),
        ("Classify this as liberal (0) or conservative (1).", "", ["liberal", "conservative"]),
        ("Is it populist?", "0 = not populist; 1 = populist", ["populist"]),
        ("Is it toxic or civil?", "Write 1 if it is toxic and 0 if it is civil.", ["toxic", "civil"]),
        (
            "Rate the anger in it.",
            "{% for one in labels %}{{ one.answer }}: {{ one.definition }}\n{% endfor %}",
            [],
        ),
        ("Is it toxic?", "Answer 1 for yes and 0 for no.", []),
        ("Is it 0.5 or more?", "0.5 for half", []),
    ],
)
def test_the_words_that_explain_a_code(instruction: str, postfix: str, words: list[str]) -> None:
    assert sorted(explained_words(instruction, postfix, BINARY, CODES)) == sorted(words)


def test_definitions_that_the_postfix_shows_explain_codes() -> None:
    labels = LabelSet((Label("0", "0", definition="calm"), Label("1", "1", definition="full of anger")))
    postfix = "{% for one in labels %}{{ one.answer }}: {{ one.definition }}\n{% endfor %}"
    assert explained_words("Is anger there?", postfix, labels, CODES) == ["anger"]
