"""Agreement in a file of annotations that Quaver did not collect, read as ``quaver import`` reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
from typing_extensions import Unpack

from quaver.agreement.coefficients import (
    cohen_kappa,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha,
    percent_agreement,
)
from quaver.agreement.intraclass import intraclass_correlation
from quaver.agreement.pair_weights import Weights
from quaver.agreement.ratings import label_set_of
from quaver.core.arguments import guarded, taking
from quaver.core.label_decisions import LabelRules, labels_outside
from quaver.core.label_values import cell_labels, set_of
from quaver.core.records import OF_SETS, LabelSet, Level
from quaver.core.rows import Estimates
from quaver.core.vocabularies import check_sides
from quaver.design.items.table_files import column_texts, further_headers
from quaver.errors import ItemError, QuaverError, UnknownName
from quaver.estimation.cells import Missing, cells
from quaver.estimation.coded_columns import frame_of
from quaver.estimation.jackknife import Resampling
from quaver.study.imports.columns import Table, matching, table_of
from quaver.study.imports.import_options import TableOptions, label_rules, written_in


@guarded
@taking(TableOptions)
def measure_agreement(
    annotations: Any,
    *,
    item: str | None = None,
    rater: str | Sequence[str] = "rater",
    label: str | Sequence[str] = "label",
    by: Sequence[str] = (),
    labels: LabelSet | Sequence[Any] | None = None,
    distinct: bool = False,
    level: Level | None = None,
    weights: str | Path | Mapping[str, Mapping[str, float]] | None = None,
    missing: Missing = "drop",
    confidence_level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    group: str | None = None,
    **table: Unpack[TableOptions],
) -> Estimates:
    """Krippendorff's alpha, percent agreement, the kappas, Gwet's coefficient and the ICC of any annotations.

    Args:
        annotations: A long frame, a row an annotation, or the path of a file that holds one; or a wide one,
            with a column of labels for each coder.
        item: Its column of items; by default ``item``, or each row of a wide one.
        rater: Its column, or columns, of raters: coders, paraphrases, repeats.
        label: Its column of labels, or the columns of a wide one, which are the raters: names, or a
            pattern (``human_*``).
        by: Columns whose combinations are measured apart.
        labels: The valid labels, in order: others count as missing, and are counted. All that occur, without.
        distinct: Keep labels apart that differ only in capitals, white space, dashes or how a number is
            written.
        level: Level of measurement; nominal, or the label set's.
        weights: How far two labels that differ count as agreement in the kappas and Gwet's coefficient:
            ``"linear"``, ``"quadratic"``, a table by label and label, or the path of a file with a row and a
            column for each label. By default, as the level has it.
        missing: ``"drop"``, or ``"category"``: one more label (nominal only).
        confidence_level: Nominal level of the intervals.
        resamples: 0 for no interval.
        seed: Root seed.
        group: Resample the groups of items in this column.
        **table: Those of `TableOptions`: ``separator``, ``unlabelled`` …

    Returns:
        Five estimates for each cell, and the ICC at the interval and ratio levels; they say in
        ``details["taken"]`` what stands for a missing label, and what is taken for one label.

    Raises:
        ItemError: The file cannot be read.
        MeasureError: The frame or an option cannot be used.
        QuaverError: Raters are named beside several columns of labels.

    >>> frame = pl.DataFrame({"item": [1, 1, 2, 2, 3, 3], "rater": ["p", "q"] * 3, "label": list("aaabbb")})
    >>> [(e.measure, round(e.value, 3)) for e in measure_agreement(frame)][:2]
    [('krippendorff_alpha', 0.444), ('percent_agreement', 0.667)]
    """
    at = level or (labels.level if isinstance(labels, LabelSet) else "nominal")
    known = labels.codes if isinstance(labels, LabelSet) else tuple(map(str, labels or ()))
    rules = label_rules({**table, "distinct": distinct}, known, at, is_read=False)
    path = Path(annotations) if isinstance(annotations, str | Path) else None
    own = _weights(weights)
    with _named_in_errors(path):
        source = frame_of(annotations) if path is None else table_of(path, written_in(table), "annotations")
        names = [column for pattern in _listed(label) for column in matching(source.columns, pattern)]
        if len(names) > 1:
            if rater != "rater":
                raise QuaverError(
                    "each of several columns of labels is a rater's",
                    where="rater",
                    found=f"{rater!r} beside the labels {', '.join(names)}",
                    fix="leave the rater out, or name one column of labels",
                )
            item, rater = item or _ROW, _CODER
        used = {"item": [item or "item"], "rater": _listed(rater), "by": list(by), "label": names}
        used["group"] = [] if group is None else [group]
        if isinstance(source, Table):
            frame, used = _of_file(source, used, at)
        else:
            frame = source[further_headers(source.head(2).rows(named=True)) :]
        for role, columns in used.items():
            for name in columns:
                if name not in (*frame.columns, _ROW, _CODER):
                    raise UnknownName("column", name, frame.columns, where=role)
        frame, taken = _read(_long(frame, used["label"]), rules)
        if not rules.labels and at not in (*_NUMERIC, *OF_SETS):
            sides = pl.concat_str(pl.col(used["rater"]).cast(pl.String), separator=", ")
            texts = frame.select(item=used["item"][0], side=sides, label=pl.col(_LABEL).cast(pl.String))
            check_sides(texts.drop_nulls(), path.name if path else "annotations", "--valid")
        label_set = label_set_of(labels, at)
        parts = cells(
            frame,
            raters=("rater",),
            by=tuple(used["by"]),
            labels=label_set,
            columns={"item": used["item"][0], "rater": used["rater"], "label": _LABEL},
            group=used["group"][0] if used["group"] else None,
            missing=missing,
        )
    resampling = Resampling(confidence_level, resamples, seed)
    estimates = []
    for cell in parts:
        for coefficient in (*_COEFFICIENTS, *([intraclass_correlation] if at in _NUMERIC else [])):
            weighed: dict[str, Any] = {"weights": own} if "weights" in coefficient.own else {}
            estimate = coefficient.of(replace(cell, label_set=label_set), resampling, at, missing, **weighed)
            estimates.append(replace(estimate, details={**estimate.details, "taken": taken}))
    return Estimates(estimates)


def _weights(given: str | Path | Mapping[str, Mapping[str, float]] | None) -> Weights | None:
    """Weights by name or by label and label, read from a file where one is given."""
    if given is None or given in ("linear", "quadratic") or isinstance(given, Mapping):
        return given  # type: ignore[return-value]
    path = Path(given)
    if not path.is_file():
        raise QuaverError(
            "no weights have this name",
            where="--weights",
            expected="linear, quadratic, or a file with a row and a column for each label",
            found=str(given),
        )
    table = table_of(path, {}, "weights")
    names, *columns = table.columns
    weights: dict[str, dict[str, float]] = {}
    for row in table.rows:
        own = weights[row.text(names)] = {}
        for name in columns:
            try:
                own[name] = float(row.text(name))
            except ValueError:
                where = f"{path.name}: {row.text(names)}, {name}"
                raise QuaverError(
                    "this weight is no number", where=where, expected="0 to 1", found=repr(row.text(name))
                ) from None
    return weights


def _listed(columns: str | Sequence[str]) -> list[str]:
    return [columns] if isinstance(columns, str) else list(columns)


_COEFFICIENTS = (krippendorff_alpha, percent_agreement, fleiss_kappa, cohen_kappa, gwet_ac)
_NUMERIC = ("interval", "ratio")
_LABEL = "label as read"
_ROW, _CODER = "number of the row", "whose column it is"
"""The items and the raters of a table with a column of labels for each."""


def _of_file(
    table: Table, used: Mapping[str, Sequence[str]], level: Level
) -> tuple[pl.DataFrame, dict[str, list[str]]]:
    """A file's columns as a frame, and the columns of each role by the names that they have there."""
    named = {}
    for role, columns in used.items():
        named[role] = [
            column if column in (_ROW, _CODER) else table.column(column, role) for column in columns
        ]
    return _texts(table, named["label"] if level in OF_SETS else ()), named


