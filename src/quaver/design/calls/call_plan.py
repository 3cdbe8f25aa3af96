"""The calls of an experiment: in which order, under which keys, with which seeds.

Order: calls that share a prefix go next to each other, so that an engine reads each prefix once.
Variants whose prompts begin alike before the item's text form a block; inside a block the items
come in the order of their text and, for each item, the variants in the order of theirs. That is
nearly the depth-first walk of the tree of all prompts, found without sorting them all. (Where
variants of a block show the items in different texts, each text makes a block of its own, unless
the texts of one item have more in common than one text of neighbouring items.)

Key: a hash of all that decides the answer (``design.keys``). Two variants that render alike are two askings,
never one shared answer; so are two models that are served by the same weights, and two decodings that differ
in name alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from itertools import groupby, islice
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from quaver.core.call_terms import terms_of
from quaver.core.records import (
    UNFOLLOWED,
    Call,
    Condition,
    Decoding,
    Item,
    Message,
    Prompt,
    Request,
    Response,
    Variant,
)
from quaver.design.calls import call_keys
from quaver.design.calls.call_keys import Recipe, State
from quaver.design.calls.experiment import Experiment
from quaver.design.follow_ups import FollowUp
from quaver.design.prompts.rendering import PromptWriter

__all__ = ["Plan", "Stored", "Survey"]

Stored = Callable[[Sequence[bytes]], Mapping[bytes, Response]]
"""Tells which keys are answered, and what was answered."""

_CHUNK = 512
"""Requests whose keys are looked up in the store together."""

_PROBED = 16
"""Items on either side of the middle that show in which order less is left to read."""

_ANY_TEXT = "\x00"
"""Stands for an item's text where it does not matter which."""


@dataclass(frozen=True, slots=True)
class Survey:
    """One pass over all prompts of a design.

    Attributes:
        prompts: Variant × item pairs.
        characters: Characters of all prompts together.
        new_characters: Characters left when each prompt's common beginning with the one before it is
            left out, as an engine with a prefix cache reads them.
        longest: Characters of the longest prompt.
        twins: Hashes (of this process only) of prompts that occur more than once.
        of_variants: Characters of each variant's prompts, in the variants' order.
    """

    prompts: int
    characters: int
    new_characters: int
    longest: int
    twins: frozenset[int]
    of_variants: tuple[int, ...]


