"""Which of a study's models are asked in batches, and what their batches hold."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from quaver.collect.batch.batch_results import MOST_TRIES
from quaver.collect.batch.batching import FIRST_PAUSE, LONGEST_PAUSE, Batching
from quaver.collect.run.journal import Journal
from quaver.collect.run.progress import Budget, Price, Progress, Spent, kind_of
from quaver.collect.store.batch_rows import StoredBatches
from quaver.collect.store.response_store import Store
from quaver.core.batch import Batched, BatchService
from quaver.core.model import Answered
from quaver.core.records import Request
from quaver.errors import ModelError, SpecError
from quaver.study.sources.study_file_source import StudyFile


def asked_in_batches(study: StudyFile, every: bool = False) -> dict[str, BatchService]:
    """The models that are asked in batches, with who takes them."""
    services: dict[str, BatchService] = {}
    for index, spec in enumerate(study.spec.models):
        model = study.models[spec.name]
        service = model.batches() if isinstance(model, Batched) else None
        if service is None and spec.batch:
            raise SpecError(
                f"the model {spec.name!r} cannot be asked in batches",
                where=study.positions.where("models", index, "batch"),
                expected="a model whose provider takes batches: OpenAI, Anthropic",
                fix="leave `batch` out; for another server with OpenAI's Batch API write "
                "`supports: {batch: true}` beside it",
            )
        if service is not None and (spec.batch or every):
            services[spec.name] = service
    if every and not services:
        raise SpecError(
            "no model of this study can be asked in batches",
            where="--batch",
            expected="a model whose provider takes batches: OpenAI, Anthropic",
            fix="run it without --batch",
        )
    return services


class StudyBatches:
    """The batches of one run of a study.

    Args:
        study: The study.
        store: Where answers go.
        journal: Keeps what happens.
        watch: Called with the progress as answers are stored.
        progress: The run's, which answers from batches are added to.
        every: Whether ``--batch`` was asked for.

    Attributes:
        names: The models that are asked in batches.
        done: How many answers they brought in this run.
    """

    def __init__(
        self,
        study: StudyFile,
        store: Store,
        journal: Journal,
        watch: Callable[[Progress], None],
        progress: Progress,
        *,
        every: bool,
    ) -> None:
        self._study, self._store, self._journal, self._watch = study, store, journal, watch
        chosen = asked_in_batches(study, every)
        self.names = list(chosen)
        services = dict(chosen)
        for name in {row.model for row in StoredBatches(store).rows()} - set(chosen):
            model = study.models.get(name)
            if isinstance(model, Batched) and (service := model.batches()) is not None:
                services[name] = service
        identities = {name: study.models[name].identity() for name in services}
        self._services = services
        self._progress, self.done = progress, 0
        self._batching = Batching(store, services, identities, self._stored, journal)

    @property
    def failures(self) -> Mapping[str, ModelError]:
        """Models whose provider takes no more, with the reason."""
        return self._batching.failures

    @property
    def has_any(self) -> bool:
        """Whether this run has anything to do with batches."""
        return bool(self.names) or bool(StoredBatches(self._store).rows())

    def visit(self) -> None:
        """Collect what is ready."""
        if not StoredBatches(self._store).rows():
            return
        self._batching.visit()
        self._study.place(self._store)

    def write(self, requests: Callable[[str], Iterator[Request]], budget: Budget) -> None:
        """Hand over what is left."""
        if not self.names:
            return
        sources = {
            name: self._store.register(
                name,
                self._study.models[name].identity(),
                {**self._study.models[name].provenance(), "batch": self._services[name].kind},
            )
            for name in self.names
        }
        for _ in range(MOST_TRIES):
            self._batching.write({name: requests(name) for name in self.names}, sources, budget)
            if not self._batching.settle_doubts():
                break  # otherwise something may have come back without an answer meanwhile
            self._study.place(self._store)

    def cancel(self) -> None:
        """Have every batch end early, and collect what is ready."""
        self._batching.cancel()
        self.visit()

    def wait(self, again: Callable[[], None]) -> None:
        """Stay until every batch is over: visit, and hand over what follows."""
        pause = FIRST_PAUSE
        while self._batching.waiting:
            time.sleep(pause)
            before = self.done
            self.visit()
            again()
            self._watch(self._progress)
            pause = FIRST_PAUSE if self.done > before else min(LONGEST_PAUSE, pause * 1.5)

    def _stored(self, group: Sequence[Answered]) -> None:
        for request, responses in group:
            self.done += len(responses)
            self._progress.done += len(responses)
            self._progress.by_condition[request.calls[0].condition] += len(responses)
            for response in responses:
                if response.finish == "error":
                    self._progress.errors += 1
                    self._progress.by_kind[kind_of(response.error)] += 1
        self._journal.stored(group, self._progress)
        self._watch(self._progress)


def expected_out(store: Store, prices: Mapping[str, Price | None]) -> Spent:
    """What the calls that are out in batches are expected to cost."""
    calls, tokens, money = 0, 0.0, 0.0
    for row in StoredBatches(store).rows():
        price = prices.get(row.model)
        calls += row.calls
        tokens += row.expected_prompt + row.expected_completion
        money += price.in_batch.of(row.expected_prompt, 0, row.expected_completion) if price else 0.0
    return Spent(calls, tokens, money)
