"""Everything of a bundle that follows from its answers, computed anew from the bundle alone."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import polars as pl

from quaver.bundles.derived_files import Checked, check_derived, write_derived
from quaver.bundles.packed_design import check_design
from quaver.core.annotations import ANNOTATION_COLUMNS, FIELD, GOLD_COLUMNS
from quaver.core.arguments import guarded
from quaver.core.number_format import count
from quaver.core.records import Estimate
from quaver.report.page.method import departures
from quaver.study.analysis.annotation_frame import annotations_of, rescored
from quaver.study.analysis.field_source import fields_of
from quaver.study.analysis.study_acceptance import acceptance_differences
from quaver.study.analysis.study_measures import measurable
from quaver.study.gold_sample.coder_sheets import gold_differences
from quaver.study.sources.archive import extract
from quaver.study.sources.bundle_source import FORM, Bundle, Place, estimates_in, fitting_together, places_in
from quaver.study.study_report import shown_with

_PLACE = ("model", "variant", "decoding", "item", "repeat", "evaluator")
_DESIGN = (*_PLACE, *GOLD_COLUMNS)
_DIGITS = 7
"""Decimals to which numbers of annotations are compared: another machine's sums may differ by less."""

_LEFT_OUT = "[left out]"

UNKNOWN = {
    "answers": "whether a model gave these answers: they can be invented, or changed with all that follows",
    "dropped": "whether models, prompts, items, repeats or answers were removed before the bundle was made",
    "gold": "whether the true labels are true, and those that the coders gave",
    "reported": "what models and servers reported of themselves: versions, tokens, prices, times",
    "texts": "whether the prompts are those that were sent: the texts are not in the bundle",
    "labels": "whether the labels are those that were given: no raw answers are in the bundle",
    "withheld": "whether the labels of answers that were withheld are what these answers say",
    "table": "whether items and prompts are those of the study's own tables, which are not in the bundle",
    "design": "whether the design stood before its results, unless you have its digest (--design)",
    "digest": "whether this is the archive that was published, unless you have its digest (--digest)",
}
"""What nobody can find out from an archive alone, by what it is about."""


Outcome = Literal["holds", "differs", "not fully compared"]


@dataclass(frozen=True, slots=True)
class Verification:
    """What came of computing a bundle anew.

    Attributes:
        digest: SHA-256 of the archive, to be compared with the one that was published.
        changed: Files that are not as they were packed.
        differing: What comes out differently, in words.
        annotations: How many annotations were read anew from the stored answers.
        withheld: How many could not be, since their answers quote an item's text that was left out.
        estimates: How many estimates were computed anew.
        design: SHA-256 of the design, to be compared with one that was published before the results.
        compared: What was made again and compared, beside annotations and estimates.
        not_compared: What was not, and why.
        unknown: What nobody can find out from this archive, by what it is about.
        departures: What is stored and not part of the study, in sentences.
    """

    digest: str
    changed: Sequence[str] = ()
    differing: Sequence[str] = ()
    annotations: int = 0
    withheld: int = 0
    estimates: int = 0
    design: str = ""
    compared: Sequence[str] = ()
    not_compared: Sequence[str] = ()
    unknown: Mapping[str, str] = field(default_factory=dict)
    departures: Sequence[str] = ()

    @property
    def differs(self) -> bool:
        """Whether something is not as it was packed, or does not come out as it stands there."""
        return bool(self.changed or self.differing)

    @property
    def outcome(self) -> Outcome:
        """How it ends: an archive of which a part could not be compared is not said to hold."""
        if self.differs:
            return "differs"
        return "not fully compared" if self.not_compared else "holds"


