"""What every source of a study has, and the one error for what a source cannot do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final, Literal

import polars as pl

from quaver.collect.run.ledger import Entry
from quaver.collect.run.progress import Price
from quaver.collect.store.response_store import Store
from quaver.core.calls import Response
from quaver.core.label_values import TaskField, offered
from quaver.core.spans import set_in
from quaver.design.calls.call_plan import LabelOf, Plan
from quaver.design.calls.experiment import Experiment
from quaver.design.calls.lock_file import fingerprint
from quaver.design.items.text_parts import PART, PARTS
from quaver.design.spec import StudySpec
from quaver.design.spec.items_spec import GoldSpec
from quaver.design.spec.study_file import Positions
from quaver.errors import SpecError, StoreError
from quaver.score.annotation import mark_of_rules, read, reads_of
from quaver.study.sources.conclusion_measures import Conclusions
from quaver.study.sources.gold_files import GoldFiles, GoldSample
from quaver.study.sources.study_folder import StudyFolder
from quaver.study.sources.study_plugins import Annotate, Plugins

_ANSWERS: Final = 20_000
"""As many distinct answers are remembered with their labels."""

Ability = Literal["can_ask", "has_answers", "has_texts", "owns_folder", "keeps_results"]
"""What one source can do and another cannot."""


_PACKED = "this is a bundle already, and stays as it was packed"
_NEEDS: Mapping[str, tuple[str, str, str]] = {
    "can_ask": (
        "this study asks no model",
        "a study file with items, a prompt and models",
        "run the study file itself; what is here can be measured, reported and compared",
    ),
    "has_answers": (
        "there are labels here, but no raw answers",
        "a study that stores raw answers",
        "measure, report or compare the labels; that needs no answers",
    ),
    "has_texts": (
        "the items' texts are not here",
        "a study with its items' texts",
        "open the study itself, or a bundle that was packed with the texts",
    ),
    "owns_folder": (
        _PACKED,
        "a study in a folder of its own",
        "use the study that was bundled, or copy the archive as it is",
    ),
    "keeps_results": (_PACKED, "a study in a folder of its own", "do this in the study that was bundled"),
}
"""What the error says where a source lacks an ability: the problem, what was expected, the fix."""


class StudySource(ABC):
    """Where a study's answers or labels come from: a study file, imported labels or answers, a bundle.

    A `Study` works over any of them. A source says what it can do; `require` is the guard that stands before
    everything that only some of them can.

    Attributes:
        kind: What kind of source this is, in words.
        can_ask: Whether it has models to ask. Without, nothing is planned, run or paraphrased.
        has_answers: Whether raw answers are stored, which evaluators can read again, or can be.
        has_texts: Whether the items' texts are here; a bundle may have been packed without.
        owns_folder: Whether its folder is the study's own, rather than unpacked from an archive.
        spec: The study, with the follow-ups that its evaluators read.
        positions: Where its parts stand in its file, for errors.
        folder: Where its answers and results are.
        files: The folder's files.
        plugins: Its models, evaluators and measures.
        gold_field: The field whose labels in the gold sample are its own; empty without fields.
        field: The field whose labels it has, where it is one field of a study.
        withheld: How many answers a bundle was packed without.
    """

    kind: str
    can_ask: bool = False
    has_answers: bool = True
    has_texts: bool = True
    owns_folder: bool = True
    gold_field: str = ""
    field: TaskField | None = None
    withheld: int = 0
    measured: Any = None
    """What was last measured of it, with the mark of what it was measured of."""
    filled: pl.DataFrame | None = None
    """Annotations in place of the study's own, of which nothing is kept; None where it has its own."""
    resolved_from: str | None = None
    """What its design was resolved from (`kept_results.inputs_of`); None while it is not resolved."""

    @property
    def keeps_results(self) -> bool:
        """Whether gold labels and accepted labels are kept here."""
        return self.owns_folder

    @property
    def left_out(self) -> Mapping[str, int]:
        """How many answers that are no part of the study a bundle was packed without, by model."""
        return {}

    def __init__(
        self,
        spec: StudySpec,
        positions: Positions,
        folder: Path,
        functions: Mapping[str, Annotate] | None = None,
    ) -> None:
        self.plugins = Plugins(spec, positions, functions or {})
        self.spec = self.plugins.with_follow_ups()
        self.positions, self.folder, self.files = positions, folder, StudyFolder(folder)

    def require(self, ability: Ability) -> None:
        """Refuse what this source cannot do.

        Raises:
            StoreError: It lacks this ability.
        """
        if not getattr(self, ability):
            raise self.cannot(ability)

    def cannot(self, ability: Ability) -> StoreError:
        """The error for what this source cannot do."""
        problem, expected, fix = _NEEDS[ability]
        return StoreError(problem, where=self.where, expected=expected, found=self.kind, fix=fix)

    @property
    def gold_files(self) -> GoldFiles:
        """The files of its gold sample."""
        return GoldFiles(self.folder)

    @property
    def gold_sample(self) -> GoldSample:
        """Its gold sample, with the labels of what it is about."""
        return self.gold_files.sample().of(self.gold_field)

    @property
    def has_spans(self) -> bool:
        """Whether passages of the texts have its labels: people's labels in the gold sample are spans."""
        return self.field is not None and self.field.spans

    def labels_of(self, coded: Iterable[str]) -> list[str]:
        """What people coded as labels: of spans the set of their labels."""
        if self.field is None or not self.field.spans:
            return [*coded]
        return [set_in(cell, self.field.labels.codes) for cell in coded]

    # ------------------------------------------------------------ where it is, what it is called

    @property
    def where(self) -> str:
        """Where errors point to."""
        return str(self.folder)

    @property
    def title(self) -> str:
        """The study's name in a comparison of two studies with the same name."""
        return str(self.folder if self.folder.name else self.folder.resolve().name)

    @property
    def results(self) -> Path:
        """Where its report goes."""
        return self.folder

    # ----------------------------------------------------------------------------------- design

    @property
    @abstractmethod
    def experiment(self) -> Experiment:
        """Items, variants, decodings and conditions, loaded and checked."""

    @property
    @abstractmethod
    def calls(self) -> int:
        """How many calls, or labels that existed already, there are."""

    def unfollowed(self, store: Store, *, errors: bool = True) -> Counter[str]:
        """How many calls of each model there will not be, by what the answers say that they would follow.

        Args:
            store: The answers.
            errors: Whether errors stay; otherwise they are asked again.
        """
        unfollowed, asked = store.calls.unfollowed(errors=errors), self.experiment.in_parts
        for condition, response, n in store.calls.said(errors=errors) if asked.below else ():
            unfollowed[asked.conditions[condition].model] += n * self.plan.lost(condition, response)
        if errors and asked.joins:
            texts = {
                (*call, item - part[PART])
                for *call, item in store.calls.unjoined()
                if (part := asked.items[item].fields).get(PARTS, 1) > 1
            }
            unfollowed.update(model for model, *_ in texts)
        return unfollowed

    @property
    @abstractmethod
    def served(self) -> dict[str, dict[str, Any]]:
        """Identity and provenance of each model, by name."""

    @property
    def decided(self) -> StudySpec:
        """The study file's content, and what it leaves open."""
        return self.spec

    @property
    def identified(self) -> Mapping[str, Any]:
        """The identity of each model that can be asked, by name."""
        return {}

    @cached_property
    def fingerprint(self) -> str:
        """Changes with the calls."""
        own = fingerprint(self.experiment, self.identities)
        if not self.experiment.in_parts.below:
            return own
        return f"{own} {self.spec.evaluators} {mark_of_rules(self.plugins.evaluators().values())}"

    @property
    def identities(self) -> dict[str, str]:
        """What each model serves, by its name."""
        return {name: str(facts["identity"]) for name, facts in self.served.items()}

    def plan_of(self, experiment: Experiment) -> Plan:
        """Every call of a design, asked of these models."""
        most = {name: int(facts.get("logprobs", 0)) for name, facts in self.served.items()}
        return Plan(experiment, self.identities, most, label_of=self._label_of(experiment.in_parts))

    @cached_property
    def plan(self) -> Plan:
        """Every call."""
        return self.plan_of(self.experiment)

    def _label_of(self, asked: Experiment) -> LabelOf | None:
        """What reads the answers that decide what is asked next.

        Raises:
            SpecError: The study's evaluator needs more than an answer's text.
        """
        if not asked.below:
            return None
        ((name, evaluator),) = self.plugins.evaluators().items()
        if reads_of(evaluator) != "text":
            raise SpecError(
                "what is asked next follows from a label only where the answer's text says it",
                where=self.positions.where("evaluators", 0),
                expected="an evaluator that reads the text, such as marked_label",
                found=name,
            )

        @lru_cache(maxsize=_ANSWERS)
        def label(variant: str, said: Response) -> str | None:
            one = asked.every_variant[variant]
            return read(said, evaluator, offered(asked.labels, one), one).label

        return lambda variant, said: label(variant, Response(*said[:3], "…" if said.thinking else None))

    @property
    def lacks_paraphrases(self) -> bool:
        """Whether a model has yet to make paraphrases without which the design is not known."""
        return False

    @property
    def factors(self) -> list[str]:
        """The columns that the variants fill: their factors and covariates."""
        named = ((*variant.factors, *variant.covariates) for variant in self.experiment.variants)
        return list(dict.fromkeys(name for names in named for name in names))

    @property
    def gold_spec(self) -> GoldSpec | None:
        """Where its gold labels stand, and how they were drawn; of a field the field's."""
        return (self.spec.items if self.gold_field else self.spec.annotations or self.spec.items).gold

    @property
    def gold_columns(self) -> set[str]:
        """The items' columns that hold gold labels."""
        golds = [self.spec.items.gold, *(field.gold for field in self.spec.task.fields.values())]
        return {name for gold in golds if gold is not None for name in (*gold.named, gold.quote) if name}

    @property
    def conclusions(self) -> Conclusions:
        """Those that the study file names."""
        return Conclusions(self.spec, self.positions, self.experiment)

    # ---------------------------------------------------------------------- answers and labels

    @abstractmethod
    def answers(self) -> AbstractContextManager[Store]:
        """The store, with the study's calls in it.

        Raises:
            StoreError: There is none.
        """

    @property
    def annotations(self) -> pl.DataFrame | None:
        """The annotation frame of a source that needs no evaluator; None where answers are to be read."""
        return None

    # ------------------------------------------------------------------------------- money, lock

    @property
    def prices(self) -> Mapping[str, Price | None]:
        """The prices of its models by name; None where a price is unknown."""
        return {}

    def spent_on_paraphrases(self) -> Sequence[Entry]:
        """What was spent on calls that made paraphrases."""
        return ()

    @abstractmethod
    def lock(self) -> dict[str, Any]:
        """What the study resolved to: the document of ``study.lock.json``."""
