"""How far down a score labels are accepted."""

from __future__ import annotations

import numpy as np
import pytest

from quaver.acceptance.selection import Candidates, select


def drawn(
    seed: int, size: int = 2000, n: int = 300, *, wrong_among: float = 0.3
) -> tuple[Candidates, np.ndarray]:
    """Labels whose lower scores are wrong more often, of which some are checked; and which are wrong."""
    draw = np.random.default_rng(seed)
    score = draw.random(size)
    wrong = draw.random(size) < wrong_among * (1 - score) ** 2
    checked = np.zeros(size, bool)
    checked[draw.choice(size, n, replace=False)] = True
    return Candidates(score, checked, wrong & checked, np.full(size, n / size)), wrong


def test_the_surest_are_accepted_and_the_promise_is_kept() -> None:
    broken = 0
    shares = []
    for seed in range(40):
        candidates, wrong = drawn(seed)
        found = select(candidates, 0.05, 0.05)
        unchecked = found.accepted & ~candidates.checked
        shares.append(unchecked.sum() / (~candidates.checked).sum())
        broken += bool(unchecked.any() and wrong[unchecked].mean() > 0.05)
        if found.threshold is not None:
            assert np.array_equal(found.accepted, candidates.score >= found.threshold)
    assert broken <= 5  # 5% of 40 is 2, with its sampling error
    assert np.mean(shares) > 0.25


def test_labels_that_are_all_right_are_all_accepted() -> None:
    candidates, _ = drawn(1, wrong_among=0.0)
    assert select(candidates, 0.05, 0.05).accepted.all()


def test_labels_that_are_often_wrong_are_not_accepted() -> None:
    candidates, _ = drawn(1)
    found = select(candidates._replace(wrong=candidates.checked), 0.05, 0.05)
    assert not found.accepted.any()
    assert (found.threshold, found.found) == (None, None)


@pytest.mark.parametrize("n", [0, 40])
def test_too_few_checked_labels_promise_nothing(n: int) -> None:
    candidates, _ = drawn(1, n=n, wrong_among=0.0)
    found = select(candidates, 0.05, 0.05)
    assert not found.accepted.any()
    assert found.needed == 59


def test_a_laxer_promise_accepts_no_fewer() -> None:
    for seed in range(10):
        candidates, _ = drawn(seed)
        shares = [select(candidates, error, 0.05).accepted.sum() for error in (0.05, 0.1, 0.3)]
        assert shares[2] == candidates.score.size
        assert shares[0] <= shares[2]


def test_labels_of_one_score_go_together() -> None:
    candidates, _ = drawn(2)
    tied = candidates._replace(score=np.round(candidates.score, 1))
    found = select(tied, 0.05, 0.05)
    for score in np.unique(tied.score):
        assert len(set(found.accepted[tied.score == score].tolist())) == 1


def test_the_order_of_labels_changes_nothing() -> None:
    candidates, _ = drawn(3)
    order = np.random.default_rng(0).permutation(candidates.score.size)
    shuffled = Candidates(*(one[order] for one in candidates))
    assert np.array_equal(
        select(shuffled, 0.05, 0.05).accepted, select(candidates, 0.05, 0.05).accepted[order]
    )


def test_unequal_probabilities_are_weighted() -> None:
    """Checked where labels are doubtful: unweighted, the wrong ones among the sure ones would look rare."""
    broken = 0
    for seed in range(40):
        draw = np.random.default_rng(seed)
        score = draw.random(3000)
        wrong = draw.random(3000) < 0.3 * (1 - score)
        probability = np.clip(0.3 * (1.2 - score), 0.05, 1)
        checked = draw.random(3000) < probability
        found = select(Candidates(score, checked, wrong & checked, probability), 0.05, 0.05)
        unchecked = found.accepted & ~checked
        broken += bool(unchecked.any() and wrong[unchecked].mean() > 0.05)
    assert broken <= 5


def test_no_labels_at_all() -> None:
    nothing = np.zeros(0)
    found = select(Candidates(nothing, nothing.astype(bool), nothing.astype(bool), nothing), 0.05, 0.05)
    assert found.accepted.size == 0