@guarded
def verify(path: str | Path, *, digest: str | None = None, design: str | None = None) -> Verification:
    """Find what was changed in a bundle, and make everything in it anew that follows from its answers.

    Args:
        path: The archive.
        digest: The archive's SHA-256 as the authors published it.
        design: The SHA-256 of the design that the authors published before they had results.

    Returns:
        What was changed, what differs and what was not compared; ``outcome`` is ``holds``, ``differs`` or
        ``not fully compared``.

    Raises:
        StoreError: It is no bundle.
    """
    # SQLite may still be putting its journal away when the folder goes: that changes no verdict.
    with tempfile.TemporaryDirectory(prefix="quaver-", ignore_cleanup_errors=True) as home:
        folder = Path(home) / "packed"
        opened = extract(Path(path), folder, FORM)
        changed = [*opened.changed, *unpublished(opened.digest, digest)]
        if opened.changed:
            return Verification(opened.digest, changed)
        with fitting_together(Path(path)):
            source = Bundle(Path(path), opened, folder)
            lock = source.lock()
            verification = _anew(source, Path(home) / "again")
            known = {*(["digest"] if digest else []), *(["design"] if design else [])}
            return replace(
                verification,
                changed=changed,
                differing=[*verification.differing, *_other_design(lock, design)],
                design=str(lock.get("digest", "")),
                unknown={name: UNKNOWN[name] for name in _unknown(source) if name not in known},
                departures=departures(lock | shown_with(source)),
            )


def unpublished(digest: str, published: str | None) -> list[str]:
    """What is wrong with an archive that has another digest than was published."""
    if published is None or published.strip().lower() == digest:
        return []
    return [f"the archive: its SHA-256 is {digest}, {published.strip()} was published"]


def _unknown(source: Bundle) -> Iterator[str]:
    """What nobody can find out from a bundle."""
    yield from ("dropped", "gold", *(("answers", "reported") if source.has_answers else ("labels",)))
    own = (source.spec.annotations or source.spec.items).source
    known = {
        "texts": not source.has_texts,
        "withheld": source.withheld > 0,
        "table": Path(own).name not in source.opened["files"],
        "design": True,
        "digest": True,
    }
    yield from (name for name, applies in known.items() if applies)


def _other_design(lock: Mapping[str, Any], published: str | None) -> list[str]:
    """What is wrong with a design that has another digest than was published."""
    digest = str(lock.get("digest", ""))
    if published is None or published.strip().lower() == digest:
        return []
    return [f"study.lock.json: the design's SHA-256 is {digest}, {published.strip()} was published"]


def _anew(source: Bundle, again: Path) -> Verification:
    stored, withheld, check, read = source.annotations, places_in(source.folder), Checked(), 0
    check_design(source, check)
    if source.has_texts and withheld:
        check.differing.append("withheld.json: answers are withheld though the texts are here")
    if source.has_answers:
        read, other = _reread(source, stored, withheld)
        check.differing += other
        source.files.write_annotations(stored)
    for name, part in fields_of(source).items():
        other = gold_differences(part, annotations_of(part) if name else stored)
        other += acceptance_differences(part, measurable(part))
        check.differing += [f"{name}: {one}" if name else one for one in other]
    again.mkdir()
    estimates = write_derived(source, again)
    check_estimates(source.folder, again, estimates, check)
    check_derived(source.folder, again, source.facts.get("made_with", {}), check)
    return Verification(
        source.fingerprint,
        differing=check.differing,
        annotations=read,
        withheld=len(withheld),
        estimates=len(estimates),
        compared=check.compared,
        not_compared=check.not_compared,
    )


def check_estimates(packed: Path, again: Path, estimates: Sequence[Estimate], check: Checked) -> None:
    """Compare estimates in numbers; as texts only where these are the same."""
    if other := estimate_differences(estimates_in(packed), estimates):
        check.differing += other
        (again / "estimates.json").unlink()


def estimate_differences(packed: Sequence[Estimate], now: Sequence[Estimate]) -> list[str]:
    """The estimates that come out differently, in words."""
    if len(packed) != len(now):
        return [f"{len(packed)} estimates stand there, {len(now)} come out"]
    return [
        f"{estimate} stands there, {again} comes out"
        for estimate, again in zip(packed, now, strict=True)
        if not _holds(estimate, again)
    ]


