"""The paraphrases one by one: how stable each is, and how far it agrees with the original."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from quaver.agreement.stratified_alpha import said_of_alpha
from quaver.core.records import Estimate, Level
from quaver.errors import MeasureError
from quaver.estimation.bootstrap import Floats
from quaver.estimation.cells import Missing
from quaver.estimation.declaration import measure
from quaver.estimation.reading import Reading
from quaver.estimation.statistic import Cell, Statistic
from quaver.measures.stability.label_pairs import Part, each_alpha
from quaver.measures.stability.prompt_stability import CONDITION, PAPER, WITHIN_REPEAT

_BYTES = 32_000_000
"""Label counts that are taken at a time of pairs with the original: of a large study, a few variants'."""


@measure(
    section="stability",
    unit="coefficient",
    better="higher",
    bar=0.8,
    source=PAPER,
    missing=("drop", "category"),
    compares=("variant",),
    treatments=("level",),
)
def paraphrase_stability(
    reading: Reading, *, level: Level | None = None, missing: Missing
) -> Iterator[Estimate]:
    """Each paraphrase's own stability: `intra_pss` of every variant.

    Krippendorff's alpha (Krippendorff 2019, Content Analysis, ch. 12) with the repeats as raters, within each
    model and decoding, averaged over those. Undefined where alpha is.

    Args:
        level: Level of measurement; by default the label set's, nominal without one.
        missing: ``"drop"``, or ``"category"``: an answer without a label is one more label (nominal only).

    Returns:
        An estimate for each cell and variant; the cell holds the variant.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3] * 2, "repeat": [0] * 3 + [1] * 3, "label": list("aababb")})
    >>> [(e.cell, round(e.value, 3)) for e in paraphrase_stability(frame.with_columns(variant=pl.lit("v")))]
    [({'variant': 'v'}, 0.444)]
    """
    names = _variant_columns(reading)
    for cell in reading.cells(raters=("repeat",), within=CONDITION, missing=missing):
        said = said_of_alpha(cell, "Krippendorff's alpha of one variant, repeats as raters", missing)
        strata: dict[tuple[tuple[str, str], ...], list[int]] = {}
        for index, stratum in enumerate(cell.strata):
            which = tuple((name, stratum[name]) for name in names if name in stratum)
            strata.setdefault(which, []).append(index)
        if not strata:
            yield cell.estimated(replace(said, n=0, reason="no annotations"))
        parts = [Part(replace(said, where=dict(which)), own) for which, own in strata.items()]
        yield from map(cell.estimated, each_alpha(cell, cell.counts(), parts, level, missing))


@measure(
    section="stability",
    unit="coefficient",
    better="higher",
    bar=0.8,
    source=PAPER,
    missing=("drop", "category"),
    compares=("variant",),
    treatments=("level",),
)
def original_agreement(
    reading: Reading, *, level: Level | None = None, missing: Missing, original: str | None = None
) -> Iterator[Estimate]:
    """Agreement of each paraphrase with the original one: their alpha, as two raters.

    Krippendorff's alpha (Krippendorff 2019, Content Analysis, ch. 12), computed within each repeat (of each
    model and decoding) and averaged over those. ``details`` has the share of answers on which the two agree.
    Undefined where no original is known.

    Args:
        level: Level of measurement; by default the label set's, nominal without one.
        missing: ``"drop"``, or ``"category"``: an answer without a label is one more label (nominal only).
        original: The original variant; without it, the one that a Boolean column ``original`` marks.

    Returns:
        An estimate for each cell and variant but the original; the cell holds the variant.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": [1, 2, 3] * 2, "variant": list("ooowww"), "label": list("aababb")})
    >>> [(e.cell, round(e.value, 3)) for e in original_agreement(frame, original="o")]
    [({'variant': 'w'}, 0.444)]
    """
    marked = [] if original else _marked(reading)
    for cell in reading.cells(raters=("variant",), within=WITHIN_REPEAT, missing=missing):
        for statistic in _with_original(cell, original or _only(marked, cell), level, missing):
            yield cell.estimated(statistic)


def _variant_columns(reading: Reading) -> list[str]:
    """The columns whose combinations are the variants."""
    names = (reading.columns or {}).get("variant", "variant")
    return [names] if isinstance(names, str) else list(names)


def _marked(reading: Reading) -> list[str]:
    """The variants that the column ``original`` marks as such; none where there is no such column."""
    gathered, variant = reading.gathered, _variant_columns(reading)[0]
    if not {"original", variant} <= set(gathered.columns):
        return []
    frame = gathered.read(["original", variant]).unique()
    marks = frame["original"].cast(pl.String).str.to_lowercase().is_in(["true", "1"])
    return sorted(frame.filter(marks)[variant].cast(pl.String).unique().to_list())


def _only(marked: Sequence[str], cell: Cell) -> str | None:
    """The one of the marked variants that a cell has; the only one where it has none of them."""
    here = [name for name in marked if name in cell.raters] or marked
    if len(here) > 1:
        raise MeasureError(
            "several variants are marked as the original",
            where="annotations['original']",
            expected="one in each cell",
            found=", ".join(here),
            fix="add the other columns that vary to by, or name the original: original=…",
        )
    return here[0] if here else None


def _with_original(
    cell: Cell, original: str | None, level: Level | None, missing: Missing
) -> Iterator[Statistic]:
    method = "Krippendorff's alpha of a variant and the original, mean over repeats"
    said = said_of_alpha(cell, method, missing)
    others = [index for index, name in enumerate(cell.raters) if name != original]
    if original is None or original not in cell.raters or not others:
        why = f"no answers to {original!r}" if original not in cell.raters else "no other paraphrase"
        why = "no original paraphrase is named" if original is None else why
        yield replace(said, n=0, reason=why if cell.items else "no annotations")
        return
    first, of_a_variant = cell.raters.index(original), cell.codes[:, :, 0].size * len(cell.labels) * 8
    room = max(1, _BYTES // max(of_a_variant, 1))
    for start in range(0, len(others), room):
        some = others[start : start + room]
        counts, same = _pairs(cell, first, some)
        parts = [
            Part(
                replace(
                    said,
                    where={"variant": cell.raters[index]},
                    details={"original": original} | ({} if share is None else {"same": share}),
                ),
                range(place, counts.shape[1], len(some)),
            )
            for place, (index, share) in enumerate(zip(some, same, strict=True))
        ]
        yield from each_alpha(cell, counts, parts, level, missing)


def _pairs(cell: Cell, first: int, others: Sequence[int]) -> tuple[Floats, list[float | None]]:
    """Label counts of each of some raters with the first, shape (items, strata × raters, labels).

    With the share of each one's answers that are the first's; None where there are none.
    """
    codes, one = cell.codes[:, :, others], cell.codes[:, :, [first]]
    labels = np.arange(len(cell.labels))
    counts = (codes[..., None] == labels).astype(np.float64)
    counts += one[..., None] == labels
    both = (codes >= 0) & (one >= 0)
    same, answers = ((codes == one) & both).sum((0, 1)), both.sum((0, 1))
    shares = [float(s / n) if n else None for s, n in zip(same, answers, strict=True)]
    items, strata, raters, _ = counts.shape
    return counts.reshape(items, strata * raters, labels.size), shares
