"""Asking the canary: every occasion has calls and keys of its own, and all answers are kept."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from quaver.collect.run.driver import collect
from quaver.collect.run.progress import Budget, Ended, Progress
from quaver.collect.store.response_store import Store
from quaver.core.annotations import FIELD, Row
from quaver.core.calls import Request, Response
from quaver.core.label_values import Codebook
from quaver.core.model import Model, Probed
from quaver.core.records import Condition, Decoding, Item, Variant
from quaver.core.response_validation import error_line
from quaver.core.seeds import derive
from quaver.design.calls.call_plan import Plan
from quaver.design.calls.experiment import Experiment
from quaver.design.prompts.rendering import PromptWriter
from quaver.errors import QuaverError, StoreError
from quaver.score.annotation import Annotator
from quaver.study.sources.model_demands import needs_of

PROMPTS, PARTS, FIRST, CONFIRMED = 20, 10, 6, 40
"""By default: prompts of a look; parts of the canary, one a look; how often each prompt is asked on the first
occasion; how many prompts at most whose last answer was another one a look asks besides."""

_LOGPROBS = 20


@dataclass(frozen=True, slots=True)
class CanaryOptions:
    """How a canary is asked.

    Attributes:
        prompts: Prompts of a look.
        parts: Parts of the canary; each look asks one, in turn.
        first: How often each prompt is asked on the first occasion.
        confirmed: How many prompts at most whose last answer was another one a look asks a model besides.
        whole: Whether whole answers are asked for, rather than one token with its log-probabilities.
        error: How often a watch without any change may ever raise an alarm.
    """

    prompts: int = PROMPTS
    parts: int = PARTS
    first: int = FIRST
    confirmed: int = CONFIRMED
    whole: bool = False
    error: float = 0.05


@dataclass(frozen=True)
class Canary:
    """Which prompts are asked, and how.

    Attributes:
        options: How it is asked.
        pool: The prompts in their order: an item's id, a variant's id and a hash of what a model sees.
    """

    options: CanaryOptions
    pool: Sequence[tuple[str, str, str]]

    def document(self) -> dict[str, Any]:
        """For ``canary.json``."""
        pool = [{"item": item, "variant": variant, "prompt": seen} for item, variant, seen in self.pool]
        return {"options": asdict(self.options), "pool": pool}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Canary:
        """From ``canary.json``."""
        rows = [(row["item"], row["variant"], row["prompt"]) for row in document["pool"]]
        return cls(CanaryOptions(**document["options"]), rows)

    @cached_property
    def parts(self) -> list[list[int]]:
        """The parts as positions in the pool; a part begins anew where a small pool ends."""
        size, prompts = len(self.pool), min(self.options.prompts, len(self.pool))
        count = -(-size // prompts)
        return (np.arange(count * prompts).reshape(count, prompts) % size).tolist()

    def asked_at(self, look: int) -> list[int]:
        """The positions in the pool that a look asks, from 1; all of them on the first occasion, 0."""
        return list(range(len(self.pool))) if look == 0 else self.parts[(look - 1) % len(self.parts)]


def locked(experiment: Experiment, options: CanaryOptions, seed: int) -> Canary:
    """Draw the canary: items in a random order, the study's variants in turn."""
    variants, items = experiment.variants, experiment.items
    order = np.random.default_rng(derive(seed, "canary")).permutation(len(items))
    writers = [PromptWriter(variant, experiment.labels) for variant in variants]
    pool: list[tuple[str, str, str]] = []
    for lap in range(len(variants)):
        for turn, index in enumerate(order[: options.prompts * options.parts - len(pool)]):
            variant, item = (turn + lap) % len(variants), items[int(index)]
            pool.append((item.id, variants[variant].id, _seen(writers[variant], item)))
    return Canary(options, pool)


def _seen(writer: PromptWriter, item: Item) -> str:
    """A hash of what a model sees."""
    messages = writer.write(item, writer.text(item)).messages
    written = repr([tuple(message) for message in messages]).encode("utf-8", "surrogatepass")
    return blake2b(written, digest_size=8).hexdigest()


