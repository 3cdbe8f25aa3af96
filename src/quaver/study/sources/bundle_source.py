"""A bundle as a source: what was packed, measured, reported and compared without the models."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, NotRequired

import polars as pl
from pydantic import Field

from quaver.collect.run.ledger import Entry
from quaver.collect.run.progress import Price
from quaver.collect.store.response_store import Store
from quaver.collect.store.store_validation import check_cells, check_places, make_sound
from quaver.core.annotations import misfit
from quaver.core.input_budget import parsed_json, read_file, read_parquet
from quaver.core.records import Condition, Decoding, Estimate, Item, LabelSet, Variant
from quaver.design.calls.experiment import Experiment, follow_ups_of
from quaver.design.items.item_media import with_versions
from quaver.design.items.text_parts import split_column
from quaver.design.spec import NOT_ASKED, StudySpec
from quaver.design.spec.study_file import Positions, read_study
from quaver.errors import QuaverError, SpecError, StoreError
from quaver.study.sources.archive import Opened, extract
from quaver.study.sources.paraphrase_file import entries_of
from quaver.study.sources.study_folder import shape, shaped
from quaver.study.sources.study_source import StudySource

_POLARS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
PACKED = "packed.json"
_several: Any = list
_Count = Annotated[int, Field(ge=0, lt=2**63)]
_PLACE = shape("_PLACE", {**dict.fromkeys(("model", "variant", "decoding", "item"), str), "repeat": int})
_ITEMS = shape(
    "_ITEMS",
    {"n": _Count, "blake2b": str, "gold": dict[str, _Count], "ids": list[str], "parts": dict[str, _Count]},
    total=False,
)
_MADE = shape("_MADE", dict.fromkeys(("made", "spent"), list[dict[str, Any]]), total=False)
_PARTS: Mapping[str, Any] = {
    "study.lock.json": shape(
        "_LOCK",
        {
            "study": dict[str, Any],
            "labels": LabelSet,
            "variants": list[Variant],
            "decodings": dict[str, Decoding],
            "conditions": list[Condition],
            "models": dict[str, dict[str, Any]],
            "items": NotRequired[_ITEMS],
            "original": NotRequired[list[tuple[str, str]]],
            "notes": NotRequired[list[str]],
            "follow_ups": NotRequired[dict[str, list[tuple[str, str]]]],
            "calls": NotRequired[_Count],
            "evaluators": NotRequired[dict[str, str]],
            "versions": NotRequired[dict[str, str]],
            "paraphrases": NotRequired[_MADE],
        },
    ),
    "items.json": Annotated[list[Item], Field(min_length=1)],
    "estimates.json": list[Estimate],
    "withheld.json": _several[_PLACE],
    PACKED: shape(
        "_PACKED",
        {
            "made_with": dict[str, str],
            "prices": dict[str, Price | None],
            "outside": dict[str, _Count],
            "stayed": list[str],
        },
        total=False,
    ),
}
"""The documents of a bundle, and what each must be."""


def estimates_in(folder: Path) -> list[Estimate]:
    """A bundle's ``estimates.json``."""
    return list(_part(folder / "estimates.json"))


def places_in(folder: Path) -> list[dict[str, Any]]:
    """A bundle's ``withheld.json``: the calls whose answers were withheld; empty where none was."""
    path = folder / "withheld.json"
    return list(_part(path)) if path.exists() else []


@contextmanager
def fitting_together(path: Path) -> Iterator[None]:
    """Report parts that have the right shapes, and still do not fit each other."""
    try:
        yield
    except QuaverError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:  # polars panics outside of Exception
        reason = f"{type(error).__name__}: {error}"
        raise _unusable("the parts of this bundle do not fit together", str(path), reason) from error


def _part(path: Path) -> Any:
    return _shaped(_document(path), path)


def _document(path: Path) -> Any:
    with _reading(path):
        return parsed_json(read_file(path))


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, RecursionError, *_POLARS) as error:
        raise StoreError("the bundle lacks a part", where=path.name, found=str(error)[:200]) from None


