"""The calls of an experiment: their keys, their seeds, their order, and which of them are still to be sent.

A key is a hash of all that decides the answer. Two variants that render alike are asked apart
and never share an answer; so are two models that serve the same weights, and two decodings that differ in
name alone.

In the order of work, prompts that share a prefix stand next to each other, so that an engine that caches
prefixes reads each of them once. Variants whose prompts begin alike before the item's text, and show the same
text, form a block; within a block the items are sorted by their text, and each item's variants by their
prompts.
"""

from __future__ import annotations

import json
import struct
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import blake2b
from itertools import groupby, islice
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from quaver.core.calls import UNFOLLOWED, Call, Message, Prompt, Request, Response, constructor
from quaver.core.records import JOINED, Condition, Decoding, Item
from quaver.core.variant_display import terms_of
from quaver.design.calls.experiment import Experiment
from quaver.design.items.text_parts import PART, PARTS
from quaver.design.prompts.rendering import PromptWriter

_number = struct.Struct("<I").pack


def _asked(identity: str, terms: str) -> bytes:
    """A JSON list: the identity, then the parts of the terms."""
    return f"[{json.dumps(identity)}, {terms[1:]}".encode()


def _bytes(role: str, content: str) -> bytes:
    """What the hash has of a message."""
    return f"{role}\x1f{len(content)}\x1f{content}".encode("utf-8", "surrogatepass")


RECIPE = 1
"""The number of the recipe of keys: BLAKE2b, 16 bytes.

It covers the served model's identity, the terms (decoding, allowed answers or JSON schema), the messages,
the occurrence of all these in the design, and the number of the repeat. The key of a follow-up that
quotes an answer covers the key of the quoted call instead of occurrence and repeat.
"""


def condition_hash(identity: str, terms: str, twins_before: int = 0, occasion: str = "") -> blake2b:
    """The part of the keys that a condition's calls share."""
    state = blake2b(_asked(identity, terms), digest_size=16)
    if occasion:
        state.update(f"\x1e{occasion}\x1e".encode())
    if twins_before:
        state.update(_number(twins_before))
    return state


def request_keys(
    condition: blake2b, messages: Iterable[Message], occurrence: int, repeats: int
) -> tuple[bytes, list[bytes]]:
    """A hash of what a request's calls share, and their keys."""
    state = condition.copy()
    state.update(b"".join([_bytes(*message) for message in messages]) + _number(occurrence))
    shared, keys = state.digest(), []
    for repeat in range(repeats):
        digest = state.copy()
        digest.update(_number(repeat))
        keys.append(digest.digest())
    return shared, keys


Stored = Callable[[Sequence[bytes]], Mapping[bytes, Response]]
"""Says which of some keys are answered, and with what."""

LabelOf = Callable[[str, Response], str | None]
"""Finds the label in an answer to a variant, by its name; None where there is none."""

_CALL, _REQUEST = constructor(Call), constructor(Request)

CHUNK = 512
"""Requests whose keys are looked up in the store together."""