def part_of(experiment: Experiment, canary: Canary, models: Mapping[str, Model]) -> Experiment:
    """The canary's own design: its items and variants, asked greedily."""
    items = {item.id: item for item in experiment.items}
    variants = {variant.id: variant for variant in experiment.variants}
    writers = {name: PromptWriter(variant, experiment.labels) for name, variant in variants.items()}
    used, shown = dict[str, Variant](), dict[str, Item]()
    for item, variant, seen in canary.pool:
        known = item in items and variant in variants
        if not known or _seen(writers[variant], items[item]) != seen:
            raise QuaverError(
                "the study has changed since its canary was locked: a prompt is not what was asked at first",
                where="watch",
                expected="the prompts that are locked in watch/canary.json",
                found=f"item {item}, {variant}",
                fix="put the study back, or begin a new watch: `quaver watch STUDY --renew`",
            )
        used[variant], shown[item] = variants[variant], items[item]
    decodings, conditions = dict[str, Decoding](), list[Condition]()
    for name, model in models.items():
        decodings[name] = _decoding(name, model, [*used.values()], experiment, canary.options)
        conditions += [Condition(name, variant, name, canary.options.first) for variant in used]
    return replace(
        experiment,
        items=[*shown.values()],
        variants=[replace(variant, max_tokens=None, below={}) for variant in used.values()],
        below=(),
        joins=0,
        decodings=decodings,
        conditions=conditions,
        follow_ups={},
    )


def _decoding(
    name: str, model: Model, variants: Sequence[Variant], experiment: Experiment, options: CanaryOptions
) -> Decoding:
    """Greedy; one token with log-probabilities where the model gives them and one token says something."""
    logprobs = min(_LOGPROBS, model.abilities.logprobs)
    one_token = logprobs > 0 and not options.whole and not isinstance(experiment.labels, Codebook)
    decodings = list(experiment.decodings.values())
    longest = max(decoding.max_tokens for decoding in decodings)
    for variant in variants:
        longest = max(longest, variant.max_tokens or 0)
        if variant.schema or variant.explains or variant.output != "label":
            one_token = False
    return replace(
        decodings[0],
        name=name,
        temperature=0.0,
        top_p=1.0,
        top_k=0,
        min_p=0.0,
        max_tokens=1 if one_token else longest,
        logprobs=logprobs if one_token else 0,
        grid=(),
    )


_ROOM = 1000
"""Answers that one prompt may get on one occasion; a stored repeat is occasion × room + number."""

_CHUNK = 20_000


class CanaryAnswer(NamedTuple):
    """What a prompt was answered on an occasion.

    Attributes:
        prompt: Its position in the canary.
        model: The model's name in the study.
        occasion: From 0.
        number: The how-many-eth answer to this prompt on this occasion, from 0.
        label: Its label, of several fields those of all; of one token without a label, the token; else the
            status.
        refused: Whether it is a refusal.
        response: It whole.
    """

    prompt: int
    model: str
    occasion: int
    number: int
    label: str
    refused: bool
    response: Response

    def logprob(self, token: str) -> float | None:
        """How likely the answer's first token was to be this one; at most the least likely that is known."""
        if not self.response.tokens:
            return None
        first = self.response.tokens[0]
        known = {first.text: first.logprob, **dict(first.top)}
        return known.get(token, min(known.values()))


