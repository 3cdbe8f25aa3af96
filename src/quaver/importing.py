"""From a file of existing labels to a study's folder: which column is taken for what, and said so."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from quaver.agreeing import read_table
from quaver.arguments import guarded
from quaver.collect.sole_writer import writing
from quaver.design.tables import Row
from quaver.errors import ItemError, QuaverError, UnknownName
from quaver.label_cells import Taken, alike, doubts, listed
from quaver.measure.encode import ordered
from quaver.plugins import Measurement
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


@dataclass(slots=True)
class _Table:
    """A file's columns, and what they have been taken for."""

    path: Path
    rows: list[Row]
    columns: list[str] = field(init=False)
    taken: list[Taken] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    _counts: dict[str, Counter[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.columns = list(self.rows[0])

    def counts(self, column: str) -> Counter[str]:
        """How often each text occurs in a column, in order of appearance, the empty one included."""
        if column not in self._counts:
            self._counts[column] = Counter(row.text(column) for row in self.rows)
        return self._counts[column]

    def values(self, column: str) -> list[str]:
        """The texts that occur in a column, in order of appearance."""
        return [text for text in self.counts(column) if text]

    def holds_texts(self, column: str) -> bool:
        """Whether each cell of a column holds a single value."""
        try:
            self.counts(column)
        except ItemError:
            return False
        return True

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


@guarded
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
    path = Path(path)
    home = Path(folder) if folder else path.parent / path.stem
    if (home / "study.yaml").exists():
        raise QuaverError(
            "there is a study already", where=str(home), fix="name another folder, or remove that one"
        )
    rows = read_table(path, encoding, separator)
    table = _Table(path, rows)
    told = _roles(table, roles or Roles())
    found, alike = _labels(table, told, labels, unlabelled)
    annotations: dict[str, Any] = {"source": f"imported{path.suffix.lower()}", **told}
    if alike:
        annotations["map"] = alike
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
        "measures": _measures(table, told),
    }
    rows.clear()  # they are read again, as the study will read them
    study = _written(path, home, document, table.taken)
    return study, [*table.taken, *_rest(table, study)]


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
    if "label" not in told and "item" not in told:
        table.taken.append(Taken("item", "(the row's number)", "no column was recognised"))
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


def _labels(
    table: _Table, told: Mapping[str, Any], given: Sequence[str], unlabelled: Sequence[str]
) -> tuple[list[str], dict[str, str]]:
    """The label set, and what else stands in the file for one of its labels: 1.0 for 1."""
    columns = [told["label"]] if "label" in told else list(told["coders"])
    counts = Counter[str]()
    for name in columns:
        counts.update(table.counts(name))
    golden = table.counts(told["gold"]) if "gold" in told else Counter[str]()
    values = {text: n for text, n in (counts + golden).items() if text and text not in unlabelled}
    also = alike(values, given)
    found = list(given) or list(ordered(values.keys() - also.keys()))
    where = f"{table.path.name}: {', '.join(columns)}"
    if len(found) < 2:
        raise QuaverError(
            "fewer than two labels occur",
            where=where,
            expected="the label set",
            found=", ".join(found) or "no label",
            fix="give the whole set with --labels a,b,c",
        )
    if len(found) > _MOST_LABELS and not given:
        raise QuaverError(
            f"{len(found)} different labels occur",
            where=where,
            expected=f"at most {_MOST_LABELS}, or the label set with --labels",
            found=", ".join(label[:40] for label in found[:8]) + ", …",
            fix="name the right column with --label, or the set with --labels a,b,c",
        )
    table.taken.append(Taken("labels", listed(found), "named" if given else "all that occur"))
    table.taken += [
        Taken(f"label {label}", written, "the same number" if written.endswith(".0") else "the same letters")
        for written, label in also.items()
    ]
    if "coders" in told:  # there an empty cell is no annotation
        del counts[""]
    table.taken += doubts(counts, found, unlabelled, given=bool(given))
    return found, also


def _ambiguous(path: Path, role: str, found: Sequence[str]) -> QuaverError:
    return QuaverError(
        f"several columns could be the {role}",
        where=path.name,
        found=", ".join(found),
        fix=f"name the right one with --{role}, and the others with --ignore",
    )


def _written(path: Path, home: Path, document: dict[str, Any], taken: Sequence[Taken]) -> Study:
    """The study, written, read and measured once; what cannot be leaves nothing behind."""
    there = set(home.iterdir()) if home.is_dir() else None
    copy = home / document["annotations"]["source"]
    try:
        with writing(home):
            home.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
            head = [f"# Imported from {_line(path.name)}.", *_decisions(taken)]
            with (home / "study.yaml").open("w", encoding="utf-8") as opened:
                opened.write("\n".join(head) + "\n")
                YAML().dump(document, opened)
        study = Study.open(home)
        frame = study.rescore()
        for one in study.measurements(frame=frame):
            one.of(frame, **_quick(one))
    except BaseException as error:
        _removed(home, there)
        if isinstance(error, QuaverError):  # the file is called as the user calls it
            error.where = _in_words(error.where or "", copy.name, path.name)
            error.found = (error.found or "").replace(copy.name, path.name)
        raise
    return study


def _quick(one: Measurement) -> dict[str, Any]:
    """Options under which a measure takes no time for an interval."""
    return {"resamples": 0} if "resamples" in signature(one.plugin).parameters else {}


def _removed(home: Path, there: set[Path] | None) -> None:
    """Take away what was written to a folder."""
    if there is None:
        shutil.rmtree(home, ignore_errors=True)
        return
    for file in set(home.iterdir()) - there:
        file.unlink()


def _in_words(where: str, copy: str, name: str) -> str:
    """Where an error is: in the file, as the user calls it; what the study file says came from there."""
    where = where.replace(copy, name)
    return where if name in where else f"{name}: {where.partition(': ')[2] or where}"


def _decisions(taken: Sequence[Taken]) -> list[str]:
    return [f"#   {_line(f'{one.role}: {one.column} ({one.why})')}" for one in taken]


def _line(text: str) -> str:
    """A text as a comment of YAML can hold it: on one line, and with nothing that does not print."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in " ".join(text.split()))


def _rest(table: _Table, study: Study) -> list[Taken]:
    """What became of the columns that were taken for nothing."""
    kept = study.experiment.items[0].fields
    rest = {"field": "one value an item", "nothing": "not recognised"}
    groups = {role: [c for c in table.free() if (c in kept) == (role == "field")] for role in rest}
    return [Taken(role, ", ".join(groups[role]), why) for role, why in rest.items() if groups[role]]


def _measures(table: _Table, told: Mapping[str, Any]) -> list[Any]:
    """What can be measured in annotations of this shape."""

    def several(role: str) -> bool:
        return role in told and len(table.values(told[role])) > 1

    found: list[Any] = []
    variant = told.get("variant", ())
    if several("repeat"):
        found.append("intra_pss")
    if any(len(table.values(name)) > 1 for name in variant):
        found += ["inter_pss", "sensitivity"]
    if len(variant) > 1 and "temperature" in variant:  # as promptstability has it
        found.insert(found.index("inter_pss") + 1, {"use": "inter_pss", "by": ["model", "temperature"]})
    if several("coder") or len(told.get("coders", ())) > 1:
        found.append("inter_model")
    if "gold" in told and table.values(told["gold"]):
        found += ["accuracy", "consistency"]
    return [*found, "label_shares", "compliance"]
