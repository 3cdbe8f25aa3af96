"""From a file of existing labels to a study's folder: which column is taken for what, and said so."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from quaver.collect.sole_writer import writing
from quaver.design.tables import Row, read_rows
from quaver.errors import ItemError, QuaverError, UnknownName
from quaver.measure.encode import ordered
from quaver.study import Study

__all__ = ["Roles", "Taken", "import_annotations"]

_NAMES: Mapping[str, tuple[str, ...]] = {
    "item": ("item", "item_id", "unit", "unit_id", "text_id", "doc_id", "document_id", "id"),
    "label": ("label", "annotation", "code", "category", "coding"),
    "coder": ("coder", "coder_id", "rater", "rater_id", "annotator", "annotator_id", "worker", "model"),
    "decoding": ("decoding",),
    "repeat": ("repeat", "iteration", "repetition", "run", "trial"),
    "text": ("text", "tweet", "sentence", "passage", "document"),
    "gold": ("gold", "gold_label", "truth", "true_label"),
}
"""What a column is often called, by the role that it plays."""

_VARIANTS = ("variant", "prompt_id", "wording", "format", "temperature")
_MOST_LABELS = 30
"""Columns with more values than these together are not taken for coders."""


@dataclass(frozen=True, slots=True)
class Roles:
    """Which columns play which role, as far as the user says; the rest is recognised by name.

    Attributes:
        item: Of the items' ids.
        label: Of the labels, in a table with a row an annotation.
        coders: The coders' columns, in a table with a row an item.
        coder: Of who labelled.
        variant: Of the prompts, each a factor.
        decoding: Of how the answer was drawn.
        repeat: Of which asking it was.
        text: Of the items' texts.
        gold: Of the true labels.
        groups: That group the items.
        ignore: Play no role, whatever they are called.
    """

    item: str | None = None
    label: str | None = None
    coders: tuple[str, ...] = ()
    coder: str | None = None
    variant: tuple[str, ...] = ()
    decoding: str | None = None
    repeat: str | None = None
    text: str | None = None
    gold: str | None = None
    groups: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Taken:
    """One decision.

    Attributes:
        role: What the column is taken for.
        column: The column, or columns.
        why: Whether it was named or recognised.
    """

    role: str
    column: str
    why: str


@dataclass(slots=True)
class _Table:
    """A file's columns, and what they have been taken for."""

    path: Path
    rows: list[Row]
    taken: list[Taken] = field(default_factory=list)
    used: set[str] = field(default_factory=set)

    @property
    def columns(self) -> list[str]:
        return list(self.rows[0])

    def values(self, column: str) -> list[str]:
        found = ("" if row.get(column) is None else str(row[column]).strip() for row in self.rows)
        return list(dict.fromkeys(value for value in found if value))

    def take(self, role: str, column: str, why: str) -> str:
        if column not in self.columns:
            raise UnknownName("column", column, self.columns, where=f"{self.path.name}: --{role}")
        self.used.add(column)
        self.taken.append(Taken(role, column, why))
        return column

    def free(self) -> list[str]:
        return [column for column in self.columns if column not in self.used]

    def find(self, role: str) -> str | None:
        """The free column that is called as such columns are."""
        found = [name for name in self.free() if name.casefold() in _NAMES[role]]
        if len(found) > 1:
            known = [name for name in _NAMES[role] if name in {one.casefold() for one in found}]
            found.sort(key=lambda name: known.index(name.casefold()))
            if role != "item":
                raise _ambiguous(self.path, role, found)
        return self.take(role, found[0], "recognised by its name") if found else None


def import_annotations(
    path: str | Path,
    folder: str | Path | None = None,
    *,
    roles: Roles | None = None,
    labels: Sequence[str] = (),
    unlabelled: Sequence[str] = (),
    level: str = "nominal",
    encoding: str = "utf-8",
    separator: str | None = None,
) -> tuple[Study, list[Taken]]:
    """Make a study of a CSV, TSV, JSON Lines or Parquet file of existing labels.

    Reads a row an annotation (promptstability's files, any long table), or a row an item with a column a
    coder. The file is copied into the study's folder, where ``study.yaml`` says what its columns are.

    Args:
        path: The file.
        folder: The study's folder; by default one of the file's name, beside it.
        roles: Which columns play which role. What is not said is recognised by the columns' names, and told.
        labels: The label set, in order; those that occur, if left out.
        unlabelled: What stands where there is no label.
        level: Level of measurement.
        encoding: Of a text file.
        separator: Between the cells of CSV and TSV.

    Returns:
        The study, and what each column was taken for.

    Raises:
        ItemError: The file cannot be read, or holds a label outside the set.
        UnknownName: A column does not exist.
        QuaverError: It cannot be told which column holds the labels, or the folder holds a study already.
    """
    path, given = Path(path), roles or Roles()
    home = Path(folder) if folder else path.parent / path.stem
    if (home / "study.yaml").exists():
        raise QuaverError(
            "there is a study already", where=str(home), fix="name another folder, or remove that one"
        )
    rows = read_rows(path, encoding, separator)
    if not rows:
        raise ItemError(
            "there are no annotations", where=str(path), expected="a header and rows", found="no row"
        )
    table = _Table(path, rows)
    told = _roles(table, given)
    found = list(labels) or _labels(table, told, unlabelled)
    annotations: dict[str, Any] = {"source": f"annotations{path.suffix.lower()}", **told}
    if encoding != "utf-8":
        annotations["encoding"] = encoding
    if separator:
        annotations["separator"] = separator
    if unlabelled:
        annotations["unlabelled"] = list(unlabelled)
    document = {
        "name": path.stem,
        "task": {"labels": found, **({} if level == "nominal" else {"level": level})},
        "annotations": annotations,
    }
    return _written(path, home, document, table), table.taken


