"""A study's calls in its store: placed under today's keys, and those found that were asked differently."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from quaver.collect.store.response_store import Store
from quaver.collect.store.unconstrained_answers import misasked
from quaver.core.records import Call
from quaver.design.calls import call_keys
from quaver.design.calls.call_plan import Plan
from quaver.design.calls.experiment import Experiment
from quaver.design.calls.rekeying import rekeyed
from quaver.errors import StoreError


class PlacedCalls:
    """The calls of one design, or of a share of it, and the answers to them in a store.

    Attributes:
        plan: Every call.
    """

    def __init__(
        self,
        experiment: Experiment,
        served: Mapping[str, Mapping[str, Any]],
        fingerprint: str,
        where: str,
        has: Callable[[int, int], bool] | None = None,
    ) -> None:
        self._experiment, self._fingerprint, self._where = experiment, fingerprint, where
        self.plan = Plan(
            experiment,
            {name: str(facts["identity"]) for name, facts in served.items()},
            {name: int(facts.get("logprobs", 0)) for name, facts in served.items()},
            has=has,
        )

    # ------------------------------------------------------------------------------------- keys

    def are_in(self, store: Store) -> bool:
        """Whether the store has the calls of this design, under keys of today's recipe."""
        return store.placed(self._fingerprint) and store.recipe == call_keys.RECIPE

    def place(self, store: Store) -> None:
        """Make the store's calls those of this design.

        Raises:
            StoreError: The stored answers have keys by a recipe that this version does not know.
        """
        if self.are_in(store):
            return
        self._rekey(store)
        counts = store.counts()
        calls: Iterator[Call] = iter(())
        if counts.answered + counts.unplaced:
            names = self.plan.identities
            calls = (call for name in names for call in self.plan.calls(name, store.answered))
        ids = [item.id for item in self._experiment.items]
        store.place(self._fingerprint, self._experiment.conditions, ids, calls)
        store.note("recipe", str(call_keys.RECIPE))
        self.note_misasked(store)

    def _rekey(self, store: Store) -> None:
        """Put answers that were stored by another recipe under the keys of today's."""
        kept = store.recipe
        counts = store.counts()
        if kept == call_keys.RECIPE or not (counts.answered + counts.unplaced or store.calls_out()):
            return
        if kept not in call_keys.RECIPES or kept > call_keys.RECIPE:
            stored = counts.answered + counts.unplaced
            raise StoreError(
                "the answers have keys that this version of Quaver does not know",
                where=self._where,
                expected=f"keys by recipe {', '.join(map(str, call_keys.RECIPES))}",
                found=f"recipe {kept}; all {stored:,} stored answers would be asked again",
                fix="use the version of Quaver that stored them, or a newer one",
            )
        old = Plan(self._experiment, self.plan.identities, self.plan.most_logprobs, recipe=kept)
        names = self.plan.identities
        pairs = (pair for name in names for pair in rekeyed(old, self.plan, name, store.answered))
        store.rekey(pairs, call_keys.RECIPE)

    # ------------------------------------------------------------------------------------ terms

    def misasked(self, store: Store) -> int:
        """How many answers were asked under other terms than their keys say.

        The number is kept: whatever comes in from now on is stored with its terms.
        """
        known = self.known_misasked(store)
        return len(misasked(store, self.plan.terms)) if known is None else known

    def known_misasked(self, store: Store) -> int | None:
        """The number that is kept in the store; None where none is, or that of another design."""
        known: dict[str, int] = json.loads(store.noted("misasked") or "{}")
        return known.get(self._fingerprint)

    def note_misasked(self, store: Store) -> None:
        """Keep the number in the store."""
        store.note("misasked", json.dumps({self._fingerprint: len(misasked(store, self.plan.terms))}))

    def set_misasked_aside(self, store: Store) -> int:
        """Have the calls of such answers asked again; how many there are. The answers stay."""
        rows = misasked(store, self.plan.terms)
        store.set_aside(rows)
        self.note_misasked(store)
        return len(rows)
