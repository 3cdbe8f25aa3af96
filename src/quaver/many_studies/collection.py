"""Several studies, planned, run, resumed, measured and reported as one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quaver.collect.run.progress import Outcome, Progress
from quaver.core.arguments import guarded
from quaver.core.notebook import Estimates
from quaver.core.records import Estimate
from quaver.core.rows import Rows
from quaver.design.spec import BudgetSpec
from quaver.errors import UnknownName
from quaver.many_studies.collection_file import CollectionSpec, read_collection
from quaver.many_studies.collection_tables import POOLED
from quaver.many_studies.pooled_effects import SOURCE, pooled_effect
from quaver.study.collection.study_status import StudyStatus
from quaver.study.forecasts.forecast import Forecast
from quaver.study.session import Study

if TYPE_CHECKING:
    from quaver.study.sources.study_plugins import Annotate

_ENDINGS = ("_difference", "_interaction")


@dataclass(frozen=True, slots=True)
class Plans(Rows):
    """What each study will take.

    Attributes:
        studies: The forecasts, by study.
    """

    studies: Mapping[str, Forecast]

    @property
    def calls(self) -> int:
        """All calls."""
        return sum(one.calls for one in self.studies.values())

    @property
    def stored(self) -> int:
        """Calls that are answered already."""
        return sum(one.stored for one in self.studies.values())

    @property
    def seconds(self) -> float | None:
        """What is left, one study after the other; None where a study's pace is not known."""
        each = [one.seconds for one in self.studies.values() if one.stored < one.calls]
        known = [one for one in each if one is not None]
        return sum(known) if len(known) == len(each) else None

    def rows(self) -> list[dict[str, Any]]:
        """A row for each study and model."""
        return [
            {"study": name, "items": one.items, "variants": one.variants, "model": model.model}
            | {"calls": model.calls, "answered": model.stored, "seconds": model.seconds}
            | {"least": model.cost and model.cost.low, "most": model.cost and model.cost.high}
            for name, one in self.studies.items()
            for model in one.models
        ]


@dataclass(frozen=True, slots=True)
class Statuses(Rows):
    """How far each study is.

    Attributes:
        studies: Each one's status.
    """

    studies: Mapping[str, StudyStatus]

    @property
    def answered(self) -> int:
        """Calls that have a response."""
        return sum(one.answered for one in self.studies.values())

    @property
    def total(self) -> int:
        """All calls."""
        return sum(one.total for one in self.studies.values())

    @property
    def money(self) -> float | None:
        """US dollars spent; None where a price is not known."""
        spent = [one.money for one in self.studies.values()]
        return None if None in spent else sum(one for one in spent if one is not None)

    def rows(self) -> list[dict[str, Any]]:
        """A row for each study."""
        return [
            {"study": name, "answered": one.answered, "calls": one.total, "errors": one.errors}
            | {"tokens": one.tokens, "money": one.money}
            for name, one in self.studies.items()
        ]


class Collection:
    """Several studies in one file: tasks, data sets, label sets or models that are looked at together.

    Open one with ``Collection.open``. Each study is a `Study`, with a file, a folder and a report of its own.

    Attributes:
        spec: What the file says.
        path: The file.
        studies: The studies, by name, in the file's order.
    """

    def __init__(self, spec: CollectionSpec, path: Path, studies: Mapping[str, Study]) -> None:
        self.spec, self.path, self.studies = spec, path, dict(studies)

    @classmethod
    @guarded
    def open(
        cls, path: str | Path, *, functions: Mapping[str, Annotate] | None = None, small: bool = False
    ) -> Collection:
        """Open a collection.

        Args:
            path: Its YAML file (`collection_file.read_collection`).
            functions: For models that ``use: function``, by the model's name; a study takes its own.
            small: Whether to open the small version of each study, which its key ``small`` describes.

        Raises:
            SpecError: The file or one of its studies cannot be read.
            UnknownName: A function is for a model that no study has.
        """
        spec, files = read_collection(Path(path))
        given = dict(functions or {})
        plain = {name: Study.open(file, small=small) for name, file in files.items()}
        models = {name: {one.name for one in study.spec.models} for name, study in plain.items()}
        known = set().union(*models.values())
        for name in given:
            if name not in known:
                raise UnknownName("model", name, sorted(known), where="functions")
        studies = {
            name: Study.open(files[name], functions=own, small=small)
            if (own := {model: one for model, one in given.items() if model in models[name]})
            else study
            for name, study in plain.items()
        }
        return cls(spec, Path(path), studies)

    def __repr__(self) -> str:
        return f"<Collection {self.spec.name!r} of {len(self.studies)} studies: {', '.join(self.studies)}>"

    @property
    def folder(self) -> Path:
        """Where what is made of all studies together goes."""
        return self.path.with_suffix("")

    def plan(self) -> Plans:
        """Say what all studies will take; nothing is asked."""
        return Plans({name: study.plan() for name, study in self.studies.items()})

    @guarded
    def run(
        self,
        *,
        watch: Callable[[str, Progress], None] | None = None,
        retry_errors: bool = False,
    ) -> dict[str, Outcome]:
        """Ask whatever has not been asked yet, one study after the other, and store the answers.

        The collection's budget holds for all studies together, each study's own for it besides. Run again to
        go on.

        Args:
            watch: Called with a study's name and progress as its responses are stored.
            retry_errors: Ask again for what ended in an error.

        Returns:
            How each study's run ended, as far as it came.
        """
        found: dict[str, Outcome] = {}
        for name, study in self.studies.items():
            left = _left(self.spec.budget, self._taken(found, besides=name))
            if left is None:
                break
            shown = None if watch is None else _named(watch, name)
            with _spending(study, left):
                found[name] = study.run(watch=shown, retry_errors=retry_errors)
            if found[name].ended == "interrupted":
                break
        return found

    def _taken(self, outcomes: Mapping[str, Outcome], besides: str) -> dict[str, float]:
        """What the other studies took: calls, tokens and money of all runs, and the seconds of this one."""
        every = {name: study.status() for name, study in self.studies.items() if name != besides}
        return {
            "calls": sum(one.answered for one in every.values()),
            "tokens": sum(one.tokens for one in every.values()),
            "money": sum(one.money or 0.0 for one in every.values()),
            "seconds": sum(one.seconds for one in outcomes.values()),
        }

    def status(self) -> Statuses:
        """What is answered, spent and failed in each study."""
        return Statuses({name: study.status() for name, study in self.studies.items()})

    @guarded
    def estimates(self, names: str | Sequence[str] | None = None) -> Estimates:
        """The measures of all studies, as each one's file asks for them, and what studies have in common.

        Args:
            names: Only these measures, or this one.

        Returns:
            Each study's estimates, with ``study`` in the cell; then, for each effect of a factor that two
            studies or more have in the same cell, the pooled one (`pooled_effects.pooled_effect`), whose
            ``study`` is ``"pooled"``.

        Raises:
            StoreError: Nothing is stored yet of one of them.
        """
        found = [
            replace(one, cell={"study": name, **one.cell})
            for name, study in self.studies.items()
            for one in study.estimates(names)
        ]
        return Estimates([*found, *pooled(found)])

    @guarded
    def report(self, folder: str | Path | None = None) -> Path:
        """Write each study's report, and one page over all of them, with its tables as CSV.

        Args:
            folder: Where the page goes; the collection's own folder if left out.

        Returns:
            The page's path.
        """
        from quaver.many_studies.collection_page import StudyPart, write_page  # for reports only

        parts = [
            StudyPart(name, study.verdict().lines, study.report()) for name, study in self.studies.items()
        ]
        target = Path(folder) if folder else self.folder
        return write_page(self.spec, parts, self.estimates(), self.status().answered, target)


