"""A study's texts and costs, as its report shows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from quaver.collect.run.ledger import Entry, ledger
from quaver.collect.run.progress import Price
from quaver.collect.store.response_store import Store
from quaver.design.calls.experiment import Experiment
from quaver.design.prompts.rendering import PromptWriter
from quaver.errors import QuaverError
from quaver.report.tables.study_tables import Cost, PartCost
from quaver.study.sources.study_source import StudySource

_LONGEST = 400
"""Characters of a text that are looked up."""

_COSTS = """
    SELECT a.condition, count(*), sum(r.prompt_tokens), sum(r.cached_tokens), sum(r.completion_tokens)
    FROM calls a JOIN responses r ON r.id = a.response GROUP BY a.condition"""


class StoredBehind:
    """The study's items and costs.

    Args:
        experiment: Its design.
        store: Its answers; None where there are none.
        prices: Of its models; None where one is not known.
        made: What was spent on paraphrases.
    """

    def __init__(
        self,
        experiment: Experiment,
        store: Store | None,
        prices: Mapping[str, Price | None],
        entries: Sequence[Entry] = (),
    ) -> None:
        self._experiment = experiment
        self._store = store
        self._prices = prices
        self._made = entries

    def texts(self, items: Sequence[str]) -> Mapping[str, str]:
        """The items' texts, as the first variant shows them; of items without a text, nothing."""
        wanted = set(items)
        some = [item for item in self._experiment.items if item.id in wanted]
        try:
            writer = PromptWriter(self._experiment.variants[0], self._experiment.labels)
            return {item.id: writer.text(item)[:_LONGEST] for item in some}
        except QuaverError:
            return {}

    def costs(self) -> Sequence[Cost]:
        """The ledger by model, the calls that made paraphrases apart."""
        entries = [*self._made, *(ledger(self._store) if self._store else ())]
        kinds: dict[tuple[str, bool], list[Entry]] = {}
        for entry in entries:
            kinds.setdefault((entry.model, entry.paraphrases), []).append(entry)
        return [
            _cost(model, some, self._prices.get(model), paraphrases=paraphrases)
            for (model, paraphrases), some in kinds.items()
        ]

    def part_costs(self) -> Sequence[PartCost]:
        """The stored answers by level of each factor that has several; those taken over count as if asked."""
        if self._store is None:
            return ()
        factors = {variant.id: variant.factors for variant in self._experiment.variants}
        sums: dict[tuple[str, str], list[float | None]] = {}
        for condition, *amounts in self._store.rows(_COSTS, []):
            calls, read, cached, written = (float(amount or 0) for amount in amounts)
            one = self._experiment.conditions[condition]
            price = self._prices.get(one.model)
            money = price.of(read, cached, written) if price else None
            for key in (*factors[one.variant].items(), ("decoding", one.decoding), ("model", one.model)):
                before = sums.get(key, [0.0, 0.0, 0.0, 0.0])
                now = (calls, read, written, money)
                sums[key] = [
                    None if a is None or b is None else a + b for a, b in zip(before, now, strict=True)
                ]
        levels = Counter(factor for factor, _ in sums)
        order = [*dict.fromkeys(name for some in factors.values() for name in some), "decoding", "model"]
        return [
            PartCost(factor, level, int(amounts[0] or 0), amounts[1] or 0.0, amounts[2] or 0.0, amounts[3])
            for name in order
            for (factor, level), amounts in sums.items()
            if factor == name and levels[factor] > 1
        ]


@contextmanager
def evidence_of(study: StudySource) -> Iterator[StoredBehind]:
    """A study's items and costs, with its store open where there is one."""
    with ExitStack() as opened:
        store = opened.enter_context(study.answers()) if study.files.responses.exists() else None
        yield StoredBehind(study.experiment, store, study.prices, study.spent_on_paraphrases())


def _cost(model: str, entries: Sequence[Entry], price: Price | None, *, paraphrases: bool) -> Cost:
    asked = [entry for entry in entries if entry.reused is None]
    reused = sum(entry.calls for entry in entries if entry.reused is not None)
    read = float(sum(entry.prompt_tokens for entry in asked))
    cached = float(sum(entry.cached_tokens for entry in asked))
    written = float(sum(entry.completion_tokens for entry in asked))
    calls, errors = sum(entry.calls for entry in asked), sum(entry.errors for entry in asked)
    money = price.of(read, cached, written) if price else None
    return Cost(model, calls, reused, errors, read, cached, written, money, paraphrases)
