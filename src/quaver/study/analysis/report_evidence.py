"""A study's texts and costs, as its report shows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

import polars as pl

from quaver.collect.run.ledger import Entry, ledger
from quaver.collect.store.response_store import Store
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
        study: The study.
        store: Its answers; None where there are none.
    """

    def __init__(self, study: StudySource, store: Store | None) -> None:
        self._experiment, self._store = study.experiment, store
        self._prices, self._made = study.prices, study.spent_on_paraphrases()

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
        return [self._cost(some) for some in kinds.values()]

    def _cost(self, entries: Sequence[Entry]) -> Cost:
        """What the calls of one model took."""
        first, price = entries[0], self._prices.get(entries[0].model)
        asked = [entry for entry in entries if entry.reused is None]
        reused = sum(entry.calls for entry in entries if entry.reused is not None)
        calls, errors = sum(entry.calls for entry in asked), sum(entry.errors for entry in asked)
        read = float(sum(entry.prompt_tokens for entry in asked))
        cached = float(sum(entry.cached_tokens for entry in asked))
        written = float(sum(entry.completion_tokens for entry in asked))
        money = price.of(read, cached, written) if price else None
        return Cost(first.model, calls, reused, errors, read, cached, written, money, first.paraphrases)

    def part_costs(self) -> Sequence[PartCost]:
        """The stored answers by level of each factor that has several; those taken over count as if asked."""
        if self._store is None:
            return ()
        factors = {variant.id: variant.factors for variant in self._experiment.variants}
        rows = []
        for at, calls, read, cached, written in self._store.rows(_COSTS, []):
            condition = self._experiment.conditions[at]
            price = self._prices.get(condition.model)
            money = price.of(read or 0, cached or 0, written or 0) if price else None
            design = {"decoding": condition.decoding, "model": condition.model}
            took = {"_calls": calls, "_read": read or 0.0, "_written": written or 0.0, "_money": money}
            rows.append({**factors[condition.variant], **design, **took})
        table, costs = pl.DataFrame(rows, infer_schema_length=None), list[PartCost]()
        known = pl.when(pl.col("_money").null_count() == 0).then(pl.col("_money").sum())
        for name in (*self._experiment.levels, "decoding", "model"):
            levels = table.drop_nulls(name) if name in table.columns else table.clear()
            parts = levels.group_by(name, maintain_order=True).agg(
                pl.col("_calls", "_read", "_written").sum(), known.alias("_money")
            )
            costs += [PartCost(name, *row) for row in parts.iter_rows() if parts.height > 1]
        return costs


@contextmanager
def evidence_of(study: StudySource) -> Iterator[StoredBehind]:
    """A study's items and costs, with its store open where there is one."""
    with ExitStack() as opened:
        store = opened.enter_context(study.answers()) if study.files.responses.exists() else None
        yield StoredBehind(study, store)
