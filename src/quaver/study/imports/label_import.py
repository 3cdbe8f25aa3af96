"""From a file of existing labels to a study's folder: which column is taken for what, and said so."""

from __future__ import annotations

import re
import shlex
import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from typing_extensions import Unpack

from quaver.core.arguments import guarded, taking
from quaver.core.label_decisions import Decision, WrittenLabels, label_line, labels_outside
from quaver.core.options import with_defaults
from quaver.core.records import OF_SETS
from quaver.core.transaction import changing
from quaver.core.vocabularies import check_meeting
from quaver.design.items.text_lines import Row, column_texts
from quaver.errors import QuaverError
from quaver.estimation.encoding import ordered
from quaver.study.analysis.annotation_frame import annotations_of
from quaver.study.analysis.field_source import fields_of
from quaver.study.analysis.study_measures import measurements
from quaver.study.imports.columns import (
    BY_NAME,
    COLUMNS,
    LONGEST_LABEL,
    MOST_LABELS,
    Table,
    check_label_set,
    plays_a_role,
    roles_of,
    telling_apart,
)
from quaver.study.imports.field_columns import FieldColumn, named_fields, proposed_fields
from quaver.study.imports.import_options import LISTS, ImportOptions, label_rules
from quaver.study.imports.label_files import files_of, rows_of_files, write_rows
from quaver.study.session import Study

_GOLD_OF = ("{}_gold", "gold_{}", "true_{}", "{}_true", "{}_truth", "{}_hand_label")
"""What columns of a field's true labels are called."""


@guarded
@taking(ImportOptions)
def import_annotations(
    path: str | Path, folder: str | Path | None = None, **options: Unpack[ImportOptions]
) -> tuple[Study, list[Decision]]:
    """Make a study of existing labels or answers: a table, several tables, or another tool's log.

    Reads CSV, TSV, spreadsheets, JSON Lines and Parquet files, with a row an annotation (promptstability's
    files, any long table) or a row an item with a column a coder. The study's folder gets a copy, and
    ``study.yaml`` says what its columns are.

    Args:
        path: The file, or a pattern that several files fit (``coded-*.csv``).
        folder: The study's folder; by default one of the file's name, beside it.
        **options: Those of `ImportOptions`: ``item``, ``label``, ``variant``, ``labels`` …

    Returns:
        The study, and what each column was taken for.

    Raises:
        ItemError: A file cannot be read, or holds a label outside the set.
        UnknownName: A column does not exist.
        QuaverError: No column is recognised as that of the labels, or the folder holds a study already.
    """
    path = Path(path)
    given: ImportOptions = with_defaults(ImportOptions, options)
    for name in LISTS:
        one: Any = given[name]
        given[name] = (one,) if isinstance(one, str) else one
    files = files_of(path)
    home = Path(folder) if folder else files[0].parent / files[0].stem if len(files) == 1 else None
    if home is None:
        raise QuaverError(
            "several files need a folder for their study",
            where=str(path),
            expected="the name of a new folder after the pattern",
        )
    _check_new(home)
    table = _table(path, files, given)
    fields = _fields(table, given)
    columns = roles_of(table, given, has_fields=bool(fields))
    _check_read(columns, given["evaluators"])
    also, unlabelled = dict[str, str](), list[str]()
    if fields:
        documents, columns["fields"] = _documents(table, fields)
        task: dict[str, Any] = {"fields": documents}
    else:
        label_set, also, missing = _labels(table, columns, given)
        task = {"labels": label_set} | (
            {} if given["level"] in (None, "nominal") else {"level": given["level"]}
        )
        unlabelled = list(dict.fromkeys([*given["unlabelled"], *missing]))
    is_copied = not table.is_changed
    reading = {name: given[name] for name in ("encoding", "separator", "sheet", "quote")} if is_copied else {}
    source = f"imported{files[0].suffix.lower()}" if is_copied else "imported.csv"
    document = {
        "name": home.name if len(files) > 1 else path.stem,
        "task": task,
        "annotations": _annotations(source, columns, also, {**reading, "unlabelled": unlabelled}),
        **({"evaluators": list(given["evaluators"]) or ["marked_label"]} if "raw" in columns else {}),
        "measures": _measures(table, columns, fields),
    }
    study = _written(files[0] if is_copied else table.rows, path, home, document, table.taken)
    return study, [*table.taken, *_rest(table, study)]


