"""The reader is measured before the model: a model that thinks aloud gets the verdict of its labels alone."""

import random
from functools import cache

import polars as pl
import pytest
from tests.studies import checked

LABELS = ("favor", "against", "none")
SHAPES = (
    "At first sight it may be {other}, but taken as a whole my answer is:\n\n**{label}**",
    "Let me think. One could read this as {other}.\n\nLabel: {label}",
    "1. It names the plan.\n2. Some of it sounds {other}.\n\nTherefore, the stance is {label}.",
    '{{"reasoning": "It may look {other}.", "label": "{label}"}}',
    "{label}\n\nExplanation: parts of it could be taken for {other}.",
)


def texts(count=30):
    return [f"Text {number} about the plan" for number in range(count)]


def stance(text):
    return LABELS[int(text.split()[1]) % 3]


def model(shape, share, seed):
    """A model whose labels hardly change, and that thinks aloud in a share of its answers."""
    draw = random.Random(seed)

    def annotate(text, prompt):
        label = stance(text) if draw.random() < 0.97 else draw.choice(LABELS)
        other = next(one for one in LABELS if one != label)
        return shape.format(label=label, other=other) if draw.random() < share else label

    return annotate


def verdict(to, annotate, **options):
    given = {"labels": LABELS, "prompts": 3, "repeats": 1, "to": to, **options}
    return checked(texts(), model=annotate, **given).verdict


def test_a_model_that_thinks_aloud_has_the_verdict_of_its_labels(tmp_path):
    aloud = verdict(tmp_path / "aloud", model(SHAPES[0], 0.3, 1))
    plain = verdict(tmp_path / "plain", model(SHAPES[0], 0, 1))
    assert [(one.kind, one.reason) for one in aloud.recommendations] == [
        (one.kind, one.reason) for one in plain.recommendations
    ]
    assert "30%" not in plain.reading
    assert plain.reading.startswith("100% of the answers are just a label; 0% name several")
    assert "name several" in aloud.reading


def test_an_evaluator_that_reads_another_label_than_is_marked_decides(tmp_path):
    card = verdict(tmp_path / "first", model(SHAPES[1], 1.0, 2), evaluator="first_label")
    (only,) = card.recommendations
    assert (card.kind, only.reason, card.step) == ("cannot tell", "reading", "choose the evaluator")
    assert "`marked_label`" in card.verdict
    assert 0 < len(card.misread) <= 10
    assert all("Let me think" in line for line in card.misread)
    readers = only.known("reader_disagreement")
    assert readers.details["misread"] > 80
    assert str(card).startswith(card.reading)


def test_answers_that_mark_nothing_are_not_blamed_on_the_model(tmp_path):
    shape = "It has something of {label}, and something of {other}"
    card = verdict(tmp_path / "none", model(shape, 0.5, 3))
    assert (card.kind, card.recommendations[0].reason) == ("cannot tell", "reading")


def test_fields_and_scores_have_no_such_report(tmp_path):
    rows = [
        {
            "text": text,
            "tone": "calm" if number % 2 else "angry",
            "topics": "tax;war" if number % 3 else "tax",
        }
        for number, text in enumerate(texts(12))
    ]
    answer = '{"tone": "calm", "topics": ["tax"]}'
    found = checked(
        pl.DataFrame(rows),
        fields=["tone", "topics"],
        model=lambda text, prompt: answer,
        prompts=2,
        repeats=1,
        to=tmp_path / "fields",
    )
    assert found.verdict.reading == ""


@pytest.fixture(scope="module")
def plain_verdicts(tmp_path_factory):
    """Of each seed the verdict of the labels alone, which do not depend on how they are wrapped."""
    folder = tmp_path_factory.mktemp("plain")
    return cache(lambda seed: verdict(folder / str(seed), model("{label}", 0, seed)))


@pytest.mark.long
@pytest.mark.parametrize("share", [0.1, 0.3, 0.6, 1])  # at 0 both are one study
@pytest.mark.parametrize("shape", SHAPES)
def test_no_verdict_is_false_because_a_model_thinks_aloud(shape, share, plain_verdicts, tmp_path):
    for seed in range(20):
        aloud, plain = verdict(tmp_path / str(seed), model(shape, share, seed)), plain_verdicts(seed)
        assert aloud.kind == plain.kind
        assert [one.reason for one in aloud.recommendations] == [one.reason for one in plain.recommendations]
