"""Everything of a bundle that follows from its answers, computed anew from the bundle alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from quaver.bundles.derived_files import (
    estimate_differences,
    file_difference,
    made_with,
    other_makers,
    table_difference,
    write_derived,
)
from quaver.bundles.packed_design import Verification, compare_design
from quaver.core.annotations import ANNOTATION_COLUMNS, EVIDENCE_COLUMNS, FIELD, GOLD_COLUMNS
from quaver.core.arguments import guarded
from quaver.core.number_format import count
from quaver.core.replaced_file import scratch_folder
from quaver.errors import MeasureError
from quaver.report.findings.first_screen import departures
from quaver.study.analysis.annotation_frame import annotations_of, rescored
from quaver.study.analysis.field_source import fields_of
from quaver.study.analysis.study_acceptance import acceptance_differences
from quaver.study.analysis.study_measures import measurable
from quaver.study.gold_sample.coder_sheets import gold_differences
from quaver.study.sources.archive import extract, members_in
from quaver.study.sources.bundle_source import FORM, Bundle, estimates_in, fitting_together, places_in
from quaver.study.study_report import resolved

_CALL = {**dict.fromkeys(("model", "variant", "decoding", "item"), pl.String), "repeat": pl.Int32}
_DESIGN = (*_CALL, "evaluator", *GOLD_COLUMNS)
_DIGITS = 7
"""Decimals to which numbers of annotations are compared: another machine's sums may differ by less."""

_MOST = 20
"""Differences of annotations that are named."""

_LEFT_OUT = "[left out]"

UNKNOWN = {
    "answers": "whether a model gave these answers: they can be invented, or changed with all that follows",
    "dropped": "whether models, prompts, items, repeats or answers were removed before the bundle was made",
    "gold": "whether the gold labels are true, and those that the coders gave",
    "reported": "what models and servers reported of themselves: versions, tokens, prices, times",
    "texts": "whether the prompts are those that were sent: the texts are not in the bundle",
    "labels": "whether the labels are those that were given: no raw answers are in the bundle",
    "withheld": "whether the labels of answers that were withheld are what these answers say",
    "table": "whether items and prompts are those of the study's own tables, which are not in the bundle",
    "design": "whether the design was fixed before its results, unless you have its digest (--design)",
    "digest": "whether this is the archive that was published, unless you have its digest (--digest)",
}
"""What nobody can find out from an archive alone, by what it is about."""


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
    with scratch_folder() as home:
        folder = home / "packed"
        opened = extract(Path(path), folder, FORM)
        verification = Verification(opened.digest, [*opened.changed])
        verification.changed += _other_digest("the archive: its SHA-256", opened.digest, digest)
        if opened.changed:
            return verification
        with fitting_together(Path(path)):
            source = Bundle(Path(path), opened, folder)
            verification.design = str(source.lock().get("digest", ""))
            compare_design(source, verification)
            # Read the stored answers again, and draw again what was drawn and accepted
            stored = source.annotations
            if source.has_answers:
                _compare_readings(source, stored, verification)
                source.files.write_annotations(stored)
            for name, part in fields_of(source).items():
                other = gold_differences(part, annotations_of(part) if name else stored)
                other += acceptance_differences(part, measurable(part))
                verification.differing += [
                    f"{name}: {difference}" if name else difference for difference in other
                ]
            _compare_derived(source, home / "again", verification)
            verification.differing += _other_digest(
                "study.lock.json: the design's SHA-256", verification.design, design
            )
            # What nobody can find out from a bundle
            own = (source.spec.annotations or source.spec.items).source
            applies = {
                "dropped": True,
                "gold": True,
                "answers": source.has_answers,
                "reported": source.has_answers,
                "labels": not source.has_answers,
                "texts": not source.has_texts,
                "withheld": source.withheld > 0,
                "table": Path(own).name not in source.opened["files"],
                "design": not design,
                "digest": not digest,
            }
            verification.unknown = {name: UNKNOWN[name] for name in applies if applies[name]}
            verification.departures = departures(resolved(source))
        return verification


def _other_digest(what: str, digest: str, published: str | None) -> list[str]:
    """What is wrong with something that has another digest than was published."""
    if published is None or published.strip().lower() == digest:
        return []
    return [f"{what} is {digest}, {published.strip()} was published"]


