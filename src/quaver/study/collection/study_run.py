"""Running a study: everything checked and forecast first, then asked."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

from quaver.collect.run.journal import Journal
from quaver.collect.run.progress import Outcome, Progress
from quaver.collect.store.batch_rows import StoredBatches
from quaver.collect.store.store_lock import sole_writer
from quaver.core.arguments import guarded
from quaver.core.calls import Request
from quaver.core.media import keep_media
from quaver.core.model import Model, Probed
from quaver.core.number_format import count
from quaver.core.records import Variant
from quaver.core.rows import Rows
from quaver.core.variant_display import Change, marked_messages
from quaver.design.calls.experiment import resolve
from quaver.design.calls.lock_file import original_messages
from quaver.design.prompts.rendering import messages_of
from quaver.design.spec import RunSpec
from quaver.design.spec.study_file import Positions, read_part
from quaver.errors import QuaverError, SpecError
from quaver.study.collection.forecast import Forecast, forecast, paraphrases_to_make
from quaver.study.collection.round_of_calls import Collecting, reused_folders
from quaver.study.sources.prices import check_money
from quaver.study.sources.study_file_source import StudyFile, asking
from quaver.study.sources.study_source import StudySource


class StudyVariants(Rows):
    """The prompt variants of a study, ``study.variants``.

    Iterate to see each variant with its messages by role, filled in with the first item: pieces of text that
    are the same as in the original, gone, or new.

    Args:
        source: The study's source.
    """

    def __init__(self, source: StudySource) -> None:
        self._source = source

    def __len__(self) -> int:
        return len(self._source.experiment.variants)

    def __iter__(self) -> Iterator[tuple[Variant, list[tuple[str, list[Change]]]]]:
        self._source.require("has_texts")
        experiment = self._source.experiment
        original = original_messages(experiment)
        for variant in experiment.variants:
            messages = messages_of(variant, experiment.labels, experiment.items[0])
            yield variant, marked_messages(original, messages)

    def rows(self) -> list[dict[str, Any]]:
        """A row for each variant: its id, the level of each factor, and the prompt for the first item."""
        experiment = self._source.experiment
        return [
            {
                "variant": variant.id,
                **variant.factors,
                "prompt": "\n\n".join(
                    text for _, text in messages_of(variant, experiment.labels, experiment.items[0])
                ),
            }
            for variant in experiment.variants
        ]

    def __repr__(self) -> str:
        return f"<{count(len(self), 'variant')} of {self._source.spec.name!r}>"

    @guarded
    def make(self, *, again: bool = False, watch: Callable[[str], None] = lambda _: None) -> list[str]:
        """Have a model make the paraphrases that the study file asks it for and the folder does not hold yet.

        Args:
            again: Make all of them anew.
            watch: Called with what is about to be made.

        Returns:
            What was made, in words. ``Study.run`` makes what is missing, too.

        Raises:
            StoreError: This source asks no model.
            ModelError: A model gave fewer than are wanted, or is of no use; what came is kept.
            SpecError: The budget has no room for them; what came is kept.
        """
        study = asking(self._source)
        if not (again or study.lacks_paraphrases):
            return []
        study.plugins.check_named()  # before anything is paid
        study.files.make()
        with sole_writer(study.folder):
            study.paraphrases.make(again=again, watch=watch, afford=_affording(study))
            try:
                experiment = resolve(study.decided, study.positions, study.paraphrases, study.files.media)
            finally:
                study.paraphrases.rest()
        study.forget(experiment)
        return study.paraphrases.made


def _affording(study: StudyFile) -> Callable[[Request], None]:
    """Refuses a request for paraphrases that the study's budget has no room for, beside all that is spent."""

    def afford(request: Request) -> None:
        budget = study.remaining_budget()
        used = budget.spent
        if not budget.lets(request):
            raise SpecError(
                "the budget is too small for the paraphrases that a model is to write",
                where=study.positions.where("budget", str(budget.stopped)),
                expected=f"room for {len(request.calls):,} answers of {request.model}, "
                f"each at most {request.decoding.max_tokens:,} tokens long",
                found=f"{used.calls:,} calls, {used.tokens:,.0f} tokens and ${used.money:,.2f} spent already",
                fix="raise the budget, or ask for fewer paraphrases; those that exist are kept",
            )

    return afford


def run_at(spec: RunSpec, instead: Mapping[str, Any] | None) -> RunSpec:
    """Where models are asked: as the study file says, but for what is given instead."""
    if not instead:
        return spec
    return read_part(RunSpec, {**spec.model_dump(), **instead}, Positions(None, {}), ("run",))


