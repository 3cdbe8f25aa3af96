"""An index as it is read: what it says of its study, small parts in memory, cells in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import TypeAdapter

from quaver.core.records import LabelSet, Variant
from quaver.core.replaced_file import replace_text
from quaver.errors import StoreError
from quaver.view.kept_texts import KeptTexts

CURRENT = "current"
"""The file that names the index in use."""

FAILURE = "failure.json"
"""Where the indexing process writes an error for the server."""

TRUNCATED, LOOPING = 1, 2
STATUSES = ("tied", "no_label", "ambiguous", "refused", "empty", "error")
"""Why an answer has no label, in the legend's order; ``tied`` is a valid answer that prefers none."""


@dataclass(frozen=True)
class Column:
    """One column of the grid: a condition and a repeat."""

    at: int
    model: str
    prompt: str
    decoding: str
    repeat: int
    condition: int


@dataclass(frozen=True)
class IndexDesign:
    """The fixed part of an index.

    Attributes:
        name: The study's name.
        kind: What it was opened from, in words.
        items: How many items there are.
        labels: The label set.
        evaluators: Their names, the study's first one first.
        of: The follow-up that an evaluator reads, by the evaluator's name.
        conditions: Model, variant, decoding, repeats, of all that are no follow-ups.
        variants: Every prompt variant.
        groups: The items' group columns, each with its values in the order of their codes.
        has: What there is: ``texts``, ``answers``.
        task: The instruction and the kind of study.
        decodings: Options by name.
        readers: The study's evaluators, as its file has them.
        text_field: The field that is the items' text; empty where the text is put together.
        store: Where the answers are; empty where there are labels only.
        folder: The study's folder.
        marks: Where marks are kept.
    """

    name: str
    kind: str
    items: int
    labels: LabelSet
    evaluators: tuple[str, ...]
    of: dict[str, str]
    conditions: tuple[tuple[str, str, str, int], ...]
    variants: tuple[Variant, ...]
    groups: dict[str, tuple[str, ...]]
    has: dict[str, bool]
    task: dict[str, str] = field(default_factory=dict)
    decodings: dict[str, dict[str, Any]] = field(default_factory=dict)
    readers: list[dict[str, Any]] = field(default_factory=list)
    text_field: str = ""
    store: str = ""
    folder: str = ""
    marks: str = ""

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Every column, conditions outermost."""
        columns: list[Column] = []
        for index, (model, variant, decoding, repeats) in enumerate(self.conditions):
            for repeat in range(repeats):
                columns.append(Column(len(columns), model, variant, decoding, repeat, index))
        return tuple(columns)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The first column of each condition."""
        starts = [0]
        for *_, repeats in self.conditions:
            starts.append(starts[-1] + repeats)
        return tuple(starts[:-1])

    @property
    def codes(self) -> tuple[str, ...]:
        """The labels' codes."""
        return self.labels.codes

    @property
    def cell_type(self) -> str:
        """NumPy's name of what a cell takes."""
        return "uint8" if len(self.codes) + len(STATUSES) < 250 else "uint16"

    @property
    def hidden(self) -> int:
        """The legend code of a cell that must not be seen."""
        return 255 if self.cell_type == "uint8" else 65535

    def status_code(self, status: str) -> int:
        """The legend code of a status without a label."""
        return 1 + len(self.codes) + STATUSES.index(status)

    @cached_property
    def meanings(self) -> tuple[tuple[str | None, str], ...]:
        """By legend code: the label and the status."""
        statuses = [(None, "valid" if one == "tied" else one) for one in STATUSES]
        return ((None, "missing"), *((code, "valid") for code in self.codes), *statuses)

    @cached_property
    def prompts(self) -> tuple[str, ...]:
        """The variants that are asked, in order."""
        return tuple(dict.fromkeys(variant for _, variant, _, _ in self.conditions))

    @cached_property
    def variants_by_id(self) -> dict[str, Variant]:
        """Every variant by its id."""
        return {variant.id: variant for variant in self.variants}

    def document(self) -> dict[str, Any]:
        """All of it as a mapping for JSON."""
        return asdict(self)


_ADAPTER = TypeAdapter(IndexDesign)


def design_of(document: Any) -> IndexDesign:
    """The design in a JSON document."""
    return _ADAPTER.validate_python(document)


def legend_codes(design: IndexDesign, labels: Sequence[str | None], statuses: Sequence[str]) -> list[int]:
    """The legend codes of annotations."""
    of_label = {code: index for index, code in enumerate(design.codes, start=1)}
    of_status = {status: design.status_code(status) for status in STATUSES} | {
        "valid": design.status_code("tied")
    }
    return [
        of_status[status] if label is None else of_label[label]
        for label, status in zip(labels, statuses, strict=True)
    ]


class State(NamedTuple):
    """How far an index has come.

    Attributes:
        last: The number of the last response in it.
        done: Answers, or labels, that are in it.
        of: How many there are.
        complete: Whether it holds all that there was when it was last continued.
        frame: Rows of the annotation frame that are in it, where its labels came from there.
        changed: Counts changes of what was there: answers in the place of errors, new gold labels.
    """

    last: int = 0
    done: int = 0
    of: int = 0
    complete: bool = False
    frame: int = 0
    changed: int = 0


