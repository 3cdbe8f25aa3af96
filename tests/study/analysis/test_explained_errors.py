"""Which texts go wrong is found in the table, declared or not; gold labels that were chosen are found out."""

import numpy as np
import polars as pl
import pytest

from quaver import ItemError, Study

N, PROMPTS = 300, 3


def opened(folder, *, wrong, by_hand, drawn="", gold=None, **columns):
    """Labels of two classes, imported with a gold label of the texts that people labelled."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, N)
    given = np.where(wrong, 1 - truth, truth)
    words = columns.pop("words", np.full(N, 12))
    names = np.array(["yes", "no", ""])
    texts = np.array([f"t{at} " + "word " * int(count - 1) for at, count in enumerate(words)])
    item = np.repeat(np.arange(N), PROMPTS)
    frame = pl.DataFrame(
        {
            "id": item,
            "text": texts[item],
            "prompt": np.tile([f"p{at}" for at in range(PROMPTS)], N),
            "label": names[given[item]],
            "truth": names[np.where(by_hand, truth, 2)[item]],
            **{name: np.asarray(column)[item] for name, column in columns.items()},
        }
    )
    frame.write_parquet(folder / "labels.parquet")
    gold = gold or ({"column": "truth", "drawn": drawn} if drawn else "truth")
    return Study.open(
        {
            "name": "posts",
            "task": {"labels": ["yes", "no"]},
            "annotations": {
                "source": str(folder / "labels.parquet"),
                "item": "id",
                "text": "text",
                "variant": ["prompt"],
                "label": "label",
                "gold": gold,
            },
        },
        folder=folder / "study",
    )


def test_a_column_that_nobody_declared_is_named_where_its_texts_go_wrong(tmp_path):
    language = np.tile(["de", "en", "fr", "it", "xx"], N // 5)
    party = np.repeat(["left", "right"], N // 2)
    wrong = (language == "xx") & (np.arange(N) % 10 != 4)
    everyone = np.ones(N, bool)
    (found,) = (
        opened(tmp_path, wrong=wrong, by_hand=everyone, language=language, party=party)
        .verdict()
        .recommendations
    )
    assert (found.kind, found.groups, found.elsewhere) == ("use except for", (("language", "xx"),), True)


@pytest.mark.parametrize(("which", "column", "level"), [
    ("long", "length", "with more than 38 words"),
    ("late", "place", "in the last eighth of the table"),
])  # fmt: skip
def test_so_are_the_longest_texts_and_the_last_rows(tmp_path, which, column, level):
    words = 5 + np.arange(N) * 7 % 38
    wrong = (words > 38) if which == "long" else (np.arange(N) >= 265)
    study = opened(tmp_path, wrong=wrong, by_hand=np.ones(N, bool), words=words)
    (found,) = study.verdict().recommendations
    assert found.groups == ((column, level),)
    assert level in str(study.verdict())


def test_hand_labels_of_short_texts_do_not_vouch_for_the_long_ones(tmp_path):
    words = 5 + np.arange(N) * 7 % 36
    by_hand = (words < 16) & (np.arange(N) % 4 != 0)
    wrong = (words > 30) & (np.arange(N) % 2 == 0)
    (found,) = opened(tmp_path, wrong=wrong, by_hand=by_hand, words=words).verdict().recommendations
    assert (found.kind, found.reason) == ("cannot tell", "chosen texts")
    # of a sample that the study says was drawn at random nothing is doubted
    folder = tmp_path / "random"
    folder.mkdir()
    study = opened(folder, wrong=wrong, by_hand=by_hand, words=words, drawn="random")
    assert study.verdict().kind == "use"


def test_sources_without_any_hand_label_are_named(tmp_path):
    source = np.tile(["paper", "radio", "forum"], N // 3)
    by_hand = (source == "paper") & (np.arange(N) % 9 != 0)
    study = opened(tmp_path, wrong=source == "forum", by_hand=by_hand, source=source)
    assert study.verdict().recommendations[0].reason == "chosen texts"
    assert "and none is a text whose source is “forum” or whose source is “radio”" in str(study.verdict())


def test_hand_labels_at_random_are_taken_for_what_they_are(tmp_path):
    rng = np.random.default_rng(8)
    language = rng.choice(["de", "en", "fr"], N)
    by_hand = rng.random(N) < 1 / 3
    study = opened(tmp_path, wrong=np.zeros(N, bool), by_hand=by_hand, language=language)
    assert study.verdict().kind == "use"


def test_hand_labels_that_others_drew_correct_shares_and_the_paragraph_says_so(tmp_path):
    wrong = np.arange(N) % 10 == 3
    study = opened(tmp_path, wrong=wrong, by_hand=np.arange(N) % 3 == 0, drawn="random")
    truth = np.random.default_rng(3).integers(0, 2, N)
    yes, no = (study.estimates(["corrected_share"])[at] for at in (0, 1))
    assert yes.value == pytest.approx(1 - no.value)
    assert yes.low < (truth == 0).mean() < yes.high
    assert 0.03 < yes.high - yes.low < 0.2
    study.report()
    page = (tmp_path / "study" / "report.html").read_text(encoding="utf-8")
    assert "corrected for labelling errors with the gold labels of items drawn at random" in page


def test_a_declared_probability_weighs_each_hand_label(tmp_path):
    """Texts that are labelled wrong are four times as likely to be in the sample, and count a quarter."""
    wrong = np.arange(N) < 60
    chance = np.where(wrong, 0.8, 0.2)
    by_hand = np.where(wrong, np.arange(N) % 5 != 0, np.arange(N) % 5 == 0)
    gold = {"column": "truth", "probability": "chance"}
    study = opened(tmp_path, wrong=wrong, by_hand=by_hand, gold=gold, chance=chance)
    accuracy = study.estimates(["corrected_accuracy"])[0]
    assert accuracy.value == pytest.approx(0.8, abs=0.01)  # of the gold labels alone it is a half
    broken = tmp_path / "broken"
    broken.mkdir()
    study = opened(broken, wrong=wrong, by_hand=by_hand, gold=gold, chance=chance * 3)
    with pytest.raises(ItemError, match="probability"):
        study.estimates(["corrected_accuracy"])
