"""A study in one archive, and every number of it computed anew from that archive alone."""

from __future__ import annotations

import json
import math
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from quaver.archive import MANIFEST, Opened, extract, pack
from quaver.collect.copies import copy_store, copy_store_without
from quaver.collect.ledger import Entry
from quaver.collect.store import Store
from quaver.design.experiment import Experiment, follow_ups_of
from quaver.design.prompts import PromptWriter
from quaver.design.spec import NOT_ASKED, StudySpec
from quaver.design.study_file import Source, read_study
from quaver.errors import QuaverError, StoreError
from quaver.records import Condition, Decoding, Estimate, Item, Label, LabelSet, Variant
from quaver.redaction import Texts
from quaver.report.estimates_csv import write_estimates
from quaver.resolved import Resolved
from quaver.study import Study
from quaver.wordings import entries_of

__all__ = ["BundledStudy", "Verification", "bundle", "open_bundle", "verify"]

_FORM = "quaver bundle 1"
_COMPARED = ("label", "status", "confidence")
_PLACE = ("model", "variant", "decoding", "item", "repeat", "evaluator")


@dataclass(frozen=True, slots=True)
class Verification:
    """What came of computing a bundle anew.

    Attributes:
        digest: SHA-256 of the archive, to be compared with the one that was published.
        changed: Files that are not as they were packed.
        differing: Annotations and estimates that come out otherwise, in words.
        annotations: How many annotations were read anew from the stored answers.
        withheld: How many could not be, since their answers quote an item's text that was left out.
        estimates: How many estimates were computed anew.
    """

    digest: str
    changed: Sequence[str]
    differing: Sequence[str]
    annotations: int
    withheld: int
    estimates: int

    @property
    def holds(self) -> bool:
        """Whether everything is as it was packed, and comes out as it stands there."""
        return not self.changed and not self.differing


# ------------------------------------------------------------------------------------ packing


def bundle(study: Study, path: str | Path | None = None, *, texts: bool = True) -> tuple[Path, str]:
    """Pack a study: its file, lock, answers, annotations, estimates and report, with checksums.

    Args:
        study: The study; it is scored, measured and reported anew.
        path: Where the archive goes; ``NAME.quaver.zip`` beside the folder, if left out.
        texts: Whether the items' texts go with it. Without them prompts, examples and raw answers are left
            out; an answer that quotes an item is withheld, and its labels are kept.

    Returns:
        The archive's path and digest.

    Raises:
        StoreError: Nothing is stored yet, or the archive cannot be written.
        QuaverError: An item's text would still stand in a file.
    """
    target = Path(path) if path else study.folder.resolve().with_suffix(".quaver.zip")
    if isinstance(study, BundledStudy):
        raise StoreError("this is a bundle already", where=str(target))
    study.rescore()
    with tempfile.TemporaryDirectory(prefix="quaver-") as made:
        folder = Path(made)
        withheld = _whole(study, folder) if texts else _without_texts(study, folder)
        files = {file.name: file for file in folder.iterdir() if file.is_file()}
        about = {"form": _FORM, "study": study.spec.name, "texts": texts, "withheld": withheld}
        digest = pack(target, files, about)
    return target, digest


def _whole(study: Study, folder: Path) -> int:
    _derived(study, folder, study.lock(), study.measurable(), study.annotations())
    _write(folder / "items.json", [_item(item) for item in study.experiment.items])
    answers = study.folder / "responses.db"
    if study.spec.annotations is None and answers.exists():
        copy_store(answers, folder / "responses.db")
    for file in study.own_files():
        if not (folder / file.name).exists() and file.name != MANIFEST:
            shutil.copyfile(file, folder / file.name)
    return 0