def _table(path: Path, files: Sequence[Path], given: ImportOptions) -> Table:
    """The rows of all files, with the options' columns named as they are there."""
    decisions = list[Decision]()
    table = Table(path, rows_of_files(files, given, decisions), decisions)
    given |= table.naming(given, COLUMNS)  # type: ignore[typeddict-item]
    table.is_changed = len(files) > 1 or bool(decisions)
    if len(files) > 1:
        table.taken.append(Decision("files", path.name, f"{len(files)} files"))
    return table


def _fields(table: Table, given: ImportOptions) -> tuple[FieldColumn, ...]:
    """The columns that are variables of their own: those that are named, else where no other is of labels."""
    table.ignore(given["ignore"])
    others = ("label", "coders", "raw", "labels", "level")
    if given["fields"] and any(given[name] for name in others):  # type: ignore[literal-required]
        raise QuaverError(
            "fields have columns and labels of their own",
            where="fields",
            found="--label, --coders, --raw, --labels or --level beside them",
            fix="leave these out; the labels of a field stand in the study file, which you can edit",
        )
    if given["label"] or given["coders"] or given["raw"]:
        return ()
    named = {
        one for value in given.values() for one in (value if isinstance(value, list | tuple) else [value])
    }
    golds = {form.format(_stem(name)) for name in table.columns for form in _GOLD_OF}
    known = {one for one in table.columns if one in named or plays_a_role(one) or _stem(one) in golds}
    seen, rules = table.anew(), label_rules(given, ())
    if given["fields"]:
        found = named_fields(seen, given["fields"], rules)
    elif table.free("label"):
        return ()
    else:
        items = [given["item"]] if given["item"] else table.free("item")
        coder = telling_apart(table, items[0], given) if items else None
        seen.used |= known | ({coder} if coder else set())
        found = proposed_fields(seen, rules)
    table.used.update(name for one in found for name in one.columns)
    table.taken += seen.taken
    return found