def _shaped(document: Any, path: Path) -> Any:
    try:
        return shaped(_PARTS[path.name], document)
    except ValueError as error:
        raise _misshapen(path, str(error)) from None


def _refuse_doubles(path: Path, names: Sequence[str], what: str) -> None:
    if len(set(names)) < len(names):
        raise _misshapen(path, f"{what}s of the same name")


def _misshapen(path: Path, found: str) -> StoreError:
    return _unusable("this part of the bundle is not as Quaver writes it", path.name, found)


def _unusable(problem: str, where: str, found: str) -> StoreError:
    return StoreError(
        problem,
        where=where,
        expected="a bundle made by `quaver bundle`",
        found=found[:300],
        fix="download it again",
    )


FORM = "quaver bundle 1"
"""The form that a bundle's manifest names."""


class Bundle(StudySource):
    """What a study resolved to when it was packed, with its answers, labels and annotations.

    Attributes:
        packed: The archive.
        opened: Its manifest.
        facts: What was known when it was packed.

    Raises:
        StoreError: A file of the archive is missing, damaged or of another shape.
    """

    owns_folder = False

    def __init__(self, packed: Path, opened: Opened, folder: Path) -> None:
        self.packed, self.opened = packed, opened
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        # The lock file as it stands there, and what is read of it: the variants without the items they show
        path = folder / "study.lock.json"
        document = bare = _document(path)
        if isinstance(document, dict) and isinstance(document.get("variants"), list):
            shown = document["variants"]
            bare = {
                **document,
                "variants": [{**v, "examples": ()} if isinstance(v, dict) else v for v in shown],
            }
        lock = _shaped(bare, path)
        variants = [variant.id for variant in lock["variants"]]
        _refuse_doubles(path, variants, "variant")
        _refuse_doubles(path, lock["labels"].codes, "label")
        for name, decoding in lock["decodings"].items():
            if decoding.name != name:
                raise _misshapen(path, f"decodings.{name} is called {decoding.name!r}")
        for index, condition in enumerate(lock["conditions"]):
            known = condition.variant in variants and condition.model in lock["models"]
            quoted = condition.parent is None or 0 <= condition.parent < len(lock["conditions"])
            if not known or not quoted or not 0 <= condition.repeats < 2**31:
                raise _misshapen(path, f"conditions.{index} refers to something that does not exist")
        self._document, self._lock = document, lock
        super().__init__(*_study_in(self._document), folder)
        self.withheld = len(places_in(folder))
        packed_json = folder / PACKED
        self.facts: dict[str, Any] = _part(packed_json) if packed_json.exists() else {}
        self.has_answers = not self.spec.has_labels_only
        self.has_texts = bool(opened.get("texts", True))
        self._is_sound = False

    @property
    def kind(self) -> str:  # type: ignore[override]
        """What was packed."""
        if self.spec.annotations is None:
            return "a bundle of a study"
        return f"a bundle of imported {'answers' if self.has_answers else 'labels'}"

    @property
    def where(self) -> str:
        """The archive."""
        return str(self.packed)

    @property
    def title(self) -> str:
        """The archive's name."""
        return self.packed.name

    @property
    def results(self) -> Path:
        """Where its report goes: the folder that it was opened in, or one of its name beside the archive."""
        if not self._temporary:
            return self.folder
        return self.packed.with_name(self.packed.stem if self.packed.suffix else f"{self.packed.name}.report")

    @cached_property
    def experiment(self) -> Experiment:
        """What the study resolved to when it was packed."""
        lock, task, asked = self._lock, self.spec.task, self.spec.items
        kept = str(self.files.media)
        items = [
            replace(item, media=tuple(replace(medium, source=kept) for medium in item.media))
            for item in _part(self.folder / "items.json")
        ]
        _refuse_doubles(self.folder / "items.json", [item.id for item in items], "item")
        return Experiment(
            labels=task.label_set(self.spec.prompt.language) if task.fields else lock["labels"],
            items=with_versions(items, lock["variants"], self.files.media),
            variants=lock["variants"],
            decodings=lock["decodings"],
            conditions=lock["conditions"],
            notes=self._document.get("notes", ()),
            follow_ups=follow_ups_of(self.spec, self.positions),
            cut=split_column(asked, self.positions, items[0].fields)
            if asked.split and self.has_texts
            else "",
        )

    @cached_property
    def calls(self) -> int:
        """How many calls, or labels that existed already, were packed."""
        if self.spec.annotations is None:
            return self.experiment.calls
        return int(self._document.get("calls", self.annotations.height))

    @cached_property
    def served(self) -> dict[str, dict[str, Any]]:
        """Identity and provenance of each model when it was packed."""
        return dict(self._document["models"])

    @cached_property
    def fingerprint(self) -> str:
        """The archive's digest."""
        return self.opened.digest

    @property
    def annotations(self) -> pl.DataFrame:
        """The annotation frame as it was packed, or as it was rescored since."""
        path = self.folder / "annotations.parquet"
        with _reading(path):
            frame = read_parquet(path)
        if problem := misfit(frame.schema):
            raise _misshapen(path, problem)
        for name in ("model", "variant", "decoding", "item", "repeat", "evaluator", "status"):
            if frame[name].null_count():
                raise _misshapen(path, f"the column {name!r} has gaps")
        return frame

    @contextmanager
    def answers(self) -> Iterator[Store]:
        """The store, as it was packed."""
        path = self.files.responses
        if not path.exists():
            raise self.cannot("has_answers")
        if not self._is_sound:
            make_sound(path)
        with self.files.store() as store:
            if not self._is_sound:
                asked = self.experiment.in_parts
                check_cells(store, path)
                check_places(store, path, asked.conditions, [item.id for item in asked.items])
                self._is_sound = True
            yield store

    @property
    def left_out(self) -> Mapping[str, int]:
        """How many answers that are no part of the study were left out when it was packed, by model."""
        return {} if self.has_texts else self.facts.get("outside", {})

    @property
    def prices(self) -> Mapping[str, Price | None]:
        """What the models cost that were asked, by name; None where the price was unknown."""
        return dict(self.facts.get("prices", {}))

    def spent_on_paraphrases(self) -> list[Entry]:
        """What was spent on calls that made paraphrases, as the lock has it."""
        return entries_of(self._document.get("paraphrases", {}).get("spent", ()))

    def lock(self) -> dict[str, Any]:
        """What the study resolved to when it was packed."""
        return dict(self._document)


