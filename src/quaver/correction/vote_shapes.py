"""What prompts say together of an item: the share of votes for an outcome, bent towards agreement.

A true label that is rare is likely only where nearly all prompts name it, so the share of votes predicts it
better once bent. None of this needs a gold label.
"""

from __future__ import annotations

import numpy as np

from quaver.estimation.bootstrap import Floats


def vote_shapes(votes: Floats) -> Floats:
    """The share of votes m, its powers, those of 1 - m, and which side has the majority.

    Args:
        votes: Each predictor's for an outcome, from 0 to 1, shape (items, outcomes, predictors).

    Returns:
        Shape (items, outcomes, shapes), each from 0 to 1. No shapes of numbers that are no votes.

    Three of four prompts name the label:

    >>> vote_shapes(np.array([[[1.0, 1.0, 1.0, 0.0]]])).ravel().round(3).tolist()
    [0.75, 0.562, 0.938, 0.316, 0.996, 1.0]
    """
    if not votes.size or votes.min() < 0 or votes.max() > 1:
        return np.zeros((*votes.shape[:2], 0))
    share = votes.mean(2)
    # Both tails alike, so that what is said of a label mirrors what is said of its absence.
    above, below = share**2, (1 - share) ** 2
    majority = (1 + np.sign(share - 0.5)) / 2
    return np.stack([share, above, 1 - below, above**2, 1 - below**2, majority], 2)