def _without_texts(study: Study, folder: Path) -> int:
    kept = {*study.covariates()}
    texts = _texts(study, kept)
    lock = texts.out_of(_bare(study.lock()))
    frame = study.annotations()
    frame = frame.with_columns(_redacted(frame["reason"], texts))
    _derived(study, folder, lock, study.measurable(), frame)
    items = [_item(item, kept) for item in study.experiment.items]
    _write(folder / "items.json", items)
    withheld: list[dict[str, Any]] = []
    if study.spec.annotations is None:
        withheld = copy_store_without(study.folder / "responses.db", folder / "responses.db", texts)
        _write(folder / "withheld.json", withheld)
    for file in study.own_files():
        if file.suffix in (".yaml", ".yml") and not texts.in_markup(file.read_text(encoding="utf-8")):
            shutil.copyfile(file, folder / file.name)
    _search(folder, texts)
    return len(withheld)


def _item(item: Item, kept: Collection[str] | None = None) -> dict[str, Any]:
    fields = {name: value for name, value in item.fields.items() if kept is None or name in kept}
    return {"id": item.id, "gold": item.gold, "groups": dict(item.groups), "fields": fields}


def _texts(study: Study, kept: set[str]) -> Texts:
    experiment = study.experiment
    shown = [one for variant in experiment.variants for one in variant.examples]
    items = [*experiment.items, *shown]
    writers = {variant.text: PromptWriter(variant, experiment.labels) for variant in experiment.variants}
    rendered = (writer.text(item) for writer in writers.values() for item in items)
    spec = study.spec
    own = [spec.prompt.instruction, spec.prompt.system, spec.prompt.layout, spec.prompt.postfix]
    own += [f"{label.name} {label.definition}" for label in experiment.labels.labels]
    return Texts(items, rendered, kept, own)


def _bare(lock: dict[str, Any]) -> dict[str, Any]:
    """The lock without the prompts that it shows."""
    variants = [{**one, "example": [], "examples": []} for one in lock["variants"]]
    return {**lock, "original": [], "variants": variants}


def _redacted(column: pl.Series, texts: Texts) -> pl.Series:
    return pl.Series(column.name, [texts.out_of(value) for value in column.to_list()], dtype=pl.String)


def _derived(
    study: Study, folder: Path, lock: dict[str, Any], measured: pl.DataFrame, annotations: pl.DataFrame
) -> None:
    """Lock, annotations, estimates and report."""
    from quaver.report import write_report  # the charts' libraries are slow to load

    estimates = study.estimates()
    noise = study.known_noise()
    report = write_report(
        folder / "report", lock=lock, annotations=measured, estimates=estimates, noise=noise
    )
    shutil.move(report, folder / "report.html")
    shutil.rmtree(folder / "report")
    write_estimates(estimates, folder / "estimates.csv")
    _write(folder / "estimates.json", [asdict(one) for one in estimates])
    _write(folder / "study.lock.json", lock)
    if noise:
        _write(folder / "noise.json", noise)
    annotations.write_parquet(folder / "annotations.parquet")


def _write(path: Path, document: Any) -> None:
    text = json.dumps(document, indent=1, ensure_ascii=False, default=str) + "\n"
    path.write_text(text, encoding="utf-8", errors="backslashreplace")


def _search(folder: Path, texts: Texts) -> None:
    """Look for items' texts in what is to be packed.

    Raises:
        QuaverError: One stands somewhere.
    """
    for file in sorted(folder.iterdir()):
        if file.suffix in (".json", ".csv", ".html", ".yaml", ".yml"):
            found = any(texts.in_markup(line) for line in file.read_text(encoding="utf-8").splitlines())
        elif file.suffix == ".parquet":
            frame = pl.read_parquet(file).select(pl.col(pl.String, pl.Categorical).cast(pl.String))
            found = any(value in texts for name in frame.columns for value in frame[name].unique().to_list())
        else:
            continue  # the store, which was searched cell by cell as it was copied
        if found:
            raise QuaverError(
                "an item's text would still stand in the bundle",
                where=file.name,
                expected="texts in fields that are neither ids, groups, gold labels nor covariates",
                fix="rename or shorten what holds it (an id, a label, a group), or bundle with the texts",
            )


# ------------------------------------------------------------------------------------ reading


