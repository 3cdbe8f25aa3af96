"""One run of a study: what other studies have is taken over, the rest asked, all of it within the budget."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl

from quaver.collect.run.driver import collect
from quaver.collect.run.journal import Journal
from quaver.collect.run.ledger import ledger, spent
from quaver.collect.run.progress import Budget, Ended, Outcome, Progress, Spent
from quaver.collect.store.batch_rows import StoredBatches
from quaver.collect.store.response_store import Store
from quaver.collect.store.reuse import Elsewhere, reuse
from quaver.core.annotations import Reading
from quaver.core.model import Model, Probed
from quaver.core.records import Item, LabelSet, Request, Response, Variant
from quaver.design.calls.call_plan import without
from quaver.design.spec import MeasureSpec, StudySpec
from quaver.design.spec.study_file import Positions
from quaver.design.spec.task_spec import TEXT_COLUMN
from quaver.errors import QuaverError, SpecError, Unavailable, UnknownName
from quaver.estimation.gathered import Gathered
from quaver.score.parsing.evaluator import Answer, Reader
from quaver.study.analysis.annotation_frame import annotator_of
from quaver.study.analysis.field_source import fields_of
from quaver.study.analysis.study_measures import measurement
from quaver.study.collection.pilot import STORED_BY_MODEL, check_pilot, first_of_longest, is_worth_a_pilot
from quaver.study.collection.study_batches import StudyBatches, expected_out
from quaver.study.sources.prices import FREE, needs_of
from quaver.study.sources.study_file_source import StudyFile
from quaver.study.sources.study_plugins import Measurement
from quaver.study.sources.study_source import StudySource

_BY_ITSELF = ("finished", "calls", "tokens", "money")
"""Ends of a run after which the batches that are out still matter."""


def reused_folders(spec: StudySpec, source: Positions) -> dict[str, Path]:
    """The folders of the studies whose answers are taken over, by their names in the study file."""
    folders: dict[str, Path] = {}
    for index, name in enumerate(spec.reuse):
        path = source.home / name
        if path.suffix in (".yaml", ".yml"):
            path = path.parent if path.stem == "study" else path.with_suffix("")
        with source.locating("reuse", index), Elsewhere(path):
            folders[name] = path
    return folders


Keep = Callable[[Request], Request | None]
"""What of a request is wanted; None where nothing is."""


@dataclass(frozen=True, slots=True)
class RunAsked:
    """How a study is run: the arguments of `Study.run`, and ``keep``, what of a request is wanted."""

    watch: Callable[[Progress], None]
    retry_errors: bool = False
    requests: int | None = None
    batch: bool = False
    wait: bool = False
    cancel_batches: bool = False
    where: Mapping[str, Any] | None = None
    keep: Keep | None = None


class Collecting:
    """Asks what a study has not been asked yet.

    Args:
        study: The study.
        store: Where answers go.
        journal: Keeps what happens.
        asked: How the study is run.
        watch: Called with the progress as responses are stored.
        models: The models as they are asked.
    """

    def __init__(
        self,
        study: StudyFile,
        store: Store,
        journal: Journal,
        asked: RunAsked,
        watch: Callable[[Progress], None],
        models: Mapping[str, Model],
    ) -> None:
        self._study, self._store, self._models = study, store, models
        self._plan, self._caps = study.plan, study.spec.budget
        self._journal, self._watch, self._retry_errors = journal, watch, asked.retry_errors
        self._keep: Keep | None = None
        self._prices, self._made = study.prices, study.spent_on_paraphrases()
        quotes = any(follow_up.quotes_answer for follow_up in study.experiment.follow_ups.values())
        self._following = study.plan.following if quotes else None
        self._tried, self._given_up = set[str](), dict[str, Exception]()
        self._folders = reused_folders(study.spec, study.positions)
        self._until = None if self._caps.seconds is None else time.monotonic() + self._caps.seconds
        self._out = StoredBatches(store)
        self._batches = StudyBatches(study, store, journal, watch, every=asked.batch)
        self._wait = asked.wait
        for name, model in self._models.items():
            model.prepare(self._repeats(name))
        now = self._progress()
        journal.line(f"run: {now.before:,} of {now.total:,} calls are stored; asking {', '.join(models)}")

    def _repeats(self, model: str) -> int:
        """The most repeats of a condition of a model."""
        conditions = self._study.experiment.conditions
        return max((condition.repeats for condition in conditions if condition.model == model), default=0)

    def ask(self, keep: Keep | None = None, most: int | None = None) -> Outcome:
        """Take over and ask what is missing of what is wanted."""
        self._keep = keep
        before = self._progress().before
        taken = self._take_over()
        in_batches = self._batches.names if most is None else []
        try:
            outcome = self._ask(most, in_batches)
        except KeyboardInterrupt:
            if not self._batches.has_any:
                raise
            outcome = self._progress().outcome("interrupted", 0.0, 0.0)
        total = self._study.calls - self._store.calls.unfollowed()
        done, errors = self._batches.taken()
        outcome = replace(
            outcome,
            total=total,
            before=before,
            reused=taken,
            done=outcome.done + done,
            errors=outcome.errors + errors,
        )
        if done or self._out.rows():
            used = self._used(estimated=False)
            outcome = replace(outcome, tokens=used.tokens, money=used.money)
        if outcome.ended in _BY_ITSELF and (self._out.calls_out() or self._left(in_batches, outcome)):
            return replace(outcome, ended="batches")
        if most is not None and outcome.ended == "finished" and outcome.missing:
            return replace(outcome, ended="requests")
        return outcome

    def _left(self, in_batches: Sequence[str], outcome: Outcome) -> bool:
        """Whether calls came back from batches without an answer, so that another run hands them over."""
        if outcome.ended != "finished" or self._retry_errors:
            return False
        return any(next(self._requests(name), None) is not None for name in in_batches)

    def _ask(self, most: int | None, in_batches: Sequence[str]) -> Outcome:
        """Collect what batches have ready, hand over the next, and ask the other models."""
        self._batches.visit()
        direct = [name for name in self._models if name not in in_batches]
        self._try_servers(direct)
        budget = self._budget(self._progress())

        def hand_over() -> None:
            if in_batches:
                self._batches.write(self._requests, self._budget(self._progress()))

        if in_batches:
            self._batches.write(self._requests, budget)
        asked = [name for name in direct if name not in self._given_up]
        pilot = self._pilot(asked, budget) if most is None and self._keep is None else None
        asked = [name for name in asked if name not in self._given_up]
        progress = self._progress()
        progress.given_up |= self._given_up
        outcome = collect(
            {name: self._requests(name, most) for name in asked},
            self._models,
            self._store,
            progress,
            budget=budget,
            watch=self._watch,
            journal=self._journal,
            following=self._following,
        )
        if pilot is not None:
            outcome = replace(outcome, done=outcome.done + pilot.done, errors=outcome.errors + pilot.errors)
        if self._wait and outcome.ended == "finished":
            self._batches.wait(hand_over)
        if self._batches.batching.failures:
            raise next(iter(self._batches.batching.failures.values()))
        return outcome

    def _pilot(self, names: Sequence[str], budget: Budget) -> Outcome | None:
        """Ask each model that costs money about a few of the longest texts, and look at the answers.

        Raises:
            ModelError: More than a tenth of them are cut off, filtered, refused or without a label.
        """
        stored = Counter(dict(self._store.rows(STORED_BY_MODEL)))
        pilots: dict[str, list[Request]] = {}
        functions = {model.name for model in self._study.spec.models if model.use == "function"}
        for name in names:
            if (
                name not in functions
                and self._prices.get(name) != FREE
                and is_worth_a_pilot(self._study, name, stored[name])
            ):
                pilots[name] = first_of_longest(self._requests(name), self._study.experiment.items)
        if not any(pilots.values()):
            return None
        progress = self._progress()
        outcome = collect(
            {name: iter(some) for name, some in pilots.items() if some},
            self._models,
            self._store,
            progress,
            budget=budget,
            watch=self._watch,
            journal=self._journal,
            is_pilot=True,
        )
        self._given_up |= progress.given_up
        for name, some in pilots.items():
            check_pilot(self._study, self._store, name, [request.calls[0] for request in some])
        return outcome

    def close(self) -> None:
        """End what answered elsewhere; what is loaded in this process stays."""
        for name, model in self._models.items():
            if model is not self._study.models[name]:
                model.close()

    def cancel_batches(self) -> Outcome:
        """Have every batch end early: what is answered is stored or will be, the rest may be asked again."""
        before = self._progress().before
        self._batches.cancel()
        done, errors = self._batches.taken()
        used, total = self._used(estimated=False), self._study.calls - self._store.calls.unfollowed()
        ended: Ended = "batches" if self._out.calls_out() else "finished"
        return Outcome(ended, total, before, done, errors, 0.0, used.tokens, used.money)

    def _progress(self) -> Progress:
        counts = self._store.calls.counts()
        before = counts.answered - (counts.errors if self._retry_errors else 0)
        unfollowed = self._store.calls.unfollowed(errors=not self._retry_errors)
        return Progress(self._study.calls - unfollowed, before)

    def _try_servers(self, names: Sequence[str]) -> None:
        """Try the servers that something is left to ask; those out of reach keep no other waiting."""
        left = self._store.calls.unfinished(errors=not self._retry_errors) & set(names)
        out = left & self._out.calls_out().keys()
        left -= {name for name in out if next(self._requests(name, every=True), None) is None}
        for name, model in self._models.items():
            if name not in left or name in self._tried or not isinstance(model, Probed):
                continue
            self._tried.add(name)
            try:
                self._probe(name, model)
            except Unavailable as error:
                self._given_up[name] = error
                self._journal.line(f"{name} is given up: {error}")
                continue
            for feature, reason in (model.provenance().get("downgrades") or {}).items():
                self._journal.line(
                    f"the server of {name} does not honour {feature} ({reason}); asking without it"
                )
        if left and left <= set(self._given_up):
            raise next(iter(self._given_up.values()))

    def _probe(self, name: str, model: Probed) -> None:
        """Try on a server what it is going to be asked; the lock keeps what was found."""
        study, experiment = self._study, self._study.experiment
        follow_ups = [
            follow_up.decoding(experiment.variants[0]) for follow_up in experiment.follow_ups.values()
        ]
        most = study.models[name].abilities.logprobs
        decodings = [replace(decoding, logprobs=min(decoding.logprobs, most)) for decoding in follow_ups]
        own = list(experiment.decodings.values())
        needs = needs_of([*decodings, *own], experiment.variants, self._repeats(name), study.own_seed)
        rests = needs.schema and (study.spec.task.held or not study.spec.task.fields)
        model.probe(replace(needs, schema=bool(rests), varied=needs_of(own, (), 1).varied))
        study.served[name] |= study.models[name].provenance()
        study.files.write("study.lock.json", study.lock())

    def _take_over(self) -> int:
        if not self._folders:
            return 0
        taken: Counter[str] = Counter()
        for name in self._models:
            while found := reuse(self._requests(name), self._store, self._folders):
                taken += found  # and once more where calls may follow from what was taken
                if self._following is None:
                    break
        for folder, calls in taken.items():
            self._journal.line(f"took {calls:,} answers from {folder}")
        return taken.total()

    def _requests(self, model: str, most: int | None = None, *, every: bool = False) -> Iterator[Request]:
        """What a model is still to be asked of what is wanted, or of every call."""
        counts = self._store.calls.counts()

        def stored(keys: Sequence[bytes]) -> Mapping[bytes, Response]:
            return self._store.answered(keys, errors=not self._retry_errors)

        is_fresh = counts.answered + counts.unplaced == 0
        requests = self._plan.requests(model, None if is_fresh else stored)
        if out := self._out.keys_out():
            requests = (left for request in requests for left in without(request, out))
        keep = None if every else self._keep
        if keep is not None:
            requests = (kept for request in requests if (kept := keep(request)) is not None)
        if most is None:
            return requests
        experiment = self._study.experiment
        all_of_them = len(experiment.items) * sum(c.model == model for c in experiment.conditions)
        step = max(1, all_of_them // max(1, most))  # none are asked for where only answers are reused
        return islice(requests, 0, step * most, step)

    def _budget(self, progress: Progress) -> Budget:
        """The budget with what counts against it."""
        used = self._used(estimated=self._caps.tokens is not None or self._caps.money is not None)
        if self._retry_errors:  # an error that is asked again does not count twice
            made = spent(self._made, self._prices).calls
            used = used._replace(calls=min(used.calls, progress.before + made))
        for name in ("calls", "tokens", "money"):
            cap, has = getattr(self._caps, name), getattr(used, name)
            if cap is not None and has > cap and progress.before < progress.total:
                raise SpecError(
                    "the study has already spent more than the budget allows",
                    where=self._study.positions.where("budget", name),
                    expected=f"more than {has:,.2f}" if name == "money" else f"more than {has:,.0f}",
                    found=f"{cap:,}",
                    fix="raise the budget to continue; the stored answers can be measured as they are",
                )
        prices = {name: price for name, price in self._prices.items() if price is not None}
        in_batches = {name: prices[name].in_batch for name in self._batches.names if name in prices}
        out = expected_out(self._store, self._prices)
        return Budget(
            calls=self._caps.calls,
            tokens=self._caps.tokens,
            money=self._caps.money,
            seconds=None if self._until is None else max(0.0, self._until - time.monotonic()),
            spent=Spent(used.calls + out.calls, used.tokens + out.tokens, used.money + out.money),
            prices=prices | in_batches,
        )

    def _used(self, *, estimated: bool) -> Spent:
        """What was spent on the answers that are stored, and on paraphrases."""
        used = spent(ledger(self._store), self._prices, estimated=estimated)
        made = spent(self._made, self._prices)
        return Spent(used.calls + made.calls, used.tokens + made.tokens, used.money + made.money)


_ITEMS, _REPEATS, _MANY = 4, 2, 400
"""Items and repeats that stand in for all of them; of many conditions, fewer."""

_FEW = 4
"""Variants that stand in for all of them where a measure has no options, and so names none."""

_Row = tuple[int, int, int, Response, Response | None]


def rehearse(study: StudyFile, asked: Iterable[tuple[tuple[str | int, ...], MeasureSpec]]) -> None:
    """Find what measures, each with its place in the study file, name and the study does not have."""
    asked = list(asked)
    for name, field in fields_of(study, answered=False).items():
        _rehearse(field, [(loc, spec) for loc, spec in asked if not spec.field or name in spec.field])


def _rehearse(study: StudySource, asked: Iterable[tuple[tuple[str | int, ...], MeasureSpec]]) -> None:
    """The same for one label set."""
    codes = study.experiment.labels.codes
    if not codes:  # of a field of numbers none is known yet
        return
    evaluators = dict.fromkeys(study.plugins.evaluators(), _Said(codes))
    frame = annotator_of(study, evaluators).frame(list(_rows(study, codes)))
    every = Gathered.of(frame)
    some = [variant.id for variant in study.experiment.variants[:_FEW]]
    few = Gathered.of(frame.filter(pl.col("variant").is_in(some)))
    for loc, spec in asked:
        one = spec.among(frame.columns)
        for column, values in one.only.items():
            known = _values(study, frame, column)
            for value in values:
                if known and value not in known:
                    raise UnknownName(column, value, known, where=study.positions.where(*loc, "only"))
        ready = measurement(study, one, frame, loc)
        _check_options(study, frame, one, loc)
        try:
            if not (one.options or one.only) and _works(ready, few):
                continue
            ready.of(every, resamples=0)
        except QuaverError as error:
            option = str(error.where or "").partition("[")[0]
            if option in one.options or isinstance(error, UnknownName):
                error.where = study.positions.where(*loc, *([option] if option in one.options else []))
                raise
            # Else it is about the stand-ins: what it makes of real answers is for the report to say.
        except Exception:  # of a measure that somebody else wrote
            continue


def _works(ready: Measurement, few: Gathered) -> bool:
    """Whether a measure can be taken of a few variants; where it cannot, their number may be the reason."""
    try:
        ready.of(few, resamples=0)
    except Exception:
        return False
    return True


def _check_options(
    study: StudySource, frame: pl.DataFrame, spec: MeasureSpec, loc: tuple[str | int, ...]
) -> None:
    """Look at the names that a measure takes without looking: it finds nothing under one that is wrong."""
    between, original = spec.options.get("between", ()), spec.options.get("original")
    for column in (between,) if isinstance(between, str) else between:
        if column not in frame.columns and column != TEXT_COLUMN:
            raise UnknownName(
                "column", str(column), frame.columns, where=study.positions.where(*loc, "between")
            )
    variants = [variant.id for variant in study.experiment.variants]
    if original is not None and original not in variants:
        raise UnknownName("variant", str(original), variants, where=study.positions.where(*loc, "original"))


def _values(study: StudySource, frame: pl.DataFrame, column: str) -> Collection[str]:
    """All values that a column can have; none where nobody knows them."""
    experiment = study.experiment
    if column == "item":
        return {item.id for item in experiment.items}
    if column in ("label", "gold"):
        return experiment.labels.codes
    if any(column in item.groups for item in experiment.items):
        return {item.groups[column] for item in experiment.items if column in item.groups}
    if column in ("model", "variant", "decoding", "evaluator") or column in study.factors:
        series = frame[column] if column in frame.columns else pl.Series(dtype=pl.String)
        return set(series.cast(pl.String).drop_nulls())
    return ()


class _Said:
    """An evaluator that takes an answer for its label."""

    def __init__(self, codes: Sequence[str]) -> None:
        self._shares = dict.fromkeys(codes, 1 / len(codes))

    def reader(self, labels: LabelSet, variant: Variant) -> Reader:
        """Make the reader, the same for all variants."""
        return self._read

    def _read(self, answer: Answer) -> Reading:
        return Reading(answer.text, "valid", None, False, False, self._shares, 0.75, 1.0, 0.9)


def _rows(study: StudySource, codes: Sequence[str]) -> Iterator[_Row]:
    experiment = study.experiment
    few = len(experiment.conditions) > _MANY
    items = _some(experiment.items, 2 if few else _ITEMS)
    for position, condition in enumerate(experiment.conditions):
        if condition.follow_up:
            continue
        for place, index in enumerate(items):
            for repeat in range(min(condition.repeats, 1 if few else _REPEATS)):
                code = codes[(position + place + repeat) % len(codes)]
                yield position, index, repeat, Response(code), None


def _some(items: Sequence[Item], most: int) -> list[int]:
    """The positions of a few items, those with a gold label first."""
    places = sorted(range(len(items)), key=lambda index: items[index].gold is None)
    return sorted(places[:most])