def write_json(path: Path, document: Any) -> None:
    """Write a document whole or not at all."""
    replace_text(path, json.dumps(document, ensure_ascii=True, default=str))


def error_document(error: Exception) -> dict[str, Any]:
    """An error for the page."""
    names = ("problem", "where", "expected", "found", "fix")
    return {name: getattr(error, name, None) for name in names} | (
        {} if hasattr(error, "problem") else {"problem": str(error)}
    )


_CELLS = 1_000_000
"""As many cells are looked at together."""


class Plane:
    """A plane, read in pieces so that no more of it is in memory; zeros where there is none."""

    def __init__(self, path: Path, kind: str, width: int) -> None:
        self._path, self._kind, self.width = path, np.dtype(kind), width

    @property
    def exists(self) -> bool:
        """Whether anything was put into it."""
        return self._path.exists()

    def rows(self, start: int, stop: int) -> Any:
        """Consecutive rows."""
        return self._read([start], stop - start)[0]

    def some(self, rows: Any) -> Any:
        """Rows by their numbers, in that order."""
        return self._read(rows, 1).reshape(-1, self.width)

    def at(self, rows: Any, columns: Any) -> Any:
        """Single cells."""
        distinct, places = np.unique(np.asarray(rows, np.int64), return_inverse=True)
        return self.some(distinct)[places, np.asarray(columns, np.int64)]

    def cell(self, row: int, column: int) -> Any:
        """The number in one cell."""
        return self.rows(row, row + 1)[0, column].item()

    def _read(self, starts: Any, count: int) -> Any:
        """Pieces of some rows each."""
        result = np.zeros((len(starts), count, self.width), self._kind)
        if not result.size or not self.exists:
            return result
        with self._path.open("rb", buffering=0) as file:
            for index, start in enumerate(starts):
                file.seek(int(start) * self.width * self._kind.itemsize)
                file.readinto(result[index])
        return result


class Index:
    """An index that was made, or is being made.

    Args:
        folder: Where it is.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.design: IndexDesign = design_of(json.loads((folder / "design.json").read_text(encoding="utf-8")))
        self._gold: tuple[int, Any] = (0, None)
        self._texts: dict[str, KeptTexts] = {}
        self._planes: dict[str, Plane] = {}
        self.ids = self.texts("ids")
        self.width = len(self.design.columns)

    @property
    def gold(self) -> Any:
        """The legend codes of the items' gold labels, as they are now; 0 for none."""
        path = self.folder / "gold.npy"
        if (written := path.stat().st_mtime_ns) != self._gold[0]:
            self._gold = written, np.load(path)
        return self._gold[1]

    @property
    def state(self) -> State:
        """How far it has come."""
        return State(**json.loads((self.folder / "state.json").read_text(encoding="utf-8")))

    @cached_property
    def groups(self) -> dict[str, Any]:
        """The codes of the items' groups, from 1 in the order of the design's values."""
        names = enumerate(self.design.groups)
        return {name: np.load(self.folder / f"group-{index}.npy") for index, name in names}

    def texts(self, name: str) -> KeptTexts:
        """One of the tables of texts."""
        return self._texts.setdefault(name, KeptTexts(self.folder, name))

    def labels(self, evaluator: int) -> Plane:
        """The legend codes of an evaluator's readings."""
        return self.plane(f"label-{evaluator}", self.design.cell_type)

    def plane(self, name: str, kind: str) -> Plane:
        """Another plane: ``confidence-N``, ``flags``, ``response``, ``length``, ``text``, ``thought``."""
        made = Plane(self.folder / f"{name}.plane", kind, self.width)
        return self._planes.setdefault(name, made)

    def item_text(self, index: int, longest: int | None = None) -> str:
        """An item's text as the first prompt shows it, or its beginning."""
        if not self.design.has["texts"]:
            return ""
        if not self.design.text_field:
            shown = self.texts("shown")
            return shown[index] if longest is None else shown.begin(index, longest)
        text = str(self.item_fields(index).get(self.design.text_field, ""))
        return text if longest is None else text[:longest]

    def item_fields(self, index: int) -> dict[str, Any]:
        """An item's fields."""
        return dict(json.loads(self.texts("fields")[index])) if self.design.has["texts"] else {}

    def blocks(self) -> Iterator[tuple[int, int]]:
        """The rows in pieces of about a million cells: where each starts and stops."""
        step = max(1, _CELLS // max(1, self.width))
        for start in range(0, self.design.items, step):
            yield start, min(start + step, self.design.items)


def index_in(root: Path) -> Index | None:
    """The index in use among those of a folder; None where none was made yet, or it is not whole."""
    try:
        name = (root / CURRENT).read_text(encoding="utf-8").strip()
        return Index(root / Path(name).name)
    except (OSError, ValueError, EOFError):
        return None


def require(index: Index | None) -> Index:
    """An index that there is."""
    if index is None:
        raise StoreError("the study is still being read", where="quaver view", fix="try again in a moment")
    return index