class Packed(Resolved):
    """What a study resolved to when it was packed; its models are not needed, nor its items' texts."""

    def __init__(self, spec: StudySpec, source: Source, folder: Path, digest: str) -> None:
        super().__init__(spec, source, folder, {})
        self._digest = digest
        self._document = _read(folder / "study.lock.json")

    @cached_property
    def experiment(self) -> Experiment:
        """What the study resolved to when it was packed."""
        lock = self._document
        labels = lock["labels"]
        return Experiment(
            labels=LabelSet(tuple(_record(Label, one) for one in labels["labels"]), labels["level"]),
            items=[_record(Item, one) for one in _read(self.folder / "items.json")],
            variants=[_record(Variant, {**one, "examples": ()}) for one in lock["variants"]],
            decodings={name: _record(Decoding, one) for name, one in lock["decodings"].items()},
            conditions=[_record(Condition, one) for one in lock["conditions"]],
            notes=lock.get("notes", ()),
            follow_ups=follow_ups_of(self.spec, self.source),
        )

    @cached_property
    def served(self) -> dict[str, dict[str, Any]]:
        """Identity and provenance of each model when it was packed."""
        return dict(self._document["models"])

    @cached_property
    def fingerprint(self) -> str:
        """The bundle's own."""
        return self._digest

    @contextmanager
    def answers(self) -> Iterator[Store]:
        """The store, as it was packed.

        Raises:
            StoreError: There is none.
        """
        if not self.files.responses.exists():
            raise StoreError("this bundle has annotations, and no answers", where=str(self.folder))
        with self.files.store() as store:
            yield store

    def spent_on_wordings(self) -> list[Entry]:
        """As the lock has it."""
        return entries_of(self._document.get("wordings", {}).get("spent", ()))

    def lock(self) -> dict[str, Any]:
        """What the study resolved to when it was packed."""
        return dict(self._document)


class BundledStudy(Study):
    """A study as its bundle has it: measured, reported and compared without model or items' texts."""

    def __init__(self, spec: StudySpec, source: Source, folder: Path, opened: Opened) -> None:
        super().__init__(Packed(spec, source, folder, opened.digest))
        self.opened = opened
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    def annotations(self) -> pl.DataFrame:
        """The annotation frame as it was packed."""
        return pl.read_parquet(self._files.annotations)

    def measurable(self) -> pl.DataFrame:
        """The annotations, less those of evaluators that had nothing to read in a decoding."""
        return self.annotations() if self.spec.annotations is not None else super().measurable()

    def run(self, **_: Any) -> Any:
        """Not to be had.

        Raises:
            StoreError: Always.
        """
        raise StoreError("a bundle asks nothing", where=str(self.folder), fix="run the study that it is of")

    def plan(self, **_: Any) -> Any:
        """Not to be had.

        Raises:
            StoreError: Always.
        """
        self.run()


def _record(kind: type[Any], values: Mapping[str, Any]) -> Any:
    known = {one.name for one in fields(kind)}
    given = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items() if name in known}
    return kind(**given)


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError("the bundle lacks a part", where=path.name, found=str(error)[:200]) from None


def open_bundle(path: str | Path, folder: str | Path | None = None) -> BundledStudy:
    """Open a bundle as a study that can be measured, reported and compared.

    Args:
        path: The archive.
        folder: Where its files go; a temporary folder, if left out.

    Raises:
        StoreError: It is no bundle, or not as it was packed.
    """
    study = _opened(Path(path), folder)
    if study.opened.changed:
        raise StoreError(
            "the bundle is not as it was packed",
            where=str(path),
            found=f"changed: {', '.join(study.opened.changed)}",
            fix="get it again from where it was published",
        )
    return study


