"""Flips, and whether a factor moves labels, where items come in groups and prompts differ in their noise."""

import numpy as np
import polars as pl

from quaver.core.records import Label, LabelSet
from quaver.measures.evidence.verdict_evidence import verdict_evidence

LABELS = LabelSet(tuple(Label(code, code) for code in "ab"))


def study(seed, noise, groups=60, moved=0.0):
    """Sixty items in groups; each prompt draws labels of some afresh, the first turns some into b."""
    rng = np.random.default_rng(seed)
    again = rng.random((groups, len(noise))) < noise
    codes = np.where(again, rng.integers(0, 2, again.shape), rng.integers(0, 2, (groups, 1)))
    codes[rng.random(groups) < moved, 0] = 1
    codes = codes.repeat(60 // groups, 0)
    item, variant = np.indices(codes.shape)
    return pl.DataFrame(
        {
            "item": item.ravel(),
            "author": item.ravel() // (60 // groups),
            "variant": variant.ravel(),
            "label": np.array(["a", "b"])[codes.ravel()],
        }
    )


def shift(frame, group=None):
    found = verdict_evidence(frame, ["variant"], labels=LABELS, group=group)
    return next(one for one in found if one.measure == "label_shift")


def test_a_noisy_prompt_is_no_shift_and_one_that_moves_labels_is():
    noisy = [shift(study(seed, [0.9, 0.05, 0.05, 0.05])) for seed in range(15)]
    assert np.mean([one.details["p"] <= 0.05 for one in noisy]) <= 0.15
    assert np.mean([one.low == 0 for one in noisy]) >= 0.85
    clear = shift(study(1, [0.05] * 4, moved=0.5))
    assert clear.details["p"] < 0.01
    assert 0 < clear.low < clear.value <= clear.high
    assert (clear.cell["label"], clear.details["lowest"]) == ("a", "0")


def test_every_flip_is_of_groups_where_items_come_in_groups():
    frame = study(2, [0.3, 0.3, 0.3], groups=12).with_columns(gold=pl.lit("a"))
    alone = verdict_evidence(frame, ["variant"], labels=LABELS)
    together = verdict_evidence(frame, ["variant"], labels=LABELS, group="author")
    # of prompts that could be broken, and of answers without a label
    assert {one.unit for one in together} == {"author", "prompt", "answer"}
    assert [one.value for one in together] == [one.value for one in alone]
    for one, other in zip(alone, together, strict=True):
        if one.measure in ("flips_prompts", "label_in_use", "wrong_labels"):
            assert other.high - other.low > one.high - one.low
            assert other.n == 12


def test_repeats_of_a_prompt_are_no_pair_of_prompts():
    frame = pl.DataFrame({"item": [1] * 4, "variant": list("vvww"), "label": list("aaab")})
    shares = {one.measure: one.value for one in verdict_evidence(frame, labels=LABELS)}
    # of four pairs of a label of v and one of w two differ; of the two pairs of repeats one does
    assert (shares["flips_prompts"], shares["flips_repeats"]) == (0.5, 0.5)
