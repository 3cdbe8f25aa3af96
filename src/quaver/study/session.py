"""A study from its file to its report: its table of contents.

The composers beside it, a file each, put the stages together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, TextIO

import polars as pl
from pydantic import Field

from quaver.collect.run.budget import Price
from quaver.collect.run.engine_noise import Noise
from quaver.collect.run.progress import Outcome, Progress
from quaver.collect.store.response_store import Counts
from quaver.collect.store.sole_writer import who_collects
from quaver.core.arguments import guarded, shown
from quaver.core.model import Model
from quaver.core.notebook import Estimates
from quaver.core.variant_display import ShownVariant
from quaver.design.calls.experiment import Experiment
from quaver.design.calls.small_study import write_small
from quaver.design.factors.prompt_edits import Edit
from quaver.design.spec import StudySpec
from quaver.design.spec.study_file import Source, read_study
from quaver.errors import QuaverError
from quaver.report.findings.verdicts import Quality, quality
from quaver.study.analysis.annotation_frame import kept_annotations, rescore
from quaver.study.analysis.study_measures import (
    audit,
    measurement,
    measurements,
    measures_of,
    seen_by,
    sizes,
    taken,
    told_apart,
    with_something_to_read,
)
from quaver.study.collection.paraphrase_making import (
    export_paraphrases,
    import_paraphrases,
    lacks_paraphrases,
    make_paraphrases,
    shown_variants,
)
from quaver.study.collection.rounds import rounds_in_words
from quaver.study.collection.store_repair import Repaired, repair
from quaver.study.collection.study_run import check, measured_noise, run
from quaver.study.collection.study_status import Standing, standing
from quaver.study.forecasts.forecast import Forecast, forecast, forecast_of_paraphrases
from quaver.study.forecasts.sizing import Sizing
from quaver.study.sources.archive import is_archive
from quaver.study.sources.conclusion_measures import concluded_about
from quaver.study.sources.outgoing_check import check_outgoing, written_report
from quaver.study.sources.prices import COMPARED, prices_of
from quaver.study.sources.resolved import Resolved
from quaver.study.sources.study_plugins import Annotate, Measurement

__all__ = ["Study"]

_STAND_INS = (
    "Paraphrases that a model is to make have not been made yet, and are reckoned as long as the original: "
    "`quaver variants` makes them and shows them, and so does `quaver run`."
)


class Study:
    """One experiment on one set of items, and its folder.

    Use ``Study.open``. The folder holds what the stages leave: ``study.yaml``, ``study.lock.json``,
    ``responses.db``, ``annotations.parquet``, ``estimates.csv``, ``report.html``, ``figures/``.
    """

    def __init__(self, resolved: Resolved) -> None:
        if not isinstance(resolved, Resolved):
            raise QuaverError(
                "a study is opened",
                where="Study",
                found=shown(resolved),
                fix="quaver.Study.open(…), of a study file or what would stand in one",
            )
        self._resolved = resolved
        self.spec, self.folder = resolved.spec, resolved.folder
        self._files = resolved.files

    @classmethod
    @guarded
    def open(
        cls,
        study: str | Path | Mapping[str, Any],
        *,
        folder: str | Path | None = None,
        functions: Mapping[str, Annotate] | None = None,
    ) -> Study:
        """Read a study.

        Args:
            study: A study file, a study's folder, a bundle, or what would stand in the file.
            folder: Where answers and results go. By default the folder of ``study.yaml``; for a file
                of another name, a folder of that name beside it.
            functions: For models that ``use: function``, by the model's name: ``annotate(text, prompt)``.

        Returns:
            The study; nothing is loaded or asked yet.

        Raises:
            SpecError: The study cannot be read.
            StoreError: The bundle cannot, or is not as it was packed.
        """
        if isinstance(study, Mapping):
            spec, source = read_study(study)
            return _study(cls, spec, source, Path(folder or spec.name), functions)
        path = Path(study)
        if path.suffix == ".zip" or (path.is_file() and is_archive(path)):
            from quaver.study.sources.bundle_source import open_bundle

            return open_bundle(path, folder)
        if path.is_dir():
            whole = path.resolve()  # "." has no name
            beside = whole.parent / f"{whole.name}.yaml"
            path = beside if beside.is_file() and not (path / "study.yaml").exists() else path / "study.yaml"
        spec, source = read_study(path)
        home = path.parent if path.name == "study.yaml" else path.with_suffix("")
        return _study(cls, spec, source, Path(folder or home), functions)

    def small(self) -> Study:
        """The study's small version, by the key ``small`` of its file: a study of its own.

        It stands beside the file as ``NAME.small.yaml``, with a folder of its own.

        Raises:
            SpecError: The study is not a file, or says nothing of a small version.
        """
        return Study.open(write_small(self._resolved.source), functions=self._resolved.plugins.functions)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.spec.name!r} in {str(self.folder)!r}>"

    # -------------------------------------------------------------------- design

    @property
    def experiment(self) -> Experiment:
        """Items, variants, decodings and conditions, loaded and checked.

        Raises:
            SpecError: The study contradicts itself, or has paraphrases that have not been made yet.
        """
        return self._resolved.experiment

    @guarded
    def make_paraphrases(
        self, *, again: bool = False, watch: Callable[[str], None] = lambda _: None
    ) -> list[str]:
        """Have the paraphrases made that a model is to make, and that the folder does not hold yet.

        Args:
            again: Make all of them anew, and forget the edits made by hand.
            watch: Called with what is about to be made.

        Returns:
            What was made, in words; ``run`` and ``plan`` make what is missing, too.

        Raises:
            ModelError: A model gave fewer than are wanted, or is of no use; what came is kept.
        """
        return make_paraphrases(self._resolved, again=again, watch=watch)

    @guarded
    def export_paraphrases(self, path: str | Path) -> int:
        """Write every text that the variants bring to a table (CSV) that a person can edit.

        Args:
            path: Of the table; replaced where it is there already.

        Returns:
            How many texts there are.

        Raises:
            StoreError: The file cannot be written.
        """
        return export_paraphrases(self._resolved, Path(path))

    @guarded
    def import_paraphrases(self, path: str | Path) -> list[Edit]:
        """Take over the edits made in a table that ``export_paraphrases`` wrote.

        Args:
            path: Of the table.

        Returns:
            What was changed. The folder keeps it with what stood there before, and so does the lock file.

        Raises:
            SpecError: A row is missing, unknown or empty, or an edited text is no template for this study.
        """
        return import_paraphrases(self._resolved, Path(path))

    def variants(self) -> Iterator[ShownVariant]:
        """Every variant, filled in with the first item, and marked where it differs from the original."""
        return shown_variants(self._resolved)

    @property
    def models(self) -> dict[str, Model]:
        """The study's models by name, none of them loaded yet.

        Raises:
            UnknownName: No engine of that name is registered.
            ModelError: Weights are missing.
        """
        return self._resolved.models

    @property
    def prices(self) -> dict[str, Price | None]:
        """What the study's models cost, by name; None where nobody knows it.

        Raises:
            UnknownName: The study file names a price that does not exist.
        """
        return self._resolved.prices

    @guarded
    def plan(self, *, pilot: Annotated[int, Field(ge=0)] = 0, compare: Sequence[str] = COMPARED) -> Forecast:
        """What the study will take: calls, tokens, time, cost.

        Paraphrases that a model is to make, and has not made yet, are reckoned to be as long as the original.

        Args:
            pilot: Ask this many requests of each model first, spread over the study, and store their answers,
                so that time and tokens are measured.
            compare: Other models, as genai-prices names them, to say what the study would cost on them.

        Returns:
            Calls, tokens, seconds and US dollars, by model and by level of each factor.

        Raises:
            UnknownName: Nobody knows the price of one of these.
        """
        compared = prices_of(compare)
        if not pilot and self.spec.annotations is None and lacks_paraphrases(self._resolved):
            reckoned = self._resolved.with_stand_ins()
            check(reckoned)
            left, made = reckoned.foreseen_paraphrases(), reckoned.spent_on_paraphrases()
            found = forecast(reckoned.plan, reckoned.models, {}, reckoned.prices, compared, made)
            paraphrases = (*found.paraphrases, *forecast_of_paraphrases(left, reckoned.prices))
            return replace(found, notes=(*found.notes, _STAND_INS), paraphrases=paraphrases)
        self.make_paraphrases()
        check(self._resolved)
        if pilot:
            self.run(requests=pilot)
        plan, known = self._resolved.plan, self._files.responses.exists()
        made = self._resolved.spent_on_paraphrases()
        return forecast(plan, self.models, self._usage() if known else {}, self.prices, compared, made)

    def _usage(self) -> Mapping[str, Mapping[str, float]]:
        with self._resolved.answers() as store:
            return store.usage()

    # ------------------------------------------------------------------- collect

    @guarded
    def run(
        self,
        *,
        watch: Callable[[Progress], None] = lambda _: None,
        retry_errors: bool = False,
        retry_unconstrained: bool = False,
        requests: Annotated[int, Field(ge=0)] | None = None,
        events: TextIO | None = None,
    ) -> Outcome:
        """Ask whatever has not been asked yet, and store the answers.

        Args:
            watch: Called with the progress as responses are stored.
            retry_errors: Ask again for what ended in an error; an error gives way to an answer only.
            retry_unconstrained: Ask again for answers that an older Quaver collected without the JSON schema
                that they should follow. They stay stored, and belong to no call any more.
            requests: Send at most this many requests of each model, spread over the study.
            events: Where a line of JSON is written for everything that happens (``collect.journal``).

        Returns:
            How the run ended; Ctrl-C and a spent budget are ends, not errors.

        Raises:
            StoreError: Another process collects for this study, or the disk is full.
            ModelError: A model is of no use.
            SpecError: More is spent already than the budget allows.
        """
        self.make_paraphrases()
        return run(
            self._resolved,
            self.measurable,
            watch=watch,
            retry_errors=retry_errors,
            retry_unconstrained=retry_unconstrained,
            requests=requests,
            events=events,
        )

    def standing(self) -> Standing:
        """What is answered, spent and failed, and how fast it goes. May be asked while it runs."""
        experiment, process = self.experiment, who_collects(self.folder)
        conditions, items = experiment.conditions, len(experiment.items)
        ended, made = self._files.read_rounds().get("ended"), self._resolved.spent_on_paraphrases()
        if not self._files.responses.exists():
            return standing(None, conditions, items, self.prices, process, None, made)
        with self._resolved.answers() as store, store.at_once():
            misasked = self._resolved.misasked(store)
            return standing(store, conditions, items, self.prices, process, ended, made, misasked)

    def status(self) -> tuple[Counts, int]:
        """What is stored, and how many calls the study has. May be asked while it runs."""
        if not self._files.responses.exists():
            return Counts(0, 0, 0), self.experiment.calls
        with self._resolved.answers() as store, store.at_once():
            return store.counts(), self.experiment.calls - store.unfollowed()

    @guarded
    def noise(self, prompts: int = 6) -> dict[str, list[Noise]]:
        """Measure the engines' own noise on some of the study's prompts, and keep it for the report.

        Args:
            prompts: How many, spread over the study. Each is asked about eight times of each model.

        Returns:
            By model, a comparison with a cold engine for each way of asking.

        Raises:
            QuaverError: It is no number of prompts.
        """
        found = measured_noise(self._resolved, prompts)
        self._files.write_noise({name: [asdict(row) for row in rows] for name, rows in found.items()})
        return found

    @property
    def noise_is_known(self) -> bool:
        """Whether the engines' own noise has been measured for this study."""
        return self._files.has_noise

    def known_noise(self) -> dict[str, list[dict[str, Any]]]:
        """The engines' own noise by model, as it was measured; empty where it was not."""
        return self._files.read_noise()

    def repair(self) -> Repaired:
        """Put a damaged store right; what cannot be read any more is asked again by the next run.

        Returns:
            What was saved and lost, and where the damaged file is kept.

        Raises:
            StoreError: Nothing is stored, nothing of it can be read, or another process collects.
        """
        return repair(self._resolved)

    # ---------------------------------------------------------------------- score

    @guarded
    def rescore(self, evaluators: Sequence[str] | None = None) -> pl.DataFrame:
        """Read the stored answers with evaluators; nothing is asked.

        Args:
            evaluators: Registered names; the study's own evaluators by default.

        Returns:
            The annotation frame, which is kept as ``annotations.parquet``.

        Raises:
            StoreError: Nothing is stored yet.
            UnknownName: No evaluator of that name is registered.
        """
        return rescore(self._resolved, evaluators)

    def annotations(self) -> pl.DataFrame:
        """The annotation frame (columns: ``records.ANNOTATION_COLUMNS``, factors, groups).

        Made where it is missing, and anew where answers came in or the study changed since; what
        ``rescore`` was told to read with stays until then. ``.to_pandas()`` gives a pandas frame.

        Raises:
            StoreError: Nothing is stored yet.
        """
        kept = kept_annotations(self._resolved)
        return self.rescore() if kept is None else kept

    @guarded
    def export(self, path: str | Path) -> int:
        """Write every answered call with its readings to a file (the columns: ``call_export.export``).

        Args:
            path: The file, ``.jsonl``, ``.csv`` or ``.parquet``.

        Returns:
            How many calls were written.

        Raises:
            StoreError: Nothing is stored yet, or the file cannot be written.
        """
        from quaver.study.analysis.call_export import export

        annotations = self.annotations()
        with self._resolved.answers() as store:
            return export(Path(path), store, self.experiment, annotations)

    @guarded
    def raw_answers(self, items: Collection[str]) -> pl.DataFrame:
        """The stored answers to some items, as they came: a row each, with its condition and ``output``.

        Args:
            items: Their ids.

        Returns:
            No row where there are labels only.
        """
        from quaver.study.analysis.call_export import raw_answers

        if not self._files.responses.exists():
            columns = ("model", "variant", "decoding", "item", "repeat", "output")
            return pl.DataFrame(schema=dict.fromkeys(columns, pl.String) | {"repeat": pl.Int32})
        with self._resolved.answers() as store:
            return raw_answers(store, self.experiment, items)

    # -------------------------------------------------------------------- measure

    @guarded
    def measure(self, name: str, **options: Any) -> Estimates:
        """One measure of the annotations.

        Args:
            name: A registered measure, such as ``inter_pss``.
            **options: ``by``, ``evaluator`` and the measure's own, as the study file takes them. Those that
                the study file gives this measure hold for what is not given here; where it names the measure
                more than once, it is measured as often.

        Returns:
            An estimate for each cell.

        Raises:
            UnknownName: No measure, column or evaluator of that name exists.
            SpecError: The measure has no such option, or not with this value.
            MeasureError: The annotations do not allow it.
        """
        frame = self.measurable()
        asked = [measurement(self._resolved, one, frame) for one in measures_of(self.spec, name, options)]
        return Estimates(
            found for one in told_apart(asked) for found in one.of(seen_by(self._resolved, one, frame))
        )

    @guarded
    def estimates(self, names: str | Sequence[str] | None = None) -> Estimates:
        """The study's measures, as its file asks for them.

        Args:
            names: Only these, or this one; one that the file does not name is taken with its defaults.

        Returns:
            The estimates of each measure, in the file's order. One that cannot be taken is undefined, and
            says why; ``measure`` raises it.

        Raises:
            StoreError: Nothing is stored yet.
            UnknownName: No measure of that name is registered.
        """
        frame = self.measurable()
        return Estimates(
            found for one in self.measurements(names, frame) for found in taken(self._resolved, one, frame)
        )

    def audit(self) -> Estimates:
        """How the answers were read, whatever the study's file asks for (see `analysis.audit_measures`)."""
        frame = self.measurable()
        return Estimates(found for one in audit(self._resolved, frame) for found in one.or_why(frame))

    def pictured(self) -> Estimates:
        """What the report's charts show beyond what the file asks for (see `analysis.chart_estimates`)."""
        frame = self.measurable()
        from quaver.study.analysis.chart_estimates import moved, pictured

        seed, evaluators = self.spec.seed, [one.title for one in self.spec.evaluators]
        found = pictured(self.measurements(None, frame), frame, seed)
        return Estimates([*found, *moved(self.experiment, evaluators, frame, seed)])

    def quality(self) -> Quality:
        """Whether the answers can be judged at all: which calls failed, which answers have no label.

        The same gate opens a report; ``quaver run``, ``status`` and ``measure`` print it
        (`quaver.report.findings.quality_gate.quality_lines`).

        Raises:
            StoreError: Nothing is stored yet.
        """
        from quaver.study.analysis.chart_estimates import answered

        evaluators = [one.title for one in self.spec.evaluators]
        return quality(answered(self.experiment, evaluators, self.measurable(), self.spec.seed))

    @guarded
    def measurements(
        self, names: str | Sequence[str] | None = None, frame: pl.DataFrame | None = None
    ) -> list[Measurement]:
        """The study's measures, to be taken of any frame of its shape.

        Args:
            names: Only these, or this one; one that the file does not name comes with its defaults.
            frame: The annotations that they will be taken of; the study's own if left out.

        Returns:
            The measures with their options; ``of(frame)`` gives the estimates.
        """
        wanted = (names,) if isinstance(names, str) else names
        return measurements(self._resolved, wanted, self.measurable() if frame is None else frame)

    def measurable(self) -> pl.DataFrame:
        """The annotations, less those of evaluators that had nothing to read in a decoding.

        Raises:
            StoreError: Nothing is stored yet.
        """
        return with_something_to_read(self._resolved, self.annotations())

    @guarded
    def sizes(self, width: float, measure: str | None = None) -> Sizing:
        """How many items, paraphrases and repeats an interval of a width takes.

        By the stored answers where there are any, else from stated assumptions.

        Args:
            width: Of a 95% interval, from end to end.
            measure: A registered measure; by default the study's first that has an interval by a rule.

        Returns:
            What is needed of each, and why; it prints as a line for each.

        Raises:
            MeasureError: It is no width.
            UnknownName: No measure of that name is registered.
        """
        lacking = self.spec.annotations is None and lacks_paraphrases(self._resolved)
        answered = 0 if lacking else self.status()[0].answered
        return sizes(self._resolved, width, measure, self.measurable() if answered else None)

    # --------------------------------------------------------------------- report

    @property
    def results(self) -> Path:
        """Where the report, its figures and its tables go."""
        return self.folder

    def report(self, folder: str | Path | None = None) -> Path:
        """Write ``report.html``, ``estimates.csv``, ``figures/`` and ``tables/``.

        Args:
            folder: Where to; the study's own folder if left out.

        Returns:
            The report's path.

        Raises:
            StoreError: Nothing is stored yet.
        """
        from quaver.report.page.html_page import write_report
        from quaver.study.analysis.chart_estimates import unlike
        from quaver.study.analysis.report_evidence import (
            StoredBehind,  # the charts' libraries are slow to load
        )

        frame = self.measurable()

        with ExitStack() as opened:
            stored = self._files.responses.exists()
            store = opened.enter_context(self._resolved.answers()) if stored else None
            path = write_report(
                self.results if folder is None else Path(folder),
                lock=self.lock() | {"collection": self._collection()},
                annotations=frame,
                estimates=self.estimates(),
                noise=self.known_noise(),
                audit=[*self.audit(), *self.pictured()],
                unlike=unlike([one.title for one in self.spec.evaluators], frame),
                behind=StoredBehind(
                    self.experiment, store, self.prices, self._resolved.spent_on_paraphrases()
                ),
            )
        check_outgoing(written_report(path))
        return path

    @guarded
    def charts(self, width: int = 720) -> dict[str, Any]:
        """The report's charts by name, as Altair objects that can be shown, changed and saved.

        Args:
            width: In pixels.

        Returns:
            The charts by name, in the report's order.

        Raises:
            StoreError: Nothing is stored yet.
            QuaverError: It is no width.
        """
        from quaver.report.charts.drawn import charts  # the charts' libraries are slow to load

        return charts(
            lock=self.lock(),
            annotations=self.measurable(),
            estimates=self.estimates(),
            further=self.pictured(),
            width=width,
        )

    def _collection(self) -> dict[str, Any]:
        """How the answers came together, for the report's method."""
        if not self._files.responses.exists():
            return {}
        now, rounds = self.standing(), self._files.read_rounds()
        return {
            "reused": dict(now.reused),
            "warnings": now.warnings,
            "rounds": rounds_in_words(**rounds) if rounds and self.spec.until else "",
            "answered": now.answered,
            "total": now.total,
        }

    def own_files(self) -> list[Path]:
        """The study file, its table of items or annotations, and paraphrases.json, where there are such."""
        own = self.spec.annotations or self.spec.items
        source = self._resolved.source
        files = [source.path, source.home / own.source, self._files.paraphrases]
        return [file for file in files if file is not None and file.is_file()]

    def covariates(self) -> set[str]:
        """The items' fields that are no texts: groups, gold labels, what conclusions are drawn about."""
        own = self.spec.annotations or self.spec.items
        return {*own.groups, *([own.gold.column] if own.gold else []), *concluded_about(self.spec)}

    def lock(self) -> dict[str, Any]:
        """What the study resolved to: the document of ``study.lock.json``."""
        return self._resolved.lock()


def _study(
    kind: type[Study],
    spec: StudySpec,
    source: Source,
    folder: Path,
    functions: Mapping[str, Annotate] | None,
) -> Study:
    """A study of a kind, or one of annotations that exist already."""
    if spec.annotations is None:
        return kind(Resolved(spec, source, folder, functions or {}))
    if spec.has_labels_only:
        from quaver.study.sources.labels_source import ImportedStudy, Labels

        return ImportedStudy(Labels(spec, source, folder, functions or {}))
    from quaver.study.sources.answers_source import Answers, ImportedAnswers

    return ImportedAnswers(Answers(spec, source, folder, functions or {}))
