"""A study's design written down before its results are known, and what was changed since."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from typing import Any, Final

from quaver.collect.run.ledger import ledger
from quaver.core.number_format import count
from quaver.core.rows import Rows
from quaver.design.frozen.freeze_record import (
    Before,
    Entry,
    PartState,
    broken,
    deviations,
    entries_in,
    item_columns,
    parts_of,
    with_entry,
)
from quaver.errors import StoreError
from quaver.study.collection.study_status import answered_calls
from quaver.study.sources.conclusion_measures import concluded_about
from quaver.study.sources.gold_files import GoldFiles
from quaver.study.sources.study_source import StudySource

FILE: Final = "frozen.json"

RULE: Final = (
    "A claim holds where its whole 95% interval lies on the claimed side of its threshold. It is reversed "
    "where the interval lies on the other side, and undecided elsewhere. Where gold labels were drawn by "
    "design, the interval that they correct decides; without them, a verdict is about the model's labels."
)
"""The decision rule of a study with conclusions that names none: the one by which Quaver judges them."""

NO_RULE: Final = "No decision rule was written down."

_LEFT_OUT: Final = "[left out]"
"""What stands in a bundle for a text that was left out."""


@dataclass(frozen=True)
class Frozen(Rows):
    """What was written down beforehand, beside the study as it is now.

    Attributes:
        entries: The freezes, oldest first.
        since_first: Each part of the design beside the first freeze.
        since_last: Each part beside the last one.
        first_answer: When the first answer was stored, in UTC; None where there is none, or it is not known.
        broken: What is wrong with the file itself, in words.
    """

    entries: tuple[Entry, ...]
    since_first: tuple[PartState, ...]
    since_last: tuple[PartState, ...]
    first_answer: str | None = None
    broken: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """The SHA-256 of the last entry, which seals those before it."""
        return self.entries[-1].digest

    @property
    def rule(self) -> str:
        """The decision rule that was frozen first."""
        return self.entries[0].rule

    @property
    def as_frozen(self) -> bool:
        """Whether nothing was changed since the first freeze, as far as it could be checked."""
        return not self.broken and all(part.state != "changed" for part in self.since_first)

    @cached_property
    def headline(self) -> str:
        """When it was frozen, before what, and whether anything changed."""
        first = self.entries[0]
        changed = [one.title for one in self.since_first if one.state == "changed"]
        part = any(one.state == "not checked" for one in self.since_first)
        unchanged = "nothing that can be checked here" if part else "nothing"
        words = f"changed since: {', '.join(changed)}" if changed else f"{unchanged} was changed since"
        return f"Frozen on {_day(first.at)}, {known_before(first.before)}; {words}."

    def rows(self) -> list[dict[str, Any]]:
        """A row for each part: what it is, its state since the first freeze, and what changed."""
        return [
            {"part": first.title, "state": self._state(first, last), "size": first.size, "what": first.said}
            for first, last in zip(self.since_first, self.since_last, strict=True)
        ]

    def document(self) -> dict[str, Any]:
        """All of it for JSON, without the parts themselves."""
        entries = [
            {
                "at": entry.at,
                "digest": entry.digest,
                "because": entry.because,
                "answers": entry.before.answers,
                "gold": entry.before.gold,
            }
            for entry in self.entries
        ]
        return {
            "headline": self.headline,
            "entries": entries,
            "rule": self.rule,
            "first_answer": self.first_answer,
            "as_frozen": self.as_frozen,
            "broken": list(self.broken),
            "parts": self.rows(),
        }

    def __repr__(self) -> str:
        changed = [f"  {row['part']}: {row['what']}" for row in self.rows() if row["state"] != "as frozen"]
        return "\n".join([self.headline, *changed, f"SHA-256 {self.digest}"])

    def _state(self, first: PartState, last: PartState) -> str:
        if first.state == "changed" and last.state == "as frozen":
            return "changed, and frozen again"
        return first.state


def known_before(before: Before) -> str:
    """What was known when a study was frozen, in words.

    >>> known_before(Before(0, 0)), known_before(Before(12, 0))
    ('before any answer and any gold label', 'when 12 answers were stored and before any gold label')
    """
    if not before.answers and not before.gold:
        return "before any answer and any gold label"
    answers = f"when {count(before.answers, 'answer')} were stored" if before.answers else "before any answer"
    gold = f"with {count(before.gold, 'gold label')} known" if before.gold else "before any gold label"
    return f"{answers} and {gold}"


def freeze(study: StudySource, rule: str | None = None, because: str = "") -> Frozen:
    """Write down a study's design; where it was frozen and has not changed since, only say so."""
    study.require("owns_folder")
    document = study.files.read("frozen.json")
    earlier = frozen(study)
    if earlier is not None:
        same_rule = rule is None or rule.strip() == earlier.entries[-1].rule
        if same_rule and all(part.state == "as frozen" for part in earlier.since_last):
            return earlier
        if not because.strip():
            raise _changed(study, earlier, same_rule)
    entry = _entry(study, rule, because.strip(), earlier.entries if earlier else ())
    study.files.write("frozen.json", with_entry(document, entry))
    made = frozen(study)
    assert made is not None
    if made.broken:
        raise StoreError(
            "what was frozen could not be kept as it is",
            where=str(study.folder / FILE),
            expected="a design and a rule without the value of a key",
            found="; ".join(made.broken),
            fix="take the key out of them, remove this file, then freeze the study",
        )
    return made