class Occasions:
    """Asks parts of a canary and reads what was answered.

    Args:
        canary: The canary.
        experiment: Its design.
        models: The models by name.
        store: Where answers are kept.
        annotator: Reads answers to the canary's design, with one evaluator.
        budget: What a look may spend.
    """

    def __init__(
        self,
        canary: Canary,
        experiment: Experiment,
        models: Mapping[str, Model],
        store: Store,
        annotator: Annotator,
        budget: Budget,
    ) -> None:
        self._experiment, self._models, self.store = experiment, models, store
        self._annotator, self._budget = annotator, budget
        self._known: dict[tuple[str, int], list[CanaryAnswer]] = {}
        self._read = 0
        self._failed: list[int] = []
        ids, self._at = [item.id for item in experiment.items], dict[tuple[int, str], int]()
        places = dict(zip(ids, range(len(ids)), strict=True))
        for index, (item, variant, _) in enumerate(canary.pool):
            self._at[places[item], variant] = index
        for name, model in models.items():
            model.prepare(1)
            if isinstance(model, Probed):
                model.probe(needs_of([experiment.decodings[name]], experiment.variants))
        if not store.calls.placed("canary"):
            store.calls.place("canary", experiment.conditions, ids, ())

    def ask(self, occasion: int, name: str, prompts: Mapping[str, Collection[int]], numbers: range) -> Ended:
        """Ask models prompts that have no answer on this occasion yet, each as often as ``numbers`` says.

        Returns:
            How that ended: ``finished``, or with what the budget lacks.
        """
        identities = {name: model.identity() for name, model in self._models.items()}
        plan = Plan(self._experiment, identities, occasion=name)
        requests, total = dict[str, Iterator[Request]](), 0
        for model, some in prompts.items():
            if asked := list(self._requests(plan, model, occasion, some, numbers)):
                requests[model] = iter(asked)
                total += len(asked)
        return collect(requests, self._models, self.store, Progress(total, 0), budget=self._budget).ended

    def _requests(
        self, plan: Plan, model: str, occasion: int, prompts: Collection[int], numbers: range
    ) -> Iterator[Request]:
        wanted = [request for request in plan.requests(model) if self._place(request) in prompts]
        for number in numbers:
            for request in wanted:
                (call,) = request.calls[number : number + 1]
                if not self.store.answered([call.key], errors=False):
                    kept = call._replace(repeat=occasion * _ROOM + number)
                    yield request._replace(calls=(kept,), seed=request.seed + number)

    def _place(self, request: Request) -> int | None:
        call = request.calls[0]
        variant = self._experiment.conditions[call.condition].variant
        return self._at.get((call.item, variant))

    def answers(self, model: str, occasion: int) -> list[CanaryAnswer]:
        """A model's answers on an occasion, by number and prompt; errors are left out.

        Only what was stored since the last call is read and annotated.
        """
        failed, self._failed = self._failed, []  # an error's row may hold an answer by now
        chunk = self.store.read_after(self._read, _CHUNK, failed)
        while chunk:
            self._read = max(self._read, *(stored for stored, _ in chunk))
            try:
                self._take_in(chunk)
            except (TypeError, ValueError, LookupError, pl.exceptions.PolarsError) as error:
                raise StoreError(
                    "the answers of this watch do not fit its canary",
                    where="watch",
                    expected="answers to the prompts in watch/canary.json",
                    found=error_line(error).partition("\n")[0],
                    fix="put back a copy of the folder `watch`, or begin a new watch: "
                    "`quaver watch STUDY --renew`",
                ) from None
            chunk = self.store.read_after(self._read, _CHUNK)
        return sorted(
            self._known.get((model, occasion), ()), key=lambda answer: (answer.number, answer.prompt)
        )

    def _take_in(self, chunk: Sequence[tuple[int, Row]]) -> None:
        """Read answers' labels."""
        labels = self._labels([row for _, row in chunk])
        for (stored, row), (label, status) in zip(chunk, labels, strict=True):
            condition, item, repeat, response, _ = row
            if response.finish == "error":
                self._failed.append(stored)
                continue
            about = self._experiment.conditions[condition]
            occasion, number = divmod(repeat, _ROOM)
            index = self._at[item, about.variant]
            said = label or (status if status == "refused" else response.text.strip()[:80]) or status
            answer = CanaryAnswer(index, about.model, occasion, number, said, status == "refused", response)
            self._known.setdefault((about.model, occasion), []).append(answer)

    def _labels(self, rows: Sequence[Row]) -> list[tuple[str | None, str]]:
        """Each answer's label and status; of several fields all in one label: ``tone=good, amount=12.5``."""
        frame = self._annotator.frame(rows).with_columns(pl.col("label", "status").cast(pl.String))
        if FIELD not in frame.columns:
            return frame.select("label", "status").rows()
        value = pl.concat_str(pl.col(FIELD).cast(pl.String), pl.lit("="), pl.coalesce("label", "status"))
        is_valid = pl.col("label").is_not_null().any()
        whole = frame.group_by("model", "variant", "item", "repeat", maintain_order=True).agg(
            pl.when(is_valid).then(value.str.join(", ")).alias("label"),
            pl.when(is_valid).then(pl.lit("valid")).otherwise(pl.col("status").first()).alias("status"),
        )
        return whole.select("label", "status").rows()
