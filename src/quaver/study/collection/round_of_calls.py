"""One run of a study: what other studies have is taken over, the rest asked, all of it within the budget."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import nlargest
from itertools import islice
from pathlib import Path
from typing import Any, Final

import polars as pl

from quaver.collect.run.driver import collect
from quaver.collect.run.journal import Journal
from quaver.collect.run.ledger import ledger, spent
from quaver.collect.run.progress import Budget, Ended, Outcome, Progress, Spent
from quaver.collect.store.batch_rows import StoredBatches
from quaver.collect.store.response_store import Store
from quaver.collect.store.reuse import Elsewhere, reuse
from quaver.collect.store.spill import receipts
from quaver.core.annotations import Row, rows_with
from quaver.core.calls import Call, Request, Response
from quaver.core.model import Model, Probed
from quaver.core.records import Item
from quaver.core.response_validation import error_response
from quaver.design.calls.call_plan import without
from quaver.design.spec import StudySpec
from quaver.design.spec.study_file import Positions
from quaver.errors import ModelError, SpecError, Unavailable
from quaver.study.analysis.annotation_frame import annotator_of, first_evaluator
from quaver.study.analysis.call_export import KEYS
from quaver.study.collection.study_batches import StudyBatches, expected_out
from quaver.study.sources.model_demands import needs_of
from quaver.study.sources.prices import FREE
from quaver.study.sources.study_file_source import StudyFile

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


class Collecting:
    """Asks what a study has not been asked yet.

    Args:
        study: The study.
        store: Where answers go.
        journal: Keeps what happens.
        watch: Called with the progress as responses are stored.
        models: The models as they are asked.
        retry_errors: Whether what ended in an error is asked again.
        batch: Whether every model is asked in batches whose provider takes them.
        wait: Whether to stay until every batch is over.
    """

    def __init__(
        self,
        study: StudyFile,
        store: Store,
        journal: Journal,
        watch: Callable[[Progress], None],
        models: Mapping[str, Model],
        *,
        retry_errors: bool = False,
        batch: bool = False,
        wait: bool = False,
    ) -> None:
        self._study, self._store, self._models = study, store, models
        self._plan, self._caps = study.plan, study.spec.budget
        self._journal, self._watch, self._retry_errors = journal, watch, retry_errors
        self._prices, self._made = study.prices, study.spent_beside()
        self._following = self._follow if study.plan.has_following else None
        self._tried = set[str]()
        items = study.experiment.items
        self._has_unusable = any(
            not one.type for item in items for medium in item.media for one in medium.every
        )
        self._folders = reused_folders(study.spec, study.positions)
        self._until = None if self._caps.seconds is None else time.monotonic() + self._caps.seconds
        self._out = StoredBatches(store)
        before = store.calls.answered(errors=not self._retry_errors)
        unfollowed = study.unfollowed(store, errors=not self._retry_errors)
        self._progress = Progress(study.calls - unfollowed.total(), before)
        self._batches = StudyBatches(study, store, journal, watch, self._progress, every=batch)
        self._wait = wait
        for name, model in self._models.items():
            model.prepare(self._repeats(name))
        stored = f"{before:,} of {self._progress.total:,} calls are stored"
        journal.line(f"run: {stored}; asking {', '.join(models)}")

    def _follow(self, request: Request, responses: Sequence[Response]) -> list[Request]:
        """The requests that follow from answers; those that do not, the progress waits for no longer."""
        for call, response in zip(request.calls, responses, strict=True):
            self._progress.total -= self._plan.lost(call.condition, response)
        return self._plan.following(request, responses)

    def _repeats(self, model: str) -> int:
        """The most repeats of a condition of a model."""
        conditions = self._study.experiment.conditions
        return max((condition.repeats for condition in conditions if condition.model == model), default=0)

    def ask(self, most: int | None = None) -> Outcome:
        """Take over and ask what is missing."""
        reused = self._take_over()
        self._progress.before += reused
        self._refuse()
        in_batches = self._batches.names if most is None else []
        try:
            outcome = self._ask(most, in_batches)
        except KeyboardInterrupt:
            if not (self._batches.names or self._out.rows()):
                raise
            outcome = self._progress.outcome("interrupted", 0.0, 0.0)
        ended = outcome.ended
        if ended in _BY_ITSELF and (self._out.out() or self._left(in_batches, ended)):
            ended = "batches"
        outcome = self._counted(ended, outcome, reused)
        if most is not None and ended == "finished" and outcome.missing:
            return replace(outcome, ended="requests")
        return outcome

    def _refuse(self) -> None:
        """Note an error, without a call, about each item with a file that cannot be used."""
        for name, model in self._models.items() if self._has_unusable else ():
            source = self._store.register(name, model.identity(), model.provenance())
            group = [
                (request, [error_response(why)] * len(request.calls))
                for request in self._open(name)
                if (why := _why_unusable(request))
            ]
            self._store.write(receipts(group, source))
            self._progress.count(group)
            self._journal.stored(group, self._progress)

    def _counted(self, ended: Ended, outcome: Outcome, reused: int = 0) -> Outcome:
        """How the run ended, with all that it stored: of a pilot, of batches, of calls."""
        progress = self._progress
        if self._batches.done or self._out.rows():
            used = self._used(estimated=False)
            outcome = replace(outcome, tokens=used.tokens, money=used.money)
        return replace(
            outcome,
            ended=ended,
            total=self._study.calls - self._study.unfollowed(self._store).total(),
            before=progress.before - reused,
            reused=reused,
            done=progress.done,
            errors=progress.errors,
        )

    def _left(self, in_batches: Sequence[str], ended: Ended) -> bool:
        """Whether calls came back from batches without an answer, so that another run hands them over."""
        if ended != "finished" or self._retry_errors:
            return False
        return any(map(self._is_open, in_batches))

    def _ask(self, most: int | None, in_batches: Sequence[str]) -> Outcome:
        """Collect what batches have ready, hand over the next, and ask the other models."""
        self._batches.visit()
        given_up = self._progress.given_up
        direct = [name for name in self._models if name not in in_batches]
        self._try_servers(direct)
        budget = self._budget()
        if in_batches:
            self._batches.write(self._requests, budget)
        if most != 0:
            self._pilot([name for name in direct if name not in given_up], budget)
        asked = {name: self._requests(name, most) for name in direct if name not in given_up}
        outcome = self._collected(asked, budget, following=self._following)
        if self._wait and outcome.ended == "finished":
            self._batches.wait(lambda: self._batches.write(self._requests, self._budget()))
        if failures := self._batches.batching.failures:
            raise next(iter(failures.values()))
        return outcome

    def _collected(self, requests: Mapping[str, Iterator[Request]], budget: Budget, **how: Any) -> Outcome:
        return collect(
            requests,
            self._models,
            self._store,
            self._progress,
            budget=budget,
            watch=self._watch,
            journal=self._journal,
            **how,
        )

    def _pilot(self, names: Sequence[str], budget: Budget) -> None:
        """Ask each model that costs money about a few of the longest texts, and look at the answers.

        Raises:
            ModelError: More than a tenth of them are cut off, filtered, refused or without a label.
        """
        stored = Counter(dict(self._store.rows(_STORED_BY_MODEL)))
        models, prices = self._study.spec.models, self._prices
        free = {model.name for model in models if model.use == "function" or prices.get(model.name) == FREE}
        pilots: dict[str, list[Request]] = {}
        for name in names:
            if name not in free and _is_worth_a_pilot(self._study, name, stored[name]):
                asked_about = self._study.experiment.in_parts.items
                pilots[name] = _about_the_longest(self._requests(name), asked_about)
        asked = {name: iter(requests) for name, requests in pilots.items() if requests}
        if asked:
            self._collected(asked, budget, is_pilot=True)
        for name in asked:
            calls = [request.calls[0] for request in pilots[name]]
            _check_pilot(self._study, self._store, name, calls)

    def close(self) -> None:
        """End what answered elsewhere; what is loaded in this process stays."""
        for name, model in self._models.items():
            if model is not self._study.models[name]:
                model.close()

    def cancel_batches(self) -> Outcome:
        """Have every batch end early: what is answered is stored or will be, the rest may be asked again."""
        self._batches.cancel()
        ended: Ended = "batches" if self._out.out() else "finished"
        return self._counted(ended, self._progress.outcome(ended, 0.0, 0.0))

    def _try_servers(self, names: Sequence[str]) -> None:
        """Try the servers that something is left to ask; those out of reach keep no other waiting."""
        given_up = self._progress.given_up
        for name in names:
            model = self._models[name]
            if name in self._tried or not isinstance(model, Probed) or not self._is_open(name):
                continue
            self._tried.add(name)
            try:
                self._probe(name, model)
            except Unavailable as error:
                given_up[name] = error
                self._journal.line(f"{name} is given up: {error}")
        if given_up and not any(self._is_open(name) for name in names if name not in given_up):
            raise next(iter(given_up.values()))

    def _is_open(self, model: str) -> bool:
        """Whether something is left to ask a model."""
        return next(self._requests(model), None) is not None

    def _probe(self, name: str, model: Probed) -> None:
        """Try on a server what it is going to be asked; the lock keeps what was found."""
        study, experiment = self._study, self._study.experiment
        follow_ups = [
            follow_up.decoding(experiment.variants[0]) for follow_up in experiment.follow_ups.values()
        ]
        most = study.models[name].abilities.logprobs
        decodings = [replace(decoding, logprobs=min(decoding.logprobs, most)) for decoding in follow_ups]
        own = list(experiment.decodings.values())
        needs = needs_of([*decodings, *own], experiment.variants, study.own_seed)
        rests = needs.schema and (study.spec.task.held or not study.spec.task.fields)
        model.probe(replace(needs, schema=bool(rests), varied=needs_of(own, ()).varied))
        study.served[name] |= study.models[name].provenance()
        study.files.write("study.lock.json", study.lock())

    def _take_over(self) -> int:
        if not self._folders:
            return 0
        taken: Counter[str] = Counter()
        for name in self._models:
            while adopted := reuse(self._requests(name), self._store, self._folders):
                taken += adopted  # and once more where calls may follow from what was taken
                if self._following is None:
                    break
        for folder, calls in taken.items():
            self._journal.line(f"took {calls:,} answers from {folder}")
        return taken.total()

    def _open(self, model: str) -> Iterator[Request]:
        """The requests of a model that have no answer."""

        def stored(keys: Sequence[bytes]) -> Mapping[bytes, Response]:
            return self._store.answered(keys, errors=not self._retry_errors)

        return self._plan.requests(model, stored if self._store.calls.stored() else None)

    def _requests(self, model: str, most: int | None = None) -> Iterator[Request]:
        """What a model is still to be asked, spread over the study where there is a most."""
        requests = self._open(model)
        if self._has_unusable:
            requests = (request for request in requests if not _why_unusable(request))
        if out := self._out.out():
            requests = (left for request in requests for left in without(request, set(out)))
        if most is None:
            return requests
        experiment = self._study.experiment.in_parts
        asked = [c.model == model for c in experiment.conditions if not experiment.is_level(c)]
        all_of_them = len(experiment.items) * sum(asked)
        step = max(1, all_of_them // max(1, most))  # none are asked for where only answers are reused
        return islice(requests, 0, step * most, step)

    def _budget(self) -> Budget:
        """The budget with what counts against it."""
        stored = self._progress.before + self._progress.done
        used = self._used(estimated=self._caps.tokens is not None or self._caps.money is not None)
        if self._retry_errors:  # an error that is asked again does not count twice
            made = spent(self._made, self._prices).calls
            used = used._replace(calls=min(used.calls, stored + made))
        for name in ("calls", "tokens", "money"):
            cap, has = getattr(self._caps, name), getattr(used, name)
            if cap is not None and has > cap and stored < self._progress.total:
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


def _why_unusable(request: Request) -> str:
    """Why the first of a request's files that cannot be used is none; empty where all can."""
    return next(
        (f"{medium.name[:120]}: {medium.problem}" for medium in request.prompt.media if not medium.type), ""
    )


