"""From a file of existing labels to a study's folder: which column is taken for what, and said so."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import polars as pl
from ruamel.yaml import YAML
from typing_extensions import Unpack

from quaver.core.arguments import guarded, taking
from quaver.core.label_decisions import EMPTY, Decision, label_line, labels_outside
from quaver.core.options import with_defaults
from quaver.core.records import OF_SETS
from quaver.core.replaced_file import scratch_folder
from quaver.core.transaction import changing, finish
from quaver.core.vocabularies import check_sides
from quaver.design.items.record_files import table_ending
from quaver.design.items.table_files import column_texts
from quaver.errors import QuaverError
from quaver.study.analysis.annotation_frame import annotations_of
from quaver.study.analysis.field_source import fields_of
from quaver.study.analysis.study_measures import measurements
from quaver.study.imports.columns import (
    BY_NAME,
    MOST_LABELS,
    Table,
    matching,
    read_labels,
    roles_of,
    table_of,
)
from quaver.study.imports.field_columns import FieldColumn, how_drawn, named_fields
from quaver.study.imports.import_options import LISTS, ImportOptions, label_rules, written_in
from quaver.study.session import Study

_GOLD_OF = ("{}_gold", "gold_{}", "true_{}", "{}_true", "{}_truth", "{}_hand_label")
"""What columns of a field's gold labels are called."""

_OF_OTHER_LEVELS = ("interval", "ratio", *OF_SETS)


@guarded
@taking(ImportOptions)
def import_annotations(
    path: str | Path, folder: str | Path | None = None, **options: Unpack[ImportOptions]
) -> tuple[Study, list[Decision]]:
    """Make a study of a table of existing labels or answers.

    Reads CSV, TSV, spreadsheets, JSON Lines and Parquet files, with a row an annotation (promptstability's
    files, any long table) or a row an item with a column a coder. The study's folder gets a copy, and
    ``study.yaml`` says what its columns are.

    Args:
        path: The file.
        folder: The study's folder; by default one of the file's name, beside it.
        **options: Those of `ImportOptions`: ``item``, ``label``, ``variant``, ``labels`` …

    Returns:
        The study, and what each column was taken for.

    Raises:
        ItemError: The file cannot be read, or holds a label outside the set.
        UnknownName: A column does not exist.
        QuaverError: No column is recognised as that of the labels, or the folder holds a study already.
    """
    path = Path(path)
    home = Path(folder or path.with_name(path.name.removesuffix(table_ending(path))))
    given: ImportOptions = with_defaults(ImportOptions, options)
    for name in LISTS:
        value: Any = given[name]
        given[name] = (value,) if isinstance(value, str) else value
    finish(home)
    if (home / "study.yaml").exists():
        raise QuaverError(
            "there is already a study here",
            where=str(home),
            fix="name another folder; with this one, answers and people's labels would go",
        )
    written = written_in(given)
    table = table_of(path, written, "annotations")
    several = matching(table.columns, given["label"] or "")
    if len(several) > 1 and not given["coders"]:
        given["coders"], given["label"] = tuple(several), None
    fields = _fields(table, given)
    columns = roles_of(table, given, has_fields=bool(fields))
    if given["evaluators"] and "raw" not in columns:
        raise QuaverError(
            "there is nothing for an evaluator to read",
            where="evaluators",
            expected="a column of raw answers",
            found="labels",
            fix="name the column with --raw",
        )
    if fields:
        task, columns["fields"] = _documents(table, fields, given["hand_labels"])
        meant: dict[str, Any] = {}
    else:
        task, meant = _labels(table, columns, given)
        people = {"coders": "majority"} if "models" in columns and "coders" in columns else None
        if given["hand_labels"] and (gold := columns.get("gold", people)):
            columns["gold"] = how_drawn(gold, given["hand_labels"])
    document = {
        "name": path.stem,
        "task": task,
        "annotations": {"source": f"imported{table_ending(path).lower()}", **columns, **meant, **written},
        **({"evaluators": list(given["evaluators"]) or ["marked_label"]} if "raw" in columns else {}),
        "measures": _measures(table, columns, fields),
    }
    study = _written(path, home, document, table.taken)
    return study, [*table.taken, *_rest(table, study)]