class Plan:
    """All calls of an experiment, streamed.

    Args:
        experiment: What to ask.
        identities: For each model's name, what it serves (weights, engine); part of the key.
        most_logprobs: For each model's name, how many log-probabilities it returns at a position. A follow-up
            that wants more gets as many.
        occasion: When the calls are asked, where the same ones are asked again on purpose; their keys and
            seeds are then those of this occasion.
        label_of: Reads an answer to a variant, where its label decides what is asked next.

    Attributes:
        order: The prompts in the order of work.
        whole: What to ask, with its long texts whole.
    """

    def __init__(
        self,
        experiment: Experiment,
        identities: Mapping[str, str],
        most_logprobs: Mapping[str, int] = MappingProxyType({}),
        occasion: str = "",
        label_of: LabelOf | None = None,
    ) -> None:
        self.occasion, self._label_of = occasion, label_of
        self.experiment = experiment.in_parts
        self.whole = replace(self.experiment, items=experiment.items)
        self.identities = identities
        self.most_logprobs = most_logprobs
        self.order = WorkOrder(self.experiment)
        self._parts: dict[str, dict[Any, Any]] = defaultdict(dict)

    @cached_property
    def of_whole(self) -> dict[str, Any]:
        """What the survey would be if every text were asked about whole."""
        return WorkOrder(self.whole).survey

    def max_tokens(self, condition: Condition) -> int:
        """How long a condition's answers may be."""
        return self._decoding(condition).max_tokens

    def requests(self, model: str, stored: Stored | None = None) -> Iterator[Request]:
        """A model's requests that are still to be sent, in the order of work.

        They include the follow-ups of stored answers; `following` gives those of an answer that has just
        arrived.
        """
        return self._all_requests(model) if stored is None else self._unanswered(model, stored)

    def _unanswered(self, model: str, stored: Stored) -> Iterator[Request]:
        requests = self._all_requests(model)
        while chunk := list(islice(requests, CHUNK)):
            for some, done in self._one_after_another(chunk, stored):
                for request in some:
                    yield from without(request, done) if done else (request,)

    def calls(self, model: str, stored: Stored) -> Iterator[Call]:
        """A model's calls whose keys are known: a follow-up's is, once the answer it quotes is stored."""
        requests = self._all_requests(model)
        while chunk := list(islice(requests, CHUNK)):
            for some, _ in self._one_after_another(chunk, stored):
                yield from (call for request in some for call in request.calls)

    def following(self, request: Request, responses: Sequence[Response]) -> list[Request]:
        """The follow-ups that quote these answers; an error has none."""
        requests = []
        for call, response in zip(request.calls, responses, strict=True):
            for cell in self._next(call.condition, response):
                follow_up = self.experiment.follow_ups.get(cell.condition.follow_up)
                if follow_up is None:
                    writer = self._writers[cell.condition.variant]
                    for quoted, item in self._shown_next(cell, call, response):
                        prompt = writer.write(item, writer.text(item))
                        requests.append(cell.quoting(prompt, prompt.messages, quoted))
                    continue
                added, prompt = follow_up.messages(response.text), request.prompt
                prompt = prompt._replace(messages=_with(prompt.messages, added))
                requests.append(cell.quoting(prompt, added, call))
        return requests

    def _next(self, position: int, response: Response) -> list[_Cell]:
        """The conditions that follow an answer; where levels are asked one by one, that of its label."""
        joins = self.experiment.joins  # to which a part without a label belongs, too
        cells = [] if response.finish in UNFOLLOWED and not joins else self._quoting.get(position, [])
        if not cells or self._label_of is None or joins:
            return cells
        label = self._label_of(self.experiment.conditions[position].variant, response)
        return [cell for cell in cells if cell.condition.follow_up == label]

    def _shown_next(self, cell: _Cell, call: Call, response: Response) -> list[tuple[Call, Item]]:
        """The call that a further one follows, and the item that this shows; none where there is none yet.

        The labels of a text's parts are joined once the last is answered, and while no answer is an error.
        They stand in the text's place, in a call that follows the one about its first part.
        """
        item = self.experiment.items[call.item]
        if not self.experiment.joins or self._label_of is None:
            return [(call, item)]
        if (n := item.fields.get(PARTS, 1)) == 1 or response.finish == "error":
            return []
        first = call.item + 1 - item.fields[PART]
        waiting = self._parts[cell.condition.model]
        parts = waiting.setdefault(key := (cell.position, first, call.repeat), {})
        variant = self.experiment.every_variant[cell.condition.variant]
        label = self._label_of(variant.id, response)
        parts[call.item] = call, variant.answers.get(label or "", label) or "–"
        if len(parts) < n or not waiting.pop(key, None):  # two threads may bring the last two at once
            return []
        labels = [f"{at + 1 - first}. {answer}" for at, (_, answer) in sorted(parts.items())]
        shown = "\n".join([variant.below[JOINED], *labels])
        fields = {**item.fields, self.experiment.cut: shown, PART: 1, PARTS: 1}
        return [(parts[first][0], replace(item, fields=fields))]

    @property
    def has_following(self) -> bool:
        """Whether some calls are known only once another one is answered."""
        return bool(self._quoting)

    def lost(self, position: int, response: Response) -> int:
        """How many of the calls about levels below an answer there will not be."""
        if self._label_of is None or self.experiment.joins:
            return 0
        ways, next_ones = self.experiment.ways_down, self._next(position, response)
        most = ways[self.experiment.conditions[position].follow_up] - 1
        return most - sum(ways[cell.condition.follow_up] for cell in next_ones)

    @cached_property
    def _writers(self) -> dict[str, PromptWriter]:
        labels = self.experiment.labels
        return {variant.id: PromptWriter(variant, labels) for variant in self.experiment.below}

    def _one_after_another(
        self, requests: list[Request], stored: Stored
    ) -> Iterator[tuple[list[Request], Mapping[bytes, Response]]]:
        """Requests with what is stored of them, then those that follow, and so on."""
        while requests:
            done = stored([call.key for request in requests for call in request.calls])
            yield requests, done
            before, requests = requests, []
            for request in before if done else ():
                known = tuple(call for call in request.calls if call.key in done)
                if known and known[0].condition in self._quoting:
                    requests += self.following(request.part(known), [done[call.key] for call in known])

    @cached_property
    def _quoting(self) -> dict[int, list[_Cell]]:
        """The follow-ups that quote a condition's answers, by that condition's position."""
        result: dict[int, list[_Cell]] = defaultdict(list)
        for index, condition in enumerate(self.experiment.conditions):
            if condition.parent is not None:
                result[condition.parent].append(self._cell(index))
        return result

    @cached_property
    def terms(self) -> Sequence[str]:
        """For each condition, the terms of its calls, as their keys have them."""
        return [terms_of(*self._asked(condition)) for condition in self.experiment.conditions]

    def _asked(self, condition: Condition) -> tuple[Decoding, tuple[str, ...], str]:
        """How a condition's calls are asked: decoding, allowed answers, JSON schema."""
        variant, decoding = self.experiment.every_variant[condition.variant], self._decoding(condition)
        if follow_up := self.experiment.follow_ups.get(condition.follow_up):
            return decoding, follow_up.choices(self.experiment.labels, variant), ""
        is_held = decoding.constraint == "labels" and not variant.schema
        return decoding, tuple(variant.answers.values()) if is_held else (), variant.schema

    def _cell(self, position: int, twins_before: int = 0) -> _Cell:
        """A condition, ready to make requests."""
        condition = self.experiment.conditions[position]
        identity = self.identities[condition.model]
        shared = condition_hash(identity, self.terms[position], twins_before, self.occasion)
        return _Cell(condition, position, *self._asked(condition), shared)

    def _decoding(self, condition: Condition) -> Decoding:
        decoding = self.experiment.decoding(condition)
        if condition.follow_up not in self.experiment.follow_ups:
            return decoding
        most = self.most_logprobs.get(condition.model, 0)
        return replace(decoding, name=condition.follow_up, logprobs=min(decoding.logprobs, most))

    def _all_requests(self, model: str) -> Iterator[Request]:
        """The request of each item's prompt in each of a model's conditions, in the order of work."""
        cells, self._parts[model] = self._cells(model), {}
        twins, seen = self.order.survey["twins"], dict[bytes, int]()
        for variant, item, prompt in self.order.prompts():
            occurrence = 0
            if twins and hash(joined(prompt)) in twins:
                digest = blake2b(joined(prompt).encode("utf-8", "surrogatepass"), digest_size=16).digest()
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
            place = (condition.variant, self.identities[condition.model], self.terms[index])
            if condition.model == model:
                cells[positions[condition.variant]].append(self._cell(index, alike[place]))
            alike[place] += 1
        return cells