def _compare_readings(source: Bundle, stored: pl.DataFrame, verification: Verification) -> None:
    """Read the stored answers with the study's evaluators, and compare every column of the annotations."""
    places = places_in(source.folder)
    verification.withheld = len(places)
    if source.has_texts and places:
        verification.differing.append("withheld.json: answers are withheld though the texts are here")
    placed = [] if source.has_texts else EVIDENCE_COLUMNS  # where quotes stand is seen in the texts alone
    fresh = _comparable(rescored(source).collect().drop(placed, strict=False))
    frame = _comparable(stored.drop(placed, strict=False))
    verification.annotations = fresh.height
    if fresh.columns != frame.columns:
        odd = sorted({*fresh.columns} ^ {*frame.columns}) or ["their order"]
        verification.differing.append(
            f"annotations.parquet has other columns than come out: {', '.join(odd)}"
        )
        return
    if fresh.height != frame.height:
        verification.differing.append(f"{frame.height:,} annotations stand there, {fresh.height:,} are read")
    place = [name for name in (*_CALL, "evaluator", FIELD) if name in frame.columns]
    both = frame.with_columns(there=True).join(
        fresh.with_columns(now=True), on=place, how="full", suffix="_now", coalesce=True
    )
    withheld = pl.DataFrame(places, schema=_CALL).with_columns(withheld=True)
    both = both.join(withheld, on=[*_CALL], how="left")
    verification.annotations -= both.filter("withheld", "now").height
    verification.differing += _annotation_differences(
        both, [name for name in frame.columns if name not in place]
    )


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


def _annotation_differences(both: pl.DataFrame, columns: Sequence[str]) -> list[str]:
    """What annotations say differently from answers that are read now, in words.

    Of an answer that was withheld, only what does not depend on it is compared.
    """
    differences, named = [], 0
    alone = both.filter(pl.col("there").is_null() | pl.col("now").is_null())
    if not alone.is_empty():
        differences.append(f"{count(alone.height, 'annotation')} with no counterpart among the answers")
    left = both.filter("there", "now")
    telling = [name for name in ("label", "status") if name in columns]  # more than what goes with them
    for name in [*telling, *(name for name in columns if name not in telling)]:
        differs = pl.col(name).ne_missing(pl.col(f"{name}_now"))
        if name in ANNOTATION_COLUMNS and name not in _DESIGN:
            differs &= pl.col("withheld").is_null()
        if name == "reason":
            differs &= pl.col(name).ne_missing(_LEFT_OUT)
        wrong = left.filter(differs)
        left = left.filter(~differs)
        for row in wrong.head(max(0, _MOST - named)).iter_rows(named=True):
            place = f"item {row['item']}, {row['model']}, {row['variant']}, {row['evaluator']}"
            now = row[f"{name}_now"]
            differences.append(f"{place}: {name} {row[name]} stands there, {now} is read")
        named += wrong.height
    if named > _MOST:
        differences.append(f"and {named - _MOST} more annotations")
    return differences


def _compare_derived(source: Bundle, again: Path, verification: Verification) -> None:
    """Make the files anew that follow from the others, and compare them.

    Where another version or machine made them, only the numbers of the estimates are compared.
    """
    packed = source.folder
    again.mkdir()
    try:
        estimates = write_derived(source, again)
    except MeasureError as error:  # annotations that no study has: of one answer twice, with two gold labels
        verification.differing.append(
            f"nothing can be computed from what is packed: {error.where}: {error.problem}"
        )
        return
    verification.estimates = len(estimates)
    other_estimates = estimate_differences(estimates_in(packed), estimates)
    verification.differing += other_estimates
    names = [*members_in(again)]
    for name in source.opened["files"]:
        if name.endswith(".html") and name not in names:
            verification.differing.append(f"{name}: no report of the study has this name")
    if others := other_makers(source.facts.get("made_with", {})):
        if other := table_difference(packed / "estimates.csv", again / "estimates.csv"):
            verification.differing.append(f"estimates.csv: {other}")
        made = f"made with {', '.join(others)} (this is Quaver {made_with()['quaver']})"
        verification.not_compared.append(f"{', '.join(names)}: {made}")
        return
    for name in names:
        if name == "estimates.json" and other_estimates:
            continue  # compared in numbers, whose words differ as well
        if other := file_difference(packed / name, again / name):
            verification.differing.append(f"{name}: {other}")
        else:
            verification.compared.append(name)