_PILOT: Final = 10
"""Answers that are looked at."""

_WORTH = 20
"""Calls of a model from which on a pilot saves something."""

_LONGEST = 300
"""Characters of what a model said that are shown."""

_STORED_BY_MODEL: Final = """SELECT c.model, count(*) FROM calls a
    JOIN conditions c ON c.position = a.condition GROUP BY c.model"""


def _is_worth_a_pilot(study: StudyFile, model: str, stored: int) -> bool:
    """Whether a model has hardly been asked, and is to be asked much."""
    asked = study.experiment.in_parts
    calls = sum(
        asked.calls_of(at) for at, condition in enumerate(asked.conditions) if condition.model == model
    )
    return stored < _PILOT and calls >= _WORTH


def _about_the_longest(requests: Iterator[Request], items: Sequence[Item]) -> list[Request]:
    """The first request about each of the longest texts, a call each; of few texts, the next ones, too."""

    def length(index: int) -> int:
        return sum(map(len, map(str, items[index].fields.values())))

    wanted = set(nlargest(_PILOT, range(len(items)), key=length))
    longest, others = list[Request](), list[Request]()
    for request in requests:
        item = request.calls[0].item
        group = longest if item in wanted else others
        wanted.discard(item)
        if len(group) < _PILOT:
            group.append(request.part(request.calls[:1]))
        if not wanted and len(longest + others) >= _PILOT:
            break
    return [*longest, *others][:_PILOT]