class _Cell(NamedTuple):
    """One condition, ready to make requests."""

    condition: Condition
    position: int
    decoding: Decoding
    choices: tuple[str, ...]
    schema: str
    shared: blake2b

    def request(self, item: int, prompt: Prompt, occurrence: int) -> Request:
        """The request for an item."""
        condition, position, decoding, choices, schema, shared = self
        asked, keys = request_keys(shared, prompt.messages, occurrence, condition.repeats)
        calls = [_CALL((key, position, item, repeat, None)) for repeat, key in enumerate(keys)]
        return _REQUEST((condition.model, prompt, decoding, choices, _seed(asked), tuple(calls), schema))

    def quoting(self, prompt: Prompt, added: Sequence[Message], call: Call) -> Request:
        """The request of a call that follows an answer; its key covers what it adds to that."""
        state = self.shared.copy()
        state.update(b"".join([_bytes(*message) for message in added]))
        state.update(call.key)
        key = state.digest()
        calls = (Call(key, self.position, call.item, call.repeat, call.key),)
        return Request(self.condition.model, prompt, self.decoding, self.choices, _seed(key), calls)


def _seed(key: bytes) -> int:
    """The seed of a request: there is room for the repeats below 2**31."""
    return int.from_bytes(key[:4], "little") >> 2