def asked_models(study: StudyFile, where: RunSpec) -> Mapping[str, Model]:
    """The models as a run asks them: with Ray, all but those behind a server in its workers."""
    if where.on == "here":
        return study.models
    from quaver.models.ray_workers import RayWorkers

    result: dict[str, Model] = dict(study.models)
    beside: list[RayWorkers] = []
    for name, model in study.models.items():
        if isinstance(model, Probed):
            continue  # a server's rate is kept here
        function = study.plugins.functions.get(name)
        made = RayWorkers(
            model,
            study.plugins.maker(name),
            function,
            address=where.address,
            workers=where.workers,
            gpus=where.gpus_per_worker,
            beside=beside,
        )
        beside.append(made)
        result[name] = made
    return result


_STAND_INS = (
    "Paraphrases that a model is to make have not been made yet, and count as long as the original: "
    "`quaver variants STUDY` makes them and shows them, and so does `quaver run STUDY`."
)


def check(study: StudyFile) -> None:
    """Find what is wrong with a study before anything is asked."""
    study.plugins.check(study.factors, study.experiment.labels, study.experiment.variants)
    study.conclusions.check()
    check_money(study.prices, study.spec, study.positions)
    reused_folders(study.spec, study.positions)


def planned(study: StudyFile, pilot: int, watch: Callable[[Progress], None] | None = None) -> Forecast:
    """Forecast a study's calls, tokens, time and cost, after so many requests of each model.

    Its paraphrases may have yet to be made, and some of its calls may be answered.
    """
    if pilot:
        outcome = run(study, watch or watching_in_notebook(), requests=pilot)
        if outcome.ended == "interrupted":
            raise KeyboardInterrupt
    if study.lacks_paraphrases:
        expected = study.with_stand_ins()
        check(expected)
        left, entries = expected.foreseen_paraphrases(), expected.spent_on_paraphrases()
        expected_costs = forecast(expected.plan, expected.models, {}, expected.prices, entries)
        paraphrases = (*expected_costs.paraphrases, *paraphrases_to_make(left, expected.prices))
        return replace(expected_costs, notes=(*expected_costs.notes, _STAND_INS), paraphrases=paraphrases)
    check(study)
    used: Mapping[str, Mapping[str, float]] = {}
    unfollowed: Mapping[str, int] = {}
    if study.files.responses.exists():
        with study.answers() as store:
            used, unfollowed = store.calls.usage(), study.unfollowed(store)
    made = study.spent_on_paraphrases()
    return forecast(study.plan, study.models, used, study.prices, made, unfollowed)


def run(
    study: StudyFile,
    watch: Callable[[Progress], None],
    *,
    retry_errors: bool = False,
    requests: int | None = None,
    cancel_batches: bool = False,
    where: Mapping[str, Any] | None = None,
    **how: bool,
) -> Outcome:
    """Make paraphrases that are yet to make, ask whatever has not been asked yet, and store the answers.

    Its arguments are those of `Study.run`.
    """
    StudyVariants(study).make()
    experiment = study.experiment
    _ = study.models  # one that cannot be asked is an error, also where nothing is left to ask
    study.files.make()
    with sole_writer(study.folder), study.files.store() as store:
        store.take_in()
        study.place(store)
        study.files.write("study.lock.json", study.lock())
        before = store.calls.answered(errors=not retry_errors)
        total = study.calls - study.unfollowed(store, errors=not retry_errors).total()
        if before == total and not StoredBatches(store).rows():
            return Outcome("finished", before, before, 0, 0, 0.0)
        check(study)
        shown = [*experiment.items, *(one for variant in experiment.variants for one in variant.examples)]
        keep_media(study.files.media, (medium for item in shown for medium in item.media))
        asked = experiment.in_parts
        journal = Journal(study.files.log, asked.conditions, [item.id for item in asked.items])
        models = asked_models(study, run_at(study.spec.run, where))
        collecting = Collecting(study, store, journal, watch, models, retry_errors=retry_errors, **how)
        try:
            outcome = collecting.cancel_batches() if cancel_batches else collecting.ask(requests)
        except QuaverError as error:
            journal.line(f"ended with an error: {error}")
            raise
        finally:
            collecting.close()
        journal.ended(outcome)
        return outcome


_SECONDS = 0.5
"""Between two updates."""


def watching_in_notebook() -> Callable[[Progress], None]:
    """What shows a run's progress: a line in a notebook, nothing anywhere else."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if getattr(shell, "kernel", None) is None:  # a terminal's IPython has no line that is updated
        return lambda _: None
    display: Callable[..., Any] = import_module("IPython.display").display
    shown, last = display({"text/plain": ""}, raw=True, display_id=True), 0.0

    def show(progress: Progress) -> None:
        nonlocal last
        is_over = progress.before + progress.done >= progress.total
        if is_over or time.monotonic() - last >= _SECONDS:
            last = time.monotonic()
            given_up = [f"{name} is given up: {why}" for name, why in progress.given_up.items()]
            shown.update({"text/plain": "\n".join([str(progress), *given_up])}, raw=True)

    return show
