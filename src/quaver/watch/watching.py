"""One look of a watch: the canary asked, its answers compared with the first occasion's, everything kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

from quaver.collect.run.ledger import errors_by_kind
from quaver.collect.store.store_lock import sole_writer
from quaver.core.arguments import guarded
from quaver.errors import ModelError, QuaverError, SpecError
from quaver.study.analysis.annotation_frame import annotator_of
from quaver.study.session import Study
from quaver.study.sources.study_file_source import StudyFile, asking
from quaver.study.sources.study_folder import StudyFolder
from quaver.watch.drift import Alarm, Drift, Looked, Occasion, alarms_of, reached
from quaver.watch.occasions import Canary, CanaryOptions, Occasions, locked, part_of

_UNFINISHED = timedelta(hours=1)
"""A look that was cut off is finished within this time; later, a new one begins."""


@guarded
def watch(study: Study, options: CanaryOptions | None = None, *, renew: bool = False) -> Looked:
    """Take a look: ask the canary, and say whether the answers have drifted since the first occasion.

    The first look locks the canary and is the first occasion. Every look is kept in the study's folder, under
    ``watch``: which prompts were asked when, and each answer whole.

    Returns:
        What this look found, and every alarm since the watch began.
    """
    source = asking(study.source)
    folder = source.files.watch
    files = StudyFolder(folder)
    if folder.exists() and (renew or _begins_anew(files, source, options)):
        folder.rename(folder.with_name(f"{folder.name}-{_now():%Y%m%dT%H%M%S}"))
    files.make()
    budget = source.remaining_budget()
    with sole_writer(folder), files.store() as store:
        store.take_in()
        canary = _canary(files, source, options)
        experiment = part_of(source.experiment.in_parts, canary, source.models)
        evaluators = source.plugins.evaluators()
        first = dict([next(iter(evaluators.items()))])
        annotator = annotator_of(source, first, design=experiment)
        occasions = Occasions(canary, experiment, source.models, store, annotator, budget)
        look = _Look(source, files, canary, occasions)
        look.ask()
        return look.judged()


def _now() -> datetime:
    return datetime.now(UTC)


def _begins_anew(files: StudyFolder, source: StudyFile, options: CanaryOptions | None) -> bool:
    """Whether the first look was never finished, and this one asks something else."""
    with sole_writer(files.path):
        known, looks = files.read("canary.json"), files.read("occasions.json").get("occasions")
        if not known or (looks and looks[0]["ended"]):
            return False
        canary = Canary.read(known)
        return canary != locked(source.experiment.in_parts, options or canary.options, source.spec.seed)


def _canary(files: StudyFolder, source: StudyFile, options: CanaryOptions | None) -> Canary:
    """The canary as it is locked; locked now, on the first occasion."""
    known = files.read("canary.json")
    if not known:
        result = locked(source.experiment.in_parts, options or CanaryOptions(), source.spec.seed)
        files.write("canary.json", result.document())
        return result
    canary = Canary.read(known)
    if options is not None and options != canary.options:
        raise QuaverError(
            "this watch has begun with other options, and stays as it began",
            where=str(files.path / "canary.json"),
            expected=str(asdict(canary.options)),
            found=str(asdict(options)),
            fix="leave the options out, or begin a new watch: `quaver watch STUDY --renew`",
        )
    return canary


class _Look:
    """The look that is taken now."""

    def __init__(self, source: StudyFile, files: StudyFolder, canary: Canary, asked: Occasions) -> None:
        self.source, self.files, self.canary, self.asked = source, files, canary, asked
        self.known: list[dict[str, Any]] = list(self.files.read("occasions.json").get("occasions", ()))
        if not self.known or not self._goes_on(self.known[-1]):
            self.known.append(self._begun(len(self.known)))
            self._write()
        self.now = self.known[-1]

    def _goes_on(self, last: Mapping[str, Any]) -> bool:
        """Whether the last look was cut off, and is to be finished."""
        age = _now() - datetime.fromisoformat(last["time"])
        return not last["ended"] and (last["number"] == 0 or age < _UNFINISHED)

    def _begun(self, number: int) -> dict[str, Any]:
        time = _now().isoformat(timespec="seconds")
        return {
            "number": number,
            "name": f"watch {number} {time}",
            "time": time,
            "ended": False,
            "identities": {name: model.identity() for name, model in self.source.models.items()},
        }

    def _write(self) -> None:
        self.files.write("occasions.json", {"occasions": self.known})

    def ask(self) -> None:
        """Ask this look's part of the canary, and what was answered differently when it was last asked."""
        number, options = self.now["number"], self.canary.options
        part = self.canary.asked_at(number)
        asked = {name: [*part, *self._suspects(name, part)] for name in self.source.models}
        ended = self.asked.ask(number, self.now["name"], asked, range(1 if number else options.first))
        if ended != "finished":
            raise SpecError(
                "the budget ended before this look",
                where=self.source.positions.where("budget", ended),
                expected="room for it, beside what the study and its looks have spent",
                fix="raise the budget and look again: what was answered is kept",
            )
        for model in () if number else self.source.models:
            if not self.asked.answers(model, number):
                self.known.clear()
                self._write()
                raise ModelError(
                    "the first look got no answer, so nothing is locked",
                    where=model,
                    expected="answers to compare later looks with",
                    found=", ".join(errors_by_kind(self.asked.store)) or "none",
                    fix="see that the model answers, then take the look again",
                )
        self.now["ended"] = (
            True  # kept with the alarms: a look that is killed in between is finished by the next
        )

    def _suspects(self, model: str, part: Sequence[int]) -> list[int]:
        """The prompts that a look asks a model besides its part; none once there was an alarm."""
        drift, occasions = self._drift(model, self.known[:-1])
        thresholds = drift.thresholds()
        if any(reached(occasion, thresholds) for occasion in occasions):
            return []
        return [suspect for suspect in drift.suspects() if suspect not in part][
            : self.canary.options.confirmed
        ]

    def _drift(self, model: str, occasions: Sequence[Mapping[str, Any]]) -> tuple[Drift, list[Occasion]]:
        """A model's drift over some occasions from the first one on."""
        drift = Drift(self.canary, len(self.source.models))
        numbers = [occasion["number"] for occasion in occasions]
        found = [drift.take_in(number, self.asked.answers(model, number)) for number in numbers]
        return drift, found

    def judged(self) -> Looked:
        """What the looks so far found of every model."""
        occasions, alarms = dict[str, list[Occasion]](), list[Alarm]()
        for name in self.source.models:
            drift, occasions[name] = self._drift(name, self.known)
            alarms += alarms_of(name, self.known, occasions[name], drift.thresholds())
        self.now["alarms"] = [f"{alarm.model}: {alarm.words}" for alarm in alarms]
        self._write()
        times = [look["time"] for look in self.known]
        return Looked(self.source.spec.name, times, occasions, alarms, self.files.path)