def pooled(found: Sequence[Estimate]) -> Iterator[Estimate]:
    """The effects that several studies estimate, pooled.

    Args:
        found: The studies' estimates, with ``study`` in the cell. Those of differences and interactions
            count; a level, a share say, is not pooled, since tasks are no sample of one number.
    """
    alike: dict[tuple[str, tuple[tuple[str, str], ...]], list[Estimate]] = {}
    for one in found:
        if one.measure.endswith(_ENDINGS):
            rest = tuple(sorted((k, v) for k, v in one.cell.items() if k != "study"))
            alike.setdefault((one.measure, rest), []).append(one)
    for (measure, _), some in alike.items():
        if len({one.cell["study"] for one in some}) < 2:
            continue
        yield _pooled(measure, {k: v for k, v in some[0].cell.items() if k != "study"}, some)


def _pooled(measure: str, cell: Mapping[str, str], some: Sequence[Estimate]) -> Estimate:
    given = [
        (one.value, error) for one in some if one.value is not None and (error := _error(one)) is not None
    ]
    level = some[0].confidence_level
    made = pooled_effect([value for value, _ in given], [error for _, error in given], level)
    base = Estimate(
        measure=measure,
        value=None,
        confidence_level=level,
        n=len(given),
        unit="study",
        estimand=some[0].estimand,
        method="random-effects mean over studies, Paule-Mandel variance, Hartung-Knapp interval",
        reference=SOURCE,
        reason="fewer than two studies with a standard error",
        cell={"study": POOLED, **cell},
        excluded={"study without a standard error": len(some) - len(given)} if len(given) < len(some) else {},
    )
    if made is None:
        return base
    names = ("tau", "i_squared", "q", "p", "next_low", "next_high")
    details = {name: getattr(made, name) for name in names}
    return replace(base, value=made.value, low=made.low, high=made.high, reason=None, details=details)


def _error(one: Estimate) -> float | None:
    """An estimate's standard error, from its interval where it gives none."""
    given = one.details.get("standard_error")
    if one.estimand != "fixed" or given is None:
        if one.low is None or one.high is None:
            return None
        from scipy import special

        return (one.high - one.low) / 2 / float(special.ndtri((1 + one.confidence_level) / 2)) or None
    return float(given) or None


def _left(budget: BudgetSpec, taken: Mapping[str, float]) -> dict[str, float] | None:
    """What is left of a budget; None where nothing is."""
    left = {
        name: cap - taken[name]
        for name in ("calls", "tokens", "money", "seconds")
        if (cap := getattr(budget, name)) is not None
    }
    return None if any(one <= 0 for one in left.values()) else left


@contextmanager
def _spending(study: Study, left: Mapping[str, float]) -> Iterator[None]:
    """While a study runs, it may spend no more than is left of the collection's budget."""
    own = study.source.spec
    study.source.spec = own.model_copy(update={"budget": _tighter(own.budget, left)})
    try:
        yield
    finally:
        study.source.spec = own


def _tighter(budget: BudgetSpec, left: Mapping[str, float]) -> BudgetSpec:
    """A study's budget, or what is left of the collection's where that is less."""
    kept = {
        name: min(own, most) if (own := getattr(budget, name)) is not None else most
        for name, most in left.items()
    }
    whole = {name: int(value) if name in ("calls", "tokens") else value for name, value in kept.items()}
    return budget.model_copy(update=whole)


def _named(watch: Callable[[str, Progress], None], name: str) -> Callable[[Progress], None]:
    return lambda progress: watch(name, progress)
