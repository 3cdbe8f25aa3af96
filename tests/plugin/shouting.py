"""A third party's package in one file: a model, a way to vary, a measure and items of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from quaver.core.calls import Message, Request, Response
from quaver.core.model import Abilities, Answered
from quaver.core.records import Variant
from quaver.design.factor_levels import ORIGINAL, LevelOfFactor, family
from quaver.design.paraphrase.paraphraser import PromptContext
from quaver.estimation.declaration import measure
from quaver.estimation.means import share_of
from quaver.estimation.statistic import Cell, Statistic
from quaver.report.charts.chart import Figure
from quaver.report.charts.scores import score_chart
from quaver.report.estimate_index import Results


class Echo:
    """A model that answers every prompt with the last word of its text."""

    abilities = Abilities(local=True)

    def __init__(self, times: int = 1) -> None:
        self._times = times

    def identity(self) -> str:
        """What is served."""
        return f"echo {self._times}"

    def provenance(self) -> Mapping[str, Any]:
        """What a reviewer wants to know."""
        return {"engine": "echo"}

    def prepare(self, repeats: int) -> None:
        """Nothing to make ready."""

    def answer(self, requests: Iterable[Request]) -> Iterator[Answered]:
        """Answer at once."""
        for request in requests:
            word = request.prompt.text.split()[-1]
            yield request, [Response(" ".join([word] * self._times)) for _ in request.calls]

    def count_tokens(self, prompts: Sequence[Sequence[Message]]) -> list[int] | None:
        """One a word."""
        return [sum(len(message.content.split()) for message in prompt) for prompt in prompts]

    def close(self) -> None:
        """Nothing to let go of."""


@family("loudness")
def shouting(context: PromptContext, *, marks: int = 1) -> Sequence[LevelOfFactor]:
    """The instruction as it is, and in capitals."""

    def shout(variant: Variant) -> Variant:
        return replace(variant, instruction=variant.instruction.upper() + "!" * marks)

    return [
        LevelOfFactor(ORIGINAL, lambda variant: variant),
        LevelOfFactor("loud", shout, {"by": "rule"}),
    ]


@measure(
    title="How often the answer is the first label",
    axis="share of first labels",
    section="stability",
    unit="share",
    better="lower",
    source="Nobody (2026)",
    raters=("variant", "repeat"),
)
def firstness(cell: Cell) -> Iterator[Statistic]:
    """The share of answers that are the first label of the set."""
    answered = (cell.codes >= 0).sum((1, 2))
    said = Statistic(method="share of answers that are the first label", reason="no answer has a label")
    yield share_of(cell, (cell.codes == 0).sum((1, 2)), answered, said)


def first_labels(results: Results) -> Iterator[Figure]:
    """A mark a cell."""
    if some := results.known("firstness"):
        yield Figure(
            title="Who says the first label",
            section="stability",
            draw=partial(score_chart, some, results),
            estimates=some,
            covers=("firstness",),
        )


def broken(results: Results) -> Iterator[Figure]:
    """One that fails before it yields anything."""
    raise RuntimeError("not today")


def undrawable(results: Results) -> Iterator[Figure]:
    """One that fails when it is drawn."""
    some = results.known("firstness")
    yield Figure(title="Never drawn", section="accuracy", draw=lambda **how: 1 / 0, estimates=some)


def greetings(*, many: int = 2) -> list[dict[str, Any]]:
    """Items: some greetings."""
    return [{"n": number, "greeting": f"Hello number {number}, you are kind"} for number in range(many)]
