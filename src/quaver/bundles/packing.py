"""A study packed in one archive, with or without its items' texts."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from quaver.bundles.redaction import Texts
from quaver.bundles.reviewer_readme import NAME as README
from quaver.bundles.reviewer_readme import reviewer_readme
from quaver.bundles.verification import verify
from quaver.collect.store.copies import copy_store, copy_store_without
from quaver.core.arguments import guarded
from quaver.core.line_file import lines_of
from quaver.core.records import Item
from quaver.core.replaced_file import put_in_place, replace_text
from quaver.design.prompts.rendering import PromptWriter
from quaver.design.spec import ItemsSpec, StudySpec
from quaver.errors import QuaverError, StoreError
from quaver.report.tables.estimates_csv import write_estimates
from quaver.study.analysis.annotation_frame import rescored
from quaver.study.analysis.study_acceptance import FILE as ACCEPTED
from quaver.study.analysis.study_acceptance import kept_acceptance
from quaver.study.analysis.study_estimates import measurable
from quaver.study.gold_sample.packed_gold import pack_gold
from quaver.study.session import Study
from quaver.study.sources.archive import MANIFEST, is_archive, pack
from quaver.study.sources.bundle_source import FORM
from quaver.study.sources.conclusion_measures import concluded_about
from quaver.study.sources.gold_files import GoldFiles
from quaver.study.sources.outgoing_check import check_outgoing
from quaver.study.sources.study_folder import FileName
from quaver.study.study_verdict import shown_with

_KEPT: tuple[FileName, ...] = ("certified.json", "frozen.json")
"""Files of the study's folder that go with it as they are."""


@guarded
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
        StoreError: Nothing is stored yet, the archive cannot be written, or what is computed anew from it is
            not what it says.
        QuaverError: An item's text, or a key, would still stand in a file.
    """
    study.source.require("owns_folder")
    folder = study.folder.resolve()
    target = Path(path) if path else folder.with_name(f"{folder.name}.quaver.zip")
    if target.is_dir() or (target.is_file() and not is_archive(target)):
        raise StoreError(
            "this file exists already and is not a bundle",
            where=str(target),
            expected="a new file, or a bundle to overwrite",
            fix="name another file, or remove this one",
        )
    if study.source.has_answers:
        rescored(study.source)
    with tempfile.TemporaryDirectory(prefix="quaver-") as made:
        folder = Path(made)
        withheld = _whole(study, folder) if texts else _without_texts(study, folder)
        files = {file.name: file for file in folder.iterdir() if file.is_file()}
        check_outgoing(files.values(), own=True)
        about = {"form": FORM, "study": study.spec.name, "texts": texts, "withheld": withheld}
        digest = _packed(target, files, about)
    return target, digest


def _packed(target: Path, files: Mapping[str, Path], about: Mapping[str, Any]) -> str:
    """Pack, compute everything anew from the archive alone, and keep it where all of it holds.

    Raises:
        StoreError: It does not.
    """
    unverified = target.with_name(target.name + ".unverified")
    try:
        digest = pack(unverified, files, about)
        found = verify(unverified)
        if not found.holds:
            raise StoreError(
                "the bundle does not reproduce the study's results, so it was not kept",
                where=str(target),
                expected="annotations and estimates that can be recomputed from it without a difference",
                found="; ".join([*found.changed, *found.differing][:3]),
                fix="your own evaluators and measures must always give the same results, in any process",
            )
        put_in_place(unverified, target)
    except OSError as error:
        raise StoreError("the bundle cannot be written", where=str(target), found=str(error)) from error
    finally:
        unverified.unlink(missing_ok=True)
    return digest


def _whole(study: Study, folder: Path) -> int:
    _derived(study, folder, study.source.lock(), study.annotations(), texts=True)
    _write(folder / "items.json", [_item(item) for item in study.experiment.items])
    answers = study.folder / "responses.db"
    if study.source.has_answers and answers.exists():
        copy_store(answers, folder / "responses.db")
    for file in _own_files(study):
        if not (folder / file.name).exists() and file.name != MANIFEST:
            shutil.copyfile(file, folder / file.name)
    kept = folder / study.source.files.paraphrases.name
    if not kept.exists() and (former := study.source.files.read("paraphrases.json")):
        _write(kept, former)
    _explained(study, folder, texts=True, withheld=0)
    return 0


def _without_texts(study: Study, folder: Path) -> int:
    kept = _covariates(study.spec)
    texts = texts_of(study, kept)
    lock = study.source.lock()
    bare = [{**one, "example": [], "examples": []} for one in lock["variants"]]
    lock = texts.out_of({**lock, "original": [], "variants": bare})  # without the prompts that it shows
    frame = study.annotations()
    reasons = [texts.out_of(reason) for reason in frame["reason"].to_list()]
    frame = frame.with_columns(pl.Series("reason", reasons, dtype=pl.String))
    _derived(study, folder, lock, frame, texts=False)
    _write(folder / "items.json", [_item(item, kept) for item in study.experiment.items])
    withheld: list[dict[str, Any]] = []
    if study.source.has_answers:
        withheld = copy_store_without(study.folder / "responses.db", folder / "responses.db", texts)
        _write(folder / "withheld.json", withheld)
    for file in _own_files(study):
        if file.suffix in (".yaml", ".yml") and not texts.in_markup(file.read_text(encoding="utf-8")):
            shutil.copyfile(file, folder / file.name)
    _explained(study, folder, texts=False, withheld=len(withheld))
    refuse_texts(folder, texts)
    return len(withheld)


def _explained(study: Study, folder: Path, *, texts: bool, withheld: int) -> None:
    """Tell a reviewer what to do; a file of the study's own by that name stays."""
    path = folder / README
    if path.exists():
        return
    lock = json.loads((folder / "study.lock.json").read_text(encoding="utf-8"))
    files = {file.name for file in folder.iterdir()}
    text = reviewer_readme(lock, study.estimates(), files, texts=texts, withheld=withheld)
    replace_text(path, text)


