"""Every annotation and estimate of a bundle, computed anew from the bundle alone."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from quaver.core import registry
from quaver.core.arguments import guarded
from quaver.core.records import Estimate
from quaver.estimation.declaration import registered
from quaver.study.analysis.annotation_frame import rescored
from quaver.study.analysis.study_acceptance import acceptance_differences
from quaver.study.analysis.study_estimates import measurable
from quaver.study.gold_sample.packed_gold import gold_differences
from quaver.study.session import Study
from quaver.study.sources.archive import extract
from quaver.study.sources.bundle_schema import Place, estimates_in, fitting_together, places_in
from quaver.study.sources.bundle_source import FORM, Bundle
from quaver.study.study_freeze import Frozen
from quaver.study.study_freeze import frozen as frozen_of

_COMPARED = ("label", "status", "confidence")
_PLACE = ("model", "variant", "decoding", "item", "repeat", "evaluator")


@dataclass(frozen=True, slots=True)
class Verification:
    """What came of computing a bundle anew.

    Attributes:
        digest: SHA-256 of the archive, to be compared with the one that was published.
        changed: Files that are not as they were packed.
        differing: Annotations and estimates that come out differently, in words.
        annotations: How many annotations were read anew from the stored answers.
        withheld: How many could not be, since their answers quote an item's text that was left out.
        estimates: How many estimates were computed anew.
        frozen: What the authors wrote down beforehand, beside what they did; None where they did not.
    """

    digest: str
    changed: Sequence[str]
    differing: Sequence[str]
    annotations: int
    withheld: int
    estimates: int
    frozen: Frozen | None = None

    @property
    def holds(self) -> bool:
        """Whether everything is as it was packed, and comes out as it stands there."""
        return not self.changed and not self.differing


@guarded
def verify(path: str | Path, *, frozen: str | None = None) -> Verification:
    """Find what was changed in a bundle, and compute every annotation and estimate of it anew.

    Args:
        path: The archive.
        frozen: The digest that the authors published when they froze their design. The bundle must hold the
            very design that it seals.

    Returns:
        What was changed and what differs; ``holds`` says whether nothing was and nothing does.

    Raises:
        StoreError: It is no bundle.
    """
    # SQLite may still be putting its journal away when the folder goes: that changes no verdict.
    with tempfile.TemporaryDirectory(prefix="quaver-", ignore_cleanup_errors=True) as home:
        opened = extract(Path(path), Path(home), FORM)
        if opened.changed:
            return Verification(opened.digest, opened.changed, (), 0, 0, 0)
        with fitting_together(Path(path)):
            study = Study(Bundle(Path(path), opened, Path(home)))
            found = _anew(study, opened.digest)
            before = frozen_of(study.source)
            wrong = _frozen_otherwise(before, frozen)
            return replace(found, differing=[*found.differing, *wrong], frozen=before)


def _frozen_otherwise(found: Frozen | None, published: str | None) -> list[str]:
    """What is wrong with the design that the authors say to have written down beforehand."""
    wrong = [f"frozen.json: {one}" for one in (found.broken if found else ())]
    digests = {one.digest for one in found.entries} if found else set()
    if published is not None and published.strip().lower() not in digests:
        wrong.append(f"frozen.json: no entry has the published digest {published.strip()}")
    return wrong


def _anew(study: Study, digest: str) -> Verification:
    stored = study.annotations()
    differing: list[str] = []
    read, withheld = 0, places_in(study.folder)
    if study.source.has_answers:
        read, differing = _reread(study, stored, withheld)
        study.source.files.write_annotations(stored)
    differing += gold_differences(study.source, stored)
    differing += acceptance_differences(study.source, measurable(study.source))
    estimates = study.estimates()
    packed, now = (_countable(some, withheld) for some in (estimates_in(study.folder), estimates))
    if len(packed) != len(now):
        differing.append(f"{len(packed)} estimates stand there, {len(now)} come out")
        return Verification(digest, (), differing, read, len(withheld), len(estimates))
    differing += [
        f"{one} stands there, {again} comes out"
        for one, again in zip(packed, now, strict=True)
        if not _holds(one, again)
    ]
    return Verification(digest, (), differing, read, len(withheld), len(estimates))


def _countable(estimates: Sequence[Estimate], withheld: Sequence[Place]) -> list[Estimate]:
    """The estimates that can be made again: what counts the answers themselves cannot be without them."""
    return [one for one in estimates if not (withheld and _of_outputs(one.measure))]


def _reread(study: Study, stored: pl.DataFrame, withheld: Sequence[Place]) -> tuple[int, list[str]]:
    """Read the stored answers with the study's evaluators, and compare."""
    columns, text = [*_PLACE, *_COMPARED], pl.col(pl.Categorical).cast(pl.String)
    frames = rescored(study.source), stored.lazy()
    fresh, known = (one.select(columns).with_columns(text).collect() for one in frames)
    if withheld:
        places = pl.DataFrame(withheld).with_columns(pl.col("repeat").cast(pl.Int32))
        on = [name for name in _PLACE if name != "evaluator"]
        fresh, known = (frame.join(places, on=on, how="anti") for frame in (fresh, known))
    both = known.join(fresh, on=_PLACE, how="full", suffix="_now")
    lost = both.filter(pl.col("item").is_null() | pl.col("item_now").is_null())
    other = both.filter(
        pl.any_horizontal(pl.col(name).ne_missing(pl.col(f"{name}_now")) for name in _COMPARED)
        & pl.col("item").is_not_null()
        & pl.col("item_now").is_not_null()
    )
    differing = [f"{lost.height} annotations have no counterpart among the answers"] if lost.height else []
    differing += [
        f"item {row['item']}, {row['model']}, {row['variant']}, {row['evaluator']}: "
        f"{row['label']} ({row['status']}) stands there, {row['label_now']} ({row['status_now']}) is read"
        for row in other.head(20).iter_rows(named=True)
    ]
    if other.height > 20:
        differing.append(f"and {other.height - 20} more annotations")
    return fresh.height, differing


def _holds(one: Estimate, again: Estimate) -> bool:
    """Whether an estimate comes out as it was packed."""
    facts = [(each.measure, dict(each.cell), each.reason is None, each.n) for each in (one, again)]
    ends = ((one.value, again.value), (one.low, again.low), (one.high, again.high))
    return facts[0] == facts[1] and all(alike(*pair) for pair in ends)


def _of_outputs(measure: str) -> bool:
    known = registry.names("measures")
    return measure in known and registered(measure).reads_outputs


def alike(one: float | None, other: float | None) -> bool:
    """Equal up to what another machine's sums may differ by."""
    if one is None or other is None:
        return one is other
    both_none = math.isnan(one) and math.isnan(other)
    return both_none or math.isclose(one, other, rel_tol=1e-7, abs_tol=1e-9)