class Plan:
    """All calls of an experiment, streamed.

    Args:
        experiment: What to ask.
        identities: For each model's name, what is served under it (weights, engine): part of the key.
        most_logprobs: For each model's name, how many log-probabilities it returns a position: follow-ups
            that ask for more get as many.
        recipe: The number of the recipe by which keys are made; today's, if left out.
    """

    def __init__(
        self,
        experiment: Experiment,
        identities: Mapping[str, str],
        most_logprobs: Mapping[str, int] = MappingProxyType({}),
        recipe: int | None = None,
    ) -> None:
        self.experiment = experiment
        self.identities = identities
        self.recipe = call_keys.RECIPE if recipe is None else recipe
        self.most_logprobs = most_logprobs
        self._orders: dict[Hashable, list[int]] = {}
        self._writers = [PromptWriter(variant, experiment.labels) for variant in experiment.variants]

    def prompts(self) -> Iterator[tuple[int, int, Prompt]]:
        """Every prompt once, in the order of work: position of variant and item, prompt."""
        for block, items in self._blocks:
            texts_of = {self._writers[index].text_key: self._writers[index] for index in block}
            for position in items:
                item = self.experiment.items[position]
                texts = {key: writer.text(item) for key, writer in texts_of.items()}
                for index in block:
                    writer = self._writers[index]
                    yield index, position, writer.write(item, texts[writer.text_key])

    @cached_property
    def _blocks(self) -> list[tuple[list[int], list[int]]]:
        """Blocks of variants, each with the items in the order in which the block takes them."""
        items, variants = self.experiment.items, self.experiment.variants
        heads = [self._head(index) for index in range(len(variants))]
        starts = [self._written(index, items[0]) for index in range(len(variants))]
        order = sorted(range(len(variants)), key=lambda index: (heads[index], starts[index], index))
        blocks: list[tuple[list[int], list[int]]] = []
        for _, block in groupby(order, key=lambda index: heads[index]):
            members = list(block)
            together = [(members, self._order(members[0]))]
            by_text: dict[Hashable, list[int]] = {}
            for index in members:
                by_text.setdefault(self._writers[index].text_key, []).append(index)
            apart = [(some, self._order(some[0])) for some in by_text.values()]
            is_better = len(apart) > 1 and self._cost(apart) < self._cost(together)
            blocks += apart if is_better else together
        return blocks

    def _head(self, index: int) -> str:
        """What a variant's prompts begin with, whatever the item."""
        items = self.experiment.items
        first, last = (_joined(self._writers[index].write(item, _ANY_TEXT)) for item in (items[0], items[-1]))
        shared = first[: _shared(first, last)]
        return shared.partition(_ANY_TEXT)[0]

    def _order(self, index: int) -> list[int]:
        """The items in the order of their text under a variant, found once for each way to show them."""
        writer, items = self._writers[index], self.experiment.items
        if writer.text_key not in self._orders:
            texts = [writer.text(item) for item in items]
            self._orders[writer.text_key] = sorted(range(len(items)), key=lambda i: (texts[i], i))
        return self._orders[writer.text_key]

    def _cost(self, blocks: Sequence[tuple[list[int], list[int]]]) -> int:
        """Characters that are new beside the prompt before, in a part of the items."""
        new = 0
        for members, positions in blocks:
            before = ""
            middle = len(positions) // 2
            for position in positions[max(0, middle - _PROBED) : middle + _PROBED]:
                for index in members:
                    written = self._written(index, self.experiment.items[position])
                    new += len(written) - _shared(before, written)
                    before = written
        return new

    def _written(self, index: int, item: Item) -> str:
        writer = self._writers[index]
        return _joined(writer.write(item, writer.text(item)))

    @cached_property
    def survey(self) -> Survey:
        """What one pass over all prompts shows (eight bytes of memory a prompt)."""
        total = len(self.experiment.items) * len(self.experiment.variants)
        hashes = np.empty(total, dtype=np.int64)
        of_variants = [0] * len(self.experiment.variants)
        new = longest = 0
        before = ""
        for number, (variant, _, prompt) in enumerate(self.prompts()):
            text = _joined(prompt)
            hashes[number] = hash(text)
            of_variants[variant] += len(text)
            new += len(text) - _shared(before, text)
            longest = max(longest, len(text))
            before = text
        hashes.sort()
        twins = np.unique(hashes[1:][hashes[1:] == hashes[:-1]])
        return Survey(total, sum(of_variants), new, longest, frozenset(twins.tolist()), tuple(of_variants))

    def max_tokens(self, condition: Condition) -> int:
        """How long a condition's answers may be."""
        return self._decoding(condition).max_tokens

    def requests(self, model: str, stored: Stored = lambda _: {}) -> Iterator[Request]:
        """A model's requests that are still to be sent, in the order of work.

        Follow-ups of answers that are stored are among them; `following` gives those of an answer that
        has just come in.

        Args:
            model: The model's name in the study.
            stored: Those of the given keys that are answered already, with what was answered.
        """
        requests = self._all_requests(model)
        while chunk := list(islice(requests, _CHUNK)):
            done = stored([call.key for request in chunk for call in request.calls])
            if not done:
                yield from chunk
                continue
            next_ones = self._following_stored(chunk, done)
            done_next = stored([call.key for one in next_ones for call in one.calls]) if next_ones else {}
            for request in chunk:
                yield from _without(request, done)
            for request in next_ones:
                yield from _without(request, done_next)

    def calls(self, model: str, stored: Stored) -> Iterator[Call]:
        """All calls of a model that can be told: follow-ups only of answers that are stored.

        Args:
            model: The model's name in the study.
            stored: As for `requests`.
        """
        requests = self._all_requests(model)
        while chunk := list(islice(requests, _CHUNK)):
            calls = [call for request in chunk for call in request.calls]
            yield from calls
            if self._quoting(model):
                done = stored([call.key for call in calls])
                for one in self._following_stored(chunk, done):
                    yield from one.calls

    def following(self, request: Request, responses: Sequence[Response]) -> list[Request]:
        """The follow-ups that quote these answers; errors are not followed.

        Args:
            request: What was answered.
            responses: One for each of its calls.
        """
        return [
            quoting.request(request, call, response.text)
            for quoting in self._quoting(request.model).get(request.calls[0].condition, ())
            for call, response in zip(request.calls, responses, strict=True)
            if response.finish not in UNFOLLOWED
        ]

    def _following_stored(self, requests: Iterable[Request], done: Mapping[bytes, Response]) -> list[Request]:
        """The follow-ups that quote those answers to some requests that are there."""
        found = []
        for request in requests:
            if request.calls[0].condition not in self._quoting(request.model):
                continue
            known = tuple(call for call in request.calls if call.key in done)
            if known:
                responses = [done[call.key] for call in known]
                found += self.following(request.part(known), responses)
        return found

    def _quoting(self, model: str) -> dict[int, list[_Quoting]]:
        """By the position of the condition that is followed, the follow-ups that quote its answers."""
        return self._quoted.get(model, {})

    @cached_property
    def _quoted(self) -> dict[str, dict[int, list[_Quoting]]]:
        found: dict[str, dict[int, list[_Quoting]]] = {}
        for index, condition in enumerate(self.experiment.conditions):
            if condition.parent is None:
                continue
            decoding, choices, schema = self._asks(condition)
            shared = self._recipe.condition(
                self.identities[condition.model], terms_of(decoding, choices, schema)
            )
            follow_up = self.experiment.follow_ups[condition.follow_up]
            of_model = found.setdefault(condition.model, {})
            of_model.setdefault(condition.parent, []).append(
                _Quoting(index, follow_up, decoding, choices, self._recipe, shared)
            )
        return found

    @cached_property
    def terms(self) -> Sequence[str]:
        """For each condition, the terms of its calls, as their keys have them."""
        return [terms_of(*self._asks(condition)) for condition in self.experiment.conditions]

    def _asks(self, condition: Condition) -> tuple[Decoding, tuple[str, ...], str]:
        """How a condition's calls are asked: decoding, allowed answers, JSON schema."""
        variant, decoding = self._variants[condition.variant], self._decoding(condition)
        if condition.follow_up:
            follow_up = self.experiment.follow_ups[condition.follow_up]
            return decoding, follow_up.choices(self.experiment.labels, variant), ""
        held = decoding.constraint == "labels" and not variant.schema
        return decoding, tuple(variant.answers.values()) if held else (), variant.schema

    @cached_property
    def _variants(self) -> dict[str, Variant]:
        return {variant.id: variant for variant in self.experiment.variants}

    def _decoding(self, condition: Condition) -> Decoding:
        decoding = self.experiment.decoding(condition)
        if not condition.follow_up:
            return decoding
        most = self.most_logprobs.get(condition.model, 0)
        return replace(decoding, name=condition.follow_up, logprobs=min(decoding.logprobs, most))

    def _all_requests(self, model: str) -> Iterator[Request]:
        cells = self._cells(model)
        twins, seen = self.survey.twins, dict[bytes, int]()
        for variant, item, prompt in self.prompts():
            occurrence = 0
            if twins and hash(_joined(prompt)) in twins:
                digest = blake2b(_joined(prompt).encode("utf-8", "surrogatepass"), digest_size=16).digest()
                occurrence = seen.get(digest, 0)
                seen[digest] = occurrence + 1
            for cell in cells[variant]:
                yield cell.request(item, prompt, occurrence)

    def _cells(self, model: str) -> list[list[_Cell]]:
        """For each variant, the model's conditions with what their keys have in common."""
        positions = {variant.id: index for index, variant in enumerate(self.experiment.variants)}
        cells: list[list[_Cell]] = [[] for _ in positions]
        alike: Counter[tuple[str, str, str]] = Counter()
        for index, condition in enumerate(self.experiment.conditions):
            if condition.parent is not None:
                continue
            decoding, choices, schema = self._asks(condition)
            identity, terms = self.identities[condition.model], terms_of(decoding, choices, schema)
            if condition.model == model:
                before = alike[condition.variant, identity, terms]
                shared = self._recipe.condition(identity, terms, before)
                cell = _Cell(condition, index, decoding, choices, schema, self._recipe, shared)
                cells[positions[condition.variant]].append(cell)
            alike[condition.variant, identity, terms] += 1
        return cells

    @property
    def _recipe(self) -> Recipe:
        return call_keys.RECIPES[self.recipe]