def _own_files(study: Study) -> list[Path]:
    """The study file, its table of items or annotations, and paraphrases.json, where there are such."""
    own, positions = study.spec.annotations or study.spec.items, study.source.positions
    tables = [own.source, *([own.examples.source] if isinstance(own, ItemsSpec) and own.examples else [])]
    files = [positions.path, *map(positions.path_of, tables), study.source.files.paraphrases]
    return [file for file in files if file is not None and file.is_file()]


def _covariates(spec: StudySpec) -> set[str]:
    """The items' fields that are no texts: groups, gold labels, what conclusions are drawn about."""
    own = spec.annotations or spec.items
    gold = [own.gold.column] if own.gold and own.gold.column else []
    return {*own.groups, *own.coders, *gold, *concluded_about(spec)}


def _item(item: Item, kept: Collection[str] | None = None) -> dict[str, Any]:
    fields = {name: value for name, value in item.fields.items() if kept is None or name in kept}
    return {"id": item.id, "gold": item.gold, "groups": dict(item.groups), "fields": fields}


def texts_of(study: Study, kept: set[str] | None = None) -> Texts:
    """The texts of a study that a bundle without texts may not hold.

    Args:
        study: The study.
        kept: The items' fields that may stand in it; those that are no texts, if left out.
    """
    kept = _covariates(study.spec) if kept is None else kept
    experiment = study.experiment
    shown = [one for variant in experiment.variants for one in variant.examples]
    items = [*experiment.items, *shown]
    writers = {variant.text: PromptWriter(variant, experiment.labels) for variant in experiment.variants}
    rendered = (writer.text(item) for writer in writers.values() for item in items)
    spec = study.spec
    own = [spec.prompt.instruction, spec.prompt.system, spec.prompt.layout, spec.prompt.postfix]
    own += [f"{label.name} {label.definition}" for label in experiment.labels.labels]
    return Texts(items, rendered, kept, own)


def _derived(
    study: Study, folder: Path, lock: dict[str, Any], annotations: pl.DataFrame, *, texts: bool
) -> None:
    """Lock, annotations, estimates and report."""
    from quaver.study.study_report import written  # the charts' libraries are slow to load

    estimates = study.estimates()
    noise = {name: [asdict(row) for row in rows] for name, rows in study.noise().items()}
    shown = lock | shown_with(study.source)
    report = written(study.source, folder / "report", shown, measurable(study.source), texts=texts)
    shutil.move(report, folder / "report.html")
    shutil.rmtree(folder / "report")
    write_estimates(estimates, folder / "estimates.csv")
    _write(folder / "estimates.json", [one.document() for one in estimates])
    _write(folder / "study.lock.json", lock)
    if noise:
        _write(folder / "noise.json", noise)
    for name in _KEPT:
        if kept := study.source.files.read(name):
            _write(folder / name, kept)
    if accepted := kept_acceptance(study.source, measurable(study.source)):
        _write(folder / ACCEPTED, accepted)
    pack_gold(GoldFiles(study.folder), folder, texts=texts)
    annotations.write_parquet(folder / "annotations.parquet")


def _write(path: Path, document: Any) -> None:
    text = json.dumps(document, indent=1, ensure_ascii=False, default=str) + "\n"
    replace_text(path, text)


def refuse_texts(folder: Path, texts: Texts) -> None:
    """Look for items' texts in what is to be packed.

    Raises:
        QuaverError: One stands somewhere.
    """
    for file in sorted(folder.iterdir()):
        if file.suffix in (".json", ".csv", ".html", ".md", ".yaml", ".yml"):
            found = any(texts.in_markup(line) for line in lines_of(file.read_text(encoding="utf-8")))
        elif file.suffix == ".parquet":
            frame = pl.read_parquet(file).select(pl.col(pl.String, pl.Categorical).cast(pl.String))
            found = any(value in texts for name in frame.columns for value in frame[name].unique().to_list())
        else:
            continue  # the store, which was searched cell by cell as it was copied
        if found:
            raise QuaverError(
                "the bundle would still contain an item's text",
                where=file.name,
                expected="texts in fields that are neither ids, groups, gold labels nor covariates",
                fix="rename or shorten what holds it (an id, a label, a group), or bundle with the texts",
            )
