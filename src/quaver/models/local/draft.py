"""An answer in progress, for engines that leave the choice of tokens to Quaver."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from quaver.core.records import Decoding, Response, Token
from quaver.models.local.causal import Floats, choose, likeliest, log_probabilities


class Words:
    """How tokens are spelled.

    Args:
        tokenizer: A tokenizer of transformers.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._spelled: dict[int, str] = {}

    def text(self, tokens: Sequence[int]) -> str:
        """The text of tokens, without special ones."""
        decoded: str = self._tokenizer.decode(
            tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return decoded

    def tokens(self, text: str) -> list[int]:
        """A text as tokens, without special ones."""
        found: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return found

    def spell(self, token: int) -> str:
        """The text of one token; empty for a special one."""
        if token not in self._spelled:
            self._spelled[token] = self.text([token])
        return self._spelled[token]

    def token(self, token: int, logprobs: Floats, count: int) -> Token:
        """A token with its log-probability and the most likely alternatives."""
        top = tuple((self.spell(other), float(logprobs[other])) for other in likeliest(logprobs, count))
        return Token(self.spell(token), float(logprobs[token]), top)


class Draft:
    """One answer.

    Args:
        prompt: The prompt's tokens.
        decoding: How to choose.
        seed: Seeds its own random numbers, one per token.
        words: How tokens are spelled.
        ends: The tokens that end it.
        room: The tokens that the context leaves for it.
    """

    def __init__(
        self,
        prompt: Sequence[int],
        decoding: Decoding,
        seed: int,
        *,
        words: Words,
        ends: Collection[int],
        room: int,
    ) -> None:
        self._prompt, self._decoding, self._words, self._ends = prompt, decoding, words, ends
        self._most = min(decoding.max_tokens, room)
        self._random = np.random.default_rng(seed)
        self._seen = set(prompt) if decoding.repeat_penalty != 1 else set()
        self._tokens: list[int] = []
        self._places: list[Token] = []
        self._text: str | None = None
        self._ended = False

    def take(self, logits: npt.NDArray[np.floating]) -> int | None:
        """Choose the next token.

        Returns:
            The token to read next; None if the answer is complete.
        """
        token = choose(logits, self._decoding, self._random.random(), self._seen)
        self._tokens.append(token)
        if self._decoding.logprobs:
            logprobs = log_probabilities(logits)
            self._places.append(self._words.token(token, logprobs, self._decoding.logprobs))
        if self._decoding.repeat_penalty != 1:
            self._seen.add(token)
        self._ended = token in self._ends or self._stopped()
        return None if self._ended or len(self._tokens) >= self._most else token

    def _stopped(self) -> bool:
        """Whether a stop text has appeared; the answer is cut before the first."""
        if not self._decoding.stop:
            return False
        text = self._words.text(self._tokens)
        places = [place for stop in self._decoding.stop if (place := text.find(stop)) >= 0]
        if places:
            self._text = text[: min(places)]
        return bool(places)

    def response(self) -> Response:
        """The answer so far."""
        return Response(
            text=self._words.text(self._tokens) if self._text is None else self._text,
            finish="stop" if self._ended else "length",
            tokens=tuple(self._places),
            prompt_tokens=len(self._prompt),
            cached_tokens=0,
            completion_tokens=len(self._tokens),
        )


def draw_text(texts: Sequence[str], likelihoods: Floats, decoding: Decoding, seed: int) -> tuple[str, Token]:
    """Draw one of the allowed texts from their exact distribution.

    Args:
        texts: The choices.
        likelihoods: The log-probability of each.
        decoding: Temperature and cuts, applied to whole choices; at temperature 0 the most likely wins.
        seed: The seed of the draw.

    Returns:
        The text, and a token that stands for it, with the log-probabilities of all choices.
    """
    plain = Decoding("", decoding.temperature, decoding.top_p, decoding.top_k, decoding.min_p)
    place = choose(likelihoods, plain, np.random.default_rng(seed).random())
    ranked = likeliest(likelihoods, len(texts))
    top = tuple((texts[other], float(likelihoods[other])) for other in ranked)
    return texts[place], Token(texts[place], float(likelihoods[place]), top)