def _opened(path: Path, folder: str | Path | None = None) -> BundledStudy:
    temporary = None if folder else tempfile.TemporaryDirectory(prefix="quaver-")
    home = Path(folder) if folder else Path(temporary.name if temporary else "")
    opened = extract(path, home, _FORM)
    if opened.changed:
        study = _shell(home, opened)
    else:
        given = _read(home / "study.lock.json")["study"]
        if given.get("annotations"):
            given = {name: value for name, value in given.items() if name not in NOT_ASKED}
        study = BundledStudy(*read_study(given), home, opened)
    study._temporary = temporary
    return study


def _shell(home: Path, opened: Opened) -> BundledStudy:
    """What holds the news that a bundle was changed: nothing of it is read."""
    study = BundledStudy.__new__(BundledStudy)
    study.folder, study.opened = home, opened
    return study


# ---------------------------------------------------------------------------------- verifying


def verify(path: str | Path) -> Verification:
    """Find what was changed in a bundle, and compute every annotation and estimate of it anew.

    Args:
        path: The archive.

    Raises:
        StoreError: It is no bundle.
    """
    study = _opened(Path(path))
    opened = study.opened
    if opened.changed:
        return Verification(opened.digest, opened.changed, (), 0, 0, 0)
    stored = study.annotations()
    differing: list[str] = []
    read = 0
    if (study.folder / "responses.db").exists():
        withheld = study.folder / "withheld.json"
        left = _read(withheld) if withheld.exists() else []
        read, differing = _reread(study, stored, left)
        stored.write_parquet(study.folder / "annotations.parquet")
    packed = _read(study.folder / "estimates.json")
    estimates = study.estimates()
    differing += _other_estimates(packed, estimates)
    return Verification(opened.digest, (), differing, read, int(opened["withheld"]), len(estimates))


def _reread(
    study: BundledStudy, stored: pl.DataFrame, withheld: Sequence[Mapping[str, Any]]
) -> tuple[int, list[str]]:
    """Read the stored answers with the study's evaluators, and compare."""
    text = [pl.col(pl.Categorical).cast(pl.String)]
    fresh, known = study.rescore().with_columns(text), stored.with_columns(text)
    if withheld:
        places = pl.DataFrame(withheld).with_columns(pl.col("repeat").cast(pl.Int32))
        on = [name for name in _PLACE if name != "evaluator"]
        fresh, known = (frame.join(places, on=on, how="anti") for frame in (fresh, known))
    columns = [*_PLACE, *_COMPARED]
    both = known.select(columns).join(fresh.select(columns), on=_PLACE, how="full", suffix="_now")
    lost = both.filter(pl.col("item").is_null() | pl.col("item_now").is_null())
    other = both.filter(
        pl.any_horizontal(pl.col(name).ne_missing(pl.col(f"{name}_now")) for name in _COMPARED)
        & pl.col("item").is_not_null()
        & pl.col("item_now").is_not_null()
    )
    told = [f"{lost.height} annotations have no counterpart among the answers"] if lost.height else []
    told += [
        f"item {row['item']}, {row['model']}, {row['variant']}, {row['evaluator']}: "
        f"{row['label']} ({row['status']}) stands there, {row['label_now']} ({row['status_now']}) is read"
        for row in other.head(20).iter_rows(named=True)
    ]
    if other.height > 20:
        told.append(f"and {other.height - 20} more annotations")
    return fresh.height, told


def _other_estimates(packed: Sequence[Mapping[str, Any]], now: Sequence[Estimate]) -> list[str]:
    if len(packed) != len(now):
        return [f"{len(packed)} estimates stand there, {len(now)} come out"]
    told = []
    for one, again in zip(packed, now, strict=True):
        same = one["measure"] == again.measure and dict(one["cell"]) == dict(again.cell)
        same = same and one["n"] == again.n and one["reason"] == again.reason
        same = same and all(_alike(one[end], getattr(again, end)) for end in ("value", "low", "high"))
        if not same:
            told.append(f"{one['measure']} {dict(one['cell'])}: {one['value']} stands there, now {again}")
    return told


def _alike(one: float | None, other: float | None) -> bool:
    """Equal up to what another machine's sums may differ by."""
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=1e-7, abs_tol=1e-9)