def _check_pilot(study: StudyFile, store: Store, model: str, calls: Sequence[Call]) -> None:
    """See that a pilot's answers are of use.

    Raises:
        ModelError: More than a tenth of them are cut off, filtered, refused or without a label.
    """
    answers = store.answered([call.key for call in calls])
    rows = [
        (call.condition, call.item, call.repeat, answers[call.key], None)
        for call in calls
        if call.key in answers
    ]
    if not rows:  # the model was given up
        return
    responses = [response for *_, response, _ in rows]
    faults = Counter(
        _FAULTS.get(response.finish, "without a label")
        for response, is_valid in zip(responses, _are_valid(study, rows), strict=True)
        if not is_valid
    )
    if (wrong := faults.total()) > len(rows) / 10:
        counted = ", ".join(f"{count} {kind}" for kind, count in faults.most_common())
        said = next((response.error for response in responses if response.error), "")
        raise ModelError(
            f"{wrong} of the first {len(rows)} answers of {model} are unusable",
            where=study.where,
            expected="a label in nine of ten answers, before the rest is paid for",
            found=f"{counted}: {said[:_LONGEST]}" if said else counted,
            fix="read them with `quaver export STUDY answers.csv`, and change prompt, labels or max_tokens; "
            "to continue anyway, run again: nothing is asked twice",
        )


_FAULTS: Final = {"length": "cut off", "content_filter": "filtered", "error": "with an error"}
"""Why an answer is of no use, by how it finished."""


def _are_valid(study: StudyFile, rows: Sequence[Row]) -> list[bool]:
    """Whether the first evaluator finds a label in each answer; of several fields, in one of them.

    An answer that gives one field is of use: the verdict judges the others by themselves.
    """
    frame = annotator_of(study, study.plugins.evaluators()).frame(rows)
    first = rows_with(frame, "evaluator", first_evaluator(study, frame))
    is_valid = (pl.col("status").cast(pl.String) == "valid").any()
    return first.group_by(KEYS, maintain_order=True).agg(is_valid)["status"].to_list()
