"""Two of a study's models told apart by as few calls as possible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from quaver.collect.store.store_lock import sole_writer
from quaver.core.annotations import FIELD
from quaver.core.arguments import guarded
from quaver.core.number_format import count
from quaver.core.records import NO_LABEL
from quaver.errors import QuaverError, UnknownName
from quaver.sequential.spent_error import FIRST, SECOND, Given, TwoSides
from quaver.study.analysis.annotation_frame import scan
from quaver.study.session import Study
from quaver.study.sources.study_file_source import StudyFile, asking
from quaver.study.sources.study_folder import StudyFolder
from quaver.watch.occasions import (
    Canary,
    CanaryAnswer,
    CanaryOptions,
    Occasions,
    annotator_of,
    locked,
    part_of,
)

FOLDER = "apart"
"""The folder in a study's own where the answers are kept."""

MOST = 200
"""Calls that are made at most, by default."""


@dataclass(frozen=True, slots=True)
class Apart:
    """What came of telling two models apart.

    Attributes:
        first: The one model's name in the study.
        second: The other's.
        apart: Whether they are not the same model.
        evidence: The e-value; of one model under two names, it ever reaches 1/error in at most that share.
        error: How often two names of one model may be told apart.
        calls: How many calls it took.
        prompts: The prompts that were asked, and how many of them were answered differently at first.
        examples: Some of these: item, prompt variant, what either said.
        folder: Where the answers are kept.
    """

    first: str
    second: str
    apart: bool
    evidence: float
    error: float
    calls: int
    prompts: tuple[int, int]
    examples: Sequence[tuple[str, str, str, str]]
    folder: Path

    @property
    def text(self) -> str:
        """It in a line."""
        taken = f"{count(self.calls, 'call')}, {count(self.prompts[0], 'prompt')}"
        if self.apart:
            return f"{self.first} and {self.second} are not the same model ({taken})."
        return f"{self.first} and {self.second} cannot be told apart ({taken})."

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "event": "quaver.watch.apart" if self.apart else "quaver.watch.alike",
            "text": self.text,
            "models": [self.first, self.second],
            "apart": self.apart,
            "evidence": float(f"{self.evidence:.6g}"),
            "error": self.error,
            "calls": self.calls,
            "prompts": self.prompts[0],
            "answered_differently": self.prompts[1],
            "examples": [
                {"item": item, "prompt": variant, "answers": [one, other]}
                for item, variant, one, other in self.examples
            ],
            "folder": str(self.folder),
        }


@guarded
def tell_apart(study: Study, first: str, second: str, *, most: int = MOST, error: float = 0.05) -> Apart:
    """Say whether two of a study's models are the same, by as few calls as possible.

    Each is asked the same prompt once. Where they answer alike, the next prompt is asked; where they do not,
    they are asked the prompt again, the first five times in all and the second three times, and the answers
    count as evidence if the two sides do not overlap. Prompts that the study's own answers show to be
    labelled differently come first. Every answer is kept in the study's folder, under ``apart``.
    """
    source = asking(study.source)
    for name in (first, second):
        if name not in source.models:
            raise UnknownName("model", name, source.models, where="apart")
    if first == second:
        raise QuaverError("a model is compared with itself", where="apart", expected="two names", found=first)
    models = {name: source.models[name] for name in (first, second)}
    whole = any(not model.abilities.logprobs for model in models.values())
    options = CanaryOptions(prompts=max(1, most // 2), parts=1, first=FIRST, whole=whole, error=error)
    canary = locked(source.experiment, options, source.spec.seed)
    time = datetime.now(UTC).isoformat(timespec="microseconds")
    files = StudyFolder(source.folder / FOLDER / time.replace(":", "").partition("+")[0])
    files.make()
    with sole_writer(files.path), files.store() as store:
        files.write("canary.json", canary.document())
        experiment = part_of(source.experiment, canary, models)
        occasions = Occasions(canary, experiment, models, store, annotator_of(source, experiment))
        order = _order(source, canary, first, second)
        return _Telling(occasions, canary, (first, second), most, time).result(order, files.path)


def _order(source: StudyFile, canary: Canary, first: str, second: str) -> list[int]:
    """The prompts, those first that the study's answers show to be labelled differently."""
    everything = range(len(canary.pool))
    if not source.files.responses.exists():
        return list(everything)
    frame = scan(source)
    place = ["item", "variant", *([FIELD] if FIELD in frame.collect_schema() else [])]
    asked = frame.select(pl.col(*place, "model", "label").cast(pl.String))
    asked = asked.filter(pl.col("model").is_in([first, second]))
    modal = pl.col("label").fill_null(NO_LABEL).mode().sort().first()
    labels = asked.group_by([*place, "model"]).agg(modal).group_by(place).agg(pl.col("label").n_unique())
    apart = set(labels.filter(pl.col("label") > 1).select("item", "variant").collect().iter_rows())
    return sorted(everything, key=lambda index: canary.pool[index][:2] not in apart)


class _Telling:
    """Asks prompt after prompt until the models are told apart, or no call is left."""

    def __init__(
        self, occasions: Occasions, canary: Canary, names: tuple[str, str], most: int, occasion: str
    ) -> None:
        self._asked, self._canary, self._names = occasions, canary, names
        self._left, self._most, self._occasion = most, most, f"apart {occasion}"
        self._sides, self._calls = TwoSides(), 0
        self._prompts = 0
        self._examples: list[tuple[str, str, str, str]] = []

    def result(self, order: Sequence[int], folder: Path) -> Apart:
        """Ask, and say what came of it."""
        error = self._canary.options.error
        for prompt in order:
            if self._calls + 2 > self._most or self._sides.evidence >= 1 / error:
                break
            self._try(prompt)
        evidence = self._sides.evidence
        first, second = self._names
        return Apart(
            first,
            second,
            evidence >= 1 / error,
            evidence,
            error,
            self._calls,
            (self._prompts, len(self._examples)),
            self._examples[:10],
            folder,
        )

    def _try(self, prompt: int) -> None:
        """Ask both once, and again where they differ."""
        (here, there) = (self._answers(name, prompt, range(1)) for name in self._names)
        self._prompts += 1
        if not (here and there) or _given(here, there)[0] == _given(here, there)[1]:
            return
        item, variant, _ = self._canary.pool[prompt]
        self._examples.append((item, variant, here[0].label, there[0].label))
        if self._calls + FIRST + SECOND - 2 > self._most:
            return
        here = self._answers(self._names[0], prompt, range(1, FIRST))
        there = self._answers(self._names[1], prompt, range(1, SECOND))
        if len(here) == FIRST and len(there) == SECOND:
            self._sides.take_in(*_given(here, there))

    def _answers(self, model: str, prompt: int, numbers: range) -> list[CanaryAnswer]:
        """A model's answers to a prompt so far, after it was asked some more."""
        self._asked.ask(0, self._occasion, {model: [prompt]}, numbers)
        self._calls += len(numbers)
        return [answer for answer in self._asked.answers(model, 0) if answer.prompt == prompt]


def _given(first: Sequence[CanaryAnswer], second: Sequence[CanaryAnswer]) -> tuple[list[Given], list[Given]]:
    """The answers' labels, and how likely each was to begin as most of them do."""
    begun = Counter(answer.response.tokens[0].text for answer in (*first, *second) if answer.response.tokens)
    token = min(begun, key=lambda text: (-begun[text], text)) if begun else ""
    here, there = (
        [Given(answer.label, answer.logprob(token)) for answer in side] for side in (first, second)
    )
    return here, there