def frozen(study: StudySource) -> Frozen | None:
    """What was written down, beside the study as it is now; None where it was not frozen."""
    document = study.files.read("frozen.json")
    entries = entries_in(document)
    if not entries:
        return None
    first, last = (_beside(study, entry, entries[-1].rule) for entry in (entries[0], entries[-1]))
    return Frozen(tuple(entries), first, last, _first_answer(study), tuple(broken(document)))


def _beside(study: StudySource, entry: Entry, rule: str) -> tuple[PartState, ...]:
    """The study as it is now beside a freeze of it."""
    lock = study.lock()
    now = parts_of(
        study.spec, study.experiment, lock, covariates=entry.covariates, rule=rule, columns=entry.columns
    )
    hidden: list[str] = []
    if not study.has_texts:
        hidden = [v["id"] for v in lock["variants"] if _LEFT_OUT in json.dumps(v, default=str)]
    return tuple(deviations(entry.parts, now, texts=study.has_texts, hidden=hidden))


def _entry(study: StudySource, rule: str | None, because: str, earlier: Sequence[Entry]) -> Entry:
    spec, experiment = study.spec, study.experiment
    columns = item_columns(spec, experiment.items)
    covariates = sorted(
        {*concluded_about(spec), *(name for item in experiment.items for name in item.groups)}
    )
    kept = earlier[-1].rule if earlier else (RULE if spec.conclusions else NO_RULE)
    own = {item.id for item in study.experiment.items if item.gold is not None}
    known_gold = len(own | set(GoldFiles(study.folder).state().settled.gold))
    return Entry(
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        quaver=version("quaver"),
        study=str(spec.name),
        before=Before(answered_calls(study)[0], known_gold),
        columns=tuple(columns),
        covariates=tuple(covariates),
        parts=parts_of(
            spec,
            experiment,
            study.lock(),
            covariates=covariates,
            rule=kept if rule is None else rule.strip(),
            columns=columns,
        ),
        because=because,
        previous=earlier[-1].digest if earlier else "",
    )


def _changed(study: StudySource, earlier: Frozen, same_rule: bool) -> StoreError:
    parts = [f"{part.title} ({part.said})" for part in earlier.since_last if part.state == "changed"]
    return StoreError(
        "this study is frozen already, and has changed since",
        where=str(study.folder / FILE),
        expected="the design as it was frozen, or a reason for the change",
        found="; ".join([*parts, *([] if same_rule else ["another decision rule"])]),
        fix="undo the change, or freeze it again: quaver freeze --because REASON",
    )


def _first_answer(study: StudySource) -> str | None:
    if study.spec.annotations is not None or not study.files.responses.exists():
        return None
    with study.answers() as store, store.at_once():
        times = [
            entry.first for entry in ledger(store) if entry.placed and entry.reused is None and entry.first
        ]
    return datetime.fromtimestamp(min(times), UTC).isoformat(timespec="seconds") if times else None


def _day(at: str) -> str:
    return datetime.fromisoformat(at).strftime("%-d %B %Y, %H:%M UTC")
