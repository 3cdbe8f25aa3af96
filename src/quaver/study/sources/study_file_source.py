"""A study file as a source: what it resolves to, the models it asks, and the answers in its folder."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, cast

import polars as pl

from quaver.collect.run.ledger import Entry, ledger, spent
from quaver.collect.run.progress import Budget, Price
from quaver.collect.store.response_store import Store
from quaver.collect.store.store_lock import sole_writer
from quaver.core.calls import Call
from quaver.core.label_values import quotes
from quaver.core.model import Model, Probed
from quaver.core.seeds import derive
from quaver.design.calls.experiment import Experiment, resolve
from quaver.design.calls.lock_file import lock_document
from quaver.design.spec import StudySpec
from quaver.errors import ModelError, SpecError, StoreError
from quaver.models.local.extras import require
from quaver.study.sources.kept_results import inputs_of
from quaver.study.sources.model_demands import check_abilities
from quaver.study.sources.outgoing_check import check_design
from quaver.study.sources.paraphrase_file import KeptParaphrases, entries_of
from quaver.study.sources.prices import check_money, price_of, prices
from quaver.study.sources.study_folder import StudyFolder
from quaver.study.sources.study_source import StudySource


class StudyFile(StudySource):
    """A study file with all that it names, each part made when it is first needed.

    The only source that asks models.
    """

    kind = "a study file"
    can_ask = True

    @property
    def annotations(self) -> pl.DataFrame | None:
        """Those with a second model's labels; None where the stored answers are to be read."""
        return self.filled

    # --------------------------------------------------------------------- design

    @cached_property
    def decided(self) -> StudySpec:
        """The study file's content, and whether a schema constrains the models if the file leaves it open."""
        task = self.spec.task
        if task.held is not None or not task.fields:
            return self.spec
        before = self.files.read("study.lock.json").get("study", {}).get("task", {}).get("held")
        held = before is not False
        with suppress(ModelError):  # what is stored was asked as it was
            held = all(model.abilities.schema for model in self.engines.values())
        return self.spec.model_copy(update={"task": task.model_copy(update={"held": held})})

    @cached_property
    def experiment(self) -> Experiment:
        """Items, variants, decodings and conditions, loaded and checked."""
        self.resolved_from = inputs_of(self)
        if self.spec.items.reads_pages:
            require("pdf", "pypdf")
        if any(family.use == "pictures" for family in self.spec.variants):
            require("pictures", "PIL")
        experiment = resolve(self.decided, self.positions, self.paraphrases, self.files.media)
        check_design(experiment)
        if quotes(experiment.labels):  # before anything is paid
            require("evidence", "rapidfuzz")
        return experiment

    @property
    def calls(self) -> int:
        """How many calls the design takes."""
        return self.experiment.calls

    @cached_property
    def paraphrases(self) -> KeptParaphrases:
        """The paraphrases that models made."""
        return KeptParaphrases(self.files, lambda asked: self.plugins.one_model(asked, self.engines))

    @property
    def lacks_paraphrases(self) -> bool:
        """Whether the study is complete but for paraphrases that a model has yet to make."""
        try:
            _ = self.experiment
        except SpecError:
            if self.paraphrases.lacking:
                return True
            raise
        return False

    def with_stand_ins(self) -> StudyFile:
        """The experiment for a plan: stand-ins of the same length replace paraphrases not yet made."""
        other = StudyFile(self.spec, self.positions, self.folder, self.plugins.functions)
        other.paraphrases.stands_in = True
        return other

    def forget(self, experiment: Experiment | None = None) -> None:
        """Resolve anew what depends on the paraphrases."""
        for name in ("experiment", "models", "served", "plan", "fingerprint"):
            self.__dict__.pop(name, None)
        self.resolved_from = None if experiment is None else inputs_of(self)
        if experiment is not None:
            self.__dict__["experiment"] = experiment

    # --------------------------------------------------------------------- models

    @cached_property
    def engines(self) -> dict[str, Model]:
        """The models by name, whatever they are to be asked."""
        return self.plugins.models()

    @cached_property
    def models(self) -> dict[str, Model]:
        """The study's models by name, none of them loaded yet, each able to do what it is asked."""
        experiment = self.experiment
        decodings = {f"decoding.{name}": decoding for name, decoding in experiment.decodings.items()}
        quoting = {}
        for name, follow_up in experiment.follow_ups.items():
            place, decoding = f"follow_ups.{name}", follow_up.decoding(experiment.variants[0])
            decodings[place] = replace(decoding, logprobs=min(1, decoding.logprobs))
            if follow_up.quotes_answer:
                quoting[place] = follow_up.continues
        with self.positions.locating():
            shown = (one for item in experiment.items for medium in item.media for one in medium.every)
            media = {one.type: None for one in shown if one.type}
            check_abilities(
                self.engines,
                decodings,
                experiment.variants,
                quoting,
                self.own_seed,
                experiment.conditions,
                media,
            )
        return self.engines

    @property
    def own_seed(self) -> int:
        """The seed of decodings that ask for none."""
        return derive(self.spec.seed, "decoding")

    @cached_property
    def served(self) -> dict[str, dict[str, Any]]:
        """Identity and provenance of each model: as it is, or as it was where it is gone.

        So what is stored can be scored and measured without the weights, the key or the function.
        """
        try:
            models = self.models
        except ModelError:
            before = self._served_before
            if set(before) == {model.name for model in self.spec.models}:
                return before
            raise
        served = {}
        for name, model in models.items():
            facts = {"identity": model.identity(), "logprobs": model.abilities.logprobs, **model.provenance()}
            if isinstance(model, Probed):  # what was found out when it was last tried
                known = self._served_before.get(name, {})
                facts = known | facts if known.get("identity") == facts["identity"] else facts
            served[name] = facts
        return served

    @property
    def identified(self) -> dict[str, Any]:
        """The identity of each model, as it is or as it was."""
        with suppress(ModelError):
            return {name: model.identity() for name, model in self.engines.items()}
        return {name: facts.get("identity") for name, facts in self._served_before.items()}

    @property
    def _served_before(self) -> dict[str, dict[str, Any]]:
        return dict(self.files.read("study.lock.json").get("models", {}))

    # ---------------------------------------------------------------------- money

    @property
    def prices(self) -> Mapping[str, Price | None]:
        """The prices of models by name: the study's, and those that write its paraphrases.

        None where the price is unknown.
        """
        prices: dict[str, Price | None] = dict(self._prices)
        for spending in self.paraphrases.spent:
            if isinstance(spending["asked"], str):
                continue
            prices.setdefault(spending["model"], None)
            with suppress(ModelError):  # what is stored has a price without the key
                self.plugins.one_model(spending["asked"], self.engines)
        for name, (spec, model) in self.plugins.beside.items():
            prices[name] = price_of(spec, model)
        return prices

    @cached_property
    def _prices(self) -> dict[str, Price | None]:
        models: Mapping[str, Model] = {}
        with suppress(ModelError):  # what is stored has a price without the key
            models = self.engines
        return prices(self.spec, models, self.positions)

    def foreseen_paraphrases(self) -> list[tuple[str, int, int, int]]:
        """What a study with stand-ins will ask for the paraphrases themselves, by the name of the model."""
        _ = self.experiment
        return [
            (self.plugins.one_model(model, self.engines)[0], calls, characters, tokens)
            for model, calls, characters, tokens in self.paraphrases.foreseen
        ]

    def spent_on_paraphrases(self) -> list[Entry]:
        """What was spent on calls that made paraphrases; it counts like what answers took."""
        return entries_of(self.paraphrases.spent)

    def spent_beside(self) -> list[Entry]:
        """What was spent on paraphrases, and on the looks of its watches."""
        entries = self.spent_on_paraphrases()
        for kept in sorted(self.folder.glob(f"{self.files.watch.name}*/{self.files.responses.name}")):
            with StudyFolder(kept.parent).store() as store:
                entries += ledger(store)
        return entries

    def remaining_budget(self) -> Budget:
        """The budget, with all that was spent so far."""
        check_money(self.prices, self.spec, self.positions)
        caps, entries = self.spec.budget, self.spent_beside()
        if self.files.responses.exists():
            with self.files.store() as store:
                entries += ledger(store)
        known = {name: price for name, price in self.prices.items() if price is not None}
        used = spent(entries, known, estimated=caps.tokens is not None or caps.money is not None)
        return Budget(**caps.model_dump(), spent=used, prices=known)

    @property
    def left_of_budget(self) -> dict[str, float]:
        """What is left of each cap, for another study that shares the budget; never nothing at all."""
        used = self.remaining_budget().spent
        used_up = {"calls": used.calls, "tokens": math.ceil(used.tokens), "money": used.money}
        caps = self.spec.budget.model_dump(exclude_none=True).items()
        return {name: max(cap - used_up.get(name, 0), 1e-9 if name == "money" else 1) for name, cap in caps}

    # -------------------------------------------------------------- calls, answers

    @contextmanager
    def answers(self) -> Iterator[Store]:
        """The store, with the study's calls in it."""
        if not self.files.responses.exists():
            raise StoreError(
                "nothing has been collected for this study yet",
                where=self.where,
                fix="collect answers first: `quaver run STUDY`",
            )
        with self.files.store() as store:
            if not store.calls.placed(self.fingerprint):
                if store.read_only:
                    store.work_on_copy()
                with nullcontext() if store.read_only else sole_writer(self.folder):
                    self.place(store)
            yield store

    def place(self, store: Store) -> None:
        """Make the store's calls those of the study as it is now."""
        if store.calls.placed(self.fingerprint):
            return
        calls: Iterator[Call] = iter(())
        if store.calls.stored():
            calls = (call for name in self.served for call in self.plan.calls(name, store.answered))
        asked = self.experiment.in_parts
        store.calls.place(self.fingerprint, asked.conditions, [item.id for item in asked.items], calls)

    def lock(self) -> dict[str, Any]:
        """What the study resolved to: the document of ``study.lock.json``."""
        document = lock_document(self.decided, self.experiment, self.served, self.plugins.rules())
        return document | {"paraphrases": self.paraphrases.for_lock()}


def asking(source: StudySource) -> StudyFile:
    """A source as the study file that it has to be to ask models."""
    source.require("can_ask")
    return cast(StudyFile, source)