def _documents(table: Table, fields: Sequence[FieldColumn]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the study file says of each field, and where its labels stand.

    Its true labels are in a column that is called after it.
    """
    free = {_stem(name): name for name in table.free()}
    documents = {}
    for one in fields:
        document = {name: value for name, value in one.document.items() if name != "gold"}
        if called := [name for form in _GOLD_OF if (name := free.get(form.format(_stem(one.name))))]:
            column = table.take("gold", called[0], f"{BY_NAME}: of {one.name}")
            document["gold"] = replace(one, gold=column).cells
        documents[one.name] = document
    return documents, {one.name: one.cells for one in fields}


def _stem(column: str) -> str:
    return column.casefold().replace(" ", "_")


def _annotations(
    source: str, columns: Mapping[str, Any], also: Mapping[str, str], read: Mapping[str, Any]
) -> dict[str, Any]:
    """What the study file says of the table: where it is, what its columns are, and how it is read."""
    said = {name: value for name, value in read.items() if value and (name, value) != ("encoding", "utf-8")}
    mapped = {"map": dict(also)} if also else {}
    return {"source": source, **columns, **mapped, **said}


def _check_new(home: Path) -> None:
    """See that nothing is written over."""
    if (home / "study.yaml").exists():
        raise QuaverError(
            "there is already a study here",
            where=str(home),
            fix="name another folder; with this one, answers and people's labels would go",
        )


def _check_read(played: Mapping[str, Any], evaluators: Sequence[str]) -> None:
    """See that evaluators have something to read."""
    if evaluators and "raw" not in played:
        raise QuaverError(
            "there is nothing for an evaluator to read",
            where="evaluators",
            expected="a column of raw answers",
            found="labels",
            fix="name the column with --raw",
        )


def _labels(
    table: Table, played: Mapping[str, Any], options: ImportOptions
) -> tuple[list[str], dict[str, str], list[str]]:
    """The label set, what else stands for one of its labels (1.0 for 1), and what counts as no label."""
    columns = [played["label"]] if "label" in played else list(played.get("coders", ()))
    counts = Counter[str]()
    for name in columns:
        counts.update(table.counts(name))
    golden = table.counts(played["gold"]) if "gold" in played else Counter[str]()
    rules = label_rules(options, options["labels"], options["level"], is_read="raw" in played)
    written = rules.read(counts + golden)
    labels = list(rules.labels or ordered(written.labels))
    where = f"{table.path.name}: {', '.join(columns) or played['raw']}"
    _check_labels(table, labels, played, known=bool(rules.labels or options["label"]), where=where)
    why = "named" if rules.labels else "all that occur" if columns else "the gold labels that occur"
    table.taken.append(Decision("labels", label_line(labels), why))
    decisions = [
        one for one in written.decisions if one.column != "(an empty cell)" or "coders" not in played
    ]
    table.taken += decisions  # where each coder has a column, an empty cell is no annotation
    missing = list(written.missing)
    if options["outside"] == "no-label":
        missing += written.outside
        table.taken += [replace(one, role="no label") for one in labels_outside(written.outside)]
    if not rules.labels and options["level"] not in _OF_OTHER_LEVELS:
        _check_meeting(table, columns, played.get("gold"), written)
    return labels, written.also, missing


def _check_meeting(table: Table, columns: Sequence[str], gold: str | None, written: WrittenLabels) -> None:
    """See that each column of labels has labels in common with the true ones and with the others."""
    meant = {**written.also, **dict.fromkeys(("", *written.missing), "")}
    texts = {
        name: [meant.get(text, text) for text in column_texts(table.rows, name)]
        for name in (*columns, *([gold] if gold else ()))
    }
    for name in columns:
        for others in ([gold] if gold else []), [other for other in columns if other != name]:
            pairs = (zip(texts[name], texts[other], strict=True) for other in others)
            together = Counter(pair for both in pairs for pair in both if all(pair))
            check_meeting(
                (name, "the others" if len(others) > 1 else "".join(others)), together, table.path.name
            )


_OF_OTHER_LEVELS = ("interval", "ratio", *OF_SETS)


def _check_labels(
    table: Table, found: Sequence[str], played: Mapping[str, Any], *, known: bool, where: str
) -> None:
    """See that there are as many labels as a label set has."""
    if not found and "raw" in played:
        raise QuaverError(
            "the labels in these answers are not known",
            where=where,
            expected="the label set",
            fix=f"give it with --labels {_frequent(table, played['raw'])}",
        )
    many = len(found) > MOST_LABELS and not known
    column = shlex.quote(played.get("label", "COLUMN")) if many else ""
    likely = _frequent(table, played["label"]) if many and "label" in played else "a,b,c"
    check_label_set(
        found,
        MOST_LABELS if many else max(2, len(found)),
        where,
        ("the label set", f"at most {MOST_LABELS}, unless you name them or their column"),
        (
            "give the whole set with --labels a,b,c",
            f"if all are labels, add --label {column}; if the cells are answers, add --raw {column} "
            f"--labels {likely}; or name another column with --label",
        ),
    )


def _frequent(table: Table, column: str) -> str:
    """The short texts that make up at least a hundredth of a column each, as ``--labels`` takes them."""
    counts = table.counts(column)
    least = max(2, len(table.rows) / 100)
    short = {text for text, n in counts.items() if n >= least and 0 < len(text) <= LONGEST_LABEL // 4}
    first = {text for text in short if not any(text.startswith(f"{other} ") for other in short)}
    likely = ordered({text for text in first if not {",", '"'} & set(text)})
    if not 2 <= len(likely) <= MOST_LABELS:
        return "a,b,c"
    return shlex.quote(",".join(likely))


def _written(
    table: Path | Sequence[Row], path: Path, home: Path, document: dict[str, Any], taken: Sequence[Decision]
) -> Study:
    """The study, written, read and measured once; what cannot be leaves nothing behind.

    Its table is a copy of a file, or the rows that several files and options have made.
    """
    is_new, copy = not home.exists(), home / document["annotations"]["source"]
    decisions = [f"#   {_line(f'{decision.role}: {decision.column} ({decision.why})')}" for decision in taken]
    text = StringIO()
    text.write("\n".join([f"# Imported from {_line(path.name)}.", *decisions]) + "\n")
    YAML().dump(document, text)
    try:
        with changing(home) as change:
            if isinstance(table, Path):
                shutil.copyfile(table, change.file(copy))
            else:
                write_rows(change.file(copy), table)
            change.write(home / "study.yaml", text.getvalue().encode("utf-8", "backslashreplace"))
            with tempfile.TemporaryDirectory(prefix="quaver-") as trial:  # what cannot be read is not kept
                for file in change.files():
                    shutil.copyfile(file, Path(trial) / file.name)
                study = Study.open(Path(trial))
                for one in fields_of(study.source).values():
                    frame = annotations_of(one)
                    for measurement in measurements(one, None, frame):
                        measurement.of(frame, resamples=0)  # no time for an interval
    except BaseException as error:
        if is_new:
            shutil.rmtree(home, ignore_errors=True)
        if not isinstance(error, QuaverError):
            raise
        where = error.where or ""
        row = None if isinstance(table, Path) else _row_at(where, copy.name, table)
        rest = where.partition(":")[2].lstrip("0123456789")
        error.where = row.where + rest if row else _in_words(where, copy.name, path.name)
        error.found = (error.found or "").replace(copy.name, path.name)
        raise
    return Study.open(home)


def _row_at(where: str, copy: str, rows: Sequence[Row]) -> Row | None:
    """The row that an error in a table of several files is about."""
    number = re.match(rf"{re.escape(copy)}:(\d+)", where)
    line = 1
    for row in rows if number else ():
        line += 1 + sum(str(cell).count("\n") for cell in row.values())
        if number and line >= int(number[1]):
            return row
    return None


def _in_words(where: str, copy: str, name: str) -> str:
    """Where an error is: in the file, as the user calls it; what the study file says came from there."""
    where = where.replace(copy, name)
    return where if name in where else f"{name}: {where.partition(': ')[2] or where}"


def _line(text: str) -> str:
    """A text as a comment of YAML can hold it: on one line, and with nothing that does not print."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in " ".join(text.split()))


def _rest(table: Table, study: Study) -> list[Decision]:
    """What became of the columns that were taken for nothing."""
    kept = study.experiment.items[0].fields
    rest = {"field": "one value an item", "nothing": "not recognised"}
    groups = {role: [c for c in table.free() if (c in kept) == (role == "field")] for role in rest}
    return [Decision(role, ", ".join(groups[role]), why) for role, why in rest.items() if groups[role]]


def _measures(table: Table, played: Mapping[str, Any], fields: Sequence[FieldColumn]) -> list[Any]:
    """What can be measured in annotations of this shape."""

    def several(role: str) -> bool:
        return role in played and len(table.values(played[role])) > 1

    found: list[Any] = []
    variant = played.get("variant", ())
    if several("repeat") or played.get("repeats_in_order"):
        found.append("intra_pss")
    if any(len(table.values(name)) > 1 for name in variant):
        found += ["inter_pss", "sensitivity"]
    if len(variant) > 1 and "temperature" in variant:  # as promptstability has it
        found.insert(found.index("inter_pss") + 1, {"use": "inter_pss", "by": ["model", "temperature"]})
    if "original" in played and len(variant) == 1:
        found.append("original_agreement")
    elif "original" in played and sorted(variant)[1:] == ["temperature"]:
        found.append({"use": "original_agreement", "by": ["model", "temperature"]})
    if several("coder") or len(played.get("coders", ())) > 1:
        found.append("inter_model")
    if fields:
        classes = [one.name for one in fields if one.kind != "number"]
        found += ["accuracy"] * any(decision.role == "gold" for decision in table.taken)
        return [*found, *([{"use": "label_shares", "field": classes}] if classes else []), "compliance"]
    if "gold" in played and table.values(played["gold"]):
        found += ["accuracy", "consistency"]
    return [*found, "label_shares", "compliance"]