def _texts(table: Table, sets: Sequence[str]) -> pl.DataFrame:
    """The columns of a file that hold single values, as texts, with those of sets of labels."""
    columns: dict[str, list[str | None]] = {}
    for name in table.columns:
        with suppress(ItemError):
            columns[name] = [text or None for text in column_texts(table.rows, name)]
    for name in {*sets} & {*table.columns}:
        cells_of = [None if row.get(name) in (None, "") else cell_labels(row[name]) for row in table.rows]
        columns[name] = [
            None if cell_labels is None else set_of(cell_labels, sorted(cell_labels))
            for cell_labels in cells_of
        ]
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))


def _long(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """A frame with one more column, of the labels as they will be read; a row for each label of a row."""
    if len(names) == 1:
        return frame.with_columns(pl.col(names[0]).alias(_LABEL))
    texts = frame.with_columns(pl.col(names).cast(pl.String)).with_row_index(_ROW)
    rest = [name for name in texts.columns if name not in names]
    return texts.unpivot(names, index=rest, variable_name=_CODER, value_name=_LABEL)


def _read(frame: pl.DataFrame, rules: LabelRules) -> tuple[pl.DataFrame, list[tuple[str, str, str]]]:
    """A frame with the labels that its texts mean, and what was decided about them.

    What is outside the label set stays as it is, so that the measure counts it.
    """
    kind = frame[_LABEL].dtype
    if kind.is_numeric() or kind.is_nested():
        return frame, []
    texts = pl.col(_LABEL).cast(pl.String).fill_null("")
    written = rules.read(dict(frame.group_by(texts, maintain_order=True).len().iter_rows()))
    meant = {**written.also, **dict.fromkeys(("", *written.missing))}
    decisions = [*written.decisions, *labels_outside(written.outside)]
    decided = [(decision.role, decision.column, decision.why) for decision in decisions]
    return frame.with_columns(texts.replace([*meant], [*meant.values()])), decided


@contextmanager
def _named_in_errors(path: Path | None) -> Iterator[None]:
    """Where a measure names its argument, an error names the file as well."""
    try:
        yield
    except QuaverError as error:
        if path is not None and path.name not in (error.where or ""):
            error.where = ": ".join([path.name, *([error.where] if error.where else [])])
        raise
