"""A study's calls in its store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from quaver.collect.store.response_store import Store
from quaver.core.records import Call
from quaver.design.calls.call_plan import Plan
from quaver.design.calls.experiment import Experiment


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
        has: Callable[[int, int], bool] | None = None,
    ) -> None:
        self._experiment, self._fingerprint = experiment, fingerprint
        self.plan = Plan(
            experiment,
            {name: str(facts["identity"]) for name, facts in served.items()},
            {name: int(facts.get("logprobs", 0)) for name, facts in served.items()},
            has=has,
        )

    def are_in(self, store: Store) -> bool:
        """Whether the store has the calls of this design."""
        return store.placed(self._fingerprint)

    def place(self, store: Store) -> None:
        """Make the store's calls those of this design."""
        if self.are_in(store):
            return
        counts = store.counts()
        calls: Iterator[Call] = iter(())
        if counts.answered + counts.unplaced:
            names = self.plan.identities
            calls = (call for name in names for call in self.plan.calls(name, store.answered))
        ids = [item.id for item in self._experiment.items]
        store.place(self._fingerprint, self._experiment.conditions, ids, calls)
