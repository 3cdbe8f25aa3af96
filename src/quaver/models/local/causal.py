"""A causal language model in PyTorch: reading texts, and likelihoods of what follows.

Prompts of different lengths are padded on the left and masked; positions count from the prompt's first token.
"""

from __future__ import annotations

import copy
import inspect
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from quaver.core.records import Decoding
from quaver.errors import ModelError

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


def pytorch() -> Any:
    """PyTorch, with threads that sleep while they wait for each other.

    By default they spin; if another process uses one of the cores, every step then waits for a time slice,
    and on two busy cores the model is five times slower. Takes effect on the first import.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    import torch

    return torch


@dataclass(frozen=True)
class Read:
    """The state after reading, one row per text.

    Attributes:
        cache: The model's keys and values.
        mask: Tensor of rows × tokens: 1 where there is a token, 0 for padding.
        logits: Rows × vocabulary, for the next token.
    """

    cache: Any
    mask: Any
    logits: npt.NDArray[np.floating]


class Causal:
    """A loaded model.

    Args:
        network: A causal language model of transformers.

    Raises:
        ModelError: Its architecture has no cache of keys and values.
    """

    def __init__(self, network: Any) -> None:
        self._network = network
        self._takes = set(inspect.signature(network.forward).parameters)
        if "past_key_values" not in self._takes:
            raise ModelError(
                "this architecture is not supported",
                expected="a decoder that keeps keys and values",
                found=type(network).__name__,
            )

    def read(self, texts: Sequence[Sequence[int]]) -> Read:
        """Read texts (lists of tokens) as a batch."""
        torch = pytorch()

        width = max(len(text) for text in texts)
        tokens = torch.zeros((len(texts), width), dtype=torch.long)
        mask = torch.zeros_like(tokens)
        for row, text in enumerate(texts):
            tokens[row, width - len(text) :] = torch.tensor(text)
            mask[row, width - len(text) :] = 1
        cache, logits = self._forward(tokens, mask, None)
        return Read(cache, mask, logits[:, 0])

    def go_on(self, read: Read, tokens: Sequence[int]) -> Read:
        """Read one more token in each row. The cache of ``read`` is consumed."""
        torch = pytorch()

        new = torch.tensor(tokens).unsqueeze(1)
        mask = torch.cat([read.mask, torch.ones_like(new)], dim=1)
        cache, logits = self._forward(new, mask, read.cache)
        return Read(cache, mask, logits[:, 0])

    def keep(self, read: Read, rows: Sequence[int]) -> Read:
        """Select rows, in this order and possibly repeated. The cache of ``read`` is consumed."""
        torch = pytorch()

        places = torch.tensor(rows)
        if list(rows) != list(range(len(read.mask))):
            read.cache.batch_select_indices(places.to(self._network.device))
        return Read(read.cache, read.mask[places], read.logits[list(rows)])

    def take(self, read: Read, rows: Sequence[int]) -> Read:
        """Like ``keep``, but ``read`` remains usable."""
        return self.keep(replace(read, cache=copy.deepcopy(read.cache)), rows)

    def likelihoods(self, read: Read, texts: Sequence[Sequence[int]], ends: Sequence[int] = ()) -> Floats:
        """The log-likelihood of each text (a list of tokens) after a single row.

        Args:
            read: A single row, which remains usable.
            texts: The texts, of at least one token each.
            ends: The tokens that end an answer; if given, one of them must follow.

        Returns:
            The sum of each text's token log-probabilities.
        """
        first = log_probabilities(read.logits[0])
        found = np.array([first[text[0]] for text in texts])
        before = [text if ends else text[:-1] for text in texts]
        width = max(len(text) for text in before)
        if not width:
            return found
        after = log_probabilities(self._after(read, before, width))
        for row, text in enumerate(texts):
            found[row] += sum(after[row, at, token] for at, token in enumerate(text[1:]))
            if ends:
                found[row] += np.logaddexp.reduce(after[row, len(text) - 1, list(ends)])
        return found

    def _after(self, read: Read, texts: Sequence[Sequence[int]], width: int) -> npt.NDArray[np.floating]:
        """The logits after every token of texts that follow the one row, padded on the right."""
        torch = pytorch()

        tokens = torch.zeros((len(texts), width), dtype=torch.long)
        new = torch.zeros_like(tokens)
        for row, text in enumerate(texts):
            tokens[row, : len(text)] = torch.tensor(text)
            new[row, : len(text)] = 1
        several = self.take(read, [0] * len(texts))
        _, logits = self._forward(tokens, torch.cat([several.mask, new], dim=1), several.cache, keep=width)
        return logits

    def _forward(
        self, tokens: Any, mask: Any, cache: Any, keep: int = 1
    ) -> tuple[Any, npt.NDArray[np.floating]]:
        """The cache, and the logits after the last ``keep`` tokens: rows × tokens × vocabulary."""
        torch = pytorch()

        device = self._network.device
        places = (mask.cumsum(dim=1) - 1).clamp(min=0)[:, -tokens.shape[1] :]
        given = {"position_ids": places.to(device), "logits_to_keep": keep}
        with torch.no_grad():
            out = self._network(
                input_ids=tokens.to(device),
                attention_mask=mask.to(device),
                past_key_values=cache,
                use_cache=True,
                **{name: value for name, value in given.items() if name in self._takes},
            )
        return out.past_key_values, out.logits[:, -keep:].float().cpu().numpy()