class _Cell:
    """One condition, ready to make requests."""

    def __init__(
        self,
        condition: Condition,
        index: int,
        decoding: Decoding,
        choices: tuple[str, ...],
        schema: str,
        recipe: Recipe,
        shared: State,
    ) -> None:
        self._model, self._index, self._decoding = condition.model, index, decoding
        self._choices, self._schema, self._repeats = choices, schema, condition.repeats
        self._recipe, self._shared = recipe, shared

    def request(self, item: int, prompt: Prompt, occurrence: int) -> Request:
        shared = self._recipe.request(self._shared, prompt.messages, occurrence)
        seed = int.from_bytes(shared.digest()[:4], "little") >> 2  # room for the repeats below 2**31
        calls = tuple(
            Call(self._recipe.call(shared, repeat), self._index, item, repeat)
            for repeat in range(self._repeats)
        )
        return Request(self._model, prompt, self._decoding, self._choices, seed, calls, self._schema)


class _Quoting(NamedTuple):
    """A follow-up that quotes the answers of a condition."""

    condition: int
    follow_up: FollowUp
    decoding: Decoding
    choices: tuple[str, ...]
    recipe: Recipe
    shared: State

    def request(self, followed: Request, call: Call, answer: str) -> Request:
        added = self.follow_up.messages((), answer)
        messages = _with(followed.prompt.messages, added)
        key = self.recipe.follow_up(self.shared, added, call.key)
        return Request(
            followed.model,
            followed.prompt._replace(messages=messages),
            self.decoding,
            self.choices,
            int.from_bytes(key[:4], "little") >> 2,
            (Call(key, self.condition, call.item, call.repeat, call.key),),
        )


def _with(prompt: tuple[Message, ...], added: tuple[Message, ...]) -> tuple[Message, ...]:
    """A conversation that goes on; plain text goes on as text."""
    if prompt[-1].role != "plain":
        return (*prompt, *added)
    told = [content if role == "assistant" else f"\n\n{content}\n" for role, content in added]
    return (*prompt[:-1], Message("plain", prompt[-1].content + "".join(told)))


def _joined(prompt: Prompt) -> str:
    return "\x1e".join(content for _, content in prompt.messages)


def _shared(one: str, other: str) -> int:
    """Length of the common beginning, by bisection (comparing slices is much faster than characters)."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _without(request: Request, done: Collection[bytes]) -> Iterator[Request]:
    """The request's calls that are not done, as runs of consecutive repeats."""
    wanted = [call for call in request.calls if call.key not in done]
    if len(wanted) == len(request.calls):
        yield request
        return
    for _, run in groupby(enumerate(wanted), key=lambda pair: pair[1].repeat - pair[0]):
        calls = tuple(call for _, call in run)
        yield request.part(calls)