def _reread(source: Bundle, stored: pl.DataFrame, withheld: Sequence[Place]) -> tuple[int, list[str]]:
    """Read the stored answers with the study's evaluators, and compare all that annotations say."""
    fresh, frame = (_comparable(one) for one in (rescored(source).collect(), stored))
    if fresh.columns != frame.columns:
        odd = sorted({*fresh.columns} ^ {*frame.columns}) or ["their order"]
        return fresh.height, [f"annotations.parquet has other columns than come out: {', '.join(odd)}"]
    read = fresh.height
    differing = []
    if withheld:
        places = pl.DataFrame(withheld).with_columns(pl.col("repeat").cast(pl.Int32))
        on = [name for name in _PLACE if name != "evaluator"]
        design = [name for name in fresh.columns if name in _DESIGN or name not in ANNOTATION_COLUMNS]
        hidden = [one.select(design).join(places, on=on, how="semi") for one in (fresh, frame)]
        differing += _annotation_differences(*hidden)
        fresh, frame = (one.join(places, on=on, how="anti") for one in (fresh, frame))
        read = fresh.height
    left_out = frame.get_column("reason") == _LEFT_OUT
    if left_out.any():
        place = [name for name in (*_PLACE, FIELD) if name in frame.columns]
        places = frame.filter(left_out).select(place)
        gone = fresh.select(place).join(places.with_columns(left=True), on=place, how="left")["left"]
        reason = pl.when(gone.fill_null(False)).then(pl.lit(_LEFT_OUT)).otherwise(pl.col("reason"))
        fresh = fresh.with_columns(reason.alias("reason"))
    return read, [*differing, *_annotation_differences(fresh, frame)]


def _comparable(frame: pl.DataFrame) -> pl.DataFrame:
    """Annotations as text and rounded numbers, in the order of their columns' names."""
    shown = []
    for name, kind in sorted(frame.schema.items()):
        column = pl.col(name)
        if kind == pl.Categorical:
            column = column.cast(pl.String)
        elif kind.is_float():
            column = column.round(_DIGITS)
        elif isinstance(kind, pl.List):
            column = column.list.eval(pl.element().round(_DIGITS))
        shown.append(column)
    return frame.select(shown)


def _annotation_differences(fresh: pl.DataFrame, frame: pl.DataFrame) -> list[str]:
    """What two frames of the same columns say differently, in words."""
    place = [name for name in (*_PLACE, FIELD) if name in frame.columns]
    twice = frame.select(place).is_duplicated()
    if twice.any():
        row = frame.filter(twice).row(0, named=True)
        return [
            f"{count(int(twice.sum()), 'annotation')} that share a place with another, the first of "
            f"item {row['item']}, {row['model']}, {row['variant']}, {row['evaluator']}"
        ]
    both = frame.join(fresh, on=place, how="full", suffix="_now")
    lost = both.filter(pl.col("item").is_null() | pl.col("item_now").is_null())
    result = (
        [f"{count(lost.height, 'annotation')} with no counterpart among the answers"] if lost.height else []
    )
    others = [name for name in frame.columns if name not in place]
    other = both.filter(
        pl.any_horizontal(pl.col(name).ne_missing(pl.col(f"{name}_now")) for name in others)
        & pl.col("item").is_not_null()
        & pl.col("item_now").is_not_null()
    )
    for row in other.head(20).iter_rows(named=True):
        name = min((one for one in others if row[one] != row[f"{one}_now"]), key=_telling)
        result.append(
            f"item {row['item']}, {row['model']}, {row['variant']}, {row['evaluator']}: "
            f"{name} {row[name]} stands there, {row[f'{name}_now']} is read"
        )
    if other.height > 20:
        result.append(f"and {other.height - 20} more annotations")
    return result


def _telling(name: str) -> int:
    """Labels say more of a difference than what goes with them."""
    return ("label", "status").index(name) if name in ("label", "status") else 2


def _holds(estimate: Estimate, again: Estimate) -> bool:
    """Whether an estimate comes out as it was packed."""
    facts = [(each.measure, dict(each.cell), each.reason is None, each.n) for each in (estimate, again)]
    ends = ((estimate.value, again.value), (estimate.low, again.low), (estimate.high, again.high))
    return facts[0] == facts[1] and all(_alike(*pair) for pair in ends)


def _alike(one: float | None, other: float | None) -> bool:
    """Equal up to what another machine's sums may differ by."""
    if one is None or other is None:
        return one is other
    both_none = math.isnan(one) and math.isnan(other)
    return both_none or math.isclose(one, other, rel_tol=1e-7, abs_tol=1e-9)
