"""A study from its file to its report: its table of contents.

The composers beside it, a file each, put the stages together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, overload

import polars as pl
from pydantic import Field

from quaver.collect.run.progress import Outcome, Progress
from quaver.core.arguments import excerpt, guarded
from quaver.core.rows import Estimates
from quaver.design.calls.experiment import Experiment
from quaver.design.spec import StudySpec
from quaver.errors import QuaverError, UnknownName
from quaver.report.findings.quality import Quality
from quaver.study.analysis.annotation_frame import annotations_of, rescore, scan
from quaver.study.collection.forecast import Forecast
from quaver.study.collection.study_run import StudyVariants, planned, run, watching_in_notebook
from quaver.study.collection.study_status import StudyStatus, status
from quaver.study.sources.opening import list_of_studies, open_checked, studies_in
from quaver.study.sources.study_file_source import asking
from quaver.study.sources.study_plugins import Annotate
from quaver.study.sources.study_source import StudySource

if TYPE_CHECKING:
    from quaver.report.findings.verdict_card import Card
    from quaver.report.page.paper_parts import Paper
    from quaver.study.gold_sample.study_gold import StudyGold


class Study:
    """One experiment on one set of items, from its design to its report.

    Open one with ``Study.open``. It works over a source: a study file, imported labels or answers, a bundle.
    What the source cannot do (a bundle asks no model, labels have no raw answers) raises a
    `StoreError` that says what would be needed.

    Attributes:
        source: Where answers and labels come from, and what can be done: ``source.can_ask``,
            ``source.has_answers``, ``source.has_texts``, ``source.owns_folder``.
        spec: What the study file says.
        folder: Where answers and results are.
    """

    def __init__(self, source: StudySource) -> None:
        if not isinstance(source, StudySource):
            raise QuaverError(
                "Study is not called directly",
                where="Study",
                found=excerpt(source),
                fix="quaver.Study.open(…), with a study file or its content",
            )
        self.source = source
        self.spec: StudySpec = source.spec
        self.folder: Path = source.folder

    @classmethod
    @guarded
    def open(
        cls,
        study: str | Path | Mapping[str, Any],
        *,
        folder: str | Path | None = None,
        functions: Mapping[str, Annotate] | None = None,
        small: bool = False,
        field: str | None = None,
    ) -> Study:
        """Open a study.

        Args:
            study: A study file, a study's folder, a bundle, or what would stand in the file. There, `items`
                (or their `source`) may also be the data: a frame of polars, pandas or Arrow, a list of texts
                or of mappings. They are kept in the study's folder, which opens without them.
            folder: Where answers and results go. By default the folder of ``study.yaml``; for a file of
                another name, a folder of that name beside it.
            functions: For models that ``use: function``, by the model's name: ``annotate(text, prompt)``.
            small: Whether to open the small version that the study file describes under ``small``. It is
                written beside the file as ``NAME.small.yaml``, and has a folder of its own.
            field: One field of a task with fields, as a study that has this field's labels and no others.

        Returns:
            The study, whose names and columns are checked; nothing is asked.

        Raises:
            SpecError: The study cannot be read, or there is no small version.
            UnknownName: A plug-in, a column, a label, a model, an evaluator or a field does not exist.
            StoreError: The bundle cannot be read, or is not as it was packed.
        """
        opened = cls(open_checked(study, folder, functions, small=small))
        return opened if field is None else opened.field(field)

    @property
    def fields(self) -> dict[str, Study]:
        """Its fields by name, each as a study of its labels; empty where the task has one label set."""
        return {name: self.field(name) for name in self.spec.task.fields}

    def field(self, name: str) -> Study:
        """One field of a task with fields, as a study that has this field's labels and no others.

        Raises:
            UnknownName: The task has no field of that name.
        """
        from quaver.study.analysis.field_source import FieldSource  # most studies have one label set

        own = self.source.field.name if isinstance(self.source, FieldSource) else ""
        return self if own == name else Study(FieldSource(self.source, name))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.spec.name!r} in {str(self.folder)!r}>"

    def _repr_html_(self) -> str:
        head = f"<p><strong>{escape(self.spec.name)}</strong></p><p>Folder: {escape(str(self.folder))}</p>"
        return head if self.source.lacks_paraphrases else head + self.status()._repr_html_()

    # -------------------------------------------------------------------- design

    @property
    def digest(self) -> str:
        """The SHA-256 of the design, as in ``study.lock.json``; published early, it shows that it stood."""
        return str(self.source.lock()["digest"])

    @property
    def experiment(self) -> Experiment:
        """Items, variants, decodings and conditions, loaded and checked.

        Raises:
            SpecError: The study contradicts itself, or a model has yet to make paraphrases.
        """
        return self.source.experiment

    @property
    def variants(self) -> StudyVariants:
        """The prompt variants: iterate to show them; ``make``, ``export`` and ``edit`` their paraphrases."""
        return StudyVariants(self.source)

    @guarded
    def plan(
        self, *, pilot: Annotated[int, Field(ge=0)] = 0, watch: Callable[[Progress], None] | None = None
    ) -> Forecast:
        """Say what the study will take: calls, tokens, time, cost.

        Paraphrases that a model has yet to make count as long as the original.

        Args:
            pilot: Ask this many requests of each model first, spread over the study, and store the answers,
                so that time and tokens are measured.
            watch: Called with how far that is, as in `run`.

        Returns:
            Calls, tokens, seconds and US dollars, by model and by level of each factor.

        Raises:
            StoreError: This source asks no model.
            KeyboardInterrupt: The pilot was interrupted.
        """
        return planned(asking(self.source), pilot, watch)

    @property
    def gold(self) -> StudyGold:
        """Its gold sample: ``draw`` items by design, ``take`` back labels, ``adjudicate``, ``status``."""
        from quaver.study.gold_sample.study_gold import StudyGold

        return StudyGold(self.source)

    # ------------------------------------------------------------------- collect

    @guarded
    def run(
        self,
        *,
        watch: Callable[[Progress], None] | None = None,
        retry_errors: bool = False,
        requests: Annotated[int, Field(ge=0)] | None = None,
        batch: bool = False,
        wait: bool = False,
        cancel_batches: bool = False,
        where: Mapping[str, Any] | None = None,
    ) -> Outcome:
        """Ask whatever has not been asked yet, and store the answers.

        Args:
            watch: Called with the progress as responses are stored. If left out, a notebook shows it.
            retry_errors: Ask again for what ended in an error; an error gives way to an answer only.
            requests: Send at most this many requests of each model, spread over the study.
            batch: Ask every model in batches whose provider takes them: the run hands over what is left and
                collects what is ready; later runs collect the rest.
            wait: Stay until every batch is over.
            cancel_batches: Ask nothing; end every batch that is out, and store what it has answered.
            where: Where models are asked, in place of the study file's ``run``: ``{"on": "ray"}``.

        Returns:
            How the run ended; Ctrl-C and a spent budget are ends, not errors.

        Raises:
            StoreError: This source asks no model, another process collects, or the disk is full.
            ModelError: A model is of no use.
            SpecError: More is spent already than the budget allows.
        """
        watch = watching_in_notebook() if watch is None else watch
        return run(
            asking(self.source),
            watch,
            retry_errors=retry_errors,
            requests=requests,
            batch=batch,
            wait=wait,
            cancel_batches=cancel_batches,
            where=where,
        )

    def status(self) -> StudyStatus:
        """What is answered, spent and failed, and how fast it goes. You can ask while the study runs."""
        return status(self.source)

    # ---------------------------------------------------------------------- score

    @guarded
    def rescore(self, evaluators: Sequence[str] | None = None) -> pl.DataFrame:
        """Read the stored answers with evaluators; no model is asked.

        Args:
            evaluators: Registered names; the study's own evaluators by default.

        Returns:
            The annotation frame, which is kept as ``annotations.parquet``.

        Raises:
            StoreError: There are labels only, or nothing is stored yet.
            UnknownName: No evaluator of that name is registered.
        """
        self.source.require("has_answers")
        return rescore(self.source, evaluators)

    @overload
    def annotations(self) -> pl.DataFrame: ...
    @overload
    def annotations(self, *, lazy: Literal[True]) -> pl.LazyFrame: ...
    def annotations(self, *, lazy: bool = False) -> pl.DataFrame | pl.LazyFrame:
        """The annotation frame (columns: ``core.annotations.ANNOTATION_COLUMNS``, factors, groups).

        Made where it is missing, and anew where answers came in or the study changed since; what
        ``rescore`` read with other evaluators stays until then. ``.to_pandas()`` gives a pandas frame.

        Args:
            lazy: A frame that is read as far as a query needs it, for annotations that do not fit into
                memory: ``study.annotations(lazy=True).group_by("variant", "label").len().collect()``

        Raises:
            StoreError: Nothing is stored yet.
        """
        return scan(self.source) if lazy else annotations_of(self.source)

    @guarded
    def labels(
        self, *, model: str | None = None, variants: Sequence[str] | None = None, evaluator: str | None = None
    ) -> pl.DataFrame:
        """One label for each text: the most frequent one of its answers, or the one that a person gave.

        Args:
            model: Only this model's answers.
            variants: Only these prompts', by their ids.
            evaluator: The evaluator that reads them; the study's first if left out.

        Returns:
            For each item (of several fields, for each ``field`` and item) its ``label`` and who gave it
            (``labelled_by``: ``a person``, ``the model``); the ``model_label``, the share of the answers that
            give it (``agreement``), its mean ``confidence``; and why a person should look
            (``needs_person``): no label, or an agreement below three quarters.

        Raises:
            StoreError: Nothing is stored yet.
            UnknownName: No model, prompt or evaluator has that name.
        """
        from quaver.study.analysis.text_labels import labels_by_field

        return labels_by_field(self.source, model=model, variants=variants, evaluator=evaluator)

    @guarded
    def export(self, path: str | Path) -> int:
        """Write every answered call with its annotations to a file; the columns are those of ``call_export``.

        Args:
            path: The file, ``.jsonl``, ``.csv`` or ``.parquet``.

        Returns:
            How many calls were written.

        Raises:
            StoreError: There are labels only, nothing is stored yet, or the file cannot be written.
        """
        from quaver.study.analysis.call_export import export

        self.source.require("has_answers")
        return export(Path(path), self.source)

    # -------------------------------------------------------------------- measure

    @guarded
    def measure(self, name: str, **options: Any) -> Estimates:
        """Take one measure of the annotations.

        ``study.measure("accuracy", by=["model"], evaluator="label_match")``

        Args:
            name: A registered measure, such as ``inter_pss``.
            **options: ``by``, ``evaluator``, ``field`` and the measure's own, as the study file takes them.
                What the study file says of this measure holds for what you leave out; where it names the
                measure more than once, it is taken as often. ``conclusion`` takes a ``formula`` and an
                ``effect``, with the other options of ``conclusions``, for one that the file does not name.

        Returns:
            An estimate for each cell.

        Raises:
            UnknownName: No measure, column or evaluator of that name exists.
            SpecError: The measure has no such option, or not with this value.
            MeasureError: The annotations do not allow it.
        """
        from quaver.study.analysis.measured_fields import MeasuredFields  # loads measures

        return Estimates(MeasuredFields.of(self.source).measure(name, options))

    @guarded
    def estimates(
        self,
        names: str | Sequence[str] | None = None,
        *,
        of: Literal["study", "audit", "charts"] = "study",
    ) -> Estimates:
        """The study's measures, as its file asks for them, or what the report adds to them.

        Args:
            names: Only these measures, or this one; one that the file does not name is taken with its
                defaults.
            of: ``study``: what the file asks for. ``audit``: how the answers were read, whatever the file
                asks for. ``charts``: what the report's charts show beyond that.

        Returns:
            The estimates of each measure, in the file's order. One that cannot be taken is undefined, and
            says why; ``measure`` raises the error instead.

        Raises:
            StoreError: Nothing is stored yet.
            UnknownName: No measure of that name is registered.
        """
        from quaver.study.analysis.measured_fields import MeasuredFields  # loads measures
        from quaver.study.analysis.measured_study import MeasuredStudy

        study, wanted = MeasuredFields.of(self.source), (names,) if isinstance(names, str) else names
        if of == "study":
            return Estimates(study.estimates(wanted))
        estimates = study.each(MeasuredStudy.audit if of == "audit" else MeasuredStudy.charts)
        return Estimates(estimate for estimate in estimates if wanted is None or estimate.measure in wanted)

    def quality(self) -> Quality:
        """Whether the answers can be judged at all: which calls failed, which have no label; opens a report.

        Raises:
            StoreError: Nothing is stored yet.
        """
        from quaver.study.analysis.measured_fields import MeasuredFields  # loads measures

        return MeasuredFields.of(self.source).quality()

    def verdict(self) -> Card:
        """Whether the labels may be used, why, what moves them, and what to do next.

        The report opens with the same card; the study need not be finished.

        Returns:
            Three lines in print, a card in a notebook; in ``recommendations`` a typed one for each model,
            with the estimates that decided.

        Raises:
            StoreError: Nothing is stored yet.
        """
        from quaver.study.study_report import verdict  # loads measures

        return verdict(self.source)

    # --------------------------------------------------------------------- report

    def report(self, folder: str | Path | None = None) -> Path:
        """Write ``report.html``, ``estimates.csv``, ``figures/`` and ``tables/``; the report's path.

        Args:
            folder: Where to; the study's own folder if left out.

        Raises:
            StoreError: Nothing is stored yet.
        """
        from quaver.study.study_report import report  # the charts' libraries are slow to load

        return report(self.source, Path(folder) if folder is not None else self.source.results)

    def paper(self) -> Paper:
        """What a paper takes: one table, a paragraph on methods with its numbers, and the references.

        Returns:
            The parts: ``table_as("latex")``, ``methods_as("html")``, ``bibtex``; a bundle's name its digest.

        Raises:
            StoreError: Nothing is stored yet.
        """
        from quaver.study.study_report import paper  # loads measures

        return paper(self.source)

    @guarded
    def charts(self, width: int = 720) -> dict[str, Any]:
        """The report's charts by name and in its order, as Altair objects to show, change and save.

        Args:
            width: In pixels.

        Raises:
            StoreError: Nothing is stored yet.
            QuaverError: It is not a width.
        """
        from quaver.study.study_report import charts  # the charts' libraries are slow to load

        return charts(self.source, width)


@guarded
def open_studies(
    path: str | Path, *, functions: Mapping[str, Annotate] | None = None, small: bool = False
) -> dict[str, Study]:
    """Open each study that a file lists.

    Args:
        path: The YAML file that lists studies, or its folder.
        functions: For models that ``use: function``, by the model's name; a study takes its own.
        small: Whether to open the small version of each study, which its key ``small`` describes.

    Returns:
        The studies by name, in the file's order.

    Raises:
        SpecError: The file or one of its studies cannot be read.
        UnknownName: A function is for a model that no study has.
    """
    file = list_of_studies(Path(path)) or Path(path)
    given = dict(functions or {})
    studies: dict[str, Study] = {}
    names: set[str] = set()
    for name, described in studies_in(file).items():
        studies[name] = Study.open(described, small=small)
        models = {model.name for model in studies[name].spec.models}
        names |= models
        if own := {model: call for model, call in given.items() if model in models}:
            studies[name] = Study.open(described, functions=own, small=small)
    for name in given:
        if name not in names:
            raise UnknownName("model", name, sorted(names), where="functions")
    return studies