def _roles(table: _Table, given: Roles) -> dict[str, Any]:
    """The columns by role, as the study file names them."""
    table.used.update(given.ignore)
    for name in given.ignore:
        if name not in table.columns:
            raise UnknownName("column", name, table.columns, where=f"{table.path.name}: --ignore")
    single = ("item", "label", "coder", "decoding", "repeat", "text", "gold")
    told: dict[str, Any] = {
        role: table.take(role, name, "named") for role in single if (name := getattr(given, role))
    }
    for role, names in (("coders", given.coders), ("variant", given.variant), ("groups", given.groups)):
        if names:
            told[role] = [table.take(role, name, "named") for name in names]
    order = ("label", "item", "gold", "text") if not given.coders else ("item", "gold", "text")
    for role in order:
        if role not in told and (column := table.find(role)):
            told[role] = column
    if "label" in told:
        for role in ("coder", "repeat", "decoding"):
            if role not in told and (column := table.find(role)):
                told[role] = column
        if "variant" not in told and (found := _variants(table)):
            told["variant"] = found
    elif "coders" not in told:
        told["coders"] = _coders(table)
    if "label" in told and "item" not in told:
        raise QuaverError(
            "no column of items was recognised",
            where=table.path.name,
            expected="a column that says which item a label belongs to",
            found=", ".join(table.columns),
            fix="name it with --item",
        )
    return told


def _variants(table: _Table) -> list[str]:
    """Columns called as those of prompts are, and that vary."""
    found = [name for name in table.free() if name.casefold() in _VARIANTS and len(table.values(name)) > 1]
    return [table.take("variant", name, "recognised by its name") for name in found]


def _coders(table: _Table) -> list[str]:
    """The columns that are left, where they hold few values and share them."""
    found = [name for name in table.free() if table.values(name)]
    together = {value for name in found for value in table.values(name)}
    shared = [
        name
        for name in found
        if any(set(table.values(name)) & set(table.values(other)) for other in found if other != name)
    ]
    if len(found) < 2 or len(together) > _MOST_LABELS or len(shared) < len(found):
        raise QuaverError(
            "no column of labels was recognised",
            where=table.path.name,
            expected="a column of labels, or a column of labels for each coder",
            found=", ".join(table.columns),
            fix="name it with --label, or the coders' columns with --coders a,b,c",
        )
    why = "recognised: what is left shares its values"
    return [table.take("coders", name, why) for name in found]


def _labels(table: _Table, told: Mapping[str, Any], unlabelled: Sequence[str]) -> list[str]:
    columns = [told["label"]] if "label" in told else list(told["coders"])
    values = {value for name in columns for value in table.values(name)}
    values.update(table.values(told["gold"]) if "gold" in told else ())
    found = list(ordered(values - set(unlabelled)))
    if len(found) < 2:
        raise QuaverError(
            "fewer than two labels occur",
            where=f"{table.path.name}: {', '.join(columns)}",
            expected="the label set",
            found=", ".join(found) or "no label",
            fix="give the whole set with --labels a,b,c",
        )
    if len(found) > _MOST_LABELS:
        raise QuaverError(
            f"{len(found)} different labels occur",
            where=f"{table.path.name}: {', '.join(columns)}",
            expected=f"at most {_MOST_LABELS}, or the label set with --labels",
            found=", ".join(found[:8]) + ", …",
            fix="name the right column with --label, or the set with --labels a,b,c",
        )
    table.taken.append(Taken("labels", ", ".join(found), "all that occur"))
    return found


def _ambiguous(path: Path, role: str, found: Sequence[str]) -> QuaverError:
    return QuaverError(
        f"several columns could be the {role}",
        where=path.name,
        found=", ".join(found),
        fix=f"name the right one with --{role}, and the others with --ignore",
    )


def _written(path: Path, home: Path, document: dict[str, Any], table: _Table) -> Study:
    told = document["annotations"]
    there = Study.open({**document, "annotations": {**told, "source": str(path.resolve())}})
    document["measures"] = _measures(there)  # reads it all, so that a bad file leaves no folder behind
    with writing(home):
        home.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, home / told["source"])
        head = [f"# Imported from {' '.join(path.name.split())}.", *_decisions(table)]
        with (home / "study.yaml").open("w", encoding="utf-8") as file:
            file.write("\n".join(head) + "\n")
            YAML().dump(document, file)
    study = Study.open(home)
    study.rescore()
    return study


def _decisions(table: _Table) -> list[str]:
    return [f"#   {one.role}: {' '.join(one.column.split())} ({one.why})" for one in table.taken]


def _measures(study: Study) -> list[str]:
    """What can be measured in annotations of this shape."""
    frame = study.annotations()
    found = []
    if frame["repeat"].n_unique() > 1:
        found.append("intra_pss")
    if frame["variant"].n_unique() > 1:
        found += ["inter_pss", "sensitivity"]
    if frame["model"].n_unique() > 1:
        found.append("inter_model")
    if frame["gold"].count():
        found += ["accuracy", "consistency"]
    return [*found, "label_shares", "compliance"]