def _with(prompt: tuple[Message, ...], added: tuple[Message, ...]) -> tuple[Message, ...]:
    """A conversation continued; plain text continues as text."""
    if prompt[-1].role != "plain":
        return (*prompt, *added)
    texts = [content if role == "assistant" else f"\n\n{content}\n" for role, content in added]
    return (*prompt[:-1], Message("plain", prompt[-1].content + "".join(texts)))


def without(request: Request, done: Collection[bytes]) -> Iterator[Request]:
    """The request's calls that are not done, as runs of consecutive repeats."""
    wanted = [call for call in request.calls if call.key not in done]
    if len(wanted) == len(request.calls):
        yield request
        return
    for _, run in groupby(enumerate(wanted), key=lambda pair: pair[1].repeat - pair[0]):
        calls = tuple(call for _, call in run)
        yield request.part(calls)


_ANY_TEXT = "\x00"
"""Stands for an item's text where any text will do."""


class WorkOrder:
    """Every prompt of an experiment, in the order of work."""

    def __init__(self, experiment: Experiment) -> None:
        self._items = experiment.items
        self._writers = [PromptWriter(variant, experiment.labels) for variant in experiment.variants]

    def prompts(self) -> Iterator[tuple[int, int, Prompt]]:
        """Every prompt once: the position of its variant, of its item, and the prompt."""
        sorted_items: dict[Hashable, list[tuple[str, int]]] = {}
        for (_, key), block in groupby(self._variants, key=lambda variant: variant[:2]):
            writers = [(index, self._writers[index]) for *_, index in block]
            if key not in sorted_items:
                write = writers[0][1].text
                sorted_items[key] = sorted((write(item), place) for place, item in enumerate(self._items))
            for text, place in sorted_items[key]:
                for index, writer in writers:
                    yield index, place, writer.write(self._items[place], text)

    @cached_property
    def _variants(self) -> list[tuple[str, int, str, int]]:
        """Each variant's head, the number of its text, its first prompt and its position; sorted."""
        numbers: dict[Hashable, int] = {}
        rows = []
        for index, writer in enumerate(self._writers):
            number = numbers.setdefault(writer.text_key, len(numbers))
            first, last = (joined(writer.write(self._items[index], _ANY_TEXT)) for index in (0, -1))
            head = first[: _shared(first, last)].partition(_ANY_TEXT)[0]
            item = self._items[0]
            rows.append((head, number, joined(writer.write(item, writer.text(item))), index))
        return sorted(rows)

    @cached_property
    def survey(self) -> dict[str, Any]:
        """What one pass over all prompts shows; it takes eight bytes of memory a prompt.

        Returns:
            How many ``prompts`` there are; their ``characters``, and ``new_characters``, those that an engine
            with a prefix cache reads: each prompt without the beginning that it shares with the one before;
            ``twins``: hashes (of this process only) of prompts that occur more than once; ``of_variants``:
            the characters of each variant's prompts, in the variants' order.
        """
        total = len(self._items) * len(self._writers)
        hashes = np.empty(total, dtype=np.int64)
        of_variants = [0] * len(self._writers)
        new, before = 0, ""
        for number, (variant, _, prompt) in enumerate(self.prompts()):
            text = joined(prompt)
            hashes[number] = hash(text)
            of_variants[variant] += len(text)
            new += len(text) - _shared(before, text)
            before = text
        hashes.sort()
        twins = np.unique(hashes[1:][hashes[1:] == hashes[:-1]])
        return {
            "prompts": total,
            "characters": sum(of_variants),
            "new_characters": new,
            "twins": frozenset(twins.tolist()),
            "of_variants": of_variants,
        }


def joined(prompt: Prompt) -> str:
    """A prompt's messages as one text."""
    return "\x1e".join(content for _, content in prompt.messages)


def _shared(first: str, other: str) -> int:
    """Length of the common beginning, by bisection: comparing slices is much faster than characters."""
    low, high = 0, min(len(first), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
