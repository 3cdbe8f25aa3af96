"""What labels that are codes stand for, and rewordings that lose it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from quaver.core.records import Label, LabelSet, Variant
from quaver.design.paraphrase.meaning import explained_words, lost_class_words, with_meaning
from quaver.design.prompt_edits import ORIGINAL, LevelOfFactor
from quaver.design.spec import MeaningSpec

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


@pytest.mark.parametrize(
    ("original", "paraphrase", "postfix", "lost"),
    [
        (WINGS, "Is this manifesto on the left wing or on the right wing?", WINGS_POSTFIX, []),
        (WINGS, "Would you call this right-wing or left-leaning?", WINGS_POSTFIX, []),
        (WINGS, "Is this manifesto progressive or right-wing?", WINGS_POSTFIX, ["left-wing"]),
        (WINGS, "Is this manifesto long or short?", WINGS_POSTFIX, ["left-wing", "right-wing"]),
        ("Is it populist?", "How much populism is there?", "0 = not populist; 1 = populist", []),
        ("Is this message toxic?", "Does this text show toxicity?", "Answer 0 or 1.", []),
        ("Is this message toxic?", "Is this message long?", "Answer 0 or 1.", ["toxic"]),
        ("You read tweets. Is this one toxic?", "You read tweets. Is this one long?", "0 or 1", ["toxic"]),
        ("这条消息有害吗？", "这段话是否有毒？", "0 or 1", []),
        ("Is it 0 or 1?", "0 or 1?", "", []),
    ],
)
def test_what_a_paraphrase_loses(original: str, paraphrase: str, postfix: str, lost: list[str]) -> None:
    assert lost_class_words(original, paraphrase, postfix, BINARY, CODES) == lost


def test_labels_with_names_are_watched_by_their_names_alone() -> None:
    labels = LabelSet((Label("t", "toxic"), Label("c", "civil")))
    answers = {"t": "toxic", "c": "civil"}
    assert lost_class_words("Toxic or civil?", "Is it kind?", "", labels, answers) == []
    # Names that the instruction does not have are no help: yes and no.
    labels = LabelSet((Label("yes", "yes"), Label("no", "no")))
    answers = {"yes": "yes", "no": "no"}
    assert lost_class_words("Is it toxic?", "Is it long?", "", labels, answers) == ["toxic"]


def test_a_paraphrase_without_the_class_words_is_flagged() -> None:
    prompt = Variant("", {}, "", "{{ text }}\n{{ question }}", "{{ text }}", WINGS, WINGS_POSTFIX, CODES)
    texts = {
        ORIGINAL: WINGS,
        "kept": "Right-wing or left-wing: which is it?",
        "lost": "Is this manifesto long?",
    }
    levels = [
        LevelOfFactor(name, lambda variant, text=text: replace(variant, instruction=text))  # type: ignore[misc]
        for name, text in texts.items()
    ]
    found = with_meaning(levels, prompt, BINARY, MeaningSpec(by="lexical", threshold=-1))
    assert [one.covariates["flagged"] for one in found] == [False, False, True]
    assert str(found[2].covariates["flags"]).partition(": ")[2] == "left-wing, right-wing"
