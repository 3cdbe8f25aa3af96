"""Asking the canary: every occasion has calls and keys of its own, and all answers are kept."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from quaver.collect.run.budget import Price
from quaver.collect.run.progress import Progress
from quaver.collect.run.runner import collect
from quaver.collect.store.response_store import Store
from quaver.core.model import Model, Placed, Probed
from quaver.core.records import Request, Response
from quaver.design.calls.call_plan import Plan
from quaver.design.calls.experiment import Experiment
from quaver.score.annotation import Annotator
from quaver.study.sources.model_fit import needs_of
from quaver.watch.canary import Canary

_ROOM = 1000
"""Answers that one prompt may get on one occasion; a stored repeat is occasion × room + number."""


class CanaryAnswer(NamedTuple):
    """What a prompt was answered on an occasion.

    Attributes:
        prompt: Its position in the canary.
        model: The model's name in the study.
        occasion: From 0.
        number: The how-many-eth answer to this prompt on this occasion, from 0.
        label: Its label; of one token without a label, the token; else the status.
        refused: Whether it is a refusal.
        response: It whole.
    """

    prompt: int
    model: str
    occasion: int
    number: int
    label: str
    refused: bool
    response: Response

    @property
    def length(self) -> float:
        """In tokens, or in characters where tokens were not counted."""
        counted = self.response.completion_tokens
        return float(len(self.response.text) if counted is None else counted)

    def cost(self, price: Price | None) -> float:
        """In US dollars; where the price is not known, in tokens."""
        read, written = self.response.prompt_tokens or 0, self.response.completion_tokens or 0
        return float(read + written) if price is None else price.of(read, 0, written)

    def logprob(self, token: str) -> float | None:
        """How likely the answer's first token was to be this one; at most the least likely that is known."""
        if not self.response.tokens:
            return None
        first = self.response.tokens[0]
        known = {first.text: first.logprob, **dict(first.top)}
        return known.get(token, min(known.values()))


class Occasions:
    """Asks parts of a canary and reads what was answered.

    Args:
        canary: The canary.
        experiment: Its design.
        models: The models by name.
        store: Where answers are kept.
    """

    def __init__(
        self, canary: Canary, experiment: Experiment, models: Mapping[str, Model], store: Store
    ) -> None:
        self._canary, self._experiment, self._models, self._store = canary, experiment, models, store
        places = {item.id: at for at, item in enumerate(experiment.items)}
        self._at = {(places[item], variant): at for at, (item, variant, _) in enumerate(canary.pool)}
        ids = [item.id for item in experiment.items]
        for name, model in models.items():
            model.prepare(1)
            if isinstance(model, Placed):
                model.place(experiment.conditions, ids)
            if isinstance(model, Probed):
                model.probe(needs_of([experiment.decodings[name]], experiment.variants, 1))
        if not store.placed("canary"):
            store.place("canary", experiment.conditions, ids, ())

    def ask(
        self, occasion: int, name: str, prompts: Collection[int], numbers: range, only: str | None = None
    ) -> None:
        """Ask prompts that have no answer on this occasion yet, each as often as ``numbers`` says.

        Args:
            occasion: From 0.
            name: What it is called in the calls' keys.
            prompts: Positions in the canary.
            numbers: The answers' numbers; one pass over the prompts for each.
            only: The model to ask; all of them, if left out.

        Raises:
            ModelError: A model cannot be asked.
        """
        identities = {one: model.identity() for one, model in self._models.items()}
        plan = Plan(self._experiment, identities, occasion=name)
        asked = {
            one: list(self._requests(plan, one, occasion, prompts, numbers))
            for one in self._models
            if only in (None, one)
        }
        total = sum(map(len, asked.values()))
        if total:
            requests = {one: iter(some) for one, some in asked.items() if some}
            collect(requests, self._models, self._store, Progress(total, 0))

    def _requests(
        self, plan: Plan, model: str, occasion: int, prompts: Collection[int], numbers: range
    ) -> Iterator[Request]:
        wanted = [request for request in plan.requests(model) if self._place(request) in prompts]
        for number in numbers:
            for request in wanted:
                (call,) = request.calls[number : number + 1]
                if not self._store.answered([call.key], errors=False):
                    kept = call._replace(repeat=occasion * _ROOM + number)
                    yield replace(request, calls=(kept,), seed=request.seed + number)

    def _place(self, request: Request) -> int | None:
        call = request.calls[0]
        variant = self._experiment.conditions[call.condition].variant
        return self._at.get((call.item, variant))

    def answers(self, annotator: Annotator, evaluator: str) -> list[CanaryAnswer]:
        """All answers, by occasion, number and prompt; errors are left out.

        Args:
            annotator: Reads answers to the canary's design.
            evaluator: Whose labels are wanted.
        """
        found = []
        for chunk in self._store.read():
            frame = annotator.frame(chunk)
            own = frame.filter(frame["evaluator"].cast(str) == evaluator) if evaluator else frame
            rows = own.select("label", "status").rows()
            for (condition, item, repeat, response, _), (label, status) in zip(chunk, rows, strict=True):
                if response.finish == "error":
                    continue
                about = self._experiment.conditions[condition]
                occasion, number = divmod(repeat, _ROOM)
                place = self._at[item, about.variant]
                said = label or (status if status == "refused" else response.text.strip()[:80]) or status
                found.append(
                    CanaryAnswer(place, about.model, occasion, number, said, status == "refused", response)
                )
        return sorted(found, key=lambda one: (one.occasion, one.number, one.prompt))