def _study_in(lock: Mapping[str, Any]) -> tuple[StudySpec, Positions]:
    """The study that a bundle's lock describes; of labels, without what only an asked study has."""
    given = lock["study"]
    if given.get("annotations"):
        left = {"evaluators"} if given["annotations"].get("raw") else set()
        given = {name: value for name, value in given.items() if name not in {*NOT_ASKED} - left}
    task = given.get("task")
    if isinstance(task, Mapping) and task.get("fields"):  # each has its own
        own = {name: value for name, value in task.items() if name not in ("labels", "level", "options")}
        given = {**given, "task": own}
    try:
        return read_study(given)
    except SpecError as error:
        raise StoreError(
            "this bundle was packed by another version of Quaver",
            where="study.lock.json",
            expected="a study as this version writes it",
            found=str(error.problem),
            fix="open it with the version that its manifest names, or pack the study again",
        ) from error


def open_bundle(path: Path, folder: Path | None = None) -> Bundle:
    """Unpack a bundle to a folder, which is a temporary one if left out."""
    if folder is not None:
        return _opened(path, folder)
    temporary = tempfile.TemporaryDirectory(prefix="quaver-")
    try:
        result = _opened(path, Path(temporary.name))
    except BaseException:
        temporary.cleanup()
        raise
    result._temporary = temporary
    return result


def _opened(path: Path, home: Path) -> Bundle:
    opened = extract(path, home, FORM)
    if opened.changed:
        raise StoreError(
            "the bundle has changed since it was packed",
            where=str(path),
            found=f"changed: {', '.join(opened.changed)}",
            fix="download it again",
        )
    with fitting_together(path):
        return Bundle(path, opened, home)
