"""Which of a study's models are asked in batches, and what their batches hold."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from quaver.collect.run.batching import FIRST_PAUSE, LONGEST_PAUSE, Batching
from quaver.collect.run.journal import Journal
from quaver.collect.run.progress import Budget, Price, Progress, Spent
from quaver.collect.store.batch_rows import StoredBatches
from quaver.collect.store.response_store import Store
from quaver.core.batch import Batched, BatchService
from quaver.core.calls import Request
from quaver.core.model import Answered
from quaver.errors import SpecError
from quaver.study.sources.study_file_source import StudyFile


def asked_in_batches(study: StudyFile, every: bool = False) -> dict[str, BatchService]:
    """The models that are asked in batches, with who takes them."""
    services: dict[str, BatchService] = {}
    able = "a model whose provider takes batches: OpenAI, Anthropic, Gemini by its own API"
    for index, spec in enumerate(study.spec.models):
        model = study.models[spec.name]
        service = model.batches() if isinstance(model, Batched) else None
        if service is None and spec.batch:
            raise SpecError(
                f"the model {spec.name!r} cannot be asked in batches",
                where=study.positions.where("models", index, "batch"),
                expected=able,
                fix="leave `batch` out, or write beside the model: `api: gemini` if it is a Gemini model, "
                "`supports: {batch: true}` if its server has OpenAI's Batch API",
            )
        if service is not None and (spec.batch or every):
            services[spec.name] = service
    if every and not services:
        raise SpecError(
            "no model of this study can be asked in batches",
            where="--batch",
            expected=able,
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
        batching: Hands over and collects.
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
        for name in {batch.model for batch in StoredBatches(store).rows()} - set(chosen):
            model = study.models.get(name)
            if isinstance(model, Batched) and (service := model.batches()) is not None:
                services[name] = service
        identities = {name: study.models[name].identity() for name in services}
        self._kinds = {name: service.kind for name, service in services.items()}
        self._progress, self.done = progress, 0
        self.batching = Batching(store, services, identities, self._stored, journal)

    def visit(self) -> None:
        """Collect what is ready."""
        if StoredBatches(self._store).rows():
            self.batching.visit()
            self._study.place(self._store)

    def write(self, requests: Callable[[str], Iterator[Request]], budget: Budget) -> None:
        """Hand over what is left."""
        sources = {}
        for name in self.names:
            model = self._study.models[name]
            facts = {**model.provenance(), "batch": self._kinds[name]}
            sources[name] = self._store.register(name, model.identity(), facts)
        self.batching.write({name: requests(name) for name in self.names}, sources, budget)

    def cancel(self) -> None:
        """Have every batch end early, and collect what is ready."""
        self.batching.cancel()
        self.visit()

    def wait(self, again: Callable[[], None]) -> None:
        """Stay until every batch is over: visit, and hand over what follows."""
        pause = FIRST_PAUSE
        while self.batching.waiting:
            time.sleep(pause)
            before = self.done
            self.visit()
            again()
            self._watch(self._progress)
            pause = FIRST_PAUSE if self.done > before else min(LONGEST_PAUSE, pause * 1.5)

    def _stored(self, group: Sequence[Answered]) -> None:
        self.done += sum(len(responses) for _, responses in group)
        self._progress.count(group)
        self._journal.stored(group, self._progress)
        self._watch(self._progress)


def expected_out(store: Store, prices: Mapping[str, Price | None]) -> Spent:
    """What the calls that are out in batches are expected to cost."""
    calls, tokens, money = 0, 0.0, 0.0
    for batch in StoredBatches(store).rows():
        price = prices.get(batch.model)
        calls += batch.calls
        tokens += batch.expected_prompt + batch.expected_completion
        money += price.in_batch.of(batch.expected_prompt, 0, batch.expected_completion) if price else 0.0
    return Spent(calls, tokens, money)
