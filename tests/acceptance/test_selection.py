"""How far down a score labels are accepted."""

import numpy as np
import pytest
from scipy import stats

from quaver.acceptance.selection import (
    Candidates,
    Checked,
    exact_p,
    fewest_checked,
    select,
    upper_bound,
    weighted_p,
)


def one_set(wrong, checked, size, *, equal=True, heavy=1.0):
    """A set whose right labels weigh 1 and whose wrong ones weigh ``heavy``."""
    right = checked - wrong
    sums = (right * 1.0, wrong * heavy**2, right * 1.0, wrong * heavy)
    whole = (np.array([value], np.int64) for value in (size, checked, wrong))
    return Checked(*whole, *(np.array([value]) for value in sums), equal)


@pytest.mark.parametrize("size", [30, 200])
@pytest.mark.parametrize("error", [0.05, 0.2])
def test_a_promise_about_unchecked_labels_is_broken_rarely(size, error):
    """Of every number of wrong labels: passing while more than ``error`` of the others are wrong is rare."""
    checked = size // 2
    for wrong in range(size + 1):
        found = np.arange(max(0, checked - (size - wrong)), min(wrong, checked) + 1)
        passes = exact_p(found, np.full(found.size, checked), np.full(found.size, size), error) <= 0.05
        broken = (wrong - found) > error * (size - checked)
        chance = stats.hypergeom.pmf(found, size, wrong, checked)
        assert chance[passes & broken].sum() <= 0.05 + 1e-9


def test_a_sample_of_very_many_labels_is_binomial():
    p = exact_p(np.array([4]), np.array([200]), np.array([10**7]), 0.05)[0]
    assert p == pytest.approx(stats.binom.cdf(4, 200, 0.05), abs=1e-4)
    assert exact_p(np.array([0]), np.array([0]), np.array([50]), 0.05)[0] == 1, "nothing checked"


def test_errors_that_weigh_more_count_for_more():
    """Equal weights are Clopper and Pearson's; unequal ones make fewer labels effective."""
    light, heavy = (weighted_p(one_set(4, 200, 10**6, equal=False, heavy=w), 0.05)[0] for w in (1.0, 4.0))
    assert heavy > light == pytest.approx(stats.binom.cdf(4, 200, 0.05), abs=1e-12)
    assert weighted_p(one_set(0, 0, 50, equal=False), 0.05)[0] == 1, "nothing checked"
    assert one_set(0, 8, 50).effective == pytest.approx(8)
    # Kish by hand: weights 1, 1, 1, 3 and 3 are worth (Σw)² / Σw² = 81 / 21
    assert one_set(2, 5, 50, heavy=3.0).effective == pytest.approx(81 / 21)
    assert one_set(0, 0, 50).effective == 0


@pytest.mark.parametrize("wrong", [0, 3])
def test_the_bound_is_the_smallest_promise_that_passes(wrong):
    found = one_set(wrong, 100, 10**7)
    bound = upper_bound(found, 0.05)
    assert bound == pytest.approx(stats.beta.ppf(0.95, wrong + 1, 100 - wrong), abs=1e-4)


@pytest.mark.parametrize(("error", "wrong"), [(0.05, 0), (0.05, 3), (0.01, 1), (0.3, 2)])
def test_no_fewer_checked_labels_suffice(error, wrong):
    n = fewest_checked(error, 0.05, wrong)
    assert stats.binom.cdf(wrong, n, error) <= 0.05 < stats.binom.cdf(wrong, n - 1, error)


def drawn(seed, size=2000, n=300, *, wrong_among=0.3):
    """Labels whose lower scores are wrong more often, of which some are checked; and which are wrong."""
    draw = np.random.default_rng(seed)
    score = draw.random(size)
    wrong = draw.random(size) < wrong_among * (1 - score) ** 2
    checked = np.zeros(size, bool)
    checked[draw.choice(size, n, replace=False)] = True
    return Candidates(score, checked, wrong & checked, np.full(size, n / size)), wrong


def test_the_surest_are_accepted_and_the_promise_is_kept():
    broken = 0
    shares = []
    for seed in range(40):
        candidates, wrong = drawn(seed)
        found = select(candidates, 0.05, 0.05)
        unchecked = found & ~candidates.checked
        shares.append(unchecked.sum() / (~candidates.checked).sum())
        broken += bool(unchecked.any() and wrong[unchecked].mean() > 0.05)
        if found.any():
            assert np.array_equal(found, candidates.score >= candidates.score[found].min())
    assert broken <= 5  # 5% of 40 is 2, with its sampling error
    assert np.mean(shares) > 0.25


def test_all_right_are_all_accepted_and_too_few_or_many_wrong_none():
    right, _ = drawn(1, wrong_among=0.0)
    assert select(right, 0.05, 0.05).all()
    assert not select(right._replace(wrong=right.checked), 0.05, 0.05).any()
    for n in (0, 40):
        few, _ = drawn(1, n=n, wrong_among=0.0)
        assert not select(few, 0.05, 0.05).any()
    nothing = np.zeros(0)
    none = Candidates(nothing, nothing.astype(bool), nothing.astype(bool), nothing)
    assert select(none, 0.05, 0.05).size == 0


def test_labels_of_one_score_go_together_in_any_order():
    candidates, _ = drawn(2)
    tied = candidates._replace(score=np.round(candidates.score, 1))
    found = select(tied, 0.05, 0.05)
    for score in np.unique(tied.score):
        assert len(set(found[tied.score == score].tolist())) == 1
    order = np.random.default_rng(0).permutation(tied.score.size)
    shuffled = Candidates(*(one[order] for one in tied))
    assert np.array_equal(select(shuffled, 0.05, 0.05), found[order])


def test_a_laxer_promise_accepts_no_fewer():
    for seed in range(10):
        candidates, _ = drawn(seed)
        shares = [select(candidates, error, 0.05).sum() for error in (0.05, 0.1, 0.3)]
        assert shares[2] == candidates.score.size
        assert shares[0] <= shares[2]


def test_unequal_probabilities_are_weighted():
    """Checked where labels are doubtful: unweighted, the wrong ones among the sure ones would look rare."""
    broken = 0
    for seed in range(40):
        draw = np.random.default_rng(seed)
        score = draw.random(3000)
        wrong = draw.random(3000) < 0.3 * (1 - score)
        probability = np.clip(0.3 * (1.2 - score), 0.05, 1)
        checked = draw.random(3000) < probability
        found = select(Candidates(score, checked, wrong & checked, probability), 0.05, 0.05)
        unchecked = found & ~checked
        broken += bool(unchecked.any() and wrong[unchecked].mean() > 0.05)
    assert broken <= 5
