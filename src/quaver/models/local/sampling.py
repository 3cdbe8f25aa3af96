"""Choosing the next token from logits, for engines that leave this to Quaver.

The samplers run in llama.cpp's order, so that engines agree: repetition penalty, top_k, top_p, min_p,
temperature.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from quaver.core.records import Decoding

Floats = npt.NDArray[np.float64]


def log_probabilities(logits: npt.NDArray[np.floating]) -> Floats:
    """The natural logarithm of the softmax over the last axis, in double precision.

    >>> log_probabilities(np.array([0.0, 0.0])).round(4)
    array([-0.6931, -0.6931])
    """
    exact = logits.astype(np.float64)
    exact -= exact.max(axis=-1, keepdims=True)
    exact -= np.log(np.exp(exact).sum(axis=-1, keepdims=True))
    return exact


def likeliest(logprobs: Floats, count: int) -> list[int]:
    """The positions of the ``count`` largest values, largest first; ties in order.

    >>> likeliest(np.array([0.1, 0.5, 0.2, 0.5]), 3)
    [1, 3, 2]
    """
    if count >= len(logprobs):
        found = np.arange(len(logprobs))
    else:
        least = np.partition(logprobs, -count)[-count]
        found = np.flatnonzero(logprobs >= least)
    return [int(place) for place in found[np.argsort(-logprobs[found], kind="stable")][:count]]


def choose(
    logits: npt.NDArray[np.floating], decoding: Decoding, uniform: float, seen: Collection[int] = ()
) -> int:
    """The next token.

    Args:
        logits: The logits of all tokens.
        decoding: How to choose. Temperature 0 takes the most likely token, the first of ties.
        uniform: A uniform random number from 0 to 1. Of the remaining tokens, in order of id, the one is
            taken at which the cumulative probability passes it.
        seen: Earlier tokens, for the repetition penalty.

    >>> choose(np.array([0.0, 2.0, 1.0]), Decoding("d", temperature=1.0, top_k=2), uniform=0.9)
    2
    """
    scores = logits.astype(np.float64)
    if decoding.repeat_penalty != 1 and seen:
        places = np.fromiter(set(seen), dtype=np.int64)
        scores[places] *= np.where(scores[places] > 0, 1 / decoding.repeat_penalty, decoding.repeat_penalty)
    if decoding.temperature == 0:
        return int(scores.argmax())
    left = _left(scores, decoding)
    masses = np.exp(log_probabilities(scores[left] / decoding.temperature))
    place = int(np.searchsorted(masses.cumsum(), uniform * masses.sum(), side="right"))
    return int(left[min(place, len(left) - 1)])


def _left(scores: Floats, decoding: Decoding) -> npt.NDArray[np.int64]:
    """The ids of the tokens that survive all cuts."""
    if not decoding.top_k and decoding.top_p >= 1 and not decoding.min_p:
        return np.arange(len(scores))
    order = np.array(likeliest(scores, decoding.top_k or len(scores)))
    masses = np.exp(log_probabilities(scores[order]))
    kept = len(order)
    if decoding.top_p < 1:
        kept = int(np.searchsorted(masses.cumsum(), decoding.top_p, side="left")) + 1
    if decoding.min_p:
        kept = min(kept, int((masses >= decoding.min_p * masses[0]).sum()))
    return np.sort(order[: max(1, kept)])
