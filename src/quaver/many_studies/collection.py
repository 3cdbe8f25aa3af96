"""Several studies, planned, run, resumed, measured and reported as one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from quaver.collect.run.ledger import spent
from quaver.collect.run.progress import Outcome, Progress
from quaver.core.arguments import guarded
from quaver.design.spec import BudgetSpec
from quaver.errors import UnknownName
from quaver.many_studies.collection_file import collection_at, is_packed, read_collection
from quaver.many_studies.opened_studies import OpenedStudies, Plans, Unpacked
from quaver.study.session import Study

if TYPE_CHECKING:
    from quaver.comparison.comparison_result import Comparison
    from quaver.study.sources.study_plugins import Annotate


class Collection(OpenedStudies):
    """Several studies in one file: tasks, data sets, label sets or models that are looked at together.

    Open one with ``Collection.open``. Each study is a `Study`, with a file, a folder and a report of its own.
    """

    @classmethod
    @guarded
    def open(
        cls, path: str | Path, *, functions: Mapping[str, Annotate] | None = None, small: bool = False
    ) -> Collection:
        """Open a collection.

        Args:
            path: Its YAML file (`collection_file.read_collection`), its folder, or its bundle.
            functions: For models that ``use: function``, by the model's name; a study takes its own.
            small: Whether to open the small version of each study, which its key ``small`` describes.

        Raises:
            SpecError: The file or one of its studies cannot be read.
            StoreError: The bundle cannot be read, or is not as it was packed.
            UnknownName: A function is for a model that no study has.
        """
        path, unpacked = Path(path), None
        if path.suffix == ".zip" or is_packed(path):
            unpacked = Unpacked(path)
            spec, files = unpacked.spec, unpacked.files
        else:
            path = collection_at(path) or path
            spec, files = read_collection(path)
        given = dict(functions or {})
        plain = {name: Study.open(file, small=small) for name, file in files.items()}
        models = {name: {model.name for model in study.spec.models} for name, study in plain.items()}
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
        return cls(spec, path, studies, unpacked)

    def __repr__(self) -> str:
        return f"<Collection {self.spec.name!r} of {len(self.studies)} studies: {', '.join(self.studies)}>"

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
        result: dict[str, Outcome] = {}
        for name, study in self.studies.items():
            left = _left(self.spec.budget, self._taken(result, besides=name))
            if left is None:
                break
            shown = None if watch is None else _named(watch, name)
            with _spending(study, left):
                result[name] = study.run(watch=shown, retry_errors=retry_errors)
            if result[name].ended == "interrupted":
                break
        return result

    def _taken(self, outcomes: Mapping[str, Outcome], besides: str) -> dict[str, float]:
        """What the other studies took: calls, tokens and money of all runs, and the seconds of this one."""
        spendings = [_spent_in(study) for name, study in self.studies.items() if name != besides]
        totals = {
            what: sum(spending[what] for spending in spendings) for what in ("calls", "tokens", "money")
        }
        return totals | {"seconds": sum(outcome.seconds for outcome in outcomes.values())}

    @guarded
    def report(self, folder: str | Path | None = None) -> Path:
        """Write each study's report, and one page over all of them, with its tables as CSV.

        Args:
            folder: Where the page goes; the collection's own folder if left out. The reports of a bundle's
                studies go below it.

        Returns:
            The page's path.
        """
        from quaver.many_studies.collection_page import write_collection_page  # for reports only

        target = Path(folder) if folder else self.folder
        return write_collection_page(self, self.estimates(), target, packed=self._unpacked is not None)

    @guarded
    def compare(
        self,
        after: Collection | None = None,
        *,
        by: str | None = None,
        reference: str | None = None,
        measures: Sequence[str] | None = None,
        fail_if: Sequence[str] = (),
        fail_unless: Sequence[str] = (),
        confidence_level: float = 0.95,
        resamples: int = 2000,
        margin: float = 0.03,
        looks: Annotated[int, Field(ge=1)] | None = None,
        must_see: float | None = None,
    ) -> Comparison:
        """Compare each study with the one of its name in another version, or the prompts of each.

        Args:
            after: The other version; without it, the levels of a column are compared within each study.
            by: As for `quaver.compare`.
            reference: As for `quaver.compare`.
            measures: As for `quaver.compare`.
            fail_if: As for `quaver.compare`. A bound judges every study, and together they fail by chance
                as rarely as one would; ``accuracy[study=mood] < 0`` judges one.
            fail_unless: As for `quaver.compare`.
            confidence_level: As for `quaver.compare`.
            resamples: As for `quaver.compare`.
            margin: As for `quaver.compare`.
            looks: As for `quaver.compare`; they are kept in the other version's folder.
            must_see: As for `quaver.compare`.

        Returns:
            One comparison, with the study in each difference's cell.

        Raises:
            MeasureError: No study is in both, or a bound cannot be judged.
            UnknownName: No such column, level or measure.
        """
        from quaver.comparison.bounds import read_bounds
        from quaver.comparison.paired_comparison import Judging
        from quaver.estimation.bootstrap import Resampling
        from quaver.many_studies.collection_comparison import compare_collections

        bounds, resampling = read_bounds(fail_if, fail_unless), Resampling(confidence_level, resamples)
        judging = Judging(bounds, resampling, margin, must_see)
        return compare_collections(self, after, judging, measures, by=by, reference=reference, looks=looks)

    @guarded
    def bundle(
        self,
        path: str | Path | None = None,
        *,
        texts: bool = True,
        tables: bool = False,
        only_study: bool = False,
    ) -> tuple[Path, str]:
        """Pack the collection: a bundle of each study, the estimates of all, and the page over them.

        Args:
            path: Where the archive goes; ``NAME.quaver.zip`` beside the file, if left out.
            texts: Whether the items' texts go with it (`quaver.bundle`).
            tables: Whether tables of items go with it whole.
            only_study: Whether stored answers that are no part of a study are left out.

        Returns:
            The archive's path and digest.

        Raises:
            StoreError: Nothing is stored yet of a study, this is a bundle already, or it cannot be written.
            QuaverError: An item's text, or a key, would still stand in a file.
        """
        from quaver.many_studies.packed_collection import pack_collection

        return pack_collection(
            self, Path(path) if path else None, texts=texts, tables=tables, only_study=only_study
        )


def _spent_in(study: Study) -> Mapping[str, float]:
    """The calls, tokens and money of a study; of one without its paraphrases, what was spent on them."""
    if study.source.lacks_paraphrases:
        calls, tokens, money = spent(study.source.spent_on_paraphrases(), study.source.prices)
        return {"calls": calls, "tokens": tokens, "money": money}
    status = study.status()
    return {"calls": status.answered, "tokens": status.tokens, "money": status.money or 0.0}


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
