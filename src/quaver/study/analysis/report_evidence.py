"""A study's texts and costs, as its report shows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Final

import polars as pl

from quaver.collect.run.ledger import Entry, ledger
from quaver.collect.store.response_store import Store
from quaver.core.media import Medium, noted_medium
from quaver.design.prompts.rendering import PromptWriter
from quaver.errors import QuaverError
from quaver.study.sources.study_source import StudySource

_LONGEST = 400
"""Characters of a text that are looked up."""

_LARGEST = 300_000
"""Bytes of a picture or a recording that a report shows: larger ones would make a large page."""

_COSTS = """
    SELECT a.condition, count(*), sum(r.prompt_tokens), sum(r.cached_tokens), sum(r.completion_tokens)
    FROM calls a JOIN responses r ON r.id = a.response GROUP BY a.condition"""


_COST: Final = {
    "model": pl.String,
    "paraphrases": pl.Boolean,
    **dict.fromkeys(("calls", "reused", "errors"), pl.Int64),
    **dict.fromkeys(("prompt_tokens", "cached_tokens", "completion_tokens", "money"), pl.Float64),
}


class StoredBehind:
    """The study's items and costs.

    Args:
        study: The study.
        store: Its answers; None where there are none.
    """

    def __init__(self, study: StudySource, store: Store | None) -> None:
        self._experiment, self._store, self._kept = study.experiment, store, study.files.media
        self._prices, self._made = study.prices, study.spent_on_paraphrases()

    def texts(self, items: Sequence[str]) -> Mapping[str, str]:
        """The items' texts, as the first variant shows them; of items without a text, nothing."""
        wanted = set(items)
        some = [item for item in self._experiment.items if item.id in wanted]
        try:
            writer = PromptWriter(self._experiment.variants[0], self._experiment.labels)
            return {item.id: writer.shown(item)[:_LONGEST] for item in some}
        except QuaverError:
            return {}

    def media(self, items: Sequence[str]) -> Mapping[str, list[tuple[str, str]]]:
        """The items' pictures and recordings with their kinds, as ``data:`` URIs."""
        wanted = {*items}
        return {
            item.id: [(medium.kind, uri) for medium in item.media if (uri := _uri(medium))]
            for item in self._experiment.items
            if item.id in wanted
        }

    def picture(self, noted: str) -> str:
        """The ``data:`` URI of a picture that a prompt's record notes."""
        medium = noted_medium(noted, self._kept)
        return _uri(medium) if medium.kind == "images" else ""

    def costs(self) -> pl.DataFrame:
        """The ledger by model, the calls that made paraphrases apart."""
        entries = [*self._made, *(ledger(self._store) if self._store else ())]
        kinds: dict[tuple[str, bool], list[Entry]] = {}
        for entry in entries:
            kinds.setdefault((entry.model, entry.paraphrases), []).append(entry)
        return pl.DataFrame(list(map(self._cost, kinds.values())), schema=_COST, orient="row")

    def _cost(self, entries: Sequence[Entry]) -> tuple[Any, ...]:
        """What the calls of one model took: a row of `costs`."""
        first, price = entries[0], self._prices.get(entries[0].model)
        asked = [entry for entry in entries if entry.reused is None]
        reused = sum(entry.calls for entry in entries if entry.reused is not None)
        calls, errors = sum(entry.calls for entry in asked), sum(entry.errors for entry in asked)
        read = float(sum(entry.prompt_tokens for entry in asked))
        cached = float(sum(entry.cached_tokens for entry in asked))
        written = float(sum(entry.completion_tokens for entry in asked))
        money = price.of(read, cached, written) if price else None
        return first.model, first.paraphrases, calls, reused, errors, read, cached, written, money

    def part_costs(self) -> pl.DataFrame:
        """The stored answers by level of each factor that has several; those taken over count as if asked."""
        rows = []
        asked_of = self._experiment.in_parts
        factors = {name: variant.factors for name, variant in asked_of.every_variant.items()}
        for condition, *amounts in self._store.rows(_COSTS, []) if self._store else ():
            calls, read, cached, written = (float(amount or 0) for amount in amounts)
            asked = asked_of.conditions[condition]
            price = self._prices.get(asked.model)
            money = price.of(read, cached, written) if price else None
            for key in (
                *factors[asked.variant].items(),
                ("decoding", asked.decoding),
                ("model", asked.model),
            ):
                rows.append((*key, calls, read, written, money))
        named = ["calls", "prompt_tokens", "completion_tokens", "money"]
        schema = {"factor": pl.String, "level": pl.String} | dict.fromkeys(named, pl.Float64)
        costs = pl.DataFrame(rows, schema=schema, orient="row")
        whole = pl.when(pl.col("money").is_not_null().all()).then(pl.col("money").sum())
        parts = costs.group_by("factor", "level", maintain_order=True).agg(pl.col(named[:3]).sum(), whole)
        order = [*self._experiment.levels, "decoding", "model"]
        place = pl.col("factor").replace_strict(order, range(len(order)), return_dtype=pl.Int64)
        return parts.filter(pl.len().over("factor") > 1).sort(place, maintain_order=True)


def _uri(medium: Medium) -> str:
    """A medium as a ``data:`` URI; empty of one that a report does not show."""
    if medium.kind in ("images", "audio") and medium.size <= _LARGEST:
        with suppress(QuaverError):  # the file is gone
            return medium.uri()
    return ""


@contextmanager
def evidence_of(study: StudySource) -> Iterator[StoredBehind]:
    """A study's items and costs, with its store open where there is one."""
    with ExitStack() as opened:
        store = opened.enter_context(study.answers()) if study.files.responses.exists() else None
        yield StoredBehind(study, store)