def _fields(table: Table, given: ImportOptions) -> tuple[FieldColumn, ...]:
    """The columns that are named as variables of their own."""
    others = ("label", "coders", "models", "raw", "labels", "level")
    if given["fields"] and any(given[name] for name in others):  # type: ignore[literal-required]
        raise QuaverError(
            "fields have columns and labels of their own",
            where="fields",
            found="--label, --coders, --models, --raw, --labels or --level beside them",
            fix="leave these out; the labels of a field stand in the study file, which you can edit",
        )
    return named_fields(table, given["fields"], label_rules(given, ()))


def _documents(
    table: Table, fields: Sequence[FieldColumn], drawn: str | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The study file's entries for the fields and for the columns with their labels.

    A field's gold labels are in a column that is called after it.
    """
    free = {_plain(name): name for name in table.free()}
    documents = {}
    for field in fields:
        document = {name: value for name, value in field.document.items() if name != "gold"}
        for form in _GOLD_OF:
            if column := free.get(form.format(_plain(field.name))):
                table.take("gold", column, f"{BY_NAME}: of {field.name}")
                document["gold"] = how_drawn(replace(field, gold=column).cells, drawn)
                break
        documents[field.name] = document
    return {"fields": documents}, {field.name: field.cells for field in fields}


def _plain(column: str) -> str:
    return column.casefold().replace(" ", "_")


def _labels(
    table: Table, played: Mapping[str, Any], options: ImportOptions
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The study file's label set, and the meaning of other texts: labels (1.0 for 1), or none."""
    columns = (
        [played["label"]] if "label" in played else [*played.get("models", ()), *played.get("coders", ())]
    )
    golden = [played["gold"]] if "gold" in played else []
    rules = label_rules(options, options["labels"], options["level"], is_read="raw" in played)
    column = shlex.quote(played.get("label", "COLUMN"))
    written = read_labels(
        table,
        (*columns, *golden),
        rules,
        len(table.rows) if options["label"] else MOST_LABELS,
        where=f"{table.path.name}: {', '.join(columns) or played['raw']}",
        expected=f"two labels or more, at most {MOST_LABELS} unless you name them or their column",
        fix=f"give the whole set with --labels a,b,c; if all are labels, add --label {column}; if the cells "
        f"are answers, add --raw {column} --labels a,b,c; or name another column with --label",
    )
    why = "named" if rules.labels else "all that occur" if columns else "the gold labels that occur"
    table.taken.append(Decision("labels", label_line(written.labels), why))
    # Where each coder has a column, an empty cell is no annotation.
    table.taken += [
        decision for decision in written.decisions if decision.column != EMPTY or "coders" not in played
    ]
    missing = [*options["unlabelled"], *written.missing]
    if options["outside"] == "no-label":
        missing += written.outside
        table.taken += [replace(decision, role="no label") for decision in labels_outside(written.outside)]
    if not rules.labels and options["level"] not in _OF_OTHER_LEVELS:
        meant = {**written.also, **dict.fromkeys(("", *written.missing))}
        # Where a row is a label, its coder is the side.
        rows_of = (played["item"], played["coder"]) if {"item", "coder", "label"} <= played.keys() else ()
        texts = {name: pl.Series(column_texts(table.rows, name)) for name in {*columns, *golden, *rows_of}}
        items = texts[played["item"]] if rows_of else pl.Series(range(len(table.rows))).cast(pl.String)
        sides = [
            pl.DataFrame({"item": items, "label": texts[name].replace(meant)}).with_columns(
                side=texts[rows_of[1]] if rows_of and name in columns else pl.lit(name)
            )
            for name in (*columns, *golden)
        ]
        check_sides(pl.concat(sides).drop_nulls("label"), table.path.name)
    task: dict[str, Any] = {"labels": list(written.labels)}
    if options["level"] not in (None, "nominal"):
        task["level"] = options["level"]
    label_options = {"map": written.also, "unlabelled": list(dict.fromkeys(missing))}
    return task, {name: value for name, value in label_options.items() if value}


def _written(path: Path, home: Path, document: dict[str, Any], taken: Sequence[Decision]) -> Study:
    """The study, written, read and measured once; what cannot be leaves nothing behind."""
    is_new, copy = not home.exists(), document["annotations"]["source"]
    decisions = [f"#   {_line(f'{decision.role}: {decision.column} ({decision.why})')}" for decision in taken]
    text = StringIO()
    text.write("\n".join([f"# Imported from {_line(path.name)}.", *decisions]) + "\n")
    YAML().dump(document, text)
    try:
        with changing(home) as change:
            shutil.copyfile(path, change.file(home / copy))
            change.write(home / "study.yaml", text.getvalue().encode("utf-8", "backslashreplace"))
            with scratch_folder() as trial:  # what cannot be read is not kept
                for file in change.files():
                    shutil.copyfile(file, trial / file.name)
                for source in fields_of(Study.open(trial).source).values():  # no time for an interval
                    frame = annotations_of(source)
                    for measurement in measurements(source, None, frame):
                        measurement.of(frame, resamples=0)
    except BaseException as error:
        if is_new:
            shutil.rmtree(home, ignore_errors=True)
        if isinstance(error, QuaverError):  # what the study file says came from the table
            where = (error.where or "").replace(copy, path.name)
            error.where = where if path.name in where else f"{path.name}: {where.partition(': ')[2] or where}"
            error.found = (error.found or "").replace(copy, path.name)
        raise
    return Study.open(home)


def _line(text: str) -> str:
    """A text as a comment of YAML can hold it: on one line, and with nothing that does not print."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in " ".join(text.split()))


def _rest(table: Table, study: Study) -> list[Decision]:
    """What became of the columns that were taken for nothing."""
    kept = study.experiment.items[0].fields
    of_items = [name for name in table.free() if name in kept]
    others = [name for name in table.free() if name not in kept]
    rest = (("field", of_items, "one value an item"), ("nothing", others, "not recognised"))
    return [Decision(role, ", ".join(names), why) for role, names, why in rest if names]


def _measures(table: Table, played: Mapping[str, Any], fields: Sequence[FieldColumn]) -> list[Any]:
    """What can be measured in annotations of this shape."""
    variant, several = played.get("variant", ()), set[str]()
    for role in ("repeat", "coder"):
        if role in played and len(table.values(played[role])) > 1:
            several.add(role)
    measures: list[Any] = []
    if "repeat" in several or "repeats_in_order" in played:
        measures.append("intra_pss")
    if any(len(table.values(name)) > 1 for name in variant):
        measures += ["inter_pss", "sensitivity"]
    if len(variant) > 1 and "temperature" in variant:  # as promptstability has it
        for_each = {"by": ["model", "temperature"]}
        measures.append({"use": "inter_pss", **for_each})
        measures += [{"use": "original_agreement", **for_each}] * ("original" in played)
    elif len(variant) == 1 and "original" in played:
        measures.append("original_agreement")
    people = played.get("coders", ()) if "models" in played else ()
    if "coder" in several or len(played.get("models") or played.get("coders", ())) > 1:
        measures.append("inter_model")
    if people:
        measures += ["accuracy", "coder_agreement", *["alternative_annotator"] * (len(people) > 2)]
    if "confidence" in played and (people or "gold" in played):
        measures += ["ece", "brier"]
    classes = [field.name for field in fields if field.kind != "number"]
    if any(decision.role == "gold" for decision in table.taken):
        measures += [
            measure
            for measure in ("accuracy", "consistency")[: 1 if fields else 2]
            if measure not in measures
        ]
    if classes:
        measures.append({"use": "label_shares", "field": classes})
    elif not fields:
        measures.append("label_shares")
    return [*measures, "compliance"]
