"""A study packed in one archive, with or without its items' texts."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from quaver.bundles.derived_files import made_with, write_derived, write_json
from quaver.bundles.redaction import Texts
from quaver.bundles.verification import estimate_differences, verify
from quaver.collect.store.store_copy import copy_store, copy_store_without
from quaver.core.arguments import guarded
from quaver.core.label_values import fields_in
from quaver.core.line_file import lines_of
from quaver.core.number_format import count
from quaver.core.records import Estimate
from quaver.core.replaced_file import put_in_place
from quaver.design.calls.annotation_table import ROLES
from quaver.design.items.near_duplicates import NEAR_DUPLICATES
from quaver.design.items.table_files import read_rows
from quaver.design.prompts.rendering import PromptWriter
from quaver.design.prompts.templates import names_in
from quaver.design.spec import ItemsSpec, StudySpec
from quaver.errors import QuaverError, StoreError
from quaver.study.analysis.annotation_frame import rescored
from quaver.study.analysis.field_source import FieldSource, fields_of
from quaver.study.analysis.hidden_clusters import groups_of
from quaver.study.analysis.measured_study import MeasuredStudy
from quaver.study.analysis.study_acceptance import FILE as ACCEPTED
from quaver.study.analysis.study_acceptance import kept_acceptance
from quaver.study.analysis.study_measures import measurable
from quaver.study.collection.study_status import outside_study, status
from quaver.study.gold_sample.coder_sheets import pack_gold
from quaver.study.session import Study
from quaver.study.sources.archive import MANIFEST, Opened, is_archive, members_in, pack
from quaver.study.sources.bundle_source import FORM, PACKED, Bundle, places_in
from quaver.study.sources.conclusion_measures import concluded_about
from quaver.study.sources.outgoing_check import check_outgoing
from quaver.study.sources.study_folder import FIELDS


class Packed(NamedTuple):
    """A bundle that was written.

    Attributes:
        path: The archive.
        digest: Its SHA-256.
        said: What else is in it or was left out, a sentence each.
    """

    path: Path
    digest: str
    said: Sequence[str]


@guarded
def bundle(
    study: Study,
    path: str | Path | None = None,
    *,
    texts: bool = True,
    tables: bool = False,
    only_study: bool = False,
) -> tuple[Path, str]:
    """Pack a study: its file, lock, answers, annotations, estimates and report, with checksums.

    Args:
        study: The study; it is scored, measured and reported anew.
        path: Where the archive goes; ``NAME.quaver.zip`` beside the folder, if left out.
        texts: Whether the items' texts go with it. Without them prompts, examples and raw answers are left
            out; an answer that quotes an item is withheld, and its labels are kept.
        tables: Whether tables of items go with it whole, also the rows and columns that the study does not
            use. Without this, a table that holds any stays behind, and ``items.json`` has what is used.
        only_study: Whether stored answers that are no part of the study are left out; how many there are is
            said all the same. Without the texts they always are.

    Returns:
        The archive's path and digest.

    Raises:
        StoreError: Nothing is stored yet, the archive cannot be written, or what is computed anew from it is
            not what it says.
        QuaverError: An item's text, or a key, would still stand in a file.
    """
    return pack_study(study, path, texts=texts, tables=tables, only_study=only_study)[:2]


def pack_study(
    study: Study,
    path: str | Path | None = None,
    *,
    texts: bool = True,
    tables: bool = False,
    only_study: bool = False,
) -> Packed:
    """The same, with what is to be said of it."""
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
        folder = Path(made) / "packed"
        folder.mkdir()
        hidden = None
        if texts:
            _whole(study, folder, only_study, tables)
        else:
            hidden = _without_texts(study, folder)
        about = {"form": FORM, "study": study.spec.name, "texts": texts, "withheld": len(places_in(folder))}
        if hidden is not None:
            refuse_texts(folder, hidden)
        opened = Path(made) / "opened"  # reading a store may change its bytes
        shutil.copytree(folder, opened)
        source = Bundle(target, Opened(about, (), ""), opened)
        estimates = write_derived(source, folder)
        if hidden is not None:
            refuse_texts(folder, hidden)
        _check_as_measured(study, estimates, target)
        files = members_in(folder)
        check_outgoing(files.values(), own=True)
        digest = _packed(target, files, about)
        said = [line for line in (status(source).outside, *source.facts.get("stayed", ())) if line]
    return Packed(target, digest, said)


def _check_as_measured(study: Study, packed: Sequence[Estimate], target: Path) -> None:
    """See that what is computed from the bundle alone is what the study itself gives."""
    if differing := estimate_differences(study.estimates(), packed):
        raise _not_reproduced(target, differing)


def _not_reproduced(target: Path, found: Sequence[str]) -> StoreError:
    return StoreError(
        "the bundle does not reproduce the study's results, so it was not kept",
        where=str(target),
        expected="annotations and estimates that can be recomputed from it without a difference",
        found="; ".join(found[:3]),
        fix="your own evaluators and measures must always give the same results, in any process",
    )


def _packed(target: Path, files: Mapping[str, Path], about: Mapping[str, Any]) -> str:
    """Pack, compute everything anew from the archive alone, and keep it where all of it holds."""
    unverified = target.with_name(target.name + ".unverified")
    try:
        digest = pack(unverified, files, about)
        verification = verify(unverified)
        if verification.differs:
            raise _not_reproduced(target, [*verification.changed, *verification.differing])
        put_in_place(unverified, target)
    except OSError as error:
        raise StoreError("the bundle cannot be written", where=str(target), found=str(error)) from error
    finally:
        unverified.unlink(missing_ok=True)
    return digest


def _whole(study: Study, folder: Path, only_study: bool, tables: bool) -> None:
    used = _used_fields(study)
    stayed = {} if tables else _staying(study, used)
    frame = study.annotations()
    _written(study, folder, study.source.lock(), frame, _items(study, used, frame))
    answers = study.folder / "responses.db"
    if study.source.has_answers and answers.exists():
        copy_store(answers, folder / "responses.db", only_placed=only_study)
    for file in _own_files(study):
        if file not in stayed and not (folder / file.name).exists() and file.name != MANIFEST:
            shutil.copyfile(file, folder / file.name)
    kept = folder / study.source.files.paraphrases.name
    if not kept.exists() and (former := study.source.files.read("paraphrases.json")):
        write_json(kept, former)
    _pack_parts(study, folder, texts=True)
    _noted(study, folder, [*stayed.values()], outside=not only_study)


def _without_texts(study: Study, folder: Path) -> Texts:
    kept = _covariates(study.spec)
    if not study.annotations().is_empty():
        kept |= _named_groups(study)
    texts = texts_of(study, kept)
    lock = study.source.lock()
    bare = [{**one, "example": [], "examples": []} for one in lock["variants"]]
    lock = texts.out_of({**lock, "original": [], "variants": bare})  # without the prompts that it shows
    frame = study.annotations()
    items = _items(study, kept, frame, copies=True)
    reasons = [texts.out_of(reason) for reason in frame["reason"].to_list()]
    _written(study, folder, lock, frame.with_columns(pl.Series("reason", reasons, dtype=pl.String)), items)
    if study.source.has_answers:
        withheld = copy_store_without(study.folder / "responses.db", folder / "responses.db", texts)
        write_json(folder / "withheld.json", withheld)
    for file in _own_files(study):
        if file.suffix in (".yaml", ".yml") and not texts.in_markup(file.read_text(encoding="utf-8")):
            shutil.copyfile(file, folder / file.name)
    _pack_parts(study, folder, texts=False)
    _noted(study, folder, [], outside=False)
    return texts


def _written(
    study: Study, folder: Path, lock: Mapping[str, Any], annotations: pl.DataFrame, items: Sequence[Any]
) -> None:
    """What does not follow from other files of the bundle: design, items and labels."""
    write_json(folder / "study.lock.json", lock)
    write_json(folder / "items.json", items)
    annotations.write_parquet(folder / "annotations.parquet")


def _pack_parts(study: Study, folder: Path, *, texts: bool) -> None:
    """The gold sample; accepted labels, of the study or of each of its fields."""
    pack_gold(study.source.gold_files, folder, texts=texts)
    for name, source in fields_of(study.source).items():
        own = folder / FIELDS / name if name else folder
        own.mkdir(parents=True, exist_ok=True)
        if accepted := kept_acceptance(source, measurable(source)):
            write_json(own / ACCEPTED, accepted)


def _noted(study: Study, folder: Path, stayed: Sequence[str], *, outside: bool) -> None:
    """What is known now, and could not be found out from the other files later."""
    prices = {name: price and asdict(price) for name, price in study.source.prices.items()}
    rest = outside_study(study.source)
    write_json(
        folder / PACKED,
        {
            "made_with": made_with(),
            "prices": prices,
            "outside": rest,
            "outside_packed": outside or not rest,
            "stayed": list(stayed),
        },
    )


def _used_fields(study: Study) -> set[str]:
    """The columns that the study uses: for prompts, labels, groups or conclusions."""
    experiment, spec = study.experiment, study.spec
    own = spec.annotations or spec.items
    roles = ROLES if spec.annotations else ("id",)
    used = {*_covariates(spec), *experiment.labels.options, *(getattr(own, role) for role in roles)}
    if spec.annotations is not None:
        used |= {*spec.annotations.variant}
        used |= {name for one in spec.annotations.fields.values() for name in one.sources}
    there = {name for item in experiment.items[:1] for name in item.fields}
    for variant in experiment.variants:
        for template in (variant.text, variant.layout, variant.system, variant.instruction, variant.postfix):
            names = names_in(template)
            used |= names
            if "item" in names:  # as item["a column"], or all of them in turn
                used |= {name for name in there if name in template} or there
    if not study.annotations().is_empty():
        used |= _named_groups(study)
    return used


def _named_groups(study: Study) -> set[str]:
    """The columns of whose groups the verdict speaks."""
    parts = [
        part
        for recommendation in study.verdict().recommendations
        for part in (*recommendation.exceptions, *recommendation.unvouched)
    ]
    return {str(part.cell["group"]) for part in parts if "group" in part.cell}


def _staying(study: Study, used: Collection[str]) -> dict[Path, str]:
    """The tables that hold more than the study uses, and what, in words."""
    spec = study.spec.annotations or study.spec.items
    tables: list[Any] = [spec]
    if isinstance(spec, ItemsSpec) and spec.examples is not None:
        tables.append(spec.examples)
    result = {}
    for table in tables:
        path = study.source.positions.path_of(table.source)
        if not path.is_file():
            continue
        rows = read_rows(path, table.encoding, table.separator, sheet=table.sheet, quote=table.quote)
        columns = [name for name in (rows[0] if rows else ()) if name not in used]
        spare = len(rows) - len(study.experiment.items) if table is study.spec.items else 0
        parts = [count(spare, "row")] if spare > 0 else []
        if columns:
            parts.append(f"the column{'s' * (len(columns) > 1)} {', '.join(columns)}")
        if parts:
            result[path] = (
                f"{path.name} was left out, since the study does not use all of it ({'; '.join(parts)})"
            )
    return result


def _items(study: Study, kept: Collection[str], frame: pl.DataFrame, *, copies: bool = False) -> list[Any]:
    """The items with some of their fields, and as numbers the groups whose items are labelled alike."""
    items = study.experiment.items
    estimates: list[Estimate] = []
    for one in fields_of(study.source).values() if not frame.is_empty() else ():
        own = one.rows(frame) if isinstance(one, FieldSource) else frame
        estimates += MeasuredStudy(one, measurable(one, own)).clusters
    columns = [estimate.cell["column"] for estimate in estimates if estimate.details.get("clustered")]
    hidden: list[dict[str, Any]] = [{} for _ in items]
    for column in columns:
        if column in kept or column in items[0].groups or (column == NEAR_DUPLICATES and not copies):
            continue
        values = groups_of(study.source, column)
        number = {value: str(index) for index, value in enumerate(dict.fromkeys(values), start=1)}
        for index, value in enumerate(values):
            hidden[index][column] = None if value is None else number[value]
    return [
        {
            "id": item.id,
            "gold": item.gold,
            "golds": dict(item.golds),
            "groups": dict(item.groups),
            "beside": item.beside,
            "fields": {name: value for name, value in item.fields.items() if name in kept} | more,
        }
        for item, more in zip(items, hidden, strict=True)
    ]


def _own_files(study: Study) -> list[Path]:
    """The study file, its table of items or annotations, and paraphrases.json, where there are such."""
    spec, positions = study.spec.annotations or study.spec.items, study.source.positions
    tables = [spec.source, *([spec.examples.source] if isinstance(spec, ItemsSpec) and spec.examples else [])]
    files = [positions.path, *map(positions.path_of, tables), study.source.files.paraphrases]
    return [file for file in files if file is not None and file.is_file()]


def _covariates(spec: StudySpec) -> set[str]:
    """The items' fields that are no texts: groups, gold labels, what conclusions are drawn about."""
    own = spec.annotations or spec.items
    gold = [own.gold.column] if own.gold and own.gold.column else []
    gold += [column for field in spec.task.fields.values() if field.gold for column in field.gold.sources]
    return {*own.groups, *own.coders, *gold, *concluded_about(spec)}


def texts_of(study: Study, kept: set[str] | None = None) -> Texts:
    """The texts of a study that a bundle without texts may not hold."""
    kept = _covariates(study.spec) if kept is None else kept
    experiment = study.experiment
    shown = [item for variant in experiment.variants for item in variant.examples]
    items = [*experiment.items, *shown]
    writers = {variant.text: PromptWriter(variant, experiment.labels) for variant in experiment.variants}
    rendered = (writer.text(item) for writer in writers.values() for item in items)
    spec = study.spec
    own = [spec.prompt.instruction, spec.prompt.system, spec.prompt.layout, spec.prompt.postfix]
    fields = fields_in(experiment.labels)
    sets = [field.labels for field in fields] or [experiment.labels]
    own += [f"{label.name} {label.definition}" for labels in sets for label in labels.labels]
    own += [f"{field.name} {field.definition}" for field in fields]
    return Texts(items, rendered, kept, own)


def refuse_texts(folder: Path, texts: Texts) -> None:
    """Look for items' texts in what is to be packed."""
    for file in members_in(folder).values():
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
