"""What a study file resolves to: experiment, models and their prices, calls, store and lock."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from inspect import getdoc
from pathlib import Path
from typing import Any

from quaver.collect.run.budget import Price
from quaver.collect.run.ledger import Entry
from quaver.collect.store.response_store import Store
from quaver.collect.store.sole_writer import sole_writer
from quaver.collect.store.unconstrained_answers import misasked
from quaver.core.model import Model, Placed, Probed
from quaver.core.records import Call
from quaver.core.seeds import derive
from quaver.design.calls import call_keys
from quaver.design.calls.call_plan import Plan
from quaver.design.calls.experiment import Experiment, resolve
from quaver.design.calls.lock_file import fingerprint, lock_document
from quaver.design.calls.rekeying import rekeyed
from quaver.design.paraphrase.paraphrase_draft import ToAsk
from quaver.design.spec import StudySpec
from quaver.design.spec.study_file import Source
from quaver.errors import ModelError, StoreError
from quaver.study.collection.model_fit import check_abilities
from quaver.study.sources.conclusion_measures import Conclusions
from quaver.study.sources.outgoing_check import check_design
from quaver.study.sources.paraphrase_file import KeptParaphrases, entries_of
from quaver.study.sources.prices import price_of, prices
from quaver.study.sources.study_folder import StudyFolder
from quaver.study.sources.study_plugins import Annotate, Plugins

__all__ = ["Resolved"]


class Resolved:
    """A study file with all that it names, each part made when it is first needed.

    Args:
        spec: The study.
        source: Where its parts stand, for errors.
        folder: Where its answers and results go.
        functions: The functions of models that use one, by the model's name.

    Attributes:
        spec: The study, with the follow-ups that its evaluators read.
        files: The folder's files.
        plugins: Its models, evaluators and measures.
    """

    def __init__(
        self, spec: StudySpec, source: Source, folder: Path, functions: Mapping[str, Annotate]
    ) -> None:
        self.plugins = Plugins(spec, source, functions)
        self.spec = self.plugins.with_follow_ups()
        self.source, self.folder, self.files = source, folder, StudyFolder(folder)

        self.withheld = 0
        """Answers that a bundle was packed without."""

    # --------------------------------------------------------------------- design

    @cached_property
    def experiment(self) -> Experiment:
        """Items, variants, decodings and conditions, loaded and checked.

        Raises:
            SpecError: The study contradicts itself, or has paraphrases that have not been made yet.
        """
        found = resolve(self.spec, self.source, self.paraphrases)
        check_design(found)
        return found

    @cached_property
    def paraphrases(self) -> KeptParaphrases:
        """The paraphrases that models made, and the edits by hand."""
        return KeptParaphrases(self.files, lambda asked: self.plugins.one_model(asked, self.engines))

    def with_stand_ins(self) -> Resolved:
        """The same, for a plan: something as long stands in for paraphrases that have not been made."""
        other = Resolved(self.spec, self.source, self.folder, self.plugins.functions)
        other.paraphrases.stands_in = True
        return other

    def forget(self, experiment: Experiment | None = None) -> None:
        """Resolve anew what depends on the paraphrases.

        Args:
            experiment: What they resolve to now, where that is known.
        """
        for name in ("experiment", "models", "served", "plan", "fingerprint"):
            self.__dict__.pop(name, None)
        if experiment is not None:
            self.__dict__["experiment"] = experiment

    @property
    def factors(self) -> list[str]:
        """The columns that the variants fill: their factors and covariates."""
        named = ((*one.factors, *one.covariates) for one in self.experiment.variants)
        return list(dict.fromkeys(name for names in named for name in names))

    @property
    def conclusions(self) -> Conclusions:
        """Those that the study file names."""
        return Conclusions(self.spec, self.source, self.experiment)

    # --------------------------------------------------------------------- models

    @cached_property
    def engines(self) -> dict[str, Model]:
        """The models, whatever is to be asked of them."""
        return self.plugins.models()

    @cached_property
    def models(self) -> dict[str, Model]:
        """The study's models by name, none of them loaded yet.

        Raises:
            UnknownName: No engine of that name is registered.
            ModelError: Weights are missing.
        """
        models = self.engines
        experiment = self.experiment
        asked = {f"decoding.{name}": decoding for name, decoding in experiment.decodings.items()}
        for name, one in experiment.follow_ups.items():
            decoding = one.decoding(experiment.variants[0])
            asked[f"follow_ups.{name}"] = replace(decoding, logprobs=min(1, decoding.logprobs))
        quoting = {
            f"follow_ups.{name}": one.continues
            for name, one in experiment.follow_ups.items()
            if one.quotes_answer
        }
        with self.source.locating():
            check_abilities(models, asked, experiment.variants, quoting, self.own_seed, experiment.conditions)
        for model in models.values():
            if isinstance(model, Placed):
                model.place(experiment.conditions, [item.id for item in experiment.items])
        return models

    @property
    def own_seed(self) -> int:
        """Of decodings that ask for none."""
        return derive(self.spec.seed, "decoding")

    @cached_property
    def served(self) -> dict[str, dict[str, Any]]:
        """Identity and provenance of each model: as it is, or as it was where it is not here any more.

        What is stored can so be read and measured without the weights, the key or the function.
        """
        try:
            models = self.models
        except ModelError:
            known = self.files.read_lock().get("models", {})
            if set(known) == {model.name for model in self.spec.models}:
                return dict(known)
            raise
        served: dict[str, dict[str, Any]] = {}
        for name, model in models.items():
            facts = {"identity": model.identity(), "logprobs": model.abilities.logprobs, **model.provenance()}
            if isinstance(model, Probed):  # what was found out when it was last tried
                known = self.files.read_lock().get("models", {}).get(name, {})
                facts = {**(known if known.get("identity") == facts["identity"] else {}), **facts}
            served[name] = facts
        return served

    @property
    def prices(self) -> dict[str, Price | None]:
        """What models cost, by name: the study's, and those beside them that make paraphrases.

        None where nobody knows it.

        Raises:
            UnknownName: The study file names a price that does not exist.
        """
        return self._prices | self._prices_beside()

    @cached_property
    def _prices(self) -> dict[str, Price | None]:
        try:
            models = self.engines
        except ModelError:  # what is stored can be reckoned without the key
            models = {}
        return prices(self.spec, models, self.source)

    def _prices_beside(self) -> dict[str, Price | None]:
        spent = {one["model"]: one["asked"] for one in self.paraphrases.spent}
        beside = {name: asked for name, asked in spent.items() if not isinstance(asked, str)}
        for asked in beside.values():
            with suppress(ModelError):  # as above
                self.plugins.one_model(asked, self.engines)
        known = {name: price_of(spec, model) for name, (spec, model) in self.plugins.beside.items()}
        return dict.fromkeys(beside) | known

    def foreseen_paraphrases(self) -> list[tuple[str, ToAsk]]:
        """What a study with stand-ins will ask for the paraphrases themselves, by the name of the model."""
        _ = self.experiment
        return [
            (self.plugins.one_model(one.model, self.engines)[0], one) for one in self.paraphrases.foreseen
        ]

    def spent_on_paraphrases(self) -> list[Entry]:
        """What was spent on calls that made paraphrases."""
        return entries_of(self.paraphrases.spent)

    # ---------------------------------------------------------------------- calls

    @cached_property
    def plan(self) -> Plan:
        """Every call."""
        return Plan(
            self.experiment,
            {name: str(facts["identity"]) for name, facts in self.served.items()},
            {name: int(facts.get("logprobs", 0)) for name, facts in self.served.items()},
        )

    @cached_property
    def fingerprint(self) -> str:
        """Changes with the calls."""
        return fingerprint(self.experiment, self.plan.identities)

    @contextmanager
    def answers(self) -> Iterator[Store]:
        """The store, with the study's calls in it.

        Raises:
            StoreError: Nothing is stored yet.
        """
        if not self.files.responses.exists():
            raise StoreError(
                "nothing has been collected for this study yet", where=str(self.folder), fix="quaver run"
            )
        with self.files.store() as store:
            if not self._is_placed(store):
                if store.read_only:
                    store.work_on_copy()
                    self.place(store)
                else:
                    with sole_writer(self.folder):
                        self.place(store)
            if self.fingerprint not in self._known_misasked(store):
                with suppress(StoreError):  # it is looked for again where it cannot be kept
                    self.note_misasked(store)
            yield store

    def place(self, store: Store) -> None:
        """See to it that the store's calls are those of the study as it stands."""
        if self._is_placed(store):
            return
        self._rekey(store)
        counts = store.counts()
        calls: Iterator[Call] = iter(())
        if counts.answered + counts.unplaced:
            calls = (call for name in self.served for call in self.plan.calls(name, store.answered))
        ids = [item.id for item in self.experiment.items]
        store.place(self.fingerprint, self.experiment.conditions, ids, calls)
        store.note("recipe", str(call_keys.RECIPE))
        self.note_misasked(store)

    def _is_placed(self, store: Store) -> bool:
        return store.placed(self.fingerprint) and store.recipe == call_keys.RECIPE

    def _rekey(self, store: Store) -> None:
        """Put answers that were stored by another recipe under the keys of today's.

        Raises:
            StoreError: This version does not know that recipe.
        """
        kept = store.recipe
        counts = store.counts()
        if kept == call_keys.RECIPE or not counts.answered + counts.unplaced:
            return
        if kept not in call_keys.RECIPES or kept > call_keys.RECIPE:
            stored = counts.answered + counts.unplaced
            raise StoreError(
                "the answers have keys that this version of Quaver cannot make",
                where=str(self.folder),
                expected=f"keys by recipe {', '.join(map(str, call_keys.RECIPES))}",
                found=f"recipe {kept}; all {stored:,} stored answers would be asked again",
                fix="use the version of Quaver that stored them, or a newer one",
            )
        old = Plan(self.experiment, self.plan.identities, self.plan.most_logprobs, recipe=kept)
        pairs = (pair for model in self.served for pair in rekeyed(old, self.plan, model, store.answered))
        store.rekey(pairs, call_keys.RECIPE)

    def misasked(self, store: Store) -> int:
        """How many answers of the study were asked under other terms than their keys say.

        What was found is kept: whatever comes in now has its terms beside it.
        """
        known = self._known_misasked(store).get(self.fingerprint)
        return len(self._misasked(store)) if known is None else known

    def _known_misasked(self, store: Store) -> dict[str, int]:
        """How many there are by the study's fingerprint."""
        return dict(json.loads(store.noted("misasked") or "{}"))

    def note_misasked(self, store: Store) -> None:
        """Keep how many there are."""
        store.note("misasked", json.dumps({self.fingerprint: len(self._misasked(store))}))

    def set_misasked_aside(self, store: Store) -> int:
        """Have the calls of such answers asked again; how many there are. The answers stay."""
        rows = self._misasked(store)
        store.set_aside(rows)
        self.note_misasked(store)
        return len(rows)

    def _misasked(self, store: Store) -> list[int]:
        return misasked(store, self.plan.terms)

    def lock(self) -> dict[str, Any]:
        """What the study resolved to: the document of ``study.lock.json``."""
        rules = {name: getdoc(type(one)) or "" for name, one in self.plugins.evaluators().items()}
        document = lock_document(self.spec, self.experiment, self.served, rules)
        return document | {"paraphrases": self.paraphrases.told()}
