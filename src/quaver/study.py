"""A study from its file to its report: the one place where the stages are put together."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from functools import cached_property
from hashlib import blake2b
from inspect import getdoc
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import polars as pl

from quaver.auditing import audited
from quaver.collect.budget import Price
from quaver.collect.journal import Journal
from quaver.collect.noise import Noise, engine_noise
from quaver.collect.runner import Outcome, Progress
from quaver.collect.sole_writer import sole_writer, who_collects
from quaver.collect.store import Counts, Store
from quaver.collecting import Collecting, reused_folders
from quaver.concluding import CONCLUSIONS, Conclusions, concluded_about
from quaver.design.edits import Edit
from quaver.design.experiment import Experiment, resolve
from quaver.design.lock_file import fingerprint, lock_document, original_messages
from quaver.design.plan import Plan
from quaver.design.prompts import messages_of
from quaver.design.small import write_small
from quaver.design.spec import MeasureSpec, StudySpec, UntilSpec
from quaver.design.study_file import Source, read_study
from quaver.errors import ModelError, SpecError, StoreError
from quaver.folder import StudyFolder
from quaver.forecast import Forecast, forecast
from quaver.measure import compared_by
from quaver.models import Model, Placed, Probed
from quaver.models.fit import check_abilities, needs_of
from quaver.notebook import Estimates
from quaver.picturing import pictured
from quaver.plugins import Annotate, Measurement, Plugins
from quaver.prices import COMPARED, check_money, prices, prices_of
from quaver.records import ANNOTATION_COLUMNS, Call, Request
from quaver.rounds import (
    Design,
    Part,
    Round,
    collect_in_rounds,
    rounds_document,
    rounds_in_words,
    together,
    widest,
)
from quaver.score.annotate import Annotator, annotate
from quaver.seeds import derive
from quaver.shown import ShownVariant, marked_messages, origin_in_words
from quaver.sizing import Sizing, assumed_sizes, measured_sizes
from quaver.standing import Standing, standing
from quaver.text_table import read_edits, write_texts
from quaver.wordings import KeptWordings

__all__ = ["Study"]


class Study:
    """One experiment on one set of items, and its folder.

    Use ``Study.open``. The folder holds what the stages leave: ``study.yaml``, ``study.lock.json``,
    ``responses.db``, ``annotations.parquet``, ``estimates.csv``, ``report.html``, ``figures/``.
    """

    def __init__(
        self, spec: StudySpec, source: Source, folder: Path, functions: Mapping[str, Annotate]
    ) -> None:
        self._plugins = Plugins(spec, source, functions)
        self.spec = self._plugins.with_follow_ups()
        self.folder = folder
        self._files = StudyFolder(folder)
        self._source = source

    @classmethod
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

        Raises:
            SpecError: The study cannot be read.
            StoreError: The bundle cannot, or is not as it was packed.
        """
        if isinstance(study, Mapping):
            spec, source = read_study(study)
            return _kind(cls, spec)(spec, source, Path(folder or spec.name), functions or {})
        path = Path(study)
        if path.suffix == ".zip":
            from quaver.bundling import open_bundle

            return open_bundle(path, folder)
        if path.is_dir():
            whole = path.resolve()  # "." has no name
            beside = whole.parent / f"{whole.name}.yaml"
            path = beside if beside.is_file() and not (path / "study.yaml").exists() else path / "study.yaml"
        spec, source = read_study(path)
        home = path.parent if path.name == "study.yaml" else path.with_suffix("")
        return _kind(cls, spec)(spec, source, Path(folder) if folder else home, functions or {})

    def small(self) -> Study:
        """The study's small version, by the key ``small`` of its file: a study of its own.

        It stands beside the file as ``NAME.small.yaml``, with a folder of its own.

        Raises:
            SpecError: The study is not a file, or says nothing of a small version.
        """
        return Study.open(write_small(self._source), functions=self._plugins.functions)

    # -------------------------------------------------------------------- design

    @cached_property
    def experiment(self) -> Experiment:
        """Items, variants, decodings and conditions, loaded and checked.

        Raises:
            SpecError: The study contradicts itself, or has wordings that have not been made yet.
        """
        return resolve(self.spec, self._source, self._wordings)

    def make_wordings(
        self, *, again: bool = False, watch: Callable[[str], None] = lambda _: None
    ) -> list[str]:
        """Have the wordings made that a model is to make, and that the folder does not hold yet.

        Args:
            again: Make all of them anew, and forget the edits made by hand.
            watch: Called with what is about to be made.

        Returns:
            What was made, in words; ``run`` and ``plan`` make what is missing, too.

        Raises:
            ModelError: A model gave fewer than are wanted, or is of no use; what came is kept.
        """
        if self.spec.annotations is not None or not (again or self._lacks_wordings()):
            return []
        self._plugins.check_named()  # before anything is paid
        self._files.make()
        with sole_writer(self.folder):
            self._wordings.make(again=again, watch=watch)
            try:
                made = resolve(self.spec, self._source, self._wordings)
            finally:
                self._wordings.rest()
        self._forget()
        self.__dict__["experiment"] = made
        return self._wordings.made

    def _lacks_wordings(self) -> bool:
        """Whether the study is good but for wordings that have not been made yet."""
        try:
            _ = self.experiment
        except SpecError:
            if self._wordings.lacking:
                return True
            raise
        return False

    def export_wordings(self, path: str | Path) -> int:
        """Write every text that the variants bring to a table (CSV) that a person can edit.

        Returns:
            How many texts there are.

        Raises:
            StoreError: The file cannot be written.
        """
        return write_texts(Path(path), self.experiment.editable)

    def import_wordings(self, path: str | Path) -> list[Edit]:
        """Take over the edits made in a table that ``export_wordings`` wrote.

        Returns:
            What was changed. The folder keeps it with what stood there before, and so does the lock file.

        Raises:
            SpecError: A row is missing, unknown or empty, or an edited text is no template for this study.
        """
        edits = read_edits(Path(path), self.experiment.editable)
        if edits:
            resolve(self.spec, self._source, self._wordings.with_edits(edits))
            self._files.make()
            with sole_writer(self.folder):
                self._wordings.add_edits(edits)
            self._forget()
        return edits

    def variants(self) -> Iterator[ShownVariant]:
        """Every variant, filled in with the first item, and marked where it differs from the original."""
        experiment = self.experiment
        original = original_messages(experiment)
        for variant in experiment.variants:
            messages = messages_of(variant, experiment.labels, experiment.items[0])
            origin = origin_in_words(variant.origin, variant.covariates)
            yield ShownVariant(variant.id, origin, marked_messages(original, messages))

    def _forget(self) -> None:
        """Resolve anew what depends on the wordings."""
        for name in ("experiment", "models", "prices", "_served", "_plan", "_fingerprint"):
            self.__dict__.pop(name, None)

    @cached_property
    def _wordings(self) -> KeptWordings:
        return KeptWordings(self._files, lambda asked: self._plugins.one_model(asked, self._engines))

    @cached_property
    def _engines(self) -> dict[str, Model]:
        return self._plugins.models()

    @cached_property
    def models(self) -> dict[str, Model]:
        """The study's models by name, none of them loaded yet.

        Raises:
            UnknownName: No engine of that name is registered.
            ModelError: Weights are missing.
        """
        models = self._engines
        experiment = self.experiment
        asked = {f"decoding.{name}": decoding for name, decoding in experiment.decodings.items()}
        for name, one in experiment.follow_ups.items():
            decoding = one.decoding(experiment.variants[0])
            asked[f"follow_ups.{name}"] = replace(decoding, logprobs=min(1, decoding.logprobs))
        quoting = {
            f"follow_ups.{name}": one.continues
            for name, one in experiment.follow_ups.items()
            if one.quotes_answer
        }
        with self._source.locating():
            check_abilities(models, asked, experiment.variants, quoting, self._own_seed)
        for model in models.values():
            if isinstance(model, Placed):
                model.place(experiment.conditions, [item.id for item in experiment.items])
        return models

    @cached_property
    def _served(self) -> dict[str, dict[str, Any]]:
        """Identity and provenance of each model: as it is, or as it was where it is not here any more.

        What is stored can so be read and measured without the weights, the key or the function.
        """
        try:
            models = self.models
        except ModelError:
            known = self._files.read_lock().get("models", {})
            if set(known) == {model.name for model in self.spec.models}:
                return dict(known)
            raise
        served: dict[str, dict[str, Any]] = {}
        for name, model in models.items():
            facts = {"identity": model.identity(), "logprobs": model.abilities.logprobs, **model.provenance()}
            if isinstance(model, Probed):  # what was found out when it was last tried
                known = self._files.read_lock().get("models", {}).get(name, {})
                facts = {**(known if known.get("identity") == facts["identity"] else {}), **facts}
            served[name] = facts
        return served

    @cached_property
    def _plan(self) -> Plan:
        return Plan(
            self.experiment,
            {name: str(facts["identity"]) for name, facts in self._served.items()},
            {name: int(facts.get("logprobs", 0)) for name, facts in self._served.items()},
        )

    @cached_property
    def prices(self) -> dict[str, Price | None]:
        """What the study's models cost, by name; None where nobody knows it.

        Raises:
            UnknownName: The study file names a price that does not exist.
        """
        try:
            models = self.models
        except ModelError:  # what is stored can be reckoned without the key
            models = {}
        return prices(self.spec, models, self._source)

    def _check(self) -> None:
        """Find what is wrong with the study before anything is asked."""
        self._plugins.check(self._factors)
        self._conclusions.check()
        check_money(self.prices, self.spec, self._source)
        reused_folders(self.spec, self._source)
        if self.spec.until is not None:
            asked = self._asked_until(self.spec.until)
            self._plugins.measure(asked, ("until",))
            columns = [*ANNOTATION_COLUMNS, *self._factors, *self.spec.items.groups]
            self._plugins.check_names(asked, columns, list(self._plugins.evaluators()), ("until",))

    def plan(self, *, pilot: int = 0, compare: Sequence[str] = COMPARED) -> Forecast:
        """What the study will take: calls, tokens, time, cost.

        Args:
            pilot: Ask this many requests of each model first, spread over the study, and store their answers,
                so that time and tokens are measured.
            compare: Other models, as genai-prices names them, to say what the study would cost on them.

        Raises:
            UnknownName: Nobody knows the price of one of these.
        """
        self.make_wordings()
        self._check()
        compared = prices_of(compare)
        if pilot:
            self.run(requests=pilot)
        if not self._files.responses.exists():
            return forecast(self._plan, self.models, {}, self.prices, compared)
        with self._answers() as store:
            return forecast(self._plan, self.models, store.usage(), self.prices, compared)

    # ------------------------------------------------------------------- collect

    def run(
        self,
        *,
        watch: Callable[[Progress], None] = lambda _: None,
        retry_errors: bool = False,
        requests: int | None = None,
        events: TextIO | None = None,
    ) -> Outcome:
        """Ask whatever has not been asked yet, and store the answers.

        Args:
            watch: Called with the progress as responses are stored.
            retry_errors: Ask again for what ended in an error; an error gives way to an answer only.
            requests: Send at most this many requests of each model, spread over the study.
            events: Where a line of JSON is written for everything that happens (``collect.journal``).

        Returns:
            How the run ended; Ctrl-C and a spent budget are ends, not errors.

        Raises:
            StoreError: Another process collects for this study, or the disk is full.
            ModelError: A model is of no use.
            SpecError: More is spent already than the budget allows.
        """
        self.make_wordings()
        experiment, models = self.experiment, self.models
        self._files.make()
        with sole_writer(self.folder), self._files.store() as store:
            self._place(store)
            self._files.write_lock(self.lock())
            counts = store.counts()
            before = counts.answered - (counts.errors if retry_errors else 0)
            total = experiment.calls - store.unfollowed(errors=not retry_errors)
            if before == total:
                return Outcome("finished", before, before, 0, 0, 0.0)
            self._check()
            self._try_servers()
            ids = [item.id for item in experiment.items]
            journal = Journal(self._files.log, events, conditions=experiment.conditions, items=ids)
            collecting = Collecting(
                self._plan,
                models,
                store,
                self.spec,
                self._source,
                self.prices,
                journal=journal,
                watch=watch,
                following=self._plan.following if self._quotes_answers else None,
                retry_errors=retry_errors,
            )
            if self.spec.until is None or requests is not None:
                outcome = collecting.ask(most=requests)
            else:
                outcome = self._run_in_rounds(self.spec.until, collecting, journal)
            journal.ended(outcome)
        return outcome

    def _try_servers(self) -> None:
        """Try on models that are servers what is going to be asked; the lock says what was found."""
        experiment = self.experiment
        follow_ups = [one.decoding(experiment.variants[0]) for one in experiment.follow_ups.values()]
        for name, model in self.models.items():
            if isinstance(model, Probed):
                most = model.abilities.logprobs
                decodings = [replace(one, logprobs=min(one.logprobs, most)) for one in follow_ups]
                decodings += experiment.decodings.values()
                repeats = max(c.repeats for c in experiment.conditions if c.model == name)
                model.probe(needs_of(decodings, experiment.variants, repeats, self._own_seed))
                self._served[name] |= model.provenance()
        self._files.write_lock(self.lock())

    @property
    def _own_seed(self) -> int:
        """Of decodings that ask for none."""
        return derive(self.spec.seed, "decoding")

    def _run_in_rounds(self, until: UntilSpec, collecting: Collecting, journal: Journal) -> Outcome:
        """Collect until an interval is narrow enough."""
        design, asked = Design(self.experiment, self.spec.seed), self._asked_until(until)
        outcomes: list[Outcome] = []

        def ask(part: Part) -> Outcome:
            outcomes.append(collecting.ask(keep=lambda request: design.request(part, request)))
            return outcomes[-1]

        def width(part: Part) -> float | None:
            frame = design.annotations(part, self.measurable())
            found = self._measurement(asked, frame, ("until",)).of(frame)
            return widest(found, until.differing)

        def tell(number: int, one: Round) -> None:
            journal.round(number, str(one), **one.document())

        rounds, last = collect_in_rounds(until, design, ask, width, tell)
        self._files.write_rounds(rounds_document(until, rounds, last))
        return together([*outcomes[:-1], last])

    def _asked_until(self, until: UntilSpec) -> MeasureSpec:
        evaluator = until.evaluator or self.spec.evaluators[0].title
        return MeasureSpec(use=until.measure, by=until.by, evaluator=evaluator, **until.options)

    def standing(self) -> Standing:
        """What is answered, spent and failed, and how fast it goes. May be asked while it runs."""
        experiment, process = self.experiment, who_collects(self.folder)
        conditions, items = experiment.conditions, len(experiment.items)
        ended = self._files.read_rounds().get("ended")
        if not self._files.responses.exists():
            return standing(None, conditions, items, self.prices, process)
        with self._answers() as store:
            return standing(store, conditions, items, self.prices, process, ended)

    def status(self) -> tuple[Counts, int]:
        """What is stored, and how many calls the study has. May be asked while it runs."""
        if not self._files.responses.exists():
            return Counts(0, 0, 0), self.experiment.calls
        with self._answers() as store:
            return store.counts(), self.experiment.calls - store.unfollowed()

    def noise(self, prompts: int = 6) -> dict[str, list[Noise]]:
        """Measure the engines' own noise on some of the study's prompts, and keep it for the report.

        Args:
            prompts: How many, spread over the study. Each is asked about eight times of each model.
        """
        found: dict[str, list[Noise]] = {}
        for name, model in self.models.items():
            found[name] = engine_noise(model, self._spread_requests(name, prompts))
        self._files.write_noise({name: [asdict(row) for row in rows] for name, rows in found.items()})
        return found

    @property
    def noise_is_known(self) -> bool:
        """Whether the engines' own noise has been measured for this study."""
        return self._files.has_noise

    def known_noise(self) -> dict[str, list[dict[str, Any]]]:
        """The engines' own noise by model, as it was measured; empty where it was not."""
        return self._files.read_noise()

    def _spread_requests(self, model: str, prompts: int) -> list[Request]:
        first = next(iter(self.spec.decoding))
        wanted = (r for r in self._plan.requests(model) if r.decoding.name == first)
        step = max(1, self._plan.survey.prompts // prompts)
        return list(islice(wanted, 0, step * prompts, step))

    # ---------------------------------------------------------------------- score

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
        experiment = self.experiment
        annotator = Annotator(
            conditions=experiment.conditions,
            items=experiment.items,
            variants={variant.id: variant for variant in experiment.variants},
            labels=experiment.labels,
            evaluators=self._plugins.evaluators(evaluators),
            decodings=experiment.decodings,
            of=self._readable(self._plugins.follow_ups(evaluators)),
        )
        with self._answers() as store:
            frame = annotate(store.read(), annotator, self._files.annotations).collect()
            store.note("annotations", self._scoring_mark(store))
        return frame

    def _readable(self, of: Mapping[str, str]) -> Mapping[str, str]:
        """The follow-ups that evaluators read, all of them in the study."""
        for evaluator, name in of.items():
            if name not in self.experiment.follow_ups:
                raise StoreError(
                    f"the evaluator {evaluator!r} reads calls that this study has not made",
                    where=str(self.folder),
                    expected=f"the follow-up {name!r}",
                    found=", ".join(self.experiment.follow_ups) or "no follow-ups",
                    fix=f"put {evaluator} among the study's evaluators, then quaver run",
                )
        return of

    @property
    def _quotes_answers(self) -> bool:
        return any(one.quotes_answer for one in self.experiment.follow_ups.values())

    def annotations(self) -> pl.DataFrame:
        """The annotation frame (columns: ``records.ANNOTATION_COLUMNS``, factors, groups).

        Made where it is missing, and anew where answers came in or the study changed since; what
        ``rescore`` was told to read with stays until then. ``.to_pandas()`` gives a pandas frame.

        Raises:
            StoreError: Nothing is stored yet.
        """
        with self._answers() as store:
            fresh = store.noted("annotations") == self._scoring_mark(store)
        if fresh and self._files.annotations.exists():
            return pl.read_parquet(self._files.annotations)
        return self.rescore()

    def _scoring_mark(self, store: Store) -> str:
        """Changes with the calls, the stored answers and the study's evaluators."""
        told: list[Any] = [asked.model_dump() for asked in self.spec.evaluators]
        told.append([dict(variant.covariates) for variant in self.experiment.variants])
        text = json.dumps(told, sort_keys=True, default=str)
        return f"{self._fingerprint} {store.state()} {blake2b(text.encode(), digest_size=16).hexdigest()}"

    def export(self, path: str | Path) -> int:
        """Write every answered call with its readings to a file (the columns: ``quaver.export.export``).

        Args:
            path: The file, ``.jsonl``, ``.csv`` or ``.parquet``.

        Returns:
            How many calls were written.

        Raises:
            StoreError: Nothing is stored yet, or the file cannot be written.
        """
        from quaver.export import export

        annotations = self.annotations()
        with self._answers() as store:
            return export(Path(path), store, self.experiment, annotations)

    def raw_answers(self, items: Collection[str]) -> pl.DataFrame:
        """The stored answers to some items, as they came: a row each, with its condition and ``output``.

        Args:
            items: Their ids.

        Returns:
            No row where there are labels only.
        """
        from quaver.export import raw_answers

        if not self._files.responses.exists():
            columns = ("model", "variant", "decoding", "item", "repeat", "output")
            return pl.DataFrame(schema=dict.fromkeys(columns, pl.String) | {"repeat": pl.Int32})
        with self._answers() as store:
            return raw_answers(store, self.experiment, items)

    # -------------------------------------------------------------------- measure

    def measure(self, name: str, **options: Any) -> Estimates:
        """One measure of the annotations.

        Args:
            name: A registered measure, such as ``inter_pss``.
            **options: ``by``, ``evaluator`` and the measure's own, as the study file takes them.

        Raises:
            UnknownName: No measure, column or evaluator of that name exists.
            MeasureError: The annotations do not allow it.
        """
        frame = self.measurable()
        return Estimates(self._measurement(MeasureSpec(use=name, **options), frame, ("measures",)).of(frame))

    def estimates(self, names: Sequence[str] | None = None) -> Estimates:
        """The study's measures, as its file asks for them.

        Args:
            names: Only these; one that the file does not name is taken with its defaults.
        """
        frame = self.measurable()
        return Estimates(one for asked in self.measurements(names, frame) for one in asked.of(frame))

    def audit(self) -> Estimates:
        """How the answers were read, whatever the study's file asks for (see `quaver.auditing`)."""
        frame = self.measurable()
        evaluators = self._plugins.evaluators().items()
        stated = [name for name, one in evaluators if getattr(one, "reads", "") == "pair"]
        asked = audited(frame, self._factors, stated)
        taken = (self._measurement(one, frame, ("measures",)) for one in asked)
        return Estimates(found for one in taken for found in one.of(frame))

    def pictured(self) -> Estimates:
        """What the report's charts show beyond what the file asks for (see `quaver.picturing`)."""
        frame = self.measurable()
        return Estimates(pictured(self.measurements(None, frame), frame, self.spec.seed))

    def measurements(
        self, names: Sequence[str] | None = None, frame: pl.DataFrame | None = None
    ) -> list[Measurement]:
        """The study's measures, to be taken of any frame of its shape.

        Args:
            names: Only these; one that the file does not name comes with its defaults.
            frame: The annotations that they will be taken of; the study's own if left out.
        """
        frame = self.measurable() if frame is None else frame
        asked: list[tuple[tuple[str | int, ...], MeasureSpec]] = [
            (("measures", index), one) for index, one in enumerate(self.spec.measures)
        ]
        concluded = self._conclusions.measurements(names)
        names = [one for one in names if one != CONCLUSIONS or not concluded] if names is not None else None
        if names is not None:
            known = {one.use for _, one in asked}
            asked = [(loc, one) for loc, one in asked if one.use in names]
            asked += [(("measures",), MeasureSpec(use=name)) for name in names if name not in known]
        return [*(self._measurement(one, frame, loc) for loc, one in asked), *concluded]

    @property
    def _conclusions(self) -> Conclusions:
        return Conclusions(self.spec, self._source, self.experiment)

    def measurable(self) -> pl.DataFrame:
        """The annotations, less those of evaluators that had nothing to read in a decoding.

        Raises:
            StoreError: Nothing is stored yet.
        """
        frame = self.annotations()
        blind = [name for name, one in self.experiment.decodings.items() if not one.logprobs]
        elsewhere = self._plugins.follow_ups()
        readers = [
            name
            for name, one in self._plugins.evaluators().items()
            if getattr(one, "reads", "") == "tokens" and name not in elsewhere
        ]
        evaluator, decoding = pl.col("evaluator").cast(pl.String), pl.col("decoding").cast(pl.String)
        return frame.filter(~(evaluator.is_in(readers) & decoding.is_in(blind)))

    def _measurement(
        self, asked: MeasureSpec, frame: pl.DataFrame, loc: tuple[str | int, ...]
    ) -> Measurement:
        plugin, options = self._plugins.measure(asked, loc)
        evaluators = frame["evaluator"].unique().cast(pl.String).to_list()
        self._plugins.check_names(asked, frame.columns, evaluators, loc)
        compared = compared_by(plugin, options)
        apart = ("evaluator",) if "evaluator" not in (*compared, *(asked.by or ())) else ()
        by = (*apart, *asked.columns(self._factors, compared))
        if "evaluator" in compared and not frame.is_empty():
            first = asked.evaluator or str(frame["evaluator"][0])
            options = options if options.get("second") == first else {"first": first, **options}
        seed = derive(self.spec.seed, "bootstrap", asked.use)
        options = {"labels": self.experiment.labels, "by": by, "seed": seed, **options}
        return Measurement(asked.use, plugin, asked.evaluator, options, asked.flagged, asked.only)

    @property
    def _factors(self) -> list[str]:
        """The columns that the variants fill: their factors and covariates."""
        named = ((*one.factors, *one.covariates) for one in self.experiment.variants)
        return list(dict.fromkeys(name for names in named for name in names))

    def sizes(self, width: float, measure: str | None = None) -> Sizing:
        """How many items, wordings and repeats an interval of a width takes.

        By the stored answers where there are any, else from stated assumptions.

        Args:
            width: Of a 95 % interval, from end to end.
            measure: A registered measure; by default the study's first that has an interval by a rule.

        Raises:
            MeasureError: It is no width.
            UnknownName: No measure of that name is registered.
        """
        named = [one.use for one in self.spec.measures]
        known = [name for name in named if name in ("accuracy", "inter_pss", "intra_pss")]
        measure = measure or next(iter([*known, *named]), "accuracy")
        if not self.status()[0].answered:
            return assumed_sizes(measure, width, len(self.experiment.labels.labels))
        frame = self.measurable()
        if not any(one.use == measure for one in self.spec.measures):
            return measured_sizes(
                self._measurement(MeasureSpec(use=measure), frame, ("measures",)), frame, width
            )
        return measured_sizes(self.measurements([measure], frame)[0], frame, width)

    # --------------------------------------------------------------------- report

    def report(self) -> Path:
        """Write ``report.html``, ``estimates.csv``, ``figures/`` and ``tables/``.

        Returns:
            The report's path.

        Raises:
            StoreError: Nothing is stored yet.
        """
        from quaver.behind import StoredBehind  # the charts' libraries are slow to load
        from quaver.report import write_report

        with ExitStack() as opened:
            stored = self._files.responses.exists()
            store = opened.enter_context(self._answers()) if stored else None
            return write_report(
                self.folder,
                lock=self.lock() | {"collection": self._collection()},
                annotations=self.measurable(),
                estimates=self.estimates(),
                noise=self.known_noise(),
                audit=[*self.audit(), *self.pictured()],
                behind=StoredBehind(self.experiment, store, self.prices),
            )

    def charts(self, width: int = 720) -> dict[str, Any]:
        """The report's charts by name, as Altair objects that can be shown, changed and saved.

        Args:
            width: In pixels.

        Raises:
            StoreError: Nothing is stored yet.
        """
        from quaver.report.drawn import charts  # the charts' libraries are slow to load

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
            "changed": list(now.configurations_changed),
            "rounds": rounds_in_words(**rounds) if rounds and self.spec.until else "",
            "answered": now.answered,
            "total": now.total,
        }

    def own_files(self) -> list[Path]:
        """The study file, its table of items or annotations, and wordings.json, where there are such."""
        own = self.spec.annotations or self.spec.items
        files = [self._source.path, self._source.home / own.source, self._files.wordings]
        return [file for file in files if file is not None and file.is_file()]

    def covariates(self) -> set[str]:
        """The items' fields that are no texts: groups, gold labels, what conclusions are drawn about."""
        own = self.spec.annotations or self.spec.items
        return {*own.groups, *([own.gold.column] if own.gold else []), *concluded_about(self.spec)}

    # --------------------------------------------------------------------- inside

    @contextmanager
    def _answers(self) -> Iterator[Store]:
        """The store, with the study's calls in it."""
        if not self._files.responses.exists():
            raise StoreError(
                "nothing has been collected for this study yet", where=str(self.folder), fix="quaver run"
            )
        with self._files.store() as store:
            if not store.placed(self._fingerprint):
                with sole_writer(self.folder):
                    self._place(store)
            yield store

    @cached_property
    def _fingerprint(self) -> str:
        return fingerprint(self.experiment, self._plan.identities)

    def _place(self, store: Store) -> None:
        """See to it that the store's calls are those of the study as it stands."""
        if store.placed(self._fingerprint):
            return
        counts = store.counts()
        calls: Iterator[Call] = iter(())
        if counts.answered + counts.unplaced:
            calls = (call for name in self._served for call in self._plan.calls(name, store.answered))
        ids = [item.id for item in self.experiment.items]
        store.place(self._fingerprint, self.experiment.conditions, ids, calls)

    def lock(self) -> dict[str, Any]:
        """What the study resolved to: the document of ``study.lock.json``."""
        rules = {name: getdoc(type(one)) or "" for name, one in self._plugins.evaluators().items()}
        document = lock_document(self.spec, self.experiment, self._served, rules)
        return document | {"wordings": self._wordings.told()}


def _kind(study: type[Study], spec: StudySpec) -> type[Study]:
    """What a study is, where it asks nothing."""
    if spec.annotations is None:
        return study
    from quaver.imported import ImportedStudy

    return ImportedStudy
